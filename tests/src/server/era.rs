//! Which of the two lifecycles of MCP a server speaks, and which one a request means.

use serde::{Deserialize, Serialize};

use super::modern::{PROTOCOL_VERSION, VERSION};
use super::request::{Request, Rpc};

/// What a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// 2025-03-26 to 2025-11-25: the handshake, and a session.
    #[default]
    Legacy,
    /// 2026-07-28, and nothing else.
    Modern,
    /// Both at the same URL: each request gets the one that it means.
    Dual,
}

impl Era {
    /// Whether a request that means this lifecycle is served by its rules.
    pub(crate) fn speaks(self, lifecycle: Lifecycle) -> bool {
        match self {
            Self::Legacy => lifecycle == Lifecycle::Legacy,
            Self::Modern => lifecycle == Lifecycle::Modern,
            Self::Dual => true,
        }
    }
}

/// What a request means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// The one with the handshake.
    #[default]
    Legacy,
    /// The one without.
    Modern,
}

impl Lifecycle {
    /// The body decides, by the version in its `_meta`; only a body without one leaves it to the header.
    pub(crate) fn of(request: &Request, rpc: Option<&Rpc>) -> Self {
        let claims = rpc.is_some_and(|rpc| rpc.meta(PROTOCOL_VERSION).is_some());
        // The versions are dates: their order is that of their texts.
        let named = request.header("mcp-protocol-version").is_some_and(|version| version >= VERSION);
        let handshake = rpc.is_some_and(|rpc| rpc.method.as_deref() == Some("initialize"));
        if claims || (named && !handshake) { Self::Modern } else { Self::Legacy }
    }
}
