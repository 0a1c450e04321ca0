//! Each fault of the fault server that can be seen without running a tool is found, and named.

use serde_json::{Value, json};
use test_case::test_case;

use crate::command::{checks, examined, report, server};

/// A rule for all requests of this JSON-RPC method.
fn when(rpc: &str, actions: Value) -> Value {
    json!({ "rules": [{ "when": { "rpc": rpc }, "do": actions }] })
}

/// The same, before the server looks at the session.
fn early(rpc: &str, actions: Value) -> Value {
    json!({ "rules": [{ "when": { "rpc": rpc }, "early": true, "do": actions }] })
}

fn unknown(status: u16, body: &str) -> Value {
    json!({ "options": { "unknown_session": { "custom": { "status": status, "body": body } } } })
}

fn tools(tools: Value) -> Value {
    json!({ "options": { "tools": tools } })
}

/// A stream with a priming event, and what reading on after it gets.
fn stream(resumed: Value) -> Value {
    json!({ "rules": [
        { "when": { "http": "GET", "last_event_id": "1" }, "do": resumed },
        { "when": { "rpc": "tools/list" }, "do": [{ "event": { "id": "1", "data": "" } }, { "answer_event": { "id": "2" } }, "end"] },
    ] })
}

const LOST: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#;
const VAGUE: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}"#;

