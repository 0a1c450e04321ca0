//! The tools, and the ledger of what ran: a file of JSON lines, one when a tool begins and one when it has ended, written by the tool
//! itself. A tool that its server stops writes no second line.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, InputRequiredResult, ListToolsResult,
    ProgressNotificationParam,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::result;

/// What all connections share.
#[derive(Clone)]
pub struct Tools {
    ledger: Arc<PathBuf>,
    grown: Arc<AtomicUsize>,
    /// Told when there is a new tool.
    pub changed: Arc<Notify>,
}

impl Tools {
    pub fn new(ledger: PathBuf) -> Self {
        Self { ledger: Arc::new(ledger), grown: Arc::default(), changed: Arc::default() }
    }

    /// Adds one line; opened anew each time, so that a killed process loses none.
    fn write(&self, tool: &str, event: &str) {
        let line = format!("{}\n", json!({ "tool": tool, "event": event }));
        let file = OpenOptions::new().append(true).open(&*self.ledger);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("cannot write the ledger: {error}");
            std::process::exit(1);
        }
    }

    pub fn list(&self) -> Result<ListToolsResult, ErrorData> {
        let plain = json!({ "type": "object" });
        let seconds = json!({ "type": "object", "properties": { "seconds": { "type": "number" } } });
        let mut tools = vec![json!({ "name": "slow", "inputSchema": seconds })];
        let grown = (1..=self.grown.load(Ordering::Relaxed)).map(|index| format!("grown_{index}"));
        let names = ["quick", "report", "grow", "ask"].map(str::to_owned).into_iter().chain(grown);
        tools.extend(names.map(|name| json!({ "name": name, "inputSchema": plain })));
        result(json!({ "tools": tools }))
    }

    /// None of them says anything of itself, so each may change something.
    pub async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        let answers = request.input_responses.as_ref();
        let mut said = format!("{name} ran");
        match name {
            "ask" => {
                let Some(answer) = answers.and_then(|answers| answers.get("who")) else { return ask() };
                let who = answer.pointer("/content/name").and_then(Value::as_str).unwrap_or_default();
                said = format!("hello {who}, {}", request.request_state.as_deref().unwrap_or_default());
            }
            "quick" | "slow" | "report" | "grow" => {}
            _ => return Err(ErrorData::invalid_params("no such tool", None)),
        }
        self.write(name, "start");
        match name {
            "slow" => {
                let seconds = request.arguments.as_ref().and_then(|members| members.get("seconds"));
                let seconds = Duration::from_secs_f64(seconds.and_then(Value::as_f64).unwrap_or(1.0));
                tokio::select! {
                    () = tokio::time::sleep(seconds) => {}
                    () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
                }
            }
            "report" => {
                if let Some(token) = context.meta.get_progress_token() {
                    for progress in [1.0, 2.0, 3.0] {
                        let told = ProgressNotificationParam::new(token.clone(), progress).with_total(3.0);
                        let _ = context.peer.notify_progress(told).await;
                    }
                }
            }
            "grow" => {
                self.grown.fetch_add(1, Ordering::Relaxed);
                self.changed.notify_waiters();
            }
            _ => {}
        }
        self.write(name, "end");
        let said: CallToolResult = result(json!({ "content": [{ "type": "text", "text": said }] }))?;
        Ok(said.into())
    }
}

/// The question of a tool that needs to know something of its caller.
fn ask() -> Result<CallToolResponse, ErrorData> {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let params = json!({ "mode": "form", "message": "Who are you?", "requestedSchema": schema });
    let asked: InputRequiredResult = result(json!({
        "resultType": "input_required",
        "inputRequests": { "who": { "method": "elicitation/create", "params": params } },
        "requestState": "asked once",
    }))?;
    Ok(asked.into())
}
