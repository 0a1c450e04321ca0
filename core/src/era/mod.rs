//! The two lifecycles of MCP.

/// The era that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lifecycle {
    /// 2025-03-26 to 2025-11-25: a handshake, and a session if the server gives one.
    Legacy,
    /// 2026-07-28: neither.
    Modern,
}
