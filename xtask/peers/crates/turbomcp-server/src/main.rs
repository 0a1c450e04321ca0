//! A small server on turbomcp.

#[path = "../../tools.rs"]
mod tools;

use turbomcp::prelude::*;

#[derive(Clone)]
struct Peer;

#[turbomcp::server(name = "peer", version = "1.0.0")]
impl Peer {
    /// May change something.
    #[tool]
    async fn poke(&self) -> McpResult<String> {
        Ok(tools::run("poke", 0.0).await)
    }

    /// Only reads.
    #[tool(read_only = true)]
    async fn peek(&self) -> McpResult<String> {
        Ok(tools::run("peek", 0.0).await)
    }

    /// May be repeated.
    #[tool(read_only = false, idempotent = true)]
    async fn nudge(&self) -> McpResult<String> {
        Ok(tools::run("nudge", 0.0).await)
    }

    /// May change something, and takes a while.
    #[tool]
    async fn slow(&self, seconds: f64) -> McpResult<String> {
        Ok(tools::run("slow", seconds).await)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tools::end_with_parent();
    Peer.run_http(&tools::address().to_string()).await?;
    Ok(())
}