// The way.
#[test_case(json!({ "options": { "start_down": true } }), "reach.unreachable"; "nobody listens")]
#[test_case(json!({ "rules": [{ "early": true, "do": ["close"] }] }), "reach.unreachable"; "connections are closed")]
#[test_case(json!({ "rules": [{ "early": true, "do": [{ "redirect": { "status": 302, "to": "https://elsewhere.test/mcp" } }] }] }), "reach.redirects"; "it leads elsewhere")]
#[test_case(json!({ "options": { "paths": ["/mcp", "/mcp/"] }, "rules": [{ "early": true, "when": { "path": "/mcp" }, "do": [{ "redirect": { "status": 307, "to": "/mcp/" } }] }] }), "reach.redirect_followed"; "it leads to another path")]
#[test_case(json!({ "options": { "paths": ["/other"] } }), "reach.not_mcp"; "another path")]
#[test_case(json!({ "rules": [{ "early": true, "do": [{ "respond": { "text": "<html>hello</html>" } }] }] }), "reach.not_mcp"; "a page")]
// The era.
#[test_case(early("server/discover", json!([{ "respond": { "status": 500 } }])), "era.discover_trouble"; "discover gets 500")]
#[test_case(early("initialize", json!([{ "respond": { "status": 500 } }])), "era.handshake_failed"; "initialize gets 500")]
#[test_case(when("notifications/initialized", json!([{ "respond": { "status": 400 } }])), "era.initialized_refused"; "initialized is refused")]
#[test_case(json!({ "rules": [{ "when": { "rpc": "initialize" }, "times": 1, "do": [{ "respond": { "status": 400, "json": { "jsonrpc": "2.0", "id": "$id", "error": { "code": -32602, "message": "Unsupported protocol version" } } } }] }] }), "era.version_refused"; "an unknown version is refused")]
#[test_case(when("initialize", json!([{ "respond": { "headers": { "Mcp-Session-Id": "0123456789abcdef" }, "json": { "jsonrpc": "2.0", "id": "$id", "result": { "protocolVersion": "2199-12-31", "capabilities": {}, "serverInfo": { "name": "x", "version": "1" } } } } }])), "era.version_unchecked"; "an unknown version is agreed to")]
#[test_case(json!({ "options": { "era": "modern" }, "rules": [{ "early": true, "when": { "rpc": "server/discover" }, "skip": 2, "times": 1, "do": [{ "respond": { "status": 400, "json": { "jsonrpc": "2.0", "id": "$id", "error": { "code": -32602, "message": "no" } } } }] }] }), "era.version_unlisted"; "versions are not listed")]
// Sessions.
#[test_case(unknown(400, LOST), "session.lost_by_words"; "a lost session in words")]
#[test_case(unknown(400, VAGUE), "session.lost_unseen"; "a lost session in vague words")]
#[test_case(unknown(500, "oops"), "session.lost_unseen"; "a lost session as 500")]
#[test_case(json!({ "rules": [{ "early": true, "when": { "rpc": ["ping", "tools/list"], "session": true }, "do": ["answer"] }] }), "session.not_checked"; "sessions are not looked at")]
#[test_case(json!({ "rules": [{ "early": true, "when": { "rpc": "ping", "session": true }, "do": ["answer"] }] }), "session.lost_unconfirmed"; "a ping is answered on every session")]
#[test_case(json!({ "rules": [{ "early": true, "when": { "rpc": "ping", "session": true }, "do": [{ "respond": { "status": 403, "text": "no" } }] }] }), "session.lost_unconfirmed"; "a ping is refused in other words")]
#[test_case(json!({ "rules": [{ "early": true, "when": { "rpc": "ping", "session": false }, "do": ["answer"] }] }), "session.missing_accepted"; "a session is not missed")]
#[test_case(when("initialize", json!([{ "respond": { "headers": { "Mcp-Session-Id": "7" }, "json": { "jsonrpc": "2.0", "id": "$id", "result": { "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "x", "version": "1" } } } } }])), "session.id_short"; "an id that can be guessed")]
#[test_case(when("initialize", json!([{ "respond": { "headers": { "Mcp-Session-Id": "a b" }, "json": { "jsonrpc": "2.0", "id": "$id", "result": { "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "x", "version": "1" } } } } }])), "session.id_unusable"; "an id with a blank")]
#[test_case(json!({}), "session.stale_initialize_refused"; "initialize with an old id")]
#[test_case(json!({ "options": { "get": "silent" } }), "session.get_silent"; "GET gets nothing")]
#[test_case(json!({ "rules": [{ "when": { "http": "GET" }, "do": [{ "respond": { "status": 400 } }] }] }), "session.get_odd"; "GET gets 400")]
#[test_case(json!({ "options": { "delete_status": 405 } }), "session.delete_refused"; "DELETE gets 405")]
#[test_case(json!({ "options": { "delete_status": 500 } }), "session.delete_failed"; "DELETE gets 500")]
#[test_case(json!({ "rules": [{ "when": { "http": "DELETE" }, "do": [{ "respond": { "status": 200 } }] }] }), "session.lives_on"; "a session outlives its DELETE")]
// Streams.
#[test_case(json!({}), "streams.json"; "JSON answers")]
#[test_case(json!({ "options": { "answer": "sse" } }), "streams.no_event_ids"; "no event ids")]
#[test_case(when("tools/list", json!([{ "answer_event": { "id": "2" } }, "end"])), "streams.no_priming"; "no priming event")]
#[test_case(stream(json!([{ "comment": "hi" }, "end"])), "streams.resume_empty"; "reading on gives nothing")]
#[test_case(stream(json!([{ "head": {} }, "hold"])), "streams.resume_broken"; "reading on stays silent")]
#[test_case(stream(json!([{ "respond": { "status": 400 } }])), "streams.resume_broken"; "reading on is refused")]
#[test_case(when("tools/list", json!([{ "event": { "id": "1", "retry": 90_000, "data": "" } }, { "answer_event": { "id": "2" } }, "end"])), "streams.retry_long"; "a long wait")]
#[test_case(when("tools/list", json!([{ "encode": ["gzip"] }, { "answer_event": {} }, "end"])), "streams.coded"; "a compressed stream")]
#[test_case(when("tools/list", json!([{ "delay_ms": 600 }, { "event": { "id": "1", "data": "" } }, { "answer_event": { "id": "2" } }, "end"])), "streams.buffered"; "all at once")]
#[test_case(when("tools/list", json!([{ "headers": { "Server": "nginx/1.22" } }, { "answer_as": "sse" }])), "streams.may_buffer"; "nginx on the way")]
// Limits.
#[test_case(json!({ "rules": [{ "when": { "rpc": "ping" }, "skip": 4, "times": 5, "do": [{ "respond": { "status": 429, "headers": { "Retry-After": "1" } } }] }] }), "limits.rate_limited"; "429")]
#[test_case(json!({ "rules": [{ "when": { "rpc": "ping" }, "skip": 4, "times": 5, "do": [{ "respond": { "status": 429 } }] }] }), "limits.no_retry_after"; "429 without a wait")]
#[test_case(json!({ "rules": [{ "when": { "rpc": "ping" }, "skip": 4, "times": 5, "do": ["close"] }] }), "limits.unanswered"; "eight are too many")]
#[test_case(json!({ "rules": [{ "when": { "rpc": "ping" }, "skip": 9, "times": 1, "do": [{ "respond": { "status": 413 } }] }] }), "limits.small"; "a large request is refused")]
// Logins.
#[test_case(json!({ "options": { "tokens": ["t0ken-of-the-test"] } }), "auth.login_wanted"; "a login is wanted")]
#[test_case(json!({ "options": { "tokens": ["t0ken-of-the-test"] } }), "auth.foreign_metadata"; "a challenge that names nothing")]
#[test_case(json!({ "options": { "tokens": ["t0ken-of-the-test"] } }), "auth.no_metadata"; "no metadata")]
#[test_case(json!({ "rules": [{ "early": true, "do": [{ "unauthorized": { "challenge": false } }] }] }), "auth.no_challenge"; "no challenge")]
#[test_case(json!({ "options": { "authorization": { "metadata": { "code_challenge_methods_supported": null } }, "protected": {} } }), "auth.no_s256"; "no PKCE")]
#[test_case(json!({ "options": { "authorization": { "metadata": { "issuer": "http://127.0.0.1:1/other" } }, "protected": {} } }), "auth.metadata_fault"; "another issuer")]
#[test_case(json!({ "options": { "authorization": { "registration": false }, "protected": {} } }), "auth.no_registration"; "no registration")]
#[test_case(json!({ "options": { "authorization": { "tells_issuer": false }, "protected": {} } }), "auth.no_issuer"; "no issuer")]
#[test_case(json!({ "options": { "authorization": {}, "protected": {} } }), "auth.no_offline_access"; "no offline access")]
// Tools.
#[test_case(json!({}), "tools.no_hints"; "no hints")]
#[test_case(tools(json!({ "peek": { "annotations": { "readOnlyHint": true, "destructiveHint": true } } })), "tools.contradictory"; "hints that contradict")]
#[test_case(tools(json!({ "delete_all": { "annotations": { "readOnlyHint": true } } })), "tools.doubtful_hint"; "a doubtful hint")]
#[test_case(tools(json!({ "peek": { "inputSchema": { "type": "string" } } })), "tools.schema_fault"; "a schema of no object")]
#[test_case(tools(json!({ "peek": { "inputSchema": { "type": "object", "properties": { "a": { "type": "object", "x-mcp-header": "A" } } } } })), "tools.header_fault"; "a header of an object")]
#[test_case(tools(json!({ "peek": { "name": "poke" } })), "tools.same_name"; "one name twice")]
#[test_case(tools(json!({ "Poke": {} })), "tools.alike_names"; "names alike")]
#[test_case(tools(json!({ "a b": {} })), "tools.bad_name"; "a name with a blank")]
#[test_case(when("tools/list", json!([{ "respond": { "json": { "jsonrpc": "2.0", "id": "$id", "error": { "code": -32603, "message": "no" } } } }])), "tools.list_failed"; "tools cannot be listed")]
#[test_case(when("tools/list", json!([{ "respond": { "json": { "jsonrpc": "2.0", "id": "$id", "result": { "tools": [], "nextCursor": "again" } } } }])), "tools.pages_endless"; "a list without an end")]
#[tokio::test]
async fn a_fault_is_found(script: Value, check: &str) {
    let server = server(script).await;
    let report = examined(&server, &[]).await;
    assert!(checks(&report).contains(&check), "{check} is not among {:?}\n{report:#}", checks(&report));
}

