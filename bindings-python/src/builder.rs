//! The options of a client: one line for each option of the core's builder, in its order.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use oncewire::oauth::{Asked, OAuth};
use oncewire::{ClientBuilder, EVENT_QUEUE, HandlerError, NOTIFICATION_QUEUE, ServerNotification};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::callbacks::{Callback, Mailbox};
use crate::given::{bytes, call_options, callable, count, members, pair, seconds, text, truth, unknown, word};
use crate::queue::Loop;
use crate::state::State;

/// Where the callbacks of a client run.
pub(crate) struct Host {
    pub(crate) state: Arc<State>,
    pub(crate) to: Option<Loop>,
    /// All that were made.
    pub(crate) callbacks: RefCell<Vec<Arc<Callback>>>,
}

impl Host {
    fn callback(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Arc<Callback>> {
        let call = callable(name, value)?;
        let to = self.to.clone().ok_or_else(|| PyRuntimeError::new_err(format!("{name}: there is no loop for it")))?;
        let callback = Callback::new(Arc::clone(&self.state), to, call);
        self.callbacks.borrow_mut().push(Arc::clone(&callback));
        Ok(callback)
    }
}

/// The variables by which Python's own `ssl`, httpx and requests are told of more authorities, or of other ones.
const TRUSTED: [&str; 3] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
/// The same, of folders.
const TRUSTED_FOLDERS: &str = "SSL_CERT_DIR";

fn trusted_by_python() -> Vec<PathBuf> {
    let files = TRUSTED.iter().filter_map(std::env::var_os).map(PathBuf::from);
    let folders = std::env::var_os(TRUSTED_FOLDERS).unwrap_or_default();
    files.chain(std::env::split_paths(&folders)).collect()
}

/// The builder with what is given.
pub(crate) fn builder(begun: ClientBuilder, given: &Bound<'_, PyDict>, host: &Host) -> PyResult<ClientBuilder> {
    let mut builder = begun.trusted_files(trusted_by_python());
    for (name, value) in given {
        if !value.is_none() {
            builder = option(builder, &name.extract::<String>()?, &value, host)?;
        }
    }
    Ok(builder)
}

fn option(b: ClientBuilder, name: &str, value: &Bound<'_, PyAny>, host: &Host) -> PyResult<ClientBuilder> {
    Ok(match name {
        "timeout" => b.timeout(seconds(name, value)?),
        "idle_timeout" => b.idle_timeout(seconds(name, value)?),
        "reset_on_progress" => b.reset_on_progress(truth(name, value)?),
        "max_total_timeout" => b.max_total_timeout(seconds(name, value)?),
        "resend" => b.resend(word(name, value)?),
        "tool_options" => return tool_options(b, name, value),
        "orphan_timeout" => b.orphan_timeout(seconds(name, value)?),
        "connect_timeout" => b.connect_timeout(seconds(name, value)?),
        "connect_patience" => b.connect_patience(seconds(name, value)?),
        "handshake_timeout" => b.handshake_timeout(seconds(name, value)?),
        "close_timeout" => b.close_timeout(seconds(name, value)?),
        "retry_after_max" => b.retry_after_max(seconds(name, value)?),
        "backoff" => {
            let (first, max) = pair(name, value, "a pair of durations: (first, max)")?;
            b.backoff(seconds(name, &first)?, seconds(name, &max)?)
        }
        "retry_budget" => {
            let (percent, per_second) = pair(name, value, "a pair of numbers: (percent, per_second)")?;
            b.retry_budget(count(name, &percent)?, count(name, &per_second)?)
        }
        "max_message" => b.max_message(count(name, value)?),
        "max_event" => b.max_event(count(name, value)?),
        "max_pages" => b.max_pages(count(name, value)?),
        "pool_idle_timeout" => b.pool_idle_timeout(seconds(name, value)?),
        "fresh_connection" => b.fresh_connection(truth(name, value)?),
        "tcp_keep_alive" => {
            let (interval, retries) = pair(name, value, "a pair: (interval, retries)")?;
            b.tcp_keep_alive(seconds(name, &interval)?, count(name, &retries)?)
        }
        "http2_ping" => {
            let (interval, timeout) = pair(name, value, "a pair of durations: (interval, timeout)")?;
            b.http2_ping(seconds(name, &interval)?, seconds(name, &timeout)?)
        }
        "trust_annotations" => b.trust_annotations(word(name, value)?),
        "recovery" => b.recovery(word(name, value)?),
        "era" => b.era(word(name, value)?),
        "extensions" => b.extensions(members(name, value)?),
        "cache" => b.cache(truth(name, value)?),
        "cookies" => b.cookies(truth(name, value)?),
        "lazy" => b.lazy(truth(name, value)?),
        "listen" => b.listen(truth(name, value)?),
        "idempotency_keys" => b.idempotency_keys(truth(name, value)?),
        "client_info" => {
            let (name_given, version) = pair(name, value, "a pair of str: (name, version)")?;
            b.client_info(text(name, &name_given)?, text(name, &version)?)
        }
        "root_certificates" => b.root_certificates(bytes(name, value)?),
        "client_certificate" => {
            let (chain, key) = pair(name, value, "a pair: (chain_pem, key_pem)")?;
            b.client_certificate(bytes(name, &chain)?, bytes(name, &key)?)
        }
        "proxy" => b.proxy(text(name, value)?),
        "no_proxy" => on_if(b, truth(name, value)?, ClientBuilder::no_proxy),
        "http1_only" => on_if(b, truth(name, value)?, ClientBuilder::http1_only),
        "http2_only" => on_if(b, truth(name, value)?, ClientBuilder::http2_only),
        _ => return callbacks(b, name, value, host),
    })
}

/// A switch of the core that has no off.
fn on_if(b: ClientBuilder, on: bool, switch: impl FnOnce(ClientBuilder) -> ClientBuilder) -> ClientBuilder {
    if on { switch(b) } else { b }
}

fn tool_options(mut b: ClientBuilder, name: &str, value: &Bound<'_, PyAny>) -> PyResult<ClientBuilder> {
    for item in value.call_method0("items")?.try_iter()? {
        let (tool, given) = pair(name, &item?, "a mapping of tool names to options")?;
        b = b.tool_options(text(name, &tool)?, call_options(name, &given)?);
    }
    Ok(b)
}

/// The options of the login as JSON, and who answers what it asks.
fn oauth(name: &str, value: &Bound<'_, PyAny>, host: &Host) -> PyResult<OAuth> {
    let (options, answers) = pair(name, value, "an OAuth")?;
    let callback = host.callback(name, &answers)?;
    let asked: Asked = Arc::new(move |question| Box::pin(Arc::clone(&callback).ask(Some(question))));
    OAuth::of_binding(&text(name, &options)?, asked).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn callbacks(b: ClientBuilder, name: &str, value: &Bound<'_, PyAny>, host: &Host) -> PyResult<ClientBuilder> {
    Ok(match name {
        "token" if value.is_callable() => {
            let callback = host.callback(name, value)?;
            b.token_provider(move |refused| Arc::clone(&callback).ask(refused))
        }
        "token" => b.token(text(name, value)?),
        "oauth" => b.oauth(oauth(name, value, host)?),
        "headers" if value.is_callable() => {
            let callback = host.callback(name, value)?;
            b.header_provider(move || {
                let asked = Arc::clone(&callback).ask(None);
                async move { Ok(serde_json::from_str::<Vec<(String, String)>>(&asked.await?)?) }
            })
        }
        "headers" => {
            let mut b = b;
            for item in value.call_method0("items")?.try_iter()? {
                let (header, content) = pair(name, &item?, "a mapping of str to str")?;
                b = b.header(text(name, &header)?, text(name, &content)?);
            }
            b
        }
        "on_sampling" => b.on_sampling(request_handler(host.callback(name, value)?)),
        "on_elicitation" => b.on_elicitation(request_handler(host.callback(name, value)?)),
        "on_roots" => b.on_roots(request_handler(host.callback(name, value)?)),
        "on_notification" => {
            let mailbox = Mailbox::new(host.callback(name, value)?, "notifications", NOTIFICATION_QUEUE);
            b.on_notification(move |notification| mailbox.tell(notification_json(notification)))
        }
        "on_event" => {
            let mailbox = Mailbox::new(host.callback(name, value)?, "events", EVENT_QUEUE);
            b.on_event(move |event| {
                if let Ok(text) = serde_json::to_string(event) {
                    mailbox.tell(text);
                }
            })
        }
        _ => return Err(unknown(name)),
    })
}

fn request_handler(
    callback: Arc<Callback>,
) -> impl Fn(Value) -> futures_util::future::BoxFuture<'static, Result<Value, HandlerError>> {
    move |params| {
        let asked = Arc::clone(&callback).ask(Some(params.to_string()));
        Box::pin(async move { Ok(serde_json::from_str(&asked.await?)?) })
    }
}

fn notification_json(notification: &ServerNotification) -> String {
    let ServerNotification { method, params, generation, .. } = notification;
    json!({ "method": method, "params": params, "generation": generation }).to_string()
}
