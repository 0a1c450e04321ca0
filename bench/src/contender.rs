//! Who is measured: a bare HTTP loop, oncewire, and rmcp.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, ensure};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

/// One client, ready to call.
#[derive(Clone)]
pub(crate) enum Contender {
    Bare(Arc<Bare>),
    Oncewire(oncewire::Client),
    Rmcp(Arc<RunningService<RoleClient, ()>>),
}

/// The least that any client must do: one POST, its answer parsed.
pub(crate) struct Bare {
    client: reqwest::Client,
    url: String,
    session: String,
    ids: AtomicU64,
}

impl Contender {
    pub(crate) async fn bare(url: &str) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().build()?;
        let bare = Bare { client, url: url.to_owned(), session: String::new(), ids: AtomicU64::new(1) };
        let response = bare.post("initialize", &json!({})).await?;
        let session = response.headers().get("mcp-session-id").context("no session id")?.to_str()?.to_owned();
        Ok(Self::Bare(Arc::new(Bare { session, ..bare })))
    }

    pub(crate) async fn oncewire(url: &str) -> anyhow::Result<Self> {
        Ok(Self::Oncewire(oncewire::Client::builder(url).connect().await?))
    }

    pub(crate) async fn rmcp(url: &str) -> anyhow::Result<Self> {
        let service = ().serve(StreamableHttpClientTransport::from_uri(url)).await?;
        Ok(Self::Rmcp(Arc::new(service)))
    }

    /// One tool call, its result checked.
    pub(crate) async fn call(&self) -> anyhow::Result<()> {
        match self {
            Self::Bare(bare) => {
                let params = json!({ "name": "poke", "arguments": { "to": "a" } });
                let answer: Value = serde_json::from_slice(&bare.post("tools/call", &params).await?.bytes().await?)?;
                ensure!(answer.pointer("/result/content/0/text") == Some(&json!("done")), "another answer");
            }
            Self::Oncewire(client) => {
                let result = client.call_tool("poke", json!({ "to": "a" })).await?;
                ensure!(result.text() == "done", "another answer");
            }
            Self::Rmcp(service) => {
                let arguments = json!({ "to": "a" }).as_object().cloned().unwrap_or_default();
                let params = CallToolRequestParams::new("poke").with_arguments(arguments);
                let result = service.call_tool(params).await?;
                ensure!(!result.content.is_empty(), "another answer");
            }
        }
        Ok(())
    }

    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Bare(_) => {}
            Self::Oncewire(client) => client.close().await,
            Self::Rmcp(service) => {
                if let Some(service) = Arc::into_inner(service) {
                    service.cancel().await?;
                }
            }
        }
        Ok(())
    }
}

impl Bare {
    async fn post(&self, method: &str, params: &Value) -> reqwest::Result<reqwest::Response> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        let request = self.client.post(&self.url).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-session-id", &self.session).header("mcp-protocol-version", "2025-11-25");
        request.body(body).send().await?.error_for_status()
    }
}
