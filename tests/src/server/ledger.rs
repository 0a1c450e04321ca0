//! What really happened, as the server saw it. A client's verdict is judged against this.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::era::Lifecycle;
use super::gate::GateState;
use crate::authorization::AuthorizationLedger;

/// Everything that a server noted. All times are milliseconds since it was started.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Every HTTP request, in the order of arrival.
    pub arrivals: Vec<Arrival>,
    /// Every run of a request.
    pub executions: Vec<Execution>,
    /// Every session that was ever minted.
    pub sessions: Vec<Session>,
    /// `notifications/cancelled`.
    pub cancelled: Vec<Cancelled>,
    /// Answers of the client to requests of the server.
    pub responses: Vec<Value>,
    /// Arrivals per HTTP method.
    pub by_http: BTreeMap<String, u64>,
    /// Arrivals per JSON-RPC method.
    pub by_rpc: BTreeMap<String, u64>,
    /// Connections.
    pub connections: Connections,
    /// The most `initialize` requests that were at work at once.
    pub max_concurrent_initialize: u64,
    /// Requests that came before the handshake was over.
    pub too_early: u64,
    /// The gates of the script.
    pub gates: BTreeMap<String, GateNote>,
    /// Of the authorization server that it is.
    pub authorization: AuthorizationLedger,
}

/// See [`GateState`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateNote {
    /// How often a script came to it.
    pub reached: u64,
    /// Whether it is open.
    pub released: bool,
}

impl From<GateState> for GateNote {
    fn from(state: GateState) -> Self {
        Self { reached: state.reached, released: state.released }
    }
}

/// One HTTP request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Arrival {
    /// Its place in the order, from 0.
    pub seq: u64,
    /// When.
    pub at_ms: u64,
    /// Which connection, from 1.
    pub connection: u64,
    /// HTTP method.
    pub http: String,
    /// Path.
    pub path: String,
    /// JSON-RPC method.
    pub rpc: Option<String>,
    /// Tool, prompt or URI.
    pub name: Option<String>,
    /// JSON-RPC id.
    pub rpc_id: Option<Value>,
    /// `Mcp-Session-Id`.
    pub session: Option<String>,
    /// Whether that session was alive.
    pub session_known: bool,
    /// The number of that session.
    pub generation: Option<u64>,
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Last-Event-ID`.
    pub last_event_id: Option<String>,
    /// `Cookie`
    pub cookie: Option<String>,
    /// The bearer token.
    pub token: Option<String>,
    /// `_meta["dev.oncewire/idempotency-key"]`.
    pub key: Option<String>,
    /// `_meta["dev.oncewire/attempt"]`.
    pub attempt: Option<u64>,
    /// `_meta.traceparent`.
    pub traceparent: Option<String>,
    /// Whether it carried a progress token.
    pub progress_token: bool,
    /// `params`, without `_meta`.
    pub params: Value,
    /// `_meta`
    pub meta: Value,
    /// Which lifecycle it means, whatever the server speaks.
    pub era: Lifecycle,
    /// `Mcp-Method`
    pub mcp_method: Option<String>,
    /// `Mcp-Name`
    pub mcp_name: Option<String>,
    /// `Mcp-Param-*` as they came, by what follows that, in lower case.
    pub mcp_params: BTreeMap<String, String>,
    /// What is wrong with it, if no correct client would have sent it.
    pub malformed: Option<String>,
    /// Header names, in lower case.
    pub headers: Vec<String>,
    /// The rule that applied.
    pub rule: Option<String>,
    /// The status that was written.
    pub status: Option<u16>,
    /// Whether it was executed.
    pub executed: bool,
    /// Whether a whole response was written, and when.
    pub answered_at_ms: Option<u64>,
    /// When the client closed the connection, or the stream of HTTP/2, before that.
    pub client_gone_at_ms: Option<u64>,
}

/// One run of a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Execution {
    /// The arrival that it belongs to.
    pub arrival: u64,
    /// JSON-RPC method.
    pub rpc: String,
    /// Tool, prompt or URI.
    pub name: Option<String>,
    /// The session that it ran on.
    pub session: Option<String>,
    /// The idempotency key.
    pub key: Option<String>,
    /// When it began.
    pub started_ms: u64,
    /// When it ended; absent while it runs, or if the process went away under it.
    pub ended_ms: Option<u64>,
    /// When it was given up because the client closed the stream of its answer; in the modern era alone.
    pub cancelled_at_ms: Option<u64>,
    /// Whether it ended with a question (`input_required`).
    pub asked: bool,
}

/// One session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// Its number, from 1.
    pub generation: u64,
    /// When it was minted.
    pub created_ms: u64,
    /// Whether `notifications/initialized` was answered.
    pub initialized: bool,
    /// Whether it is alive.
    pub alive: bool,
    /// Whether the server dropped it of its own accord.
    pub forgotten: bool,
    /// How many DELETEs came for it, alive or not.
    pub deletes: u64,
    /// Requests on it, except the handshake, the GET stream and DELETE.
    pub requests: u64,
    /// When it was last used by anything.
    pub last_used_ms: u64,
    /// Nobody made a request on it after the handshake, nobody deleted it, and the server did not drop it.
    pub left: bool,
}

/// A `notifications/cancelled`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cancelled {
    /// When.
    pub at_ms: u64,
    /// On which session.
    pub session: Option<String>,
    /// `requestId`.
    pub request_id: Value,
    /// The JSON-RPC method of that request, if it is known.
    pub rpc: Option<String>,
    /// Its tool, prompt or URI.
    pub name: Option<String>,
}

/// Counters of connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Ever accepted.
    pub opened: u64,
    /// Open now.
    pub open: u64,
}

impl Ledger {
    /// Runs of this JSON-RPC method for this tool, prompt or URI (`None` for any).
    pub fn executions_of(&self, rpc: &str, name: Option<&str>) -> usize {
        self.executions.iter().filter(|run| run.rpc == rpc && (name.is_none() || run.name.as_deref() == name)).count()
    }

    /// Arrivals of this JSON-RPC method for this tool, prompt or URI (`None` for any).
    pub fn arrivals_of(&self, rpc: &str, name: Option<&str>) -> usize {
        self.arrivals
            .iter()
            .filter(|arrival| {
                arrival.rpc.as_deref() == Some(rpc) && (name.is_none() || arrival.name.as_deref() == name)
            })
            .count()
    }

    /// Arrivals of this HTTP method.
    pub fn http(&self, method: &str) -> usize {
        self.arrivals.iter().filter(|arrival| arrival.http == method).count()
    }

    /// Sessions that were left behind; see [`Session::left`].
    pub fn sessions_left(&self) -> usize {
        self.sessions.iter().filter(|session| session.left).count()
    }
}
