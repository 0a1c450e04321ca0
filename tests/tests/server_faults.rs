//! Each fault is what it says, byte by byte.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

mod raw;

use std::io::ErrorKind;

use oncewire_tests::server::{Cut, FaultServer, OnAccept, Options, Script};
use raw::Raw;
use serde_json::{Value, json};

/// A server whose `tools/call` does this.
async fn failing(actions: Value) -> FaultServer {
    scripted(json!({"rules": [{"name": "fault", "when": {"rpc": "tools/call"}, "do": actions}]})).await
}

async fn scripted(script: Value) -> FaultServer {
    let script: Script = serde_json::from_value(script).unwrap();
    FaultServer::start(script).await.unwrap()
}

async fn poke(server: &FaultServer) -> (String, Option<ErrorKind>) {
    let mut raw = Raw::ready(server).await;
    raw.send_rpc("tools/call", json!({"name": "poke"})).await;
    raw.rest().await
}

#[tokio::test]
async fn connections_end_by_fin_or_by_rst_before_any_byte() {
    let server = failing(json!(["execute", "close"])).await;
    assert_eq!(poke(&server).await, (String::new(), None));
    assert_eq!(server.ledger().executions_of("tools/call", Some("poke")), 1);
    assert_eq!(server.ledger().arrivals.last().unwrap().rule.as_deref(), Some("fault"));

    let server = failing(json!(["reset"])).await;
    assert_eq!(poke(&server).await, (String::new(), Some(ErrorKind::ConnectionReset)));
    assert_eq!(server.ledger().executions.len(), 0);
}

#[tokio::test]
async fn half_an_answer_is_half_in_every_framing() {
    for (half, head, chunk_end) in [
        ("length", "Content-Length: ", ""),
        ("chunked", "Transfer-Encoding: chunked", "\r\n"),
        ("sse", "text/event-stream", "\n\r\n"),
        ("sse_half", "text/event-stream", "\r\n"),
    ] {
        let server = failing(json!([{"half_answer": half}, "close"])).await;
        let (text, end) = poke(&server).await;
        assert!(text.contains(head), "{text}");
        assert!(!text.contains("\r\n0\r\n") && !text.contains("\n\n") && text.ends_with(chunk_end), "{text:?}");
        assert_eq!(text.contains("isError"), half == "sse", "{text}");
        assert_eq!((end, server.ledger().executions.len()), (None, 1));
        assert_eq!(server.ledger().arrivals.last().unwrap().answered_at_ms, None);
    }
}

#[tokio::test]
async fn a_stream_is_composed_of_events_and_ends_as_told() {
    let server = failing(json!([
        {"comment": "hi"},
        {"event": {"id": "1", "retry": 200, "data": ""}},
        {"notify": {"method": "notifications/message", "params": {"of": "$id"}}},
        {"answer_event": {"id": "2", "eol": "\r\n", "space": false, "blank_line": false}},
        "reset",
    ]))
    .await;
    let (text, end) = poke(&server).await;
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    for part in [": hi\n\n", "id: 1\nretry: 200\ndata: \n\n", "\"params\":{\"of\":2}}\n\n", "id:2\r\ndata:{"] {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
    assert!(text.ends_with("}\r\n\r\n"), "the chunk's own end follows the event's last line: {text:?}");
}

#[tokio::test]
async fn a_body_is_cut_and_split_at_the_byte_that_the_script_names() {
    let server = failing(json!([{"cut_body": {"after": 3, "cut": "close"}}, {"respond": {"text": "abcdef"}}])).await;
    assert!(poke(&server).await.0.ends_with("Content-Length: 6\r\n\r\nabc"));

    let server = failing(json!([{"cut_sweep": "close"}, {"respond": {"text": "ab"}}])).await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        seen.push(poke(&server).await.0.split("\r\n\r\n").nth(1).unwrap().to_owned());
    }
    assert_eq!(seen, ["", "a"]);
    let mut raw = Raw::ready(&server).await;
    assert_eq!(raw.call("poke").await.body, "ab", "past its end the body is whole");

    let server =
        failing(json!([{"split_body_at": 2}, {"pieces": 1}, {"respond": {"text": "abc", "framing": "chunked"}}])).await;
    let mut raw = Raw::ready(&server).await;
    assert_eq!(raw.call("poke").await.body, "abc");
}

#[tokio::test]
async fn the_answer_waits_at_a_gate_until_it_is_released() {
    let server = failing(json!([{"gate": "door"}])).await;
    let mut raw = Raw::ready(&server).await;
    raw.send_rpc("tools/call", json!({"name": "poke"})).await;
    server.reached("door", 1).await;
    assert_eq!(server.ledger().executions.len(), 0);
    server.release("door");
    assert_eq!(raw.answer().await.unwrap().status, 200);
    assert_eq!(server.ledger().executions.len(), 1);
}

#[tokio::test]
async fn work_can_outlive_the_connection_and_the_client_s_leaving_is_noted() {
    let server = failing(json!([{"execute_for": {"until": "done", "detached": true}}, "close"])).await;
    assert_eq!(poke(&server).await, (String::new(), None));
    assert_eq!(server.ledger().executions[0].ended_ms, None);
    server.release("done");
    server.until(|ledger| ledger.executions[0].ended_ms.is_some()).await;

    let server = failing(json!(["execute", "hold"])).await;
    let mut raw = Raw::ready(&server).await;
    raw.send_rpc("tools/call", json!({"name": "poke"})).await;
    server.until(|ledger| ledger.executions.len() == 1).await;
    drop(raw);
    server.until(|ledger| ledger.arrivals.last().unwrap().client_gone_at_ms.is_some()).await;
    server.until(|ledger| ledger.connections.open == 0).await;
}

