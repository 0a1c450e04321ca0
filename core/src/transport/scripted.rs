//! An exchange without sockets, for tests that run under paused time.
//!
//! A script is an async function: it gets each request as it arrives and answers it, or fails it, or never comes back. What it says of
//! time (`tokio::time::sleep`) costs no time where tokio's clock is paused. [`Ledger`] keeps what happened, seen from the server's side;
//! [`Server`] is a small MCP server in memory, to script only what is out of the ordinary.
//!
//! ```
//! # use oncewire::{Client, transport::scripted::{Reply, Scripted, Server}};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), oncewire::Error> {
//! let server = Server::new();
//! let exchange = server.scripted(|arrival, server| async move {
//!     match arrival.method() {
//!         "resources/read" => Ok(Reply::text(503, "not now")),
//!         _ => server.answer(&arrival).await,
//!     }
//! });
//! let client = Client::builder("http://server.test/mcp").exchange(exchange.clone()).connect().await?;
//! client.call_tool("poke", serde_json::Value::Null).await?;
//! assert_eq!(exchange.ledger().count("tools/call"), 1);
//! # Ok(())
//! # }
//! ```

mod arrival;
mod label;
mod ledger;
mod modern;
mod reply;
mod server;

pub use arrival::Arrival;
pub use ledger::{Entry, Ledger, Over};
pub use reply::Reply;
pub use server::{Execution, GivenSession, Server};

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;

use self::ledger::Open;
use super::exchange::{Cause, Exchange, Framing, Spoken, WireFailure, WireRequest, WireResponse};

type Script = Arc<dyn Fn(Arrival) -> BoxFuture<'static, Result<Reply, Cause>> + Send + Sync>;

/// An [`Exchange`] whose answers are scripted; see the module.
pub struct Scripted {
    script: Script,
    ledger: Ledger,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Scripted").finish_non_exhaustive()
    }
}

impl Scripted {
    /// An exchange that hands each request to this script.
    ///
    /// A script that fails without having called [`Arrival::take`] has failed before the body was asked for: nothing was sent. One
    /// that replies has taken the body.
    #[must_use]
    pub fn new<F, R>(script: F) -> Arc<Self>
    where
        F: Fn(Arrival) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Reply, Cause>> + Send + 'static,
    {
        Arc::new(Self { script: Arc::new(move |arrival| Box::pin(script(arrival))), ledger: Ledger::default() })
    }

    /// What arrived so far and what became of it.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

#[async_trait]
impl Exchange for Scripted {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireFailure> {
        let open = Open::begin(&self.ledger, &request);
        let arrival = Arrival::new(open.number(), request, self.ledger.clone());
        let taken = arrival.clone();
        match (self.script)(arrival).await {
            Ok(reply) => {
                taken.take();
                open.head(reply.status());
                let (status, headers, steps) = reply.into_parts();
                let body = open.body(steps);
                Ok(WireResponse {
                    status,
                    headers,
                    body: body.boxed(),
                    framing: Framing::Http,
                    spoken: Spoken::default(),
                })
            }
            Err(cause) => {
                open.over(Over::Failed(cause));
                Err(WireFailure::new(cause))
            }
        }
    }
}
