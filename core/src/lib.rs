//! oncewire: an MCP client that never runs a tool twice without proof, never hangs on a dead stream, and recovers a lost
//! session exactly once.

#![forbid(unsafe_code)]

mod config;
mod era;
mod method;
mod outcome;
pub mod policy;
mod rpc;
mod sse;
pub mod transport;

pub use config::{Recovery, Resend, TrustAnnotations};
pub use era::Lifecycle;
pub use method::{Method, Repeatability};
pub use outcome::{Attempt, Execution, Kind, Phase, Proof, merge};
