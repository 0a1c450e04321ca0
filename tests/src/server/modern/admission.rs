//! What a server of the modern era refuses before it does anything.
//!
//! The order is that of the official servers: a request with two faults gets the same answer from all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::params::{self, Verdict};
use super::{CLIENT_CAPABILITIES, PROTOCOL_VERSION, VERSION};
use crate::server::action::Respond;
use crate::server::catalog;
use crate::server::request::{Request, Rpc};
use crate::server::script::Options;

/// The headers say something else than the body.
const HEADER_MISMATCH: i64 = -32020;
/// The client did not declare what the server needs.
pub(in crate::server) const MISSING_CAPABILITY: i64 = -32021;
/// The version is not spoken.
const UNSUPPORTED_VERSION: i64 = -32022;

/// A fault of a request.
#[derive(Debug, Default)]
pub(in crate::server) struct Fault {
    /// What is wrong with it, if a correct client would never have sent it.
    pub(in crate::server) malformed: Option<String>,
    /// How it is refused, if it is.
    pub(in crate::server) answer: Option<Respond>,
}

impl Fault {
    fn refused(id: Option<&Value>, code: i64, message: &str, data: Value) -> Self {
        let json = catalog::error_with(id.unwrap_or(&Value::Null), code, message, data);
        let answer = Respond { status: 400, json: Some(json), ..Respond::default() };
        Self { malformed: Some(message.to_owned()), answer: Some(answer) }
    }

    fn mismatch(id: Option<&Value>, header: &str, body: &str) -> Self {
        let message = format!("Bad Request: the request headers and body disagree: {body}");
        Self::refused(id, HEADER_MISMATCH, &message, json!({"mismatch": {"header": header, "body": body}}))
    }
}

/// The fault of a request that means the modern lifecycle, if it has one.
pub(in crate::server) fn refuse(options: &Options, request: &Request, rpc: Option<&Rpc>) -> Option<Fault> {
    if request.method != "POST" {
        return Some(not_allowed());
    }
    let Some(rpc) = rpc else {
        return Some(Fault::refused(None, -32700, "Parse error: the request body is not valid JSON", Value::Null));
    };
    if rpc.is_response() {
        let wording = "Bad Request: JSON-RPC responses cannot be posted to this endpoint";
        return Some(Fault::refused(None, -32600, wording, Value::Null));
    }
    if !rpc.is_request() {
        // Taken and dropped, with 202; no client has a notification to send in this era.
        let malformed = Some(format!("a notification {}", rpc.method.as_deref().unwrap_or_default()));
        return Some(Fault { malformed, answer: None });
    }
    let id = rpc.id.as_ref();
    if let Some(fault) = envelope(rpc) {
        return Some(fault);
    }
    let version = rpc.meta(PROTOCOL_VERSION).unwrap_or_default();
    let version = version.as_str().unwrap_or_default();
    let method = rpc.method.as_deref().unwrap_or_default();
    let header = request.header("mcp-protocol-version");
    if header.is_some_and(|header| header != version) {
        let wording = format!("the body names protocol version {version}, the MCP-Protocol-Version header another");
        return Some(Fault::mismatch(id, header.unwrap_or_default(), &wording));
    }
    let named = request.header("mcp-method");
    if named.is_some_and(|named| named != method) {
        return Some(Fault::mismatch(id, named.unwrap_or_default(), &format!("the body names method {method}")));
    }
    if !options.modern_versions.iter().any(|spoken| spoken == version) {
        // No client could know.
        return Some(Fault { malformed: None, ..unsupported(options, id, Some(version)) });
    }
    for (name, value) in [("MCP-Protocol-Version", header), ("Mcp-Method", named)] {
        if value.is_none() {
            return Some(Fault::mismatch(id, "(missing)", &format!("the required {name} header is absent")));
        }
    }
    if request.header("mcp-session-id").is_some() || request.header("last-event-id").is_some() {
        return Some(Fault { malformed: Some("a header of the other era".to_owned()), answer: None });
    }
    standard_name(request, rpc, method).or_else(|| match params::check(options, request, rpc) {
        Verdict::Fine => None,
        Verdict::Odd(malformed) => Some(Fault { malformed: Some(malformed), answer: None }),
        Verdict::Wrong { header, body } => Some(Fault::mismatch(id, &header, &body)),
    })
}

