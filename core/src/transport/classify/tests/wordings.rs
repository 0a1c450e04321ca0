//! The words for a session that is gone, and those that only look like them.

use crate::transport::classify::wording::{error_says_session_is_gone, says_session_is_gone};

#[test]
fn these_say_that_the_session_is_gone() {
    for text in [
        "No valid session ID",
        "session not found",
        "Session was not found",
        "unknown session",
        "Invalid session ID",
        "Not Found: Invalid or expired session ID",
        "terminated session",
        "No active session",
        "Session expired",
        "Your session has expired, please log in",
        "session 4f1c is unknown here",
        "Session abc was terminated",
        "Session not initialized",
        "Bad Request: Server not initialized",
        "The MCP-SESSION-ID header is not supported in stateless mode",
        "first line\nsession 1 expired\nlast line",
        "a session, and another session expired",
    ] {
        assert!(says_session_is_gone(text), "{text}");
        assert!(error_says_session_is_gone(-32000, text), "{text}");
    }
}

#[test]
fn these_do_not() {
    for text in [
        "",
        "Bad Request",
        "Mcp-Session-Id header is required",
        "Missing session ID",
        "Session ID is required",
        "Bad Request: Mcp-Session-Id header is required; no valid session id",
        "Missing session ID: session not found",
        "Unsupported protocol version: session expired",
        "A valid session id is REQUIRED",
        "Server already initialized",
        "Only one SSE stream is allowed per session",
        "session user mismatch",
        "session is closing",
        "token expired",
        "the file was not found",
        "expired: the session",
        "sessions expired",
        // The words have to stand in one line.
        "session 1\nexpired",
    ] {
        assert!(!says_session_is_gone(text), "{text}");
    }
}

#[test]
fn an_error_about_the_request_says_nothing_of_the_session() {
    for code in [-32700, -32020, -32021, -32022] {
        assert!(!error_says_session_is_gone(code, "session not found"), "{code}");
    }
}
