//! Without rules the fault server is a correct MCP server.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

mod raw;

use oncewire_tests::server::{FaultServer, GetStream, Options, Refusal, Script, Shape};
use raw::Raw;
use serde_json::{Value, json};

async fn with(options: Options) -> FaultServer {
    FaultServer::start(Script { options, rules: Vec::new() }).await.unwrap()
}

#[tokio::test]
async fn a_session_lives_from_initialize_to_delete() {
    let server = FaultServer::healthy().await.unwrap();
    let mut raw = Raw::ready(&server).await;
    assert_eq!(raw.call("poke").await.json()["result"]["content"][0]["text"], "poke done");
    raw.send("DELETE", "/mcp", "", "").await;
    assert_eq!(raw.answer().await.unwrap().status, 200);
    let gone = raw.call("poke").await;
    assert_eq!((gone.status, gone.json()["error"]["message"].as_str()), (404, Some("Session not found")));
    let ledger = server.ledger();
    assert_eq!(ledger.executions_of("tools/call", Some("poke")), 1);
    assert_eq!(ledger.sessions_left(), 0);
    assert_eq!((ledger.sessions[0].deletes, ledger.sessions[0].alive), (1, false));
    assert_eq!(ledger.connections.opened, 1, "keep-alive holds over all of it");
}

#[tokio::test]
async fn every_method_is_answered_in_both_shapes() {
    for answer in [Shape::Json, Shape::Sse] {
        let server = with(Options { answer, ..Options::default() }).await;
        let mut raw = Raw::ready(&server).await;
        let calls = [
            ("ping", json!({}), "/result", json!({})),
            ("tools/list", json!({}), "/result/tools/1/annotations/readOnlyHint", json!(true)),
            ("resources/list", json!({}), "/result/resources/0/uri", json!("mem://a")),
            ("resources/templates/list", json!({}), "/result/resourceTemplates/0/name", json!("memory")),
            ("resources/read", json!({"uri": "mem://a"}), "/result/contents/0/text", json!("what mem://a holds")),
            ("prompts/list", json!({}), "/result/prompts/0/name", json!("hello")),
            ("prompts/get", json!({"name": "hello"}), "/result/messages/0/content/text", json!("say hello")),
            ("completion/complete", json!({}), "/result/completion/total", json!(2)),
            ("logging/setLevel", json!({"level": "info"}), "/result", json!({})),
            ("resources/subscribe", json!({"uri": "mem://a"}), "/result", json!({})),
            (
                "tools/call",
                json!({"name": "echo", "arguments": {"n": 9_007_199_254_740_993_u64}}),
                "/result/structuredContent/n",
                json!(9_007_199_254_740_993_u64),
            ),
            ("tools/call", json!({"name": "nobody"}), "/error/code", json!(-32602)),
            ("no/such", json!({}), "/error/code", json!(-32601)),
        ];
        for (method, params, at, wanted) in calls {
            let answer = raw.rpc(method, params).await;
            assert_eq!((answer.status, answer.json().pointer(at)), (200, Some(&wanted)), "{method}");
        }
    }
}