/// The refusal of a request of the legacy lifecycle by a server that speaks the modern one alone. No client could know.
pub(in crate::server) fn refuse_legacy(options: &Options, request: &Request, rpc: Option<&Rpc>) -> Option<Respond> {
    if request.method != "POST" {
        return not_allowed().answer;
    }
    let Some(rpc) = rpc else {
        return Fault::refused(None, -32700, "Parse error: the request body is not valid JSON", Value::Null).answer;
    };
    if rpc.is_response() {
        let wording = "Bad Request: JSON-RPC responses cannot be posted to this endpoint";
        return Fault::refused(None, -32600, wording, Value::Null).answer;
    }
    if !rpc.is_request() {
        return None;
    }
    let header = request.header("mcp-protocol-version");
    if rpc.method.as_deref() == Some("initialize") && header.is_some_and(|version| version >= VERSION) {
        let wording = "an initialize request was sent with a modern MCP-Protocol-Version header";
        return Fault::mismatch(rpc.id.as_ref(), header.unwrap_or_default(), wording).answer;
    }
    unsupported(options, rpc.id.as_ref(), rpc.params()["protocolVersion"].as_str().or(header)).answer
}

/// The HTTP status of an answer of the modern era.
pub(in crate::server) fn status(message: &Value) -> u16 {
    match message["error"]["code"].as_i64() {
        Some(-32601) => 404,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => 400,
        _ => 200,
    }
}

fn not_allowed() -> Fault {
    let json = Some(catalog::error(&Value::Null, -32000, "Method not allowed."));
    let headers = [("Allow".to_owned(), "POST".to_owned())].into();
    let answer = Some(Respond { status: 405, json, headers, ..Respond::default() });
    Fault { malformed: Some("neither GET nor DELETE is of this era".to_owned()), answer }
}

fn unsupported(options: &Options, id: Option<&Value>, requested: Option<&str>) -> Fault {
    let mut data = json!({"supported": options.modern_versions});
    let message = match requested {
        Some(requested) => {
            data["requested"] = Value::from(requested);
            format!("Unsupported protocol version: {requested}")
        }
        None => "Unsupported protocol version: the request did not name a protocol version".to_owned(),
    };
    Fault::refused(id, UNSUPPORTED_VERSION, &message, data)
}

/// What `_meta` must have.
fn envelope(rpc: &Rpc) -> Option<Fault> {
    let missing: Vec<_> =
        [PROTOCOL_VERSION, CLIENT_CAPABILITIES].into_iter().filter(|key| rpc.meta(key).is_none()).collect();
    let capabilities = rpc.meta(CLIENT_CAPABILITIES);
    let message = if !missing.is_empty() {
        format!("Invalid params: the request is missing the required _meta key(s): {}", missing.join(", "))
    } else if !rpc.meta(PROTOCOL_VERSION).is_some_and(|version| version.is_string()) {
        format!("Invalid _meta: {PROTOCOL_VERSION}: expected a string")
    } else if !capabilities.is_some_and(|of| of.as_object().is_some_and(|of| of.values().all(Value::is_object))) {
        format!("Invalid _meta: {CLIENT_CAPABILITIES}: expected an object of objects")
    } else {
        return None;
    };
    Some(Fault::refused(rpc.id.as_ref(), -32602, &message, json!({"envelope": {"missing": missing}})))
}

/// `Mcp-Name` repeats a member of the parameters.
fn standard_name(request: &Request, rpc: &Rpc, method: &str) -> Option<Fault> {
    let source = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    let id = rpc.id.as_ref();
    let wanted = rpc.params()[source].as_str()?;
    let Some(header) = request.header("mcp-name") else {
        let body = format!("the body has params.{source} {wanted:?} and the Mcp-Name header is absent");
        return Some(Fault::mismatch(id, "(missing)", &body));
    };
    match decoded(header) {
        Some(given) if given == wanted => None,
        Some(_) => Some(Fault::mismatch(id, header, &format!("the body has params.{source} {wanted:?}"))),
        None => Some(Fault::mismatch(id, header, "the Mcp-Name header is not encoded as it must be")),
    }
}

/// The text of a header value: plain ASCII, or base64 between its marks. `None` if it is neither.
pub(super) fn decoded(value: &str) -> Option<String> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        let plain = value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
        return plain.then(|| value.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_value_is_plain_or_base64() {
        for (value, text) in [
            ("eu-west", Some("eu-west")),
            ("", Some("")),
            ("=?base64?w6k=?=", Some("é")),
            ("=?base64??=", Some("")),
            ("=?base64?w6k?=", None),
            ("=?base64?/w==?=", None),
            ("é", None),
            ("a\u{1}", None),
        ] {
            assert_eq!(decoded(value).as_deref(), text, "{value:?}");
        }
    }
}
