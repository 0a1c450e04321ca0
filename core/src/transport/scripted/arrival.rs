//! One request, as the script sees it.

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use url::Url;

use super::Reply;
use super::label::{label, message, text};
use super::ledger::Ledger;
use crate::transport::exchange::WireRequest;
use crate::transport::headers;
use crate::transport::probe::Probe;

/// One request, as the script sees it.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Counts the arrivals at this exchange, from 0.
    pub number: usize,
    /// POST, GET or DELETE.
    pub http_method: Method,
    /// Where it was sent.
    pub url: Url,
    /// All its headers.
    pub headers: HeaderMap,
    /// The JSON-RPC message of a POST; null for GET and DELETE.
    pub message: Value,
    /// It was to go out on a connection of its own.
    pub fresh_connection: bool,
    body: Bytes,
    probe: Probe,
    ledger: Ledger,
}

impl Arrival {
    pub(super) fn new(number: usize, request: WireRequest, ledger: Ledger) -> Self {
        let message = message(&request);
        let WireRequest { method, url, headers, body, probe, fresh_connection } = request;
        let body = body.unwrap_or_default();
        Self { number, http_method: method, url, headers, message, fresh_connection, body, probe, ledger }
    }

    /// The connection asks for the body: from here on the server may have it.
    pub fn take(&self) {
        if self.probe.take() {
            self.ledger.change(self.number, |entry| entry.taken = true);
        }
    }

    /// The JSON-RPC method of a POST; `GET` or `DELETE`; `resume` for a GET that reads on; empty for a reply to the server.
    #[must_use]
    pub fn method(&self) -> &str {
        label(&self.http_method, &self.headers, &self.message)
    }

    /// The id of the request; `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        self.message.get("id").and_then(Value::as_u64)
    }

    /// The session that it carries.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        text(&self.headers, headers::SESSION_ID.as_str())
    }

    /// The value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        text(&self.headers, name)
    }

    /// The event id that a GET reads on after.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        text(&self.headers, headers::LAST_EVENT_ID.as_str())
    }

    /// The tool or prompt that is called, or the URI that is read.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let params = self.message.get("params")?;
        params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str)
    }

    /// A member of the params, by JSON pointer: `/_meta/progressToken`.
    #[must_use]
    pub fn param(&self, pointer: &str) -> Option<&Value> {
        self.message.get("params")?.pointer(pointer)
    }

    /// A field of the body, if that is a form.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        let mut fields = url::form_urlencoded::parse(&self.body);
        fields.find(|(field, _)| field == name).map(|(_, value)| value.into_owned())
    }

    /// The id of the request as JSON; null for a notification.
    #[must_use]
    pub fn json_id(&self) -> Value {
        self.message.get("id").cloned().unwrap_or_default()
    }

    /// The message that answers this request with a result.
    #[must_use]
    pub fn result_message(&self, result: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.json_id(), "result": result })
    }

    /// The message that answers this request with an error.
    #[must_use]
    pub fn error_message(&self, code: i64, message: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.json_id(), "error": { "code": code, "message": message } })
    }

    /// The progress notification of this request; `None` if it carries no progress token.
    #[must_use]
    pub fn progress(&self, progress: f64) -> Option<Value> {
        let token = self.param("/_meta/progressToken")?;
        let params = json!({ "progressToken": token, "progress": progress });
        Some(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
    }

    /// The first message of the stream that this request opens, if it is `subscriptions/listen`: all that was asked for is told.
    #[must_use]
    pub fn acknowledgement(&self) -> Value {
        let filter = self.param("/notifications").cloned().unwrap_or_default();
        let params = json!({
            "_meta": { "io.modelcontextprotocol/subscriptionId": self.json_id() },
            "notifications": filter,
        });
        json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params })
    }

    /// 200 with this result as JSON.
    #[must_use]
    pub fn result(&self, result: &Value) -> Reply {
        Reply::json(200, &self.result_message(result))
    }

    /// 200 with this error as JSON.
    #[must_use]
    pub fn error(&self, code: i64, message: &str) -> Reply {
        Reply::json(200, &self.error_message(code, message))
    }
}
