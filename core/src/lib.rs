//! oncewire: an MCP client that never runs a tool twice without proof, never hangs on a dead stream, and recovers a lost
//! session exactly once.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/options.md")]
mod options_page {}

mod auth;
mod call;
mod client;
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
pub use vocabulary::config::{Era, OptionError, Recovery, Resend, TrustAnnotations};
pub use vocabulary::error::{Error, Failure, RpcFailure};
pub use vocabulary::event::{EVENT_QUEUE, Event, EventName, EventStream};
pub use vocabulary::handler::{HandlerError, NOTIFICATION_QUEUE, Progress, ServerNotification};
pub use vocabulary::method::{Method, Repeatability};
pub use vocabulary::outcome::{Attempt, Execution, Kind, Phase, Proof, ProofBasis, Verdict, merge};
