//! What real servers, bridges and proxies answer, byte for byte, and what it means.

use super::{Sent, answer};
use crate::transport::classify::{AnswerId, BodyFacts, Class};
use crate::vocabulary::outcome::{Execution, Kind};
use Class::*;
use Sent::*;

/// The id of the attempt in these bodies.
const OUR_ID: i64 = 7;

/// Reads a body as the transport does: a JSON-RPC answer, or a text. The kind is that of a failure that is proven, or that claims nothing;
/// a refusal that nothing confirms is an answer exactly if it is an error of JSON-RPC.
fn check(rows: &[(&str, Sent, u16, &str, Class, Kind)]) {
    for &(name, sent, code, body, class, kind) in rows {
        let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
        let envelope = json.as_ref().filter(|json| json["jsonrpc"] == "2.0");
        let end = match envelope.and_then(|json| json["error"]["code"].as_i64()) {
            Some(error) => BodyFacts::Error {
                code: error,
                message: json.as_ref().and_then(|json| json["error"]["message"].as_str()).unwrap(),
                id: if envelope.unwrap()["id"] == OUR_ID { AnswerId::Ours } else { AnswerId::Foreign },
                well_formed: true,
            },
            None => BodyFacts::NoAnswer { excerpt: body },
        };
        let conclusion = answer(sent, code, end);
        assert_eq!((conclusion.class, conclusion.kind), (class, Some(kind)), "{name}: {body}");
        if conclusion.claim.is_some() {
            let is_error = matches!(end, BodyFacts::Error { .. });
            assert_eq!(conclusion.execution == Execution::Answered, is_error, "{name}: {body}");
        }
    }
}

#[test]
fn an_unknown_session_is_a_rejected_session_in_every_dialect() {
    let rejected = |name, code, body| (name, Session, code, body, SessionRejected, Kind::SessionLost);
    check(&[
        rejected(
            "TypeScript SDK, supergateway, mcp-proxy, npm fastmcp",
            404,
            r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#,
        ),
        rejected(
            "Python SDK 1",
            404,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#,
        ),
        rejected(
            "Python SDK 2",
            404,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}"#,
        ),
        rejected("rmcp", 404, "Not Found: Session not found"),
        rejected(
            "server-everything",
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
        ),
        rejected(
            "TypeScript SDK with one transport, after a restart",
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#,
        ),
        rejected(
            "Cloudflare agents",
            404,
            r#"{"error":{"code":-32001,"message":"Session not found"},"id":null,"jsonrpc":"2.0"}"#,
        ),
        rejected(
            "Java SDK: a serialised exception",
            404,
            r#"{"jsonRpcError":{"code":-32603,"message":"Session not found: 4f1c"},"message":"Session not found: 4f1c"}"#,
        ),
        rejected(
            "C# SDK: our id",
            404,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        rejected(
            "C# server redeployed as stateless",
            400,
            "Bad Request: The Mcp-Session-Id header is not supported in stateless mode",
        ),
        rejected("Go SDK", 404, "session not found"),
        rejected("Go SDK, closing", 404, "session is closing"),
        rejected("mcp-go, invalid", 404, "Invalid session ID"),
        rejected("mcp-go, terminated", 404, "Session terminated"),
        rejected(
            "Kotlin SDK",
            404,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Session not found"}}"#,
        ),
        rejected(
            "PHP SDK",
            404,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found or has expired."}}"#,
        ),
        rejected(
            "Swift SDK, expired",
            404,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Not Found: Invalid or expired session ID"}}"#,
        ),
        rejected(
            "Swift SDK, before initialize",
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Bad Request: Session not initialized"}}"#,
        ),
        rejected("ContextForge", 404, "Session not found"),
        rejected("a container's error page", 404, "<!doctype html><title>HTTP Status 404</title>"),
        rejected("nothing at all", 404, ""),
        rejected("gone", 410, "Gone"),
        rejected("affine-mcp-server", 400, "Bad Request: No valid session ID or not an initialize request"),
        rejected("anubis-mcp", 400, "No active session"),
        rejected("appsmith", 404, r#"{"error":"session not found; initialize a new MCP session"}"#),
        rejected("nao", 404, "Session not found or expired. Please reinitialize."),
        rejected("a plain JSON object", 400, r#"{"error":"Session not found"}"#),
        rejected(
            "Python SDK 1, a session that was ended",
            404,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Not Found: Session has been terminated"}}"#,
        ),
        rejected("django-mcp-server, playwright", 404, "Session not found"),
        rejected(
            "aiohttp-mcp, arcade-mcp-server, Python SDK 1.12, after a restart",
            400,
            "Bad Request: No valid session ID provided",
        ),
        rejected(
            "mastra: our id",
            400,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided for non-initialize request"}}"#,
        ),
        rejected(
            "n8n-mcp: our id",
            404,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Session not found or expired"}}"#,
        ),
        rejected(
            "notion-mcp-server",
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
        ),
        rejected(
            "tower-mcp",
            404,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"Session '4f1c' not found or expired. Please re-initialize the connection."}}"#,
        ),
        rejected("turbomcp", 404, ""),
        rejected("pmcp", 404, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Unknown session ID"}}"#),
        rejected("a front that puts its own page in place of a 404", 404, "gone away"),
    ]);
}

#[test]
fn the_words_count_under_every_status_and_with_our_id() {
    check(&[
        (
            "ContextForge on /rpc: an answer of a handler",
            Session,
            200,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"Session not found"}}"#,
            SessionRejected,
            Kind::SessionLost,
        ),
        (
            "neotoma behind a balancer",
            Session,
            503,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Service Unavailable: MCP session is unknown on this API instance"}}"#,
            SessionRejected,
            Kind::SessionLost,
        ),
        (
            "400 with our id: a handler may have said so, and the twin tells",
            Session,
            400,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
            SessionRejected,
            Kind::SessionLost,
        ),
        ("keryx", Session, 200, r#"{"error":"Session not found"}"#, SessionRejected, Kind::SessionLost),
    ]);
}

