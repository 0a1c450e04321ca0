//! The same server in the modern era: no handshake and no session. Every request carries its terms; one that does not is refused, and
//! remembered, so that a client that does not follow the era's rules fails its test.

use http::Method;
use serde_json::{Value, json};

use super::{Arrival, Reply, Server};
use crate::protocol::era::{Lifecycle, MODERN_VERSION};

/// The version of the request is not spoken (MCP 2026-07-28, schema, UnsupportedProtocolVersionError).
const UNSUPPORTED_VERSION: i64 = -32_022;
/// Headers and body of the request differ (MCP 2026-07-28, schema, HeaderMismatchError).
const HEADER_MISMATCH: i64 = -32_020;
/// The method does not exist (JSON-RPC 2.0, section 5.1).
const METHOD_NOT_FOUND: i64 = -32_601;

/// Methods that the era has no more (MCP 2026-07-28, changelog).
const REMOVED: [&str; 4] = ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

impl Server {
    /// A server of the modern era.
    #[must_use]
    pub fn modern() -> Self {
        let server = Self::new();
        server.change_era(Lifecycle::Modern);
        server
    }

    /// The era that it speaks; no other.
    #[must_use]
    pub fn era(&self) -> Lifecycle {
        self.record().era
    }

    /// As an upgrade or a rollback does: from now on it speaks this era, and knows no session.
    pub fn change_era(&self, era: Lifecycle) {
        self.record().era = era;
        self.forget_sessions();
    }

    /// What requests of the modern era got wrong, in words.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        self.record().complaints.clone()
    }

    /// The answer to `server/discover`, with these capabilities.
    #[must_use]
    pub fn discovery(arrival: &Arrival, capabilities: &Value) -> Reply {
        arrival.result(&json!({
            "resultType": "complete",
            "supportedVersions": [MODERN_VERSION],
            "capabilities": capabilities,
            "serverInfo": { "name": "scripted", "version": "1" },
        }))
    }

    /// The refusal of a version: these are spoken.
    #[must_use]
    pub fn other_versions(arrival: &Arrival, supported: &[&str]) -> Reply {
        let mut message = arrival.error_message(UNSUPPORTED_VERSION, "Unsupported protocol version");
        message["error"]["data"] = json!({ "supported": supported });
        Reply::json(400, &message)
    }

    /// Why a server of this era does not even look at the request.
    pub(super) fn refusal_of_terms(&self, arrival: &Arrival) -> Option<Reply> {
        if arrival.http_method != Method::POST {
            return Some(Reply::new(405).header("allow", "POST"));
        }
        let named = arrival.param("/_meta/io.modelcontextprotocol~1protocolVersion");
        if named.is_none() && arrival.header("mcp-protocol-version") != Some(MODERN_VERSION) {
            // A client of the other era, which could not know.
            return Some(match arrival.id() {
                Some(_) => Self::other_versions(arrival, &[MODERN_VERSION]),
                None => Reply::new(202),
            });
        }
        let complaint = complaint(arrival)?;
        self.record().complaints.push(format!("{}: {complaint}", arrival.method()));
        Some(Reply::json(400, &arrival.error_message(HEADER_MISMATCH, complaint)))
    }

    /// What it answers to a request that it does not refuse.
    pub(super) fn answer_modern(&self, arrival: &Arrival) -> Reply {
        match arrival.method() {
            "server/discover" => {
                Self::discovery(arrival, &json!({ "tools": {}, "resources": { "subscribe": true }, "prompts": {} }))
            }
            "subscriptions/listen" => Reply::event_stream().event(&arrival.acknowledgement()).never(),
            method if REMOVED.contains(&method) => {
                Reply::json(404, &arrival.error_message(METHOD_NOT_FOUND, "Method not found"))
            }
            _ => arrival.result(&self.execute(arrival)),
        }
    }
}

/// What is wrong with the terms of a request (MCP 2026-07-28, basic, "Request metadata"; transports, Streamable HTTP).
fn complaint(arrival: &Arrival) -> Option<&'static str> {
    let meta = |key: &str| arrival.param(&format!("/_meta/io.modelcontextprotocol~1{key}"));
    let name = match arrival.method() {
        "tools/call" | "prompts/get" | "resources/read" => arrival.name(),
        _ => None,
    };
    let version = meta("protocolVersion").and_then(Value::as_str);
    if arrival.method().is_empty() {
        Some("a reply to the server")
    } else if arrival.id().is_none() {
        Some("a notification")
    } else if arrival.method() == "initialize" {
        Some("a handshake in the terms of the modern era")
    } else if arrival.header("mcp-protocol-version") != Some(MODERN_VERSION) || version != Some(MODERN_VERSION) {
        Some("the versions of header and body differ")
    } else if arrival.header("mcp-method") != Some(arrival.method()) {
        Some("Mcp-Method is not the method")
    } else if arrival.header("mcp-name") != name {
        Some("Mcp-Name is not the name")
    } else if !meta("clientCapabilities").is_some_and(Value::is_object) {
        Some("no capabilities of the client")
    } else if !meta("clientInfo").is_some_and(Value::is_object) {
        Some("not a word of who the client is")
    } else if arrival.session().is_some() || arrival.last_event_id().is_some() {
        Some("a header of the handshake era")
    } else {
        None
    }
}
