//! The two lifecycles of MCP, and what the newer one puts into each request.

/// The era that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lifecycle {
    /// 2025-03-26 to 2025-11-25: a handshake, and a session if the server gives one.
    Legacy,
    /// 2026-07-28: neither. Every request carries what it needs to be understood.
    Modern,
}

impl Lifecycle {
    /// The word used in every language.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// The version of the modern era that this client speaks.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";