#[test]
fn false_friends_say_nothing_of_a_session() {
    check(&[
        (
            "TypeScript SDK: the header is missing",
            Session,
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Mcp-Session-Id header is required"},"id":null}"#,
            Rejected,
            Kind::HttpStatus,
        ),
        (
            "Python SDK: the header is missing",
            Session,
            400,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#,
            Rejected,
            Kind::HttpStatus,
        ),
        (
            "rmcp: the header is missing",
            Session,
            400,
            "Bad Request: Session ID is required",
            Rejected,
            Kind::HttpStatus,
        ),
        (
            "Java SDK: the header is missing",
            Session,
            400,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Session ID required in mcp-session-id header"}}"#,
            Answered,
            Kind::Rpc,
        ),
        (
            "PHP SDK: the header is missing",
            Session,
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A valid session id is REQUIRED for non-initialize requests."}}"#,
            Rejected,
            Kind::HttpStatus,
        ),
        (
            "wrong protocol version",
            Session,
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Unsupported protocol version: 2099-01-01 (supported versions: 2025-11-25)"},"id":null}"#,
            Rejected,
            Kind::HttpStatus,
        ),
        (
            "version error of the modern era",
            Session,
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported protocol version"}}"#,
            SessionSuspect,
            Kind::Rpc,
        ),
        (
            "initialize on a live session",
            Session,
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request: Server already initialized"},"id":null}"#,
            Rejected,
            Kind::HttpStatus,
        ),
        (
            "a second listener",
            Session,
            409,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Conflict: Only one SSE stream is allowed per session"},"id":null}"#,
            Answered,
            Kind::Rpc,
        ),
        (
            "catch-all around the dispatch",
            Session,
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#,
            Rejected,
            Kind::HttpStatus,
        ),
        (
            "unknown method of the modern era, seen with a session",
            Session,
            404,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}"#,
            Answered,
            Kind::Rpc,
        ),
        (
            "unknown method in 200",
            Session,
            200,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid request parameters"}}"#,
            Answered,
            Kind::Rpc,
        ),
        ("Go SDK: another user's session", Session, 403, "session user mismatch", Rejected, Kind::Auth),
        ("ContextForge: no owner", Session, 403, "Session ownership unavailable", Rejected, Kind::Auth),
        (
            "a 401 is about the token",
            Session,
            401,
            r#"{"error":"invalid_token","error_description":"No authorization provided"}"#,
            Unauthorized,
            Kind::Auth,
        ),
    ]);
}