#[tokio::test]
async fn lists_come_in_pages_whose_cursors_die_with_the_session() {
    let server = with(Options { page_size: 2, ..Options::default() }).await;
    let mut raw = Raw::ready(&server).await;
    let (mut names, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = raw.rpc("tools/list", json!({"cursor": cursor})).await.json();
        names.extend(page["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()));
        let next = page["result"]["nextCursor"].clone();
        if next.is_null() {
            break;
        }
        cursor = next;
    }
    assert_eq!(names, ["poke", "peek", "nudge", "slow", "echo"]);
    server.forget_sessions();
    raw.handshake().await;
    assert_eq!(raw.rpc("tools/list", json!({"cursor": cursor})).await.json()["error"]["message"], "Invalid cursor");
}

#[tokio::test]
async fn requests_before_the_end_of_the_handshake_are_refused() {
    let server = FaultServer::healthy().await.unwrap();
    let mut raw = Raw::connect(&server).await;
    let answer = raw.rpc("initialize", json!({"protocolVersion": "9999"})).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
    raw.session = answer.header("mcp-session-id").map(str::to_owned);
    assert_eq!(raw.call("poke").await.status, 400);
    assert_eq!(server.ledger().too_early, 1);
    assert_eq!(server.ledger().executions.len(), 0);
}

#[tokio::test]
async fn unknown_and_missing_sessions_are_worded_as_told() {
    let custom = Refusal::Custom { status: 410, body: r#"{"error": "gone", "id": "$id"}"#.to_owned() };
    for (shape, status, body) in [
        (Refusal::Json, 404, r#"{"error":{"code":-32001,"message":"Session not found"},"id":null,"jsonrpc":"2.0"}"#),
        (
            Refusal::ServerError,
            404,
            r#"{"error":{"code":-32600,"message":"Session not found"},"id":"server-error","jsonrpc":"2.0"}"#,
        ),
        (Refusal::Text, 404, "Session not found"),
        (Refusal::Empty, 404, ""),
        (custom, 410, r#"{"error":"gone","id":1}"#),
    ] {
        let server = with(Options { unknown_session: shape, ..Options::default() }).await;
        let mut raw = Raw::connect(&server).await;
        raw.session = Some("made-up".to_owned());
        let answer = raw.call("poke").await;
        let same = match serde_json::from_str::<Value>(body) {
            Ok(json) => answer.json() == json,
            Err(_) => answer.body == body,
        };
        assert!(answer.status == status && same, "{answer:?}");
        raw.session = None;
        assert_eq!(raw.call("poke").await.status, 400);
    }
}

#[tokio::test]
async fn a_new_session_evicts_the_old_one_if_there_can_be_only_one() {
    let server = with(Options { single_session: true, ..Options::default() }).await;
    let mut old = Raw::ready(&server).await;
    let mut new = Raw::ready(&server).await;
    assert_eq!((old.call("poke").await.status, new.call("poke").await.status), (404, 200));
}

#[tokio::test]
async fn tokens_are_checked_before_anything_runs() {
    let server = with(Options { tokens: Some(vec!["t1".to_owned()]), ..Options::default() }).await;
    let mut raw = Raw::connect(&server).await;
    raw.token = Some("t1".to_owned());
    raw.handshake().await;
    server.accept_tokens(["t2"]);
    let refused = raw.call("poke").await;
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"));
    raw.token = Some("t2".to_owned());
    assert_eq!(raw.call("poke").await.status, 200);
    assert_eq!(server.ledger().executions_of("tools/call", Some("poke")), 1);
}

#[tokio::test]
async fn the_get_stream_carries_what_is_pushed_and_can_be_refused() {
    let server = FaultServer::healthy().await.unwrap();
    let raw = Raw::ready(&server).await;
    let mut stream = raw.another().await;
    stream.send("GET", "/mcp", "", "").await;
    server
        .until(|ledger| ledger.arrivals.iter().any(|arrival| arrival.status == Some(200) && arrival.http == "GET"))
        .await;
    let push = serde_json::from_value(json!({"method": "notifications/tools/list_changed"})).unwrap();
    assert_eq!(server.push(&push), 1);
    let text = stream.until("\n\n\r\n").await;
    assert!(text.contains("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"), "{text}");
    server.cut_connections(oncewire_tests::server::Cut::Close);
    let (_, end) = stream.rest().await;
    assert_eq!(end, None);

    server.change_options(|options| options.get = GetStream::NotAllowed);
    let mut again = raw.another().await;
    again.send("GET", "/mcp", "", "").await;
    assert_eq!(again.answer().await.unwrap().status, 405);
}

#[tokio::test]
async fn slow_reports_progress_only_to_those_who_asked() {
    let server = with(Options { progress_every_ms: 10, ..Options::default() }).await;
    let mut raw = Raw::ready(&server).await;
    let arguments = json!({"ms": 35});
    let quiet = raw.rpc("tools/call", json!({"name": "slow", "arguments": arguments})).await;
    assert_eq!(quiet.json()["result"]["content"][0]["text"], "slow done");
    let params = json!({"name": "slow", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let told = raw.rpc("tools/call", params).await.body;
    assert_eq!(told.matches("notifications/progress").count(), 3, "{told}");
    assert!(told.ends_with("\n\n") && told.contains("\"progressToken\":\"p\"") && told.contains("slow done"));
    let runs = server.ledger().executions;
    assert!(runs.len() == 2 && runs.iter().all(|run| run.ended_ms.unwrap() >= run.started_ms + 35), "{runs:?}");
}

#[tokio::test]
async fn a_repeated_key_is_executed_once_if_the_server_dedupes() {
    let server = with(Options { dedupe: true, ..Options::default() }).await;
    let mut raw = Raw::ready(&server).await;
    for attempt in [1, 2] {
        let meta = json!({"dev.oncewire/idempotency-key": "k", "dev.oncewire/attempt": attempt});
        assert_eq!(raw.rpc("tools/call", json!({"name": "poke", "_meta": meta})).await.status, 200);
    }
    let ledger = server.ledger();
    let attempts: Vec<_> = ledger.arrivals.iter().filter(|arrival| arrival.key.is_some()).map(|a| a.attempt).collect();
    assert_eq!((ledger.executions.len(), attempts), (1, vec![Some(1), Some(2)]));
}

#[tokio::test]
async fn a_cancellation_is_noted_with_the_request_that_it_means() {
    let server = FaultServer::healthy().await.unwrap();
    let mut raw = Raw::ready(&server).await;
    raw.call("poke").await;
    raw.notify("notifications/cancelled", json!({"requestId": 2, "reason": "enough"})).await;
    let ledger = server.ledger();
    assert_eq!(ledger.cancelled[0].request_id, 2);
    assert_eq!(ledger.cancelled[0].name.as_deref(), Some("poke"));
}
