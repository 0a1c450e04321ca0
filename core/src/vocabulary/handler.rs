//! What the host does for the server: sampling, elicitation, roots, notifications.
//!
//! A capability is advertised only where a handler is given; a request for anything else is answered -32601. A handler that fails or
//! panics fails its own request only.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// Handlers that run at once; a request past that is answered with an error.
pub(crate) const CONCURRENT_HANDLERS: usize = 16;

/// The notifications that a binding holds back for a host whose event loop is busy. A burst passes whole; what does not is counted and told.
pub const NOTIFICATION_QUEUE: usize = 16_384;

/// What a handler fails with. Its text is sent to the server, under the code -32603; a [`HandlerRefusal`] says its own.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// A handler's refusal in the words of JSON-RPC, for example -1 where the user said no to sampling: it reaches the server as it is.
#[derive(Clone, Debug)]
pub struct HandlerRefusal {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// More, if there is any.
    pub data: Option<Value>,
}

impl fmt::Display for HandlerRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for HandlerRefusal {}

/// Answers one kind of request of the server: gets the params, gives the result.
pub(crate) type RequestHandler = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, HandlerError>> + Send + Sync>;

/// Answers what the server asks while it carries out one call: gets method and params.
pub(crate) type CallHandler =
    Arc<dyn Fn(String, Value) -> BoxFuture<'static, Result<Value, HandlerError>> + Send + Sync>;

/// Called for each notification of the server, in order, on the task that reads the stream: it must not block.
pub(crate) type NotificationHandler = Arc<dyn Fn(&ServerNotification) + Send + Sync>;

/// Called for each progress notification of a call, in order and before the result: it must not block.
pub(crate) type ProgressHandler = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A notification of the server: `notifications/message`, `notifications/tools/list_changed`, `notifications/resources/updated`, ….
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerNotification {
    /// The method, as on the wire.
    pub method: String,
    /// The params, as the server sent them; null if there were none.
    pub params: Value,
    /// The generation of the session that it came on.
    pub generation: u64,
}

/// One progress notification (MCP 2025-11-25, basic, utilities, progress).
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Progress {
    /// How far it is.
    pub progress: f64,
    /// How far it will go, if known.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// What the host has to say of one call while it runs.
#[derive(Clone, Default)]
pub(crate) struct CallHooks {
    pub(crate) on_progress: Option<ProgressHandler>,
    pub(crate) on_request: Option<CallHandler>,
}

/// What the host can do.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    /// What is declared of the capabilities besides that there is a handler.
    pub(crate) declared: Map<String, Value>,
    pub(crate) sampling: Option<RequestHandler>,
    pub(crate) elicitation: Option<RequestHandler>,
    pub(crate) roots: Option<RequestHandler>,
    pub(crate) notification: Option<NotificationHandler>,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Handlers")
            .field("sampling", &self.sampling.is_some())
            .field("elicitation", &self.elicitation.is_some())
            .field("roots", &self.roots.is_some())
            .field("notification", &self.notification.is_some())
            .finish()
    }
}

impl Handlers {
    /// Is there any?
    pub(crate) fn any(&self) -> bool {
        self.notification.is_some() || self.sampling.is_some() || self.elicitation.is_some() || self.roots.is_some()
    }

    /// The capabilities of the client: what there is a handler for, and what is declared besides.
    pub(crate) fn capabilities(&self) -> Map<String, Value> {
        let mut capabilities = Map::new();
        if self.sampling.is_some() {
            capabilities.insert("sampling".into(), Value::Object(Map::new()));
        }
        if self.elicitation.is_some() {
            capabilities.insert("elicitation".into(), Value::Object(Map::new()));
        }
        if self.roots.is_some() {
            capabilities.insert("roots".into(), serde_json::json!({ "listChanged": false }));
        }
        for (name, declared) in &self.declared {
            match (capabilities.get_mut(name).and_then(Value::as_object_mut), declared) {
                (Some(own), Value::Object(declared)) => own.extend(declared.clone()),
                _ => drop(capabilities.insert(name.clone(), declared.clone())),
            }
        }
        capabilities
    }

    /// What is declared and cannot be kept: a capability of the client that has no handler, or settings that are no object.
    pub(crate) fn problem(&self) -> Option<String> {
        self.declared.iter().find_map(|(name, declared)| {
            let missing = match name.as_str() {
                "sampling" => self.sampling.is_none(),
                "elicitation" => self.elicitation.is_none(),
                "roots" => self.roots.is_none(),
                _ => false,
            };
            if missing {
                Some(format!("{name} is declared, and there is no handler for it"))
            } else {
                (!declared.is_object()).then(|| format!("the settings of {name} are no JSON object"))
            }
        })
    }