/// Nobody who gets these was given a session that could be lost; a handshake helps all the same.
#[test]
fn a_server_that_wants_a_session_of_who_has_none_is_asked_for_one() {
    check(&[
        (
            "server-everything",
            NoSession,
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
            SessionRejected,
            Kind::SessionLost,
        ),
        (
            "mcp-proxy with OAuth, to no token",
            NoSession,
            401,
            "Unauthorized: No valid session ID provided",
            Unauthorized,
            Kind::Auth,
        ),
    ]);
    let conclusion =
        answer(NoSession, 401, BodyFacts::NoAnswer { excerpt: "Unauthorized: No valid session ID provided" });
    assert!(conclusion.repair.token, "the token is replaced on the way");
}

/// A server of the handshake era in the place of one of the modern era.
#[test]
fn a_rollback_is_told_in_these_words() {
    let rolled_back = |name, code, body| (name, Modern, code, body, SessionRejected, Kind::SessionLost);
    let unlisted = |name, code, body| (name, Modern, code, body, Rejected, Kind::HttpStatus);
    check(&[
        rolled_back(
            "TypeScript SDK, playwright, server-everything",
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#,
        ),
        rolled_back(
            "Python SDK 1",
            400,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#,
        ),
        rolled_back(
            "Python SDK 1, stateless",
            400,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Unsupported protocol version: 2026-07-28. Supported versions: 2024-11-05, 2025-03-26"}}"#,
        ),
        rolled_back(
            "mcp-framework, notion-mcp-server",
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
        ),
        rolled_back(
            "n8n-mcp: our id",
            400,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided and not an initialize request"}}"#,
        ),
        rolled_back(
            "Hono's example",
            404,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Unsupported protocol version (supported versions: 2025-11-25)"},"id":null}"#,
        ),
        rolled_back(
            "pmcp",
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session ID required for non-initialization requests"}}"#,
        ),
        rolled_back("django-mcp-server", 400, "Session required for stateful server"),
        // Not in words at all: one call fails, and the era is asked for before the next one.
        unlisted("turbomcp", 400, ""),
    ]);
}

#[test]
fn a_deleted_session_and_a_dying_bridge_leave_the_call_unknown() {
    check(&[
        (
            "Python SDK, JSON mode: the session is deleted under the call",
            Session,
            500,
            r#"{"id":"server-error","error":{"code":-32603,"message":"Error processing request"}}"#,
            Ambiguous,
            Kind::HttpStatus,
        ),
        (
            "the same with an envelope: a handler may have raised it after its effect",
            Session,
            500,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32603,"message":"Error processing request"}}"#,
            Answered,
            Kind::Rpc,
        ),
        (
            "supergateway: its child was killed",
            Session,
            200,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"MCP server process failed"}}"#,
            Answered,
            Kind::Rpc,
        ),
    ]);
    let clean = BodyFacts::Stopped { orderly: true, resumable: false };
    assert_eq!(answer(Session, 200, clean).class, Ambiguous, "a clean end without an event");
    let primed = BodyFacts::Stopped { orderly: true, resumable: true };
    assert_eq!(answer(Session, 200, primed).class, Resumable, "a clean end after a priming id");
}

#[test]
fn a_middlebox_never_proves_that_nothing_ran() {
    check(&[
        (
            "nginx, upstream down or killed in the call: byte for byte the same",
            Session,
            502,
            "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>",
            Ambiguous,
            Kind::Gateway,
        ),
        (
            "nginx, read time-out",
            Session,
            504,
            "<center><h1>504 Gateway Time-out</h1></center>",
            Ambiguous,
            Kind::Gateway,
        ),
        (
            "haproxy, upstream killed in the call",
            Session,
            502,
            "<html><body><h1>502 Bad Gateway</h1>\nThe server returned an invalid or incomplete response.\n</body></html>",
            Ambiguous,
            Kind::Gateway,
        ),
        ("Java SDK, shutting down", Session, 503, "Server is shutting down", Ambiguous, Kind::Gateway),
        (
            "haproxy, server down",
            Session,
            503,
            "<h1>503 Service Unavailable</h1>\nNo server is available to handle this request.",
            Ambiguous,
            Kind::Gateway,
        ),
        ("agentgateway, no session of ours", NoSession, 503, "no endpoint", Ambiguous, Kind::Gateway),
    ]);
}
