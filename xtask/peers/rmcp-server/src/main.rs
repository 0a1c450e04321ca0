//! A small server on `rmcp`: some tools, one of each other thing, and a ledger of what ran. The port and the ledger are in the environment:
//! `PORT` and `PEER_LEDGER`.

mod tools;

use std::io::Read as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

use crate::tools::Tools;

type Context = RequestContext<RoleServer>;

#[derive(Clone)]
struct SmallPeer {
    tools: Tools,
}

/// The results are written as they go over the wire.
fn result<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for SmallPeer {
    fn get_info(&self) -> ServerConfig {
        let offers = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        let offers = offers.enable_resources().enable_prompts();
        ServerConfig::new(offers.enable_completions().build())
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListToolsResult, ErrorData> {
        self.tools.list()
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        self.tools.call(request, context).await
    }

    /// Asked in the era of 2026-07-28: what may be listened to.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = self.tools.changed.notified() => {
                    let told = subscription.sink().notify_tool_list_changed().await;
                    told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                }
            }
        }
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
    let tools = Tools::new(PathBuf::from(std::env::var("PEER_LEDGER")?));
    if std::env::var_os("PEER_STDIO").is_some() {
        SmallPeer { tools }.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let port: u16 = std::env::var("PORT")?.parse()?;
    // Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let service = StreamableHttpService::new(
        move || Ok(SmallPeer { tools: tools.clone() }),
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
