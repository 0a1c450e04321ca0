//! A host on rmcp, over the standard input and output of the command that it is given: one order a line, one line of what came of it.

use std::io::BufRead as _;

use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::service::ServiceError;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tokio::process::Command;

fn say(line: &Value) {
    println!("{line}");
}

fn said(outcome: Result<usize, ServiceError>) -> Value {
    match outcome {
        Ok(count) => json!({ "ok": count }),
        Err(ServiceError::McpError(error)) => {
            json!({ "code": error.code.0, "message": error.message, "data": error.data })
        }
        Err(other) => json!({ "message": other.to_string() }),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let mut command = Command::new(arguments.next().ok_or("no command")?);
    command.args(arguments);
    let client = ().serve(TokioChildProcess::new(command)?).await?;
    say(&json!({ "ok": "connected" }));
    // The thread waits for orders, and nothing else has to be done meanwhile but what the runtime does.
    for line in std::io::stdin().lock().lines() {
        let order: Value = serde_json::from_str(&line?)?;
        match order["do"].as_str() {
            Some("list") => say(&said(client.list_all_tools().await.map(|tools| tools.len()))),
            Some("call") => {
                let name = order["tool"].as_str().unwrap_or_default().to_owned();
                let arguments = order["arguments"].as_object().cloned().unwrap_or_default();
                let called = client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await;
                say(&said(called.map(|result| result.content.len())));
            }
            _ => break,
        }
    }
    client.cancel().await?;
    say(&json!({ "ok": "closed" }));
    Ok(())
}
