//! What a request is called in the ledger and in a script.

use http::{HeaderMap, Method};
use serde_json::Value;

use crate::transport::exchange::WireRequest;
use crate::transport::headers;

pub(super) fn message(request: &WireRequest) -> Value {
    request.body.as_ref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
}

pub(super) fn label<'a>(method: &'a Method, headers: &HeaderMap, message: &'a Value) -> &'a str {
    if method == Method::POST {
        return message.get("method").and_then(Value::as_str).unwrap_or_default();
    }
    if method == Method::GET && headers.contains_key(headers::LAST_EVENT_ID) && is_resume(headers) {
        return "resume";
    }
    method.as_str()
}

/// A listener reads on too: both are a GET with an event id, and only the server's own ids tell them apart.
fn is_resume(headers: &HeaderMap) -> bool {
    !text(headers, headers::LAST_EVENT_ID.as_str()).is_some_and(|id| id.starts_with("listen"))
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
