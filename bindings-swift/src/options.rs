//! The options of a client as they come from Swift, and their way to the builder: what is `None` was not given and is not passed on.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oncewire::oauth::{Asked, OAuth};
use oncewire::{ClientBuilder, Era, Error, HandlerError, ProviderError, Recovery, Resend, TrustAnnotations};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call_options::{CallOptions, Span, json_argument};
use crate::hooks::{EventSink, Hook, NotificationSink, ask};
use crate::words::{EraOption, RecoveryOption, ResendOption, TrustAnnotationsOption};

/// The proxy.
#[derive(Clone, uniffi::Enum)]
pub enum ProxyOption {
    /// This one.
    Url {
        /// Where it is.
        url: String,
    },
    /// None, whatever the environment says.
    None,
}

/// The one version of HTTP to speak.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum HttpVersionOption {
    /// HTTP/1.1
    Http1,
    /// HTTP/2
    Http2,
}

/// One header.
#[derive(Clone, uniffi::Record)]
pub struct HeaderOption {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The bounds of the back-off.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct BackoffOption {
    /// Of the first delay.
    pub first: Span,
    /// Of any.
    pub max: Span,
}

/// Resends after ambiguous losses.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct RetryBudgetOption {
    /// A share of the calls.
    pub percent: f64,
    /// And so many a second.
    pub per_second: u32,
}

/// TCP keep-alive.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct KeepAliveOption {
    /// The silence before a probe and between probes.
    pub interval: Span,
    /// The probes that may go unanswered.
    pub retries: u32,
}

/// HTTP/2 ping.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct PingOption {
    /// The silence before it.
    pub interval: Span,
    /// How long its answer may take.
    pub timeout: Span,
}

/// What the client gives of itself.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ClientInfoOption {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The certificate that the client shows.
#[derive(Clone, uniffi::Record)]
pub struct ClientIdentityOption {
    /// It and its chain, PEM.
    pub chain_pem: Vec<u8>,
    /// Its key, PEM.
    pub key_pem: Vec<u8>,
}

/// Every option of a client; see the builder of the core.
#[derive(Clone, Default, uniffi::Record)]
#[expect(missing_docs, reason = "each is the core's of the same name")]
pub struct ClientOptions {
    pub timeout: Option<Span>,
    pub idle_timeout: Option<Span>,
    pub reset_on_progress: Option<bool>,
    pub max_total_timeout: Option<Span>,
    pub resend: Option<ResendOption>,
    pub tool_options: HashMap<String, CallOptions>,
    pub orphan_timeout: Option<Span>,
    pub connect_timeout: Option<Span>,
    pub connect_patience: Option<Span>,
    pub handshake_timeout: Option<Span>,
    pub close_timeout: Option<Span>,
    pub retry_after_max: Option<Span>,
    pub backoff: Option<BackoffOption>,
    pub retry_budget: Option<RetryBudgetOption>,
    pub max_message: Option<u64>,
    pub max_event: Option<u64>,
    pub max_pages: Option<u64>,
    pub pool_idle_timeout: Option<Span>,
    pub fresh_connection: Option<bool>,
    pub tcp_keep_alive: Option<KeepAliveOption>,
    pub http2_ping: Option<PingOption>,
    pub trust_annotations: Option<TrustAnnotationsOption>,
    pub recovery: Option<RecoveryOption>,
    pub era: Option<EraOption>,
    /// A JSON object.
    pub extensions: Option<String>,
    pub cache: Option<bool>,
    pub cookies: Option<bool>,
    pub lazy: Option<bool>,
    pub listen: Option<bool>,
    pub idempotency_keys: Option<bool>,
    pub token_provider: Option<Arc<dyn Hook>>,
    /// A JSON object, as `OAuth::of_binding` takes it; what the login asks goes to `oauth_hook`.
    pub oauth: Option<String>,
    pub oauth_hook: Option<Arc<dyn Hook>>,
    pub headers: Vec<HeaderOption>,
    pub header_provider: Option<Arc<dyn Hook>>,
    pub on_sampling: Option<Arc<dyn Hook>>,
    pub on_elicitation: Option<Arc<dyn Hook>>,
    pub on_roots: Option<Arc<dyn Hook>>,
    pub on_notification: Option<Arc<dyn NotificationSink>>,
    pub on_event: Option<Arc<dyn EventSink>>,
    pub client_info: Option<ClientInfoOption>,
    pub root_certificates: Option<Vec<u8>>,
    pub client_certificate: Option<ClientIdentityOption>,
    pub proxy: Option<ProxyOption>,
    pub http_version: Option<HttpVersionOption>,
}

macro_rules! given {
    ($builder:ident, $options:ident: $($name:ident $(as $type:ty)?),+) => {
        $(if let Some(value) = $options.$name { $builder = $builder.$name(value$(.pipe::<$type>())?); })+
    };
}

trait Pipe: Sized {
    fn pipe<T: From<Self>>(self) -> T {
        T::from(self)
    }
}

impl Pipe for Span {}
impl Pipe for ResendOption {}
impl Pipe for RecoveryOption {}
impl Pipe for TrustAnnotationsOption {}
impl Pipe for EraOption {}

