//! A small server on pmcp.

#[path = "../../tools.rs"]
mod tools;

use std::sync::Arc;

use pmcp::Server;
use pmcp::server::streamable_http_server::StreamableHttpServer;
use pmcp::server::typed_tool::TypedTool;
use pmcp::types::ToolAnnotations;
use serde_json::{Value, json};
use tokio::sync::Mutex;

#[tokio::main]
async fn main() -> pmcp::Result<()> {
    tools::end_with_parent();
    let none = ToolAnnotations::new;
    let hints = [
        ("poke", none()),
        ("peek", none().with_read_only(true)),
        ("nudge", none().with_read_only(false).with_idempotent(true)),
        ("slow", none()),
    ];
    let mut builder = Server::builder().name("peer").version("1.0.0");
    for (name, annotations) in hints {
        let schema = json!({ "type": "object", "properties": { "seconds": { "type": "number" } } });
        let tool = TypedTool::new_with_schema(name, schema, move |given: Value, _extra| {
            Box::pin(async move {
                let seconds = given.get("seconds").and_then(Value::as_f64).unwrap_or_default();
                Ok(Value::String(tools::run(name, seconds).await))
            })
        });
        builder = builder.tool(name, tool.with_description(name).with_annotations(annotations));
    }
    let server = Arc::new(Mutex::new(builder.build()?));
    let (_, serving) = StreamableHttpServer::new(tools::address(), server).start().await?;
    let _ = serving.await;
    Ok(())
}
