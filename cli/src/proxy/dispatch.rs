//! From a request of the host to a method of the client, so that the core knows what it may repeat. What it does not know passes as it is.

use std::sync::Arc;

use oncewire::{Call, Client, Error, HandlerError, ListCall, Progress};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::era::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, VERSION};
use crate::rpc::members::{Members, text};

/// The members of `_meta` that the core writes by itself for every attempt.
const KEY: &str = "dev.oncewire/idempotency-key";
const ATTEMPT: &str = "dev.oncewire/attempt";

/// Questions of one call that wait for the leg that carries them to the host.
pub(super) const ASKS: usize = 16;

/// What the server asks while it carries out a call of a modern host.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) answer: oneshot::Sender<Result<Value, HandlerError>>,
}

/// What the host said beside its params.
#[derive(Debug, Default)]
pub(super) struct Meta {
    /// Where its progress goes.
    pub(super) progress_token: Option<Box<RawValue>>,
    /// Under which level it wants log messages.
    pub(super) log_level: Option<String>,
    /// Its own idempotency key.
    key: Option<String>,
}

impl Meta {
    /// Takes out of the params what is for the proxy, or written anew for every attempt.
    pub(super) fn take(params: &mut Members) -> Self {
        let Some(mut meta) = params.object("_meta") else { return Self::default() };
        let mut read = |name: &str| meta.remove(name).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let (log_level, key) = (read(LOG_LEVEL), read(KEY).filter(|key| !key.is_empty()));
        let progress_token = meta.remove("progressToken");
        for name in [ATTEMPT, VERSION, CLIENT_INFO, CLIENT_CAPABILITIES] {
            meta.remove(name);
        }
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.set("_meta", meta.to_raw());
        }
        Self { progress_token, log_level, key }
    }
}

/// Called for each progress notification.
pub(super) type OnProgress = Arc<dyn Fn(&Progress) + Send + Sync>;

/// One request of the host.
pub(super) struct Request {
    pub(super) method: String,
    /// None if there were none.
    pub(super) params: Option<Members>,
    pub(super) meta: Meta,
    pub(super) on_progress: Option<OnProgress>,
    /// Where questions of the server go, if not to the handlers of the client.
    pub(super) asks: Option<mpsc::Sender<Ask>>,
}

impl Request {
    /// Carries it out; what it gives is the result as the server sent it.
    pub(super) async fn carry_out(self, client: &Client) -> Result<Box<RawValue>, Error> {
        let member = |name: &str| self.params.as_ref().and_then(|params| params.read::<String>(name));
        match self.method.as_str() {
            "tools/list" => return self.list(client.list_tools()).await.map(|list| list.raw),
            "resources/list" => return self.list(client.list_resources()).await.map(|list| list.raw),
            "resources/templates/list" => {
                return self.list(client.list_resource_templates()).await.map(|list| list.raw);
            }
            "prompts/list" => return self.list(client.list_prompts()).await.map(|list| list.raw),
            "ping" => return self.call(client.ping()).await.map(|()| empty()),
            "completion/complete" => {
                // The three members are the host's, as they are.
                let reference = self.params.as_ref().and_then(|params| params.read::<Value>("ref"));
                if let Some(reference) = reference {
                    return self.call(client.complete(&reference, "", "")).await.map(|result| result.raw);
                }
            }
            "tools/call" => {
                if let Some(name) = member("name") {
                    return self.call(client.call_tool(name, Value::Null)).await.map(|result| result.raw);
                }
            }
            "prompts/get" => {
                if let Some(name) = member("name") {
                    return self.call(client.get_prompt(name, Value::Null)).await.map(|result| result.raw);
                }
            }
            "resources/read" => {
                if let Some(uri) = member("uri") {
                    return self.call(client.read_resource(uri)).await.map(|result| result.raw);
                }
            }
            "resources/subscribe" => {
                if let Some(uri) = member("uri") {
                    return self.call(client.subscribe(uri)).await.map(|()| empty());
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = member("uri") {
                    return self.call(client.unsubscribe(uri)).await.map(|()| empty());
                }
            }
            "logging/setLevel" => {
                if let Some(level) = member("level") {
                    return self.call(client.set_log_level(level)).await.map(|()| empty());
                }
            }
            _ => {}
        }
        // Another method, or one without what it needs: the server says so in its own words.
        let call = match &self.params {
            Some(_) => client.request_json(self.method.as_str(), "{}"),
            None => client.request(self.method.as_str(), Value::Null),
        };
        self.call(call).await
    }

    fn call<T>(self, mut call: Call<T>) -> Call<T> {
        for (name, value) in self.params.iter().flat_map(Members::iter) {
            call = call.param(name, value.to_owned());
        }
        if let Some(key) = self.meta.key {
            call = call.idempotency_key(key);
        }
        if let Some(on_progress) = self.on_progress {
            call = call.on_progress(move |progress| on_progress(progress));
        }
        if let Some(asks) = self.asks {
            call = call.on_request(move |method, params| ask(asks.clone(), method, params));
        }
        call
    }

    fn list<T>(self, mut list: ListCall<T>) -> ListCall<T> {
        for (name, value) in self.params.iter().flat_map(Members::iter) {
            match serde_json::from_str::<String>(value.get()) {
                Ok(cursor) if name == "cursor" => list = list.cursor(cursor),
                _ => list = list.param(name, value.to_owned()),
            }
        }
        match self.on_progress {
            Some(on_progress) => list.on_progress(move |progress| on_progress(progress)),
            None => list,
        }
    }
}

async fn ask(asks: mpsc::Sender<Ask>, method: String, params: Value) -> Result<Value, HandlerError> {
    let gone = || HandlerError::from("nobody waits for the call any more");
    let (answer, answered) = oneshot::channel();
    asks.send(Ask { method, params, answer }).await.map_err(|_| gone())?;
    answered.await.map_err(|_| gone())?
}

/// The result of a method that has none.
fn empty() -> Box<RawValue> {
    text("{}".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_the_proxy_is_taken_out_and_the_rest_stays() {
        let params = r#"{"name":"a","_meta":{"progressToken":1.0,"io.modelcontextprotocol/logLevel":"info","traceparent":"00","io.modelcontextprotocol/clientInfo":{},"dev.oncewire/idempotency-key":"k","dev.oncewire/attempt":3}}"#;
        let mut params: Members = serde_json::from_str(params).unwrap();
        let meta = Meta::take(&mut params);
        assert_eq!(params.to_raw().get(), r#"{"name":"a","_meta":{"traceparent":"00"}}"#);
        assert_eq!(meta.progress_token.unwrap().get(), "1.0");
        assert_eq!((meta.log_level.as_deref(), meta.key.as_deref()), (Some("info"), Some("k")));
        let mut params: Members = serde_json::from_str(r#"{"_meta":{"progressToken":"t"}}"#).unwrap();
        Meta::take(&mut params);
        assert!(params.is_empty());
    }
}