#[test_case(json!({ "options": { "idle_close_ms": 200 } }), "idle.connection_short"; "idle connections are closed")]
#[test_case(json!({ "rules": [{ "when": { "http": "GET" }, "do": [{ "head": {} }, { "delay_ms": 100 }, "close"] }] }), "idle.stream_cut"; "an idle stream is cut")]
#[test_case(json!({}), "idle.no_keep_alive"; "nothing is said on an idle stream")]
#[tokio::test]
async fn a_fault_of_silence_is_found(script: Value, check: &str) {
    let server = server(script).await;
    let report = examined(&server, &["--slow", "1s"]).await;
    assert!(checks(&report).contains(&check), "{check} is not among {:?}\n{report:#}", checks(&report));
}

#[test_case("http://no-such-host.invalid/mcp", &["--no-proxy"], "reach.unknown_host"; "no such host")]
#[test_case("http://no-such-host.invalid/mcp", &["--proxy", "http://127.0.0.1:1"], "reach.through_proxy"; "a proxy")]
#[tokio::test]
async fn a_way_that_leads_nowhere_is_told(url: &str, more: &[&str], check: &str) {
    let (report, _) = report(&[&[url], more].concat()).await;
    let report = &report["servers"][0];
    assert!(checks(report).contains(&check), "{report:#}");
    assert_eq!(report["grade"], Value::Null);
}