/// The builder with every option that was given.
pub(crate) fn apply(mut builder: ClientBuilder, options: ClientOptions) -> Result<ClientBuilder, Error> {
    given!(
        builder, options:
        timeout as Duration, idle_timeout as Duration, reset_on_progress, max_total_timeout as Duration, resend as Resend,
        orphan_timeout as Duration, connect_timeout as Duration, connect_patience as Duration, handshake_timeout as Duration,
        close_timeout as Duration, retry_after_max as Duration, pool_idle_timeout as Duration, fresh_connection,
        trust_annotations as TrustAnnotations, recovery as Recovery, era as Era, cache, cookies, lazy, listen, idempotency_keys, root_certificates
    );
    if let Some(extensions) = options.extensions {
        builder = builder.extensions(json_argument("initialize", "extensions", &extensions)?);
    }
    for (tool, given) in options.tool_options {
        builder = builder.tool_options(tool, given.into());
    }
    if let Some(BackoffOption { first, max }) = options.backoff {
        builder = builder.backoff(first.into(), max.into());
    }
    if let Some(RetryBudgetOption { percent, per_second }) = options.retry_budget {
        builder = builder.retry_budget(percent, per_second);
    }
    if let Some(bytes) = options.max_message {
        builder = builder.max_message(size(bytes));
    }
    if let Some(bytes) = options.max_event {
        builder = builder.max_event(size(bytes));
    }
    if let Some(pages) = options.max_pages {
        builder = builder.max_pages(size(pages));
    }
    if let Some(KeepAliveOption { interval, retries }) = options.tcp_keep_alive {
        builder = builder.tcp_keep_alive(interval.into(), retries);
    }
    if let Some(PingOption { interval, timeout }) = options.http2_ping {
        builder = builder.http2_ping(interval.into(), timeout.into());
    }
    if let Some(ClientInfoOption { name, version }) = options.client_info {
        builder = builder.client_info(name, version);
    }
    if let Some(ClientIdentityOption { chain_pem, key_pem }) = options.client_certificate {
        builder = builder.client_certificate(chain_pem, key_pem);
    }
    builder = match options.proxy {
        Some(ProxyOption::Url { url }) => builder.proxy(url),
        Some(ProxyOption::None) => builder.no_proxy(),
        None => builder,
    };
    builder = match options.http_version {
        Some(HttpVersionOption::Http1) => builder.http1_only(),
        Some(HttpVersionOption::Http2) => builder.http2_only(),
        None => builder,
    };
    for HeaderOption { name, value } in options.headers {
        builder = builder.header(name, value);
    }
    if let Some(hook) = options.token_provider {
        builder = builder.token_provider(move |refused| {
            let hook = Arc::clone(&hook);
            async move { ask(hook, refused).await.map_err(ProviderError::from) }
        });
    }
    if let (Some(oauth), Some(hook)) = (options.oauth, options.oauth_hook) {
        let asked: Asked = Arc::new(move |question| {
            let asking = ask(Arc::clone(&hook), Some(question));
            Box::pin(async move { asking.await.map_err(ProviderError::from) })
        });
        let oauth = OAuth::of_binding(&oauth, asked);
        builder = builder.oauth(oauth.map_err(|error| Error::from_option("initialize", None, error))?);
    }
    if let Some(hook) = options.header_provider {
        builder = builder.header_provider(move || {
            let hook = Arc::clone(&hook);
            async move {
                let headers: BTreeMap<String, String> = answer(&ask(hook, None).await?)?;
                Ok(headers.into_iter().collect())
            }
        });
    }
    if let Some(hook) = options.on_sampling {
        builder = builder.on_sampling(move |params| handle(Arc::clone(&hook), params));
    }
    if let Some(hook) = options.on_elicitation {
        builder = builder.on_elicitation(move |params| handle(Arc::clone(&hook), params));
    }
    if let Some(hook) = options.on_roots {
        builder = builder.on_roots(move |params| handle(Arc::clone(&hook), params));
    }
    if let Some(sink) = options.on_notification {
        builder = builder.on_notification(move |notification| {
            sink.notification(notification.method.clone(), notification.params.to_string(), notification.generation);
        });
    }
    if let Some(sink) = options.on_event {
        builder = builder.on_event(move |event| sink.event(crate::events::to_json(event)));
    }
    Ok(builder)
}

fn size(given: u64) -> usize {
    usize::try_from(given).unwrap_or(usize::MAX)
}

async fn handle(hook: Arc<dyn Hook>, params: Value) -> Result<Value, HandlerError> {
    answer(&ask(hook, Some(params.to_string())).await?)
}

/// An answer that is JSON. Its text could hold anything: an error tells only the place.
fn answer<T: DeserializeOwned>(text: &str) -> Result<T, HandlerError> {
    serde_json::from_str(text)
        .map_err(|error| format!("the answer cannot be used: line {}, column {}", error.line(), error.column()).into())
}

// They may hold secrets, so nothing of them is printed.
macro_rules! opaque {
    ($($name:ident),+) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )+};
}

opaque!(ProxyOption, HeaderOption, ClientIdentityOption, ClientOptions);
