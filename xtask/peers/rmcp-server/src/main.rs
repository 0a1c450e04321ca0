//! A small server on `rmcp`: a quick tool, a slow tool, one of each other thing, and a ledger of what ran.
//!
//! The ledger is a file of JSON lines, one when a tool begins and one when it has ended, written by the tool itself. The port and the
//! ledger are in the environment: `PORT` and `PEER_LEDGER`.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

type Context = RequestContext<RoleServer>;

#[derive(Clone)]
struct SmallPeer {
    ledger: Arc<PathBuf>,
}

impl SmallPeer {
    /// Adds one line; opened anew each time, so that a killed process loses none.
    fn write(&self, tool: &str, event: &str) {
        let line = format!("{}\n", json!({ "tool": tool, "event": event }));
        let file = OpenOptions::new().append(true).open(&*self.ledger);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("cannot write the ledger: {error}");
            std::process::exit(1);
        }
    }
}

/// The results are written as they go over the wire.
fn result<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for SmallPeer {
    fn get_info(&self) -> ServerConfig {
        let offers = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts();
        ServerConfig::new(offers.enable_completions().build())
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListToolsResult, ErrorData> {
        let seconds = json!({ "type": "object", "properties": { "seconds": { "type": "number" } } });
        result(json!({ "tools": [
            { "name": "quick", "inputSchema": { "type": "object" } },
            { "name": "slow", "inputSchema": seconds },
        ] }))
    }

    async fn call_tool(&self, request: CallToolRequestParams, _: Context) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        if !["quick", "slow"].contains(&name) {
            return Err(ErrorData::invalid_params("no such tool", None));
        }
        self.write(name, "start");
        if name == "slow" {
            let seconds = request.arguments.as_ref().and_then(|members| members.get("seconds")).and_then(Value::as_f64);
            tokio::time::sleep(Duration::from_secs_f64(seconds.unwrap_or(1.0))).await;
        }
        self.write(name, "end");
        let said: CallToolResult = result(json!({ "content": [{ "type": "text", "text": format!("{name} ran") }] }))?;
        Ok(said.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        result(json!({ "resources": [{ "uri": "peer://note", "name": "note" }] }))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        result(json!({ "resourceTemplates": [{ "uriTemplate": "peer://notes/{name}", "name": "notes" }] }))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read: ReadResourceResult = result(json!({ "contents": [{ "uri": request.uri, "text": "a note" }] }))?;
        Ok(read.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        result(json!({ "prompts": [{ "name": "greet", "arguments": [{ "name": "name", "required": true }] }] }))
    }

    async fn get_prompt(&self, _: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse, ErrorData> {
        let content = json!({ "type": "text", "text": "Greet her." });
        let prompt: GetPromptResult = result(json!({ "messages": [{ "role": "user", "content": content }] }))?;
        Ok(prompt.into())
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        let typed = request.argument.value.as_str();
        let names: Vec<_> = ["Ada", "Alan", "Grace"].into_iter().filter(|name| name.starts_with(typed)).collect();
        result(json!({ "completion": { "values": names } }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::var("PORT")?.parse()?;
    let ledger = Arc::new(PathBuf::from(std::env::var("PEER_LEDGER")?));
    // Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let service = StreamableHttpService::new(
        move || Ok(SmallPeer { ledger: Arc::clone(&ledger) }),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