#[tokio::test]
async fn a_server_s_request_waits_for_its_reply() {
    let request = json!({"request": {"id": "s1", "method": "roots/list"}});
    let server = failing(json!([request, {"answer_event": {}}])).await;
    let mut raw = Raw::ready(&server).await;
    raw.send_rpc("tools/call", json!({"name": "poke"})).await;
    server.until(|ledger| ledger.arrivals.last().unwrap().status == Some(200)).await;
    let mut other = raw.another().await;
    other.send("POST", "/mcp", "", r#"{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}"#).await;
    assert_eq!(other.answer().await.unwrap().status, 202);
    let stream = raw.answer().await.unwrap().body;
    assert!(stream.contains("roots/list") && stream.contains("poke done"), "{stream}");
    assert_eq!(server.ledger().responses.len(), 1);
}

#[tokio::test]
async fn a_resumed_stream_delivers_the_answer_of_the_request_that_lost_it() {
    let server = scripted(json!({"rules": [
        {"when": {"rpc": "tools/call"}, "do": ["execute", {"event": {"id": "7", "data": ""}}, "close"]},
        {"when": {"http": "GET", "last_event_id": "7"}, "do": [{"answer_event": {"id": "8"}}]},
    ]}))
    .await;
    let mut raw = Raw::ready(&server).await;
    raw.send_rpc("tools/call", json!({"name": "poke"})).await;
    assert!(raw.rest().await.0.contains("id: 7\ndata: \n\n"));
    let mut resumed = raw.another().await;
    resumed.send("GET", "/mcp", "Last-Event-ID: 7\r\n", "").await;
    let answer = resumed.answer().await.unwrap().body;
    assert!(answer.contains("\"id\":2") && answer.contains("poke done"), "{answer}");
    assert_eq!(server.ledger().executions.len(), 1, "reading on executes nothing");
    assert!(
        server.ledger().arrivals.iter().all(|arrival| arrival.http == "GET"
            || arrival.rpc_id != Some(json!(2))
            || arrival.answered_at_ms.is_some())
    );
}

#[tokio::test]
async fn a_closed_port_refuses_and_opens_again_under_the_same_number() {
    let server = FaultServer::healthy().await.unwrap();
    let mut raw = Raw::ready(&server).await;
    for _ in 0..20 {
        server.go_down().await;
        assert_eq!(raw.rest().await.1, None);
        let refused = tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        server.come_up().await;
        raw = raw.another().await;
        assert_eq!(raw.call("poke").await.status, 200, "the session outlives the port");
    }
    server.restart().await;
    let mut raw = raw.another().await;
    assert_eq!(raw.call("poke").await.status, 404);
    assert!(server.ledger().sessions[0].forgotten);
}

#[tokio::test]
async fn a_server_can_start_with_its_port_closed() {
    let server = scripted(json!({"options": {"start_down": true}})).await;
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await.is_err());
    server.come_up().await;
    Raw::ready(&server).await;
}

#[tokio::test]
async fn a_script_can_take_the_process_away_under_its_own_request() {
    let server = failing(json!(["execute", {"go_down_ms": 20}])).await;
    let (text, _) = poke(&server).await;
    assert_eq!(text, "");
    server.come_up().await;
    Raw::ready(&server).await;
}

#[tokio::test]
async fn connections_can_be_accepted_and_dropped() {
    let on_accept = vec![OnAccept { skip: 0, times: Some(1), cut: Cut::Reset }];
    let server =
        FaultServer::start(Script { options: Options { on_accept, ..Options::default() }, ..Script::default() })
            .await
            .unwrap();
    let mut first = Raw::connect(&server).await;
    assert_eq!(first.rest().await.1, Some(ErrorKind::ConnectionReset));
    Raw::ready(&server).await;
    assert_eq!(server.ledger().arrivals.len(), 2);
}

#[tokio::test]
async fn an_early_rule_wins_over_the_session_check_and_rules_change_at_run_time() {
    let server =
        scripted(json!({"rules": [{"name": "gap", "early": true, "do": [{"respond": {"status": 503}}]}]})).await;
    let mut raw = Raw::connect(&server).await;
    assert_eq!(raw.rpc("initialize", json!({})).await.status, 503);
    assert!(server.drop_rule("gap") && !server.drop_rule("gap"));
    raw.handshake().await;
    server.add_rules(
        serde_json::from_value(
            json!([{"when": {"name": "poke"}, "times": 1, "do": [{"redirect": {"status": 307, "to": "$url/x"}}]}]),
        )
        .unwrap(),
    );
    let moved = raw.call("poke").await;
    assert_eq!((moved.status, moved.header("location")), (307, Some(format!("{}/x", server.url()).as_str())));
    assert_eq!(raw.call("poke").await.status, 200);
}

#[tokio::test]
async fn bytes_below_http_go_out_as_they_are() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n";
    let server = failing(json!([{"raw": early}, "answer"])).await;
    let mut raw = Raw::ready(&server).await;
    assert_eq!(raw.call("poke").await.status, 103);
    assert_eq!(raw.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn concurrent_handshakes_are_counted() {
    let server = scripted(json!({"rules": [{"when": {"rpc": "initialize"}, "do": [{"gate": "i"}]}]})).await;
    let (mut one, mut two) = (Raw::connect(&server).await, Raw::connect(&server).await);
    one.send_rpc("initialize", json!({})).await;
    two.send_rpc("initialize", json!({})).await;
    server.reached("i", 2).await;
    server.release("i");
    assert_eq!((one.answer().await.unwrap().status, two.answer().await.unwrap().status), (200, 200));
    let ledger = server.ledger();
    assert_eq!((ledger.max_concurrent_initialize, ledger.sessions_left()), (2, 2));
}
