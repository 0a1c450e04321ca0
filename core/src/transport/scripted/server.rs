//! A small MCP server in memory: sessions, three tools, one resource, one prompt, and its own record of what it ran.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Arrival, Reply, Scripted};
use crate::protocol::era::Lifecycle;
use crate::protocol::versions::VERSIONS;
use crate::transport::exchange::Cause;

/// One session that this server gave.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GivenSession {
    /// Its id.
    pub id: String,
    /// The server knows it.
    pub alive: bool,
    /// The server took its `notifications/initialized`.
    pub initialized: bool,
    /// DELETE requests for it.
    pub deletes: usize,
}

/// One request that this server carried out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Execution {
    /// The JSON-RPC id of the request.
    pub id: u64,
    /// Its method.
    pub method: String,
    /// The tool, prompt or URI.
    pub name: Option<String>,
    /// The session that it came on.
    pub session: Option<String>,
    /// Its params.
    pub params: Value,
    /// When, on tokio's clock.
    pub at: Instant,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) era: Lifecycle,
    sessions: Vec<GivenSession>,
    executions: Vec<Execution>,
    pub(super) complaints: Vec<String>,
}

/// The server; clones share everything.
///
/// Its tools take no required arguments: `poke` (no hints), `peek` (`readOnlyHint`), `nudge` (`idempotentHint`). Its resource is `mem://a`, its
/// prompt `hello`. It offers no GET stream (405) and answers with JSON. It speaks one era at a time, and can change it.
#[derive(Clone, Debug)]
pub struct Server {
    stateful: bool,
    record: Arc<Mutex<Record>>,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A server that gives sessions.
    #[must_use]
    pub fn new() -> Self {
        let record =
            Record { era: Lifecycle::Legacy, sessions: Vec::new(), executions: Vec::new(), complaints: Vec::new() };
        Self { stateful: true, record: Arc::new(Mutex::new(record)) }
    }

    /// A server that gives no session ids.
    #[must_use]
    pub fn stateless() -> Self {
        Self { stateful: false, ..Self::new() }
    }

    /// An exchange to this server, whose script decides what to do with each arrival; [`Self::answer`] is what the server would.
    #[must_use]
    pub fn scripted<F, R>(&self, script: F) -> Arc<Scripted>
    where
        F: Fn(Arrival, Self) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Reply, Cause>> + Send + 'static,
    {
        let server = self.clone();
        Scripted::new(move |arrival| script(arrival, server.clone()))
    }

    /// An exchange to this server without faults.
    #[must_use]
    pub fn exchange(&self) -> Arc<Scripted> {
        self.scripted(|arrival, server| async move { server.answer(&arrival).await })
    }

    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All sessions that it gave.
    #[must_use]
    pub fn sessions(&self) -> Vec<GivenSession> {
        self.record().sessions.clone()
    }

    /// All requests that it carried out.
    #[must_use]
    pub fn executions(&self) -> Vec<Execution> {
        self.record().executions.clone()
    }

    /// How often it carried out this method, or called this tool.
    #[must_use]
    pub fn executed(&self, method_or_tool: &str) -> usize {
        let is_it = |execution: &&Execution| {
            execution.method == method_or_tool || execution.name.as_deref() == Some(method_or_tool)
        };
        self.record().executions.iter().filter(is_it).count()
    }

    /// As a restart does: no session is known any more.
    pub fn forget_sessions(&self) {
        for session in &mut self.record().sessions {
            session.alive = false;
        }
    }

    /// Does the server know the session that this request carries? Without one it does if it gives none.
    #[must_use]
    pub fn knows(&self, arrival: &Arrival) -> bool {
        match arrival.session() {
            Some(id) => self.record().sessions.iter().any(|session| session.alive && session.id == id),
            None => !self.stateful,
        }
    }

    /// Notes that this request was carried out. Returns its result.
    pub fn execute(&self, arrival: &Arrival) -> Value {
        arrival.take();
        if let Some(id) = arrival.id() {
            self.record().executions.push(Execution {
                id,
                method: arrival.method().to_owned(),
                name: arrival.name().map(str::to_owned),
                session: arrival.session().map(str::to_owned),
                params: arrival.message.get("params").cloned().unwrap_or_default(),
                at: Instant::now(),
            });
        }
        let mut result = result_of(arrival);
        if self.era() == Lifecycle::Modern {
            result["resultType"] = Value::from("complete");
        }
        result
    }

