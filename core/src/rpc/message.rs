//! A thin envelope over raw JSON: what a message is, and nothing of what is in it.
//!
//! Reading is tolerant where a slip of the server must not lose an answer (a missing `jsonrpc`, an error that is only a text,
//! members that are null), and strict where tolerance would invent one: bytes that are not JSON, and objects without result,
//! error and method, are no messages. Results and params stay raw, so nothing in them is lost or overflows the stack.

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::id::Id;
use super::params::Params;
use crate::vocabulary::handler::HandlerRefusal;

/// One JSON-RPC message of the server.
#[derive(Debug)]
pub(crate) enum Message {
    /// A result; without an id it bears the id null, which is no one's.
    Result {
        /// Whose result.
        id: Id,
        /// The result.
        result: Box<RawValue>,
    },
    /// An error.
    Error {
        /// Whose error, unless the id is null or missing.
        id: Option<Id>,
        /// The error.
        error: ErrorObject,
    },
    /// A request of the server.
    Request {
        /// Its id.
        id: Id,
        /// Its method.
        method: String,
        /// Its params, unless null or missing.
        params: Option<Box<RawValue>>,
    },
    /// A notification of the server; also a request whose id is null, for it cannot be answered.
    Notification {
        /// Its method.
        method: String,
        /// Its params, unless null or missing.
        params: Option<Box<RawValue>>,
    },
}

/// The error of an answer.
#[derive(Clone, Debug)]
pub(crate) struct ErrorObject {
    /// The code; 0 if there is none that can be read.
    pub(crate) code: i64,
    /// The message; of an error that is only a text, that text.
    pub(crate) message: String,
    /// The data, unless null or missing.
    pub(crate) data: Option<Box<RawValue>>,
    /// Does it have the form that JSON-RPC gives errors (`"jsonrpc":"2.0"`, a whole code, a message)? Where it does not, a
    /// gateway may have made it: `{"error":"upstream timed out"}`.
    pub(crate) well_formed: bool,
}

/// Bytes that are no message. The text holds a position and nothing of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
    /// Not JSON, or not UTF-8.
    NotJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// The JSON ends too early.
    Incomplete,
    /// JSON, but neither an object nor an array.
    NotAnObject,
    /// An object, or an array of objects, without result, error and method.
    NoMessage,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { line, column } => write!(formatter, "not JSON: line {line}, column {column}"),
            Self::Incomplete => formatter.write_str("the JSON ends too early"),
            Self::NotAnObject => formatter.write_str("neither a JSON object nor an array"),
            Self::NoMessage => formatter.write_str("JSON without result, error and method"),
        }
    }
}

impl std::error::Error for ParseError {}

impl From<serde_json::Error> for ParseError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_eof() { Self::Incomplete } else { Self::NotJson { line: error.line(), column: error.column() } }
    }
}

/// The messages in these bytes: one, or those of an array, as 2025-03-26 allows. Of an array the elements that are no messages
/// are passed over, unless all are. The number of elements is bounded by the limit on `bytes` alone.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Message>, ParseError> {
    // RFC 8259, section 8.1: a byte order mark may be ignored.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => {
            let envelope: Envelope = serde_json::from_slice(bytes)?;
            Ok(vec![envelope.message().ok_or(ParseError::NoMessage)?])
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_slice(bytes)?;
            let messages: Vec<Message> = elements.into_iter().filter_map(element).collect();
            if messages.is_empty() { Err(ParseError::NoMessage) } else { Ok(messages) }
        }
        None => Err(ParseError::Incomplete),
        Some(_) => {
            let _: IgnoredAny = serde_json::from_slice(bytes)?;
            Err(ParseError::NotAnObject)
        }
    }
}

/// As [`parse`]; bytes that are not UTF-8 are read as U+FFFD, so that they cost no more than themselves.
pub(crate) fn parse_lossily(bytes: &[u8]) -> Result<Vec<Message>, ParseError> {
    match parse(bytes) {
        Err(_) if std::str::from_utf8(bytes).is_err() => parse(String::from_utf8_lossy(bytes).as_bytes()),
        parsed => parsed,
    }
}

/// The messages in an event of a stream of MCP. A server may name its events as it likes, but what has a name of its own is a message only if
/// it plainly is one; a heartbeat of the server's own, which no message begins like, is none.
pub(crate) fn read_event(name: Option<&str>, data: &str) -> Result<Vec<Message>, ParseError> {
    let is_message = name.is_none_or(|name| name.is_empty() || name == "message");
    match parse(data.as_bytes()) {
        Ok(messages) if is_message => Ok(messages),
        Ok(mut messages) => {
            messages.retain(|message| !matches!(message, Message::Error { id: None, .. }));
            Ok(messages)
        }
        Err(error) if is_message && data.trim_start().starts_with(['{', '[']) => Err(error),
        Err(_) => Ok(Vec::new()),
    }
}

/// Does this text, which is no JSON, have a member `id` with this id, as far as can be told?
pub(crate) fn names_id(text: &str, id: u64) -> bool {
    let id = id.to_string();
    text.split("\"id\"").skip(1).any(|rest| {
        let Some(value) = rest.trim_start().strip_prefix(':') else { return false };
        let value = value.trim_start();
        let value = value.strip_prefix('"').unwrap_or(value);
        value.strip_prefix(&*id).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    })
}

