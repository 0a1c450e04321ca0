//! A small MCP server in memory: sessions, three tools, one resource, one prompt, and its own record of what it ran.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Arrival, Reply, Scripted};
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

#[derive(Debug, Default)]
struct Record {
    sessions: Vec<GivenSession>,
    executions: Vec<Execution>,
}

/// The server; clones share everything.
///
/// Its tools take no required arguments: `poke` (no hints), `peek` (`readOnlyHint`), `nudge` (`idempotentHint`). Its resource is `mem://a`, its
/// prompt `hello`. It offers no GET stream (405) and answers with JSON.
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
        Self { stateful: true, record: Arc::default() }
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

    fn record(&self) -> MutexGuard<'_, Record> {
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
        result_of(arrival)
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

    /// What a server in good health answers.
    ///
    /// # Errors
    /// Never; the type is that of a script.
    #[expect(clippy::unused_async, reason = "the shape of a script")]
    pub async fn answer(&self, arrival: &Arrival) -> Result<Reply, Cause> {
        arrival.take();
        match arrival.method() {
            "initialize" => return Ok(self.give_session(arrival)),
            "DELETE" => {
                for session in &mut self.record().sessions {
                    if arrival.session() == Some(&session.id) {
                        session.deletes += 1;
                        session.alive = false;
                    }
                }
                return Ok(Reply::new(204));
            }
            _ => {}
        }
        if !self.knows(arrival) {
            return Ok(Reply::text(404, "unknown"));
        }
        Ok(match arrival.method() {
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
