//! What one line is: a message, a batch, or nothing that can be used, with the error that says so.

use serde_json::Value;
use serde_json::value::RawValue;

use super::error::{INVALID_REQUEST, PARSE_ERROR, RpcError};
use super::members::Members;

/// The id of a request: a text or a number, as it was written. `1` and `"1"` are two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(String);

impl Id {
    /// The id that this JSON is; `None` for anything but a text or a number.
    pub(crate) fn of(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        match text.as_bytes().first()? {
            // Escapes are no part of an id.
            b'"' => serde_json::from_str::<String>(text).ok().map(|text| Self::text(&text)),
            b'-' | b'0'..=b'9' => Some(Self(text.to_owned())),
            _ => None,
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self(Value::from(text).to_string())
    }

    /// The JSON of it.
    pub(crate) fn to_json(&self) -> &str {
        &self.0
    }
}

/// One message.
#[derive(Debug)]
pub(crate) enum Message {
    Request {
        id: Id,
        method: String,
        /// Unless null or absent.
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        /// Unless null or absent.
        params: Option<Box<RawValue>>,
    },
    Answer {
        id: Id,
        /// The result, or the error object, as it was written.
        outcome: Result<Box<RawValue>, Box<RawValue>>,
    },
}

/// A line that is no message.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// Of the request that it was meant to be, if that can be told.
    pub(crate) id: Option<Id>,
    pub(crate) error: RpcError,
}

/// One line.
#[derive(Debug)]
pub(crate) enum Line {
    One(Result<Message, Wrong>),
    /// An array: no message since MCP 2025-06-18. These are the ids of the requests in it.
    Batch(Vec<Id>),
    /// Nothing but white space.
    Blank,
}

/// Reads one line.
pub(crate) fn read(line: &[u8]) -> Line {
    // RFC 8259, section 8.1: a byte order mark may be ignored.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Line::Blank,
        Some(b'[') => match serde_json::from_slice::<Vec<Box<RawValue>>>(line) {
            Ok(elements) => Line::Batch(elements.iter().filter_map(|element| request_id(element)).collect()),
            Err(error) => Line::One(Err(not_json(&error))),
        },
        Some(_) => Line::One(message(line)),
    }
}

/// The id of the request that this is.
fn request_id(raw: &RawValue) -> Option<Id> {
    match message(raw.get().as_bytes()) {
        Ok(Message::Request { id, .. }) => Some(id),
        Ok(_) => None,
        Err(wrong) => wrong.id,
    }
}

fn message(line: &[u8]) -> Result<Message, Wrong> {
    let given: Box<RawValue> = serde_json::from_slice(line).map_err(|error| not_json(&error))?;
    let Some(mut members) = Members::of(&given) else { return Err(no_message(None, "it is no JSON object")) };
    let present = |raw: Box<RawValue>| (raw.get() != "null").then_some(raw);
    let raw_id = members.remove("id").and_then(present);
    let id = raw_id.as_deref().and_then(Id::of);
    if raw_id.is_some() && id.is_none() {
        return Err(no_message(None, "its id is neither a text nor a number"));
    }
    if let Some(method) = members.remove("method").and_then(present) {
        let Ok(method) = serde_json::from_str::<String>(method.get()) else {
            return Err(no_message(id, "its method is no text"));
        };
        let params = members.remove("params").and_then(present);
        return Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    let outcome = match (members.remove("result"), members.remove("error").and_then(present)) {
        (_, Some(error)) => Err(error),
        (Some(result), None) => Ok(result),
        (None, None) => return Err(no_message(id, "it has neither method nor result nor error")),
    };
    match id {
        Some(id) => Ok(Message::Answer { id, outcome }),
        None => Err(no_message(None, "it answers no id")),
    }
}

/// The position, and nothing of the content: that may be secret.
fn not_json(error: &serde_json::Error) -> Wrong {
    let message = format!("the line is not JSON: column {}", error.column());
    Wrong { id: None, error: RpcError::new(PARSE_ERROR, message) }
}

fn no_message(id: Option<Id>, problem: &str) -> Wrong {
    Wrong { id, error: RpcError::new(INVALID_REQUEST, format!("the line is no JSON-RPC message: {problem}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<Message, Wrong> {
        match read(line.as_bytes()) {
            Line::One(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_kind_is_told_by_its_members() {
        assert!(matches!(one(r#"{"id":1,"method":"ping"}"#), Ok(Message::Request { params: None, .. })));
        assert!(matches!(
            one(r#"{"id":null,"method":"x","params":{}}"#),
            Ok(Message::Notification { params: Some(_), .. })
        ));
        assert!(matches!(one(r#"{"id":"a","result":null}"#), Ok(Message::Answer { outcome: Ok(_), .. })));
        assert!(matches!(one(r#"{"id":"a","result":1,"error":{}}"#), Ok(Message::Answer { outcome: Err(_), .. })));
        assert!(matches!(read(b" \r"), Line::Blank));
        assert!(matches!(one("\u{feff}{\"method\":\"x\"}"), Ok(Message::Notification { .. })));
    }

    #[test]
    fn what_cannot_be_used_says_why_and_bears_the_id_that_it_can() {
        for (line, code, id) in [
            ("{", PARSE_ERROR, None),
            ("hello", PARSE_ERROR, None),
            ("7", INVALID_REQUEST, None),
            (r#"{"id":{},"method":"x"}"#, INVALID_REQUEST, None),
            (r#"{"id":3,"method":4}"#, INVALID_REQUEST, Some("3")),
            (r#"{"id":"q"}"#, INVALID_REQUEST, Some("\"q\"")),
            (r#"{"result":1}"#, INVALID_REQUEST, None),
        ] {
            let wrong = one(line).unwrap_err();
            assert_eq!((wrong.error.code, wrong.id.as_ref().map(Id::to_json)), (code, id), "{line}");
        }
        assert!(!one(r#"{"token":"s3cret"#).unwrap_err().error.message.contains("s3cret"));
    }

    #[test]
    fn a_batch_gives_the_ids_of_its_requests() {
        let line = br#"[{"id":1,"method":"a"},{"method":"b"},{"id":"1","method":7},{"id":2,"result":0},3]"#;
        let Line::Batch(ids) = read(line) else { panic!("no batch") };
        assert_eq!(ids, [Id("1".to_owned()), Id::text("1")]);
    }

    #[test]
    fn an_id_is_what_it_says_however_it_is_written() {
        let id = |text: &str| Id::of(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(id(r#""a\u0062""#), Some(Id::text("ab")));
        assert_ne!(id("1"), id("\"1\""));
        assert_eq!(id("true"), None);
    }
}
