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
mod background;
mod builder;
mod cache;
mod call;
mod client;
mod clock;
mod config;
mod cursors;
mod era;
mod error;
mod event;
mod handler;
mod method;
pub mod oauth;
mod outcome;
pub mod policy;
mod request;
mod results;
mod rpc;
pub mod session;
mod settings;
mod sse;
mod text;
mod tools;
pub mod transport;

pub use auth::ProviderError;
pub use builder::ClientBuilder;
pub use call::CallOptions;
pub use client::Client;
pub use config::{Era, OptionError, Recovery, Resend, TrustAnnotations};
pub use era::Lifecycle;
pub use error::{Error, Failure, RpcFailure};
pub use event::{EVENT_QUEUE, Event, EventName, EventStream};
pub use handler::{HandlerError, NOTIFICATION_QUEUE, Progress, ServerNotification};
pub use method::{Method, Repeatability};
pub use outcome::{Attempt, Execution, Kind, Phase, Proof, ProofBasis, Verdict, merge};
pub use request::{Call, ListCall};
pub use results::{
    CallToolResult, CompleteResult, GetPromptResult, InitializeResult, ListResult, Prompt, PromptArgument,
    ReadResourceResult, Resource, ResourceTemplate, Tool,
};
pub use tools::ToolAnnotations;
