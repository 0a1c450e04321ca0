//! A small server on rust-mcp-sdk.

#[path = "../../tools.rs"]
mod tools;

use std::sync::Arc;

use async_trait::async_trait;
use rust_mcp_axum::{AxumServerOptions, create_axum_server};
use rust_mcp_sdk::error::SdkResult;
use rust_mcp_sdk::mcp_server::ServerHandler;
use rust_mcp_sdk::schema::{
    CallToolError, CallToolRequestParams, Implementation, ListToolsResult, PaginatedRequestParams, RpcError,
    ServerCapabilities, ServerCapabilitiesTools, ServerResult,
};
use rust_mcp_sdk::{McpServer, RequestContext, ServerDetails, ToMcpServerHandler};
use serde_json::{Value, json};

#[derive(Default)]
struct Peer;

/// From the wire's words.
fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is of this shape")
}

#[async_trait]
impl ServerHandler for Peer {
    async fn handle_list_tools_request(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: &RequestContext,
        _runtime: Arc<dyn McpServer>,
    ) -> Result<ListToolsResult, RpcError> {
        let schema = json!({ "type": "object", "properties": { "seconds": { "type": "number" } } });
        let tool = |name: &str, hints: Value| json!({ "name": name, "inputSchema": schema, "annotations": hints });
        let tools = [
            tool("poke", json!({})),
            tool("peek", json!({ "readOnlyHint": true })),
            tool("nudge", json!({ "readOnlyHint": false, "idempotentHint": true })),
            tool("slow", json!({})),
        ];
        Ok(made(json!({ "tools": tools, "resultType": "complete", "cacheScope": "private", "ttlMs": 0 })))
    }

    async fn handle_call_tool_request(
        &self,
        params: CallToolRequestParams,
        _context: &RequestContext,
        _runtime: Arc<dyn McpServer>,
    ) -> Result<ServerResult, CallToolError> {
        let given = params.arguments.unwrap_or_default();
        let seconds = given.get("seconds").and_then(Value::as_f64).unwrap_or_default();
        let said = tools::run(&params.name, seconds).await;
        let content = json!([{ "type": "text", "text": said }]);
        Ok(ServerResult::CallToolResult(made(json!({ "content": content, "resultType": "complete" }))))
    }
}

#[tokio::main]
async fn main() -> SdkResult<()> {
    tools::end_with_parent();
    let server_info: Implementation = made(json!({ "name": "peer", "version": "1.0.0" }));
    let tools = Some(ServerCapabilitiesTools { list_changed: None });
    let capabilities = ServerCapabilities { tools, ..ServerCapabilities::default() };
    let details = ServerDetails { server_info, capabilities, instructions: None, meta: None };
    let address = tools::address();
    let mut options = AxumServerOptions {
        host: address.ip().to_string(),
        port: address.port(),
        ..AxumServerOptions::default()
    };
    // The relay before it has another port, which the client names.
    options.dns_rebinding.dns_rebinding_protection = false;
    create_axum_server(details, Peer.to_mcp_server_handler(), options).start().await
}