    /// The handler of this request of the server: that of the call on whose stream it came, if it has one of its own, else the client's. A
    /// call answers nothing that the client does not declare.
    pub(crate) fn of(&self, method: &str, call: Option<CallHandler>) -> Option<RequestHandler> {
        let own = match method {
            "sampling/createMessage" => self.sampling.clone(),
            "elicitation/create" => self.elicitation.clone(),
            "roots/list" => self.roots.clone(),
            _ => None,
        }?;
        let handler = match call {
            Some(call) => {
                let method = method.to_owned();
                Arc::new(move |params| call(method.clone(), params))
            }
            None => own,
        };
        Some(if method == "elicitation/create" { with_schema_defaults(handler) } else { handler })
    }
}

/// A request handler from an async function.
pub(crate) fn boxed<F, R>(handler: F) -> RequestHandler
where
    F: Fn(Value) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, HandlerError>> + Send + 'static,
{
    Arc::new(move |params| Box::pin(handler(params)))
}

/// Fills what an accepting answer leaves out with the defaults of the requested schema (MCP 2025-11-25, client, elicitation).
fn with_schema_defaults(handler: RequestHandler) -> RequestHandler {
    Arc::new(move |params| {
        let defaults = defaults(&params);
        let answer = handler(params);
        Box::pin(async move {
            let mut answer = answer.await?;
            if answer.get("action").and_then(Value::as_str) == Some("accept")
                && !defaults.is_empty()
                && let Some(answer) = answer.as_object_mut()
            {
                let content = answer.entry("content").or_insert_with(|| Value::Object(Map::new()));
                if let Some(content) = content.as_object_mut() {
                    for (name, default) in defaults {
                        content.entry(name).or_insert(default);
                    }
                }
            }
            Ok(answer)
        })
    })
}

fn defaults(params: &Value) -> Vec<(String, Value)> {
    let Some(properties) = params.pointer("/requestedSchema/properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    properties
        .iter()
        .filter_map(|(name, schema)| schema.get("default").map(|default| (name.clone(), default.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn elicitation(answer: Value) -> RequestHandler {
        let handlers = Handlers {
            elicitation: Some(boxed(move |_| std::future::ready(Ok(answer.clone())))),
            ..Handlers::default()
        };
        handlers.of("elicitation/create", None).unwrap()
    }

    fn asked() -> Value {
        json!({ "requestedSchema": { "properties": { "name": { "default": "Ada" }, "age": { "default": 36 }, "mail": {} } } })
    }

    #[tokio::test]
    async fn an_accepting_answer_gets_the_defaults_that_it_leaves_out() {
        let answer = elicitation(json!({ "action": "accept", "content": { "age": 7 } }))(asked()).await.unwrap();
        assert_eq!(answer, json!({ "action": "accept", "content": { "age": 7, "name": "Ada" } }));
        let answer = elicitation(json!({ "action": "accept" }))(asked()).await.unwrap();
        assert_eq!(answer, json!({ "action": "accept", "content": { "age": 36, "name": "Ada" } }));
    }

    #[tokio::test]
    async fn a_declining_answer_stays_as_it_is() {
        let answer = elicitation(json!({ "action": "decline" }))(asked()).await.unwrap();
        assert_eq!(answer, json!({ "action": "decline" }));
    }

    #[test]
    fn only_what_has_a_handler_is_advertised() {
        assert_eq!(Handlers::default().capabilities(), Map::new());
        assert!(Handlers::default().of("roots/list", None).is_none());
    }

    #[test]
    fn what_is_declared_goes_into_the_capability_that_has_a_handler() {
        let mut handlers =
            Handlers { roots: Some(boxed(|_| std::future::ready(Ok(json!({}))))), ..Handlers::default() };
        handlers.declared =
            json!({ "roots": { "listChanged": true }, "experimental": { "x": {} } }).as_object().cloned().unwrap();
        assert_eq!(handlers.problem(), None);
        let capabilities = Value::Object(handlers.capabilities());
        assert_eq!(capabilities, json!({ "roots": { "listChanged": true }, "experimental": { "x": {} } }));
        handlers.roots = None;
        assert!(handlers.problem().unwrap().contains("roots"));
        handlers.declared = json!({ "experimental": 1 }).as_object().cloned().unwrap();
        assert!(handlers.problem().unwrap().contains("experimental"));
    }

    #[tokio::test]
    async fn a_call_answers_only_what_the_client_declares() {
        let call: CallHandler = Arc::new(|method, _| Box::pin(async move { Ok(json!(method)) }));
        let handlers =
            Handlers { roots: Some(boxed(|_| std::future::ready(Ok(json!("client"))))), ..Handlers::default() };
        let answer = handlers.of("roots/list", Some(Arc::clone(&call))).unwrap()(Value::Null).await.unwrap();
        assert_eq!(answer, "roots/list");
        assert!(handlers.of("elicitation/create", Some(call)).is_none());
    }
}
