//! Options as JavaScript writes them: camelCase, times in milliseconds. What is left out is left to the core.

use std::collections::BTreeMap;
use std::time::Duration;

use oncewire::{ClientBuilder, Era, OptionError, Recovery, Resend, TrustAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A time in milliseconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Milliseconds(Duration);

impl TryFrom<f64> for Milliseconds {
    type Error = String;

    fn try_from(milliseconds: f64) -> Result<Self, String> {
        let duration = Duration::try_from_secs_f64(milliseconds / 1_000.0);
        duration.map(Self).map_err(|_| format!("{milliseconds} is no time in milliseconds"))
    }
}

/// Options of one call, of one tool, or the defaults of a client.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CallOptions {
    timeout: Option<Milliseconds>,
    idle_timeout: Option<Milliseconds>,
    reset_timeout_on_progress: Option<bool>,
    max_total_timeout: Option<Milliseconds>,
    resend: Option<Resend>,
    /// The caller's own key, or false for none.
    pub(crate) idempotency_key: Option<IdempotencyKey>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum IdempotencyKey {
    Given(String),
    Switch(bool),
}

impl CallOptions {
    pub(crate) fn to_core(&self) -> oncewire::CallOptions {
        let mut options = oncewire::CallOptions::default();
        options.timeout = self.timeout.map(|time| time.0);
        options.idle_timeout = self.idle_timeout.map(|time| time.0);
        options.reset_on_progress = self.reset_timeout_on_progress;
        options.max_total_timeout = self.max_total_timeout.map(|time| time.0);
        options.resend = self.resend;
        options
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolOptions {
    timeout: Option<Milliseconds>,
    idle_timeout: Option<Milliseconds>,
    reset_timeout_on_progress: Option<bool>,
    max_total_timeout: Option<Milliseconds>,
    resend: Option<Resend>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Backoff {
    first: Milliseconds,
    max: Milliseconds,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RetryBudget {
    percent: f64,
    per_second: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TcpKeepAlive {
    interval: Milliseconds,
    retries: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Http2Ping {
    interval: Milliseconds,
    timeout: Milliseconds,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClientInfo {
    name: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClientCertificate {
    chain: String,
    key: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Proxy {
    Url(String),
    Switch(bool),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum HttpVersion {
    Http1,
    Http2,
}

/// Options of a client. Functions do not come this way: `hooks.rs`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ClientOptions {
    timeout: Option<Milliseconds>,
    idle_timeout: Option<Milliseconds>,
    reset_timeout_on_progress: Option<bool>,
    max_total_timeout: Option<Milliseconds>,
    resend: Option<Resend>,
    #[serde(default)]
    tools: BTreeMap<String, ToolOptions>,
    orphan_timeout: Option<Milliseconds>,
    connect_timeout: Option<Milliseconds>,
    connect_patience: Option<Milliseconds>,
    handshake_timeout: Option<Milliseconds>,
    close_timeout: Option<Milliseconds>,
    retry_after_max: Option<Milliseconds>,
    backoff: Option<Backoff>,
    retry_budget: Option<RetryBudget>,
    max_message: Option<usize>,
    max_event: Option<usize>,
    max_pages: Option<usize>,
    pool_idle_timeout: Option<Milliseconds>,
    fresh_connection: Option<bool>,
    tcp_keep_alive: Option<TcpKeepAlive>,
    http2_ping: Option<Http2Ping>,
    trust_annotations: Option<TrustAnnotations>,
    recovery: Option<Recovery>,
    era: Option<Era>,
    extensions: Option<Map<String, Value>>,
    cache: Option<bool>,
    cookies: Option<bool>,
    lazy: Option<bool>,
    listen: Option<bool>,
    idempotency_keys: Option<bool>,
    token: Option<String>,
    /// As `OAuth::of_binding` takes it.
    pub(crate) oauth: Option<Value>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    client_info: Option<ClientInfo>,
    root_certificates: Option<String>,
    client_certificate: Option<ClientCertificate>,
    proxy: Option<Proxy>,
    http_version: Option<HttpVersion>,
}

/// Reads options; a mistake names the option.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, OptionError> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let option = error.path().to_string();
        // Without the position, which is one in a text that the caller never saw.
        let text = error.inner().to_string();
        let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
        // A mistake in the whole, for example an option that is not known, is told with its name in the text.
        let problem = if option == "." { problem.to_owned() } else { format!("{option}: {problem}") };
        OptionError::new("options", problem)
    })
}

impl ClientOptions {
    /// The builder with all that is set.
    pub(crate) fn builder(self, begun: ClientBuilder) -> ClientBuilder {
        // As everything in Node: `fetch` too trusts what this names.
        let mut builder = begun.trusted_files(std::env::var_os("NODE_EXTRA_CA_CERTS"));
        macro_rules! set {
            ($($option:ident $(as $setter:ident)? = |$value:ident| $given:expr;)+) => {$(
                if let Some($value) = self.$option {
                    builder = set!(@call builder, $option $($setter)?, $given);
                }
            )+};
            (@call $builder:ident, $option:ident, $given:expr) => { $builder.$option($given) };
            (@call $builder:ident, $option:ident $setter:ident, $given:expr) => { $builder.$setter($given) };
        }
        set! {
            timeout = |time| time.0;
            idle_timeout = |time| time.0;
            reset_timeout_on_progress as reset_on_progress = |reset| reset;
            max_total_timeout = |time| time.0;
            resend = |resend| resend;
            orphan_timeout = |time| time.0;
            connect_timeout = |time| time.0;
            connect_patience = |time| time.0;
            handshake_timeout = |time| time.0;
            close_timeout = |time| time.0;
            retry_after_max = |time| time.0;
            max_message = |bytes| bytes;
            max_event = |bytes| bytes;
            max_pages = |pages| pages;
            pool_idle_timeout = |time| time.0;
            fresh_connection = |fresh| fresh;
            trust_annotations = |trust| trust;
            recovery = |recovery| recovery;
            era = |era| era;
            extensions = |extensions| extensions;
            cache = |cache| cache;
            cookies = |cookies| cookies;
            lazy = |lazy| lazy;
            listen = |listen| listen;
            idempotency_keys = |keys| keys;
            token = |token| token;
            root_certificates = |pem| pem;
        }
        if let Some(Backoff { first, max }) = self.backoff {
            builder = builder.backoff(first.0, max.0);
        }
        if let Some(RetryBudget { percent, per_second }) = self.retry_budget {
            builder = builder.retry_budget(percent, per_second);
        }
        if let Some(TcpKeepAlive { interval, retries }) = self.tcp_keep_alive {
            builder = builder.tcp_keep_alive(interval.0, retries);
        }
        if let Some(Http2Ping { interval, timeout }) = self.http2_ping {
            builder = builder.http2_ping(interval.0, timeout.0);
        }
        if let Some(ClientInfo { name, version }) = self.client_info {
            builder = builder.client_info(name, version);
        }
        if let Some(ClientCertificate { chain, key }) = self.client_certificate {
            builder = builder.client_certificate(chain, key);
        }
        builder = match self.proxy {
            Some(Proxy::Url(url)) => builder.proxy(url),
            Some(Proxy::Switch(false)) => builder.no_proxy(),
            Some(Proxy::Switch(true)) | None => builder,
        };
        builder = match self.http_version {
            Some(HttpVersion::Http1) => builder.http1_only(),
            Some(HttpVersion::Http2) => builder.http2_only(),
            None => builder,
        };
        for (name, value) in self.headers {
            builder = builder.header(name, value);
        }
        for (tool, given) in self.tools {
            let mut options = oncewire::CallOptions::default();
            options.timeout = given.timeout.map(|time| time.0);
            options.idle_timeout = given.idle_timeout.map(|time| time.0);
            options.reset_on_progress = given.reset_timeout_on_progress;
            options.max_total_timeout = given.max_total_timeout.map(|time| time.0);
            options.resend = given.resend;
            builder = builder.tool_options(tool, options);
        }
        builder
    }
}
