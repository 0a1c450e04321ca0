//! The words by which a server says that it does not know a session, where the status does not say it.
//!
//! Codes are of no use for that: servers use -32000, -32001 and -32600 for a dozen other things. The wording is narrow on purpose.
//! What says that the header is missing is not a lost session: the header was sent, so something on the way strips it, and a new
//! session would not help.

/// Says the opposite, or something else: that the header is missing, or that the protocol version is not spoken.
const NEVER: [&str; 3] = ["header is required", "missing session id", "unsupported protocol version"];

/// Codes of errors that are about the request: a parse error, and the header and version errors of MCP 2026-07-28.
const NEVER_CODES: [i64; 4] = [-32700, -32020, -32021, -32022];

/// Says it in so many words.
const GONE: [&str; 10] = [
    "no valid session id",
    "session not found",
    "session was not found",
    "unknown session",
    "invalid session",
    "expired session",
    "terminated session",
    "no active session",
    "server not initialized",
    "mcp-session-id header is not supported",
];

/// Says it if it stands after "session " in the same line.
const GONE_AFTER_SESSION: [&str; 4] = ["expired", "unknown", "terminated", "not initialized"];

/// What servers of the handshake era answer to a request that does not belong to a session, or whose version they do not know.
const HANDSHAKE_MISSING: [&str; 10] = [
    "session-id header is required",
    "session id is required",
    "session id required",
    "session required",
    "initialize request",
    "missing session id",
    "no valid session id",
    "server not initialized",
    "session not initialized",
    "unsupported protocol version",
];

/// Does a text say that there has to be a handshake first, or that the version is not spoken?
pub(super) fn says_a_handshake_is_missing(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    HANDSHAKE_MISSING.iter().any(|phrase| text.contains(phrase))
}

/// Does the message of a JSON-RPC error say that the session is gone?
pub(super) fn error_says_session_is_gone(code: i64, message: &str) -> bool {
    !NEVER_CODES.contains(&code) && says_session_is_gone(message)
}

/// Does a text say that the session is gone?
pub(super) fn says_session_is_gone(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    if NEVER.iter().any(|phrase| text.contains(phrase)) {
        return false;
    }
    GONE.iter().any(|phrase| text.contains(phrase)) || text.lines().any(line_says_session_is_gone)
}

fn line_says_session_is_gone(line: &str) -> bool {
    line.split_once("session ").is_some_and(|(_, rest)| GONE_AFTER_SESSION.iter().any(|phrase| rest.contains(phrase)))
}
