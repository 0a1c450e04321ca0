//! Every option of a client, its default and its reason.

use serde::{Deserialize, Serialize};

/// Which of a server's tool hints are believed when a call was lost without proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrustAnnotations {
    /// None of them.
    None,
    /// `readOnlyHint` only.
    ReadOnly,
    /// `readOnlyHint` and `idempotentHint`.
    #[default]
    Hinted,
}

/// The caller's word on sending a call again after an ambiguous loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resend {
    /// Repeating is safe.
    Always,
    /// The method and the tool's hints decide.
    #[default]
    Default,
    /// Only with proof that it did not run.
    Never,
}

/// What to do when the server has lost the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Recovery {
    /// Replace it by one shared handshake, and go on.
    #[default]
    Auto,
    /// Every call fails `session_lost` until `recover()` is called.
    Surface,
    /// Each call that the server refuses reports it; nothing else happens.
    Off,
}

/// An option or an argument that cannot be used. It names the field; nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct OptionError {
    /// The option or argument, in its Rust spelling.
    pub field: &'static str,
    /// What is wrong with it. Never the value of a secret.
    pub problem: String,
}

impl OptionError {
    /// This field has this problem.
    #[must_use]
    pub fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}

/// Which era a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Era {
    /// What the server speaks: it is asked once, by `server/discover`, before the first handshake.
    #[default]
    Auto,
    /// 2025-03-26 to 2025-11-25: a handshake, and a session if the server gives one.
    Legacy,
    /// 2026-07-28: no handshake and no session. A server that does not speak it is an error of [`connect`](crate::ClientBuilder::connect).
    Modern,
}
