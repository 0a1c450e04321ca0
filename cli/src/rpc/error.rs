//! The error member of an answer.

use oncewire::{Error, Kind};
use serde_json::Value;
use serde_json::value::RawValue;

use super::members::raw;

/// JSON-RPC 2.0, section 5.1: not JSON.
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// JSON-RPC 2.0, section 5.1: JSON, but no request.
pub(crate) const INVALID_REQUEST: i64 = -32_600;
/// JSON-RPC 2.0, section 5.1: the method does not exist.
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
/// JSON-RPC 2.0, section 5.1: params that cannot be used.
pub(crate) const INVALID_PARAMS: i64 = -32_602;
/// JSON-RPC 2.0, section 5.1: an internal error. Also of a call that was lost: hosts give codes of their own (-32000, -32001, …) meanings
/// of their own, some as far as to take the connection for closed; this one they show.
pub(crate) const INTERNAL_ERROR: i64 = -32_603;

/// An error, as it goes out.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Box<RawValue>>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(self, data: &Value) -> Self {
        Self { data: Some(raw(data)), ..self }
    }

    /// The JSON of it.
    pub(crate) fn to_json(&self) -> String {
        let data = self.data.as_ref().map(|data| format!(",\"data\":{data}")).unwrap_or_default();
        format!("{{\"code\":{},\"message\":{}{data}}}", self.code, Value::from(self.message.as_str()))
    }
}

impl From<&Error> for RpcError {
    /// What the server answered goes on as the server's own. Of a call that it did not answer the text says what happened, whether it ran and
    /// what to do, and the data is the verdict.
    fn from(error: &Error) -> Self {
        match error {
            Error::Answered(failure) if failure.kind == Kind::Rpc => {
                let code = if failure.code == 0 { INTERNAL_ERROR } else { failure.code };
                Self { code, message: failure.message.clone(), data: failure.data.clone() }
            }
            lost => {
                let code = if lost.kind() == Kind::Config { INVALID_PARAMS } else { INTERNAL_ERROR };
                Self::new(code, lost.to_string()).with_data(&lost.to_json())
            }
        }
    }
}
