//! A request as the script and the ledger see it.

use serde_json::Value;

/// One HTTP request, read in full.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The client asked to close after this exchange.
    pub(crate) close: bool,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The bearer token, or the whole field if it is of another scheme.
    pub(crate) fn token(&self) -> Option<String> {
        let value = self.header("authorization")?;
        Some(value.strip_prefix("Bearer ").unwrap_or(value).to_owned())
    }
}

/// The JSON-RPC side of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rpc {
    /// The whole message.
    pub(crate) message: Value,
    /// Absent in a response.
    pub(crate) method: Option<String>,
    /// Absent in a notification.
    pub(crate) id: Option<Value>,
    /// Tool, prompt or URI.
    pub(crate) name: Option<String>,
}

impl Rpc {
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let message: Value = serde_json::from_slice(body).ok()?;
        message.as_object()?;
        let params = &message["params"];
        let name = ["name", "uri"]
            .iter()
            .find_map(|key| params[key].as_str())
            .or_else(|| params["ref"]["name"].as_str())
            .or_else(|| params["ref"]["uri"].as_str())
            .map(str::to_owned);
        Some(Self {
            method: message["method"].as_str().map(str::to_owned),
            id: message.get("id").cloned(),
            name,
            message,
        })
    }

    pub(crate) fn params(&self) -> &Value {
        &self.message["params"]
    }

    /// A method and an id: it must be answered.
    pub(crate) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }

    /// No method: an answer to a request of ours.
    pub(crate) fn is_response(&self) -> bool {
        self.method.is_none() && self.id.is_some()
    }

    pub(crate) fn meta(&self, key: &str) -> Option<Value> {
        self.params()["_meta"].get(key).cloned()
    }

    pub(crate) fn progress_token(&self) -> Option<Value> {
        self.meta("progressToken")
    }
}