    /// Gives a new session: the reply to `initialize`.
    pub fn give_session(&self, arrival: &Arrival) -> Reply {
        let version = arrival.param("/protocolVersion").cloned().unwrap_or_default();
        let reply = arrival.result(&json!({
            "protocolVersion": version,
            "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
            "serverInfo": { "name": "scripted", "version": "1" },
        }));
        if !self.stateful {
            return reply;
        }
        let mut record = self.record();
        let id = format!("session-{}", record.sessions.len() + 1);
        let reply = reply.header("mcp-session-id", &id);
        record.sessions.push(GivenSession { id, alive: true, initialized: false, deletes: 0 });
        reply
    }

    /// Why a server in good health does not even look at a request: it is of the other era, of a session that is not known, or without
    /// the terms that it needs. `None` if it looks at it.
    #[must_use]
    pub fn refusal(&self, arrival: &Arrival) -> Option<Reply> {
        if self.era() == Lifecycle::Modern {
            return self.refusal_of_terms(arrival);
        }
        if matches!(arrival.method(), "initialize" | "DELETE") {
            return None;
        }
        if !self.knows(arrival) {
            return Some(match arrival.session() {
                Some(_) => Reply::text(404, "unknown"),
                None => bad_request("Bad Request: Mcp-Session-Id header is required"),
            });
        }
        let version = arrival.header("mcp-protocol-version");
        let unspoken = version.is_some_and(|version| !VERSIONS.contains(&version));
        unspoken.then(|| bad_request("Bad Request: Unsupported protocol version"))
    }

    /// What a server in good health answers.
    ///
    /// # Errors
    /// Never; the type is that of a script.
    #[expect(clippy::unused_async, reason = "the shape of a script")]
    pub async fn answer(&self, arrival: &Arrival) -> Result<Reply, Cause> {
        arrival.take();
        if let Some(refusal) = self.refusal(arrival) {
            return Ok(refusal);
        }
        if self.era() == Lifecycle::Modern {
            return Ok(self.answer_modern(arrival));
        }
        Ok(match arrival.method() {
            "initialize" => self.give_session(arrival),
            "DELETE" => {
                for session in &mut self.record().sessions {
                    if arrival.session() == Some(&session.id) {
                        session.deletes += 1;
                        session.alive = false;
                    }
                }
                Reply::new(204)
            }
            "GET" | "resume" => Reply::new(405),
            "notifications/initialized" => {
                for session in &mut self.record().sessions {
                    session.initialized |= arrival.session() == Some(&session.id);
                }
                Reply::new(202)
            }
            _ if arrival.id().is_none() || arrival.method().is_empty() => Reply::new(202),
            _ => {
                let result = self.execute(arrival);
                arrival.result(&result)
            }
        })
    }
}

/// As the official servers of the handshake era refuse what they cannot place.
fn bad_request(message: &str) -> Reply {
    Reply::json(400, &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32_000, "message": message } }))
}

fn result_of(arrival: &Arrival) -> Value {
    match arrival.method() {
        "tools/call" => {
            json!({ "content": [{ "type": "text", "text": format!("did {}", arrival.name().unwrap_or_default()) }] })
        }
        "tools/list" => json!({ "tools": [
            { "name": "poke", "inputSchema": { "type": "object" } },
            { "name": "peek", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } },
            { "name": "nudge", "inputSchema": { "type": "object" }, "annotations": { "idempotentHint": true } },
        ] }),
        "resources/list" => json!({ "resources": [{ "uri": "mem://a", "name": "a" }] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "resources/read" => json!({ "contents": [{ "uri": "mem://a", "text": "a" }] }),
        "prompts/list" => json!({ "prompts": [{ "name": "hello" }] }),
        "prompts/get" => json!({ "messages": [] }),
        "completion/complete" => json!({ "completion": { "values": [] } }),
        _ => json!({}),
    }
}
