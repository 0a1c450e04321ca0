//! The codes of JSON-RPC errors that say something of the request rather than of what it asked for.

/// The code for a method that the server does not know (JSON-RPC 2.0, section 5.1). MCP 2026-07-28 sends it with status 404.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// The version of the request is not spoken (MCP 2026-07-28, schema, UnsupportedProtocolVersionError).
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;
/// Headers and body of the request differ (MCP 2026-07-28, schema, HeaderMismatchError).
pub(super) const HEADER_MISMATCH: i64 = -32020;
/// The request lacks a capability of the client (MCP 2026-07-28, schema, MissingRequiredClientCapabilityError).
pub(super) const MISSING_CAPABILITY: i64 = -32021;