fn element(raw: &RawValue) -> Option<Message> {
    if !raw.get().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Envelope>(raw.get()).ok()?.message()
}

/// The members that make a message. Each is raw, of a repeated one the last counts, and null is as good as missing, but for
/// the result.
#[derive(Default)]
struct Envelope {
    version: Option<Box<RawValue>>,
    id: Option<Box<RawValue>>,
    method: Option<Box<RawValue>>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

impl Envelope {
    fn message(self) -> Option<Message> {
        let id = self.id.map(Id::from_raw);
        if let Some(error) = self.error {
            let version = self.version.is_some_and(|version| version.get() == "\"2.0\"");
            return Some(Message::Error { id, error: ErrorObject::read(&error, version) });
        }
        if let Some(result) = self.result {
            return Some(Message::Result { id: id.unwrap_or_else(|| Id::Other(RawValue::NULL.to_owned())), result });
        }
        let method: String = serde_json::from_str(self.method?.get()).ok()?;
        Some(match id {
            Some(id) => Message::Request { id, method, params: self.params },
            None => Message::Notification { method, params: self.params },
        })
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Envelope;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope, A::Error> {
                let mut envelope = Envelope::default();
                let given = |raw: Box<RawValue>| (raw.get() != "null").then_some(raw);
                while let Some(key) = map.next_key::<Key>()? {
                    match key {
                        Key::Version => envelope.version = Some(map.next_value()?),
                        Key::Id => envelope.id = given(map.next_value()?),
                        Key::Method => envelope.method = given(map.next_value()?),
                        Key::Params => envelope.params = given(map.next_value()?),
                        Key::Result => envelope.result = Some(map.next_value()?),
                        Key::Error => envelope.error = given(map.next_value()?),
                        Key::Other => _ = map.next_value::<IgnoredAny>()?,
                    }
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

enum Key {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }
            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "jsonrpc" => Key::Version,
                    "id" => Key::Id,
                    "method" => Key::Method,
                    "params" => Key::Params,
                    "result" => Key::Result,
                    "error" => Key::Error,
                    _ => Key::Other,
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

impl ErrorObject {
    fn read(raw: &RawValue, version: bool) -> Self {
        #[derive(serde::Deserialize)]
        struct Members {
            code: Option<Box<RawValue>>,
            message: Option<Box<RawValue>>,
            data: Option<Box<RawValue>>,
        }
        if !raw.get().starts_with('{') {
            return Self { code: 0, message: text(raw), data: None, well_formed: false };
        }
        match serde_json::from_str::<Members>(raw.get()) {
            Ok(Members { code, message, data }) => {
                let whole = code.as_deref().and_then(|code| code.get().parse().ok());
                let said = message.as_deref().is_some_and(|message| message.get().starts_with('"'));
                Self {
                    code: whole.or_else(|| code.as_deref().and_then(loose_code)).unwrap_or(0),
                    message: message.as_deref().map(text).unwrap_or_default(),
                    data,
                    well_formed: version && whole.is_some() && said,
                }
            }
            // A member twice: the error is kept whole, as text.
            Err(_) => Self { code: 0, message: raw.get().to_owned(), data: None, well_formed: false },
        }
    }
}

/// A string as its text, anything else as its JSON.
fn text(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

/// A code written as a float or as a string of digits.
fn loose_code(raw: &RawValue) -> Option<i64> {
    if raw.get().starts_with('"') {
        return text(raw).parse().ok();
    }
    let code: f64 = raw.get().parse().ok()?;
    (code.fract() == 0.0 && code.abs() < 9e15).then_some(code as i64)
}

/// A request of ours.
pub(crate) fn request_bytes(id: u64, method: &str, params: &Params) -> Bytes {
    call(Some(id), method, params)
}

/// A notification of ours.
pub(crate) fn notification_bytes(method: &str, params: &Params) -> Bytes {
    call(None, method, params)
}

fn call(id: Option<u64>, method: &str, params: &Params) -> Bytes {
    let id = id.map(|id| format!("\"id\":{id},")).unwrap_or_default();
    let params = params.to_json().map(|params| format!(",\"params\":{params}")).unwrap_or_default();
    Bytes::from(format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":{}{params}}}", quoted(method)))
}

/// Our answer to a request of the server.
pub(crate) fn result_bytes(id: &Id, result: &RawValue) -> Bytes {
    Bytes::from(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}}", id.to_json(), result.get()))
}

/// Our refusal of a request of the server.
pub(crate) fn error_bytes(id: &Id, code: i64, message: &str) -> Bytes {
    let message = quoted(message);
    Bytes::from(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{\"code\":{code},\"message\":{message}}}}}",
        id.to_json()
    ))
}

/// The same, with all that a handler says of it.
pub(crate) fn refusal_bytes(id: &Id, refusal: &HandlerRefusal) -> Bytes {
    let HandlerRefusal { code, message, data } = refusal;
    let data = data.as_ref().map(|data| format!(",\"data\":{data}")).unwrap_or_default();
    let (id, message) = (id.to_json(), quoted(message));
    Bytes::from(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}{data}}}}}"
    ))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
