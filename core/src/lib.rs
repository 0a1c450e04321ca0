//! oncewire: an MCP client that never runs a tool twice without proof, never hangs on a dead stream, and recovers a lost
//! session exactly once.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use oncewire::{Client, Error, Execution};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Error> {
//! let client = Client::builder("https://example.com/mcp").timeout(Duration::from_secs(30)).connect().await?;
//! match client.call_tool("transfer", json!({ "amount": 5 })).await {
//!     Ok(result) => println!("{}", result.raw),
//!     // Each error says whether the server may have run the call. One that it did not run may be sent again.
//!     Err(error) if error.execution() == Execution::NotExecuted => println!("it did not run: {error}"),
//!     Err(error) => println!("it may have run: {error}"),
//! }
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # How it is built
//!
//! Each folder is a layer, and imports only from those below it. From the top: `diagnose` (what an inspector asks), `client` (what a host sees), `call` (a call's life), `session`
//! (handshake, recovery, streams), `exchange` (one request and its answer), `auth` and `oauth` (tokens and logins), `policy` (what to do about a
//! failure, pure), `transport` (bytes, and what an end proves), `protocol` (what MCP says), `rpc` (JSON-RPC), `vocabulary` (the words of all).
//! `docs/architecture.md` has the picture, the life of a call through them, and where to change what; a test holds the sources to it.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/options.md")]
mod options_page {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/oauth.md")]
mod oauth_page {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/stdio.md")]
mod stdio_page {}

mod auth;
mod call;
mod client;
pub mod diagnose;
mod exchange;
pub mod oauth;
pub mod policy;
mod protocol;
mod rpc;
pub mod session;
pub mod transport;
mod vocabulary;

pub use auth::ProviderError;
pub use call::options::CallOptions;
pub use client::Client;
pub use client::builder::ClientBuilder;
pub use client::request::{Call, ListCall};
pub use protocol::annotations::ToolAnnotations;
pub use protocol::era::Lifecycle;
pub use protocol::results::{
    CallToolResult, CompleteResult, GetPromptResult, InitializeResult, ListResult, Prompt, PromptArgument,
    ReadResourceResult, Resource, ResourceTemplate, Tool,
};
pub use session::state::ClientState;
pub use transport::stdio::{INHERITED, Inherit, ServerCommand};
pub use vocabulary::config::{Era, OptionError, Recovery, Resend, TrustAnnotations};
pub use vocabulary::error::{Error, Failure, RpcFailure};
pub use vocabulary::event::{EVENT_QUEUE, Event, EventName, EventStream};
pub use vocabulary::handler::{HandlerError, HandlerRefusal, NOTIFICATION_QUEUE, Progress, ServerNotification};
pub use vocabulary::method::{Method, Repeatability};
pub use vocabulary::outcome::{Attempt, Execution, Kind, Phase, Proof, ProofBasis, Verdict, merge};
