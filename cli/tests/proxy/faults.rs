//! What breaks behind the proxy, and what the host sees of it.

use oncewire_tests::server::{Era, Options};
use serde_json::{Value, json};
use test_case::test_case;
use tokio::time::timeout;

use crate::host::{Host, PATIENCE, Speaks, runs, server};

#[test_case(Speaks::Legacy)]
#[test_case(Speaks::Modern)]
#[tokio::test]
async fn a_restart_is_never_seen(speaks: Speaks) {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, speaks).await;
    host.call("poke").await;
    for round in 1..=3 {
        server.restart().await;
        // A tool without leave to be repeated, right after the restart.
        let answer = host.call("poke").await;
        assert!(answer["result"].is_object(), "round {round}: {answer}");
        let answer = host.request("resources/read", json!({ "uri": "mem://a" })).await;
        assert!(answer["result"].is_object(), "round {round}: {answer}");
    }
    assert_eq!(runs(&server.ledger(), "poke"), 4);
    if speaks == Speaks::Legacy {
        // Tools may differ now.
        host.notification("notifications/tools/list_changed").await;
    }
}

#[tokio::test]
async fn a_lost_session_costs_one_handshake_and_no_second_run() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    server.forget_sessions();
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(host.ask("tools/call", json!({ "name": "poke", "arguments": {} })).await);
    }
    for id in ids {
        let answer = host.answer(&id).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    let ledger = server.ledger();
    assert_eq!((runs(&ledger, "poke"), ledger.by_rpc["initialize"]), (8, 2));
}

#[test_case(Speaks::Legacy, Era::Legacy)]
#[test_case(Speaks::Modern, Era::Modern)]
#[test_case(Speaks::Modern, Era::Legacy)]
#[tokio::test]
async fn a_lost_answer_of_an_unsafe_tool_is_an_error_that_says_what_to_do(speaks: Speaks, era: Era) {
    let rules = json!([{ "when": { "name": "poke" }, "times": 1, "do": ["execute", "close"] }]);
    let server = server(Options { era, ..Options::default() }, rules).await;
    let mut host = Host::ready(&server, speaks).await;
    let error = host.call("poke").await["error"].clone();
    assert_eq!(error["code"], -32_603, "{error}");
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("the tool may have run: check before running it again"), "{text}");
    let verdict = &error["data"];
    assert_eq!(verdict["execution"], "may_have_executed", "{verdict}");
    assert_eq!(verdict["kind"], "connection_closed", "{verdict}");
    assert_eq!(verdict["method"], "tools/call");
    assert_eq!(verdict["name"], "poke");
    assert!(verdict["phase"].is_string() && verdict["idempotency_key"].is_string(), "{verdict}");
    assert_eq!(verdict["attempts"].as_array().map(Vec::len), Some(1));
    assert_eq!(runs(&server.ledger(), "poke"), 1);
    // And the connection lives on.
    assert!(host.call("poke").await["result"].is_object());
}

#[tokio::test]
async fn a_call_that_was_refused_before_it_ran_says_so_with_its_proof() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    let refusal =
        json!([{ "when": { "http": "POST" }, "early": true, "do": [{ "respond": { "status": 413, "text": "no" } }] }]);
    server.add_rules(serde_json::from_value(refusal).unwrap());
    let verdict = host.call("poke").await["error"]["data"].clone();
    assert_eq!(verdict["execution"], "not_executed", "{verdict}");
    assert_eq!((&verdict["proof"], &verdict["proof_basis"]), (&json!("rejected"), &json!("confirmed")), "{verdict}");
    assert_eq!(runs(&server.ledger(), "poke"), 0);
}

#[tokio::test]
async fn an_error_of_the_server_is_the_servers_own() {
    let error = json!({ "code": -32_042, "message": "go there", "data": { "elicitations": [1] } });
    let body = json!({ "jsonrpc": "2.0", "id": "$id", "error": error });
    let server =
        server(Options::default(), json!([{ "when": { "name": "poke" }, "do": [{ "respond": { "json": body } }] }]))
            .await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    assert_eq!(host.call("poke").await["error"], error);
}

#[tokio::test]
async fn a_server_that_comes_up_late_is_waited_for() {
    let server = server(Options { start_down: true, ..Options::default() }, json!([])).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &[]);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "host", "version": "7" } });
    let id = host.ask("initialize", params).await;
    // What a host must not do, and some do: it does not wait for the answer.
    let list = host.ask("tools/list", json!({})).await;
    server.come_up().await;
    assert_eq!(host.answer(&id).await["result"]["serverInfo"]["name"], "fault-server");
    assert!(host.answer(&list).await["result"]["tools"].is_array());
    assert_eq!(server.ledger().by_rpc["initialize"], 1);
}

#[tokio::test]
async fn a_server_that_stays_down_is_told_and_the_host_may_try_again() {
    let server = server(Options { start_down: true, ..Options::default() }, json!([])).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &["--connect-patience", "200ms"]);
    let answer = host.introduce().await;
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("connection refused") && text.contains("oncewire doctor"), "{answer}");
    assert_eq!(answer["error"]["data"]["execution"], "not_executed");
    server.come_up().await;
    let answer = host.introduce().await;
    assert!(answer["result"].is_object(), "{answer}");
    assert!(host.call("poke").await["result"].is_object());
}

#[tokio::test]
async fn a_refreshed_token_is_never_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "first").unwrap();
    let options = Options { tokens: Some(vec!["first".to_owned()]), ..Options::default() };
    let server = server(options, json!([])).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &["--token-file", file.to_str().unwrap()]);
    assert!(host.introduce().await["result"].is_object());
    std::fs::write(&file, "second").unwrap();
    server.accept_tokens(["second"]);
    for method in ["tools/list", "resources/list"] {
        let answer = host.request(method, json!({})).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    assert!(host.call("poke").await["result"].is_object());
    assert_eq!(runs(&server.ledger(), "poke"), 1);
    let (_, stderr) = host.end().await;
    assert!(!stderr.contains("first") && !stderr.contains("second"), "{stderr}");
}

#[tokio::test]
async fn the_end_of_the_host_is_the_end_of_the_session() {
    let server = server(Options::default(), json!([])).await;
    let host = Host::ready(&server, Speaks::Legacy).await;
    let (status, stderr) = host.end().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    let ledger = server.ledger();
    assert_eq!(ledger.http("DELETE"), 1);
    timeout(PATIENCE, server.until(|ledger| ledger.connections.open == 0)).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_the_session_and_tells_what_runs() {
    let rules = json!([{ "when": { "name": "poke" }, "do": [{ "mark": "running" }, "hold"] }]);
    let server = server(Options::default(), rules).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    host.ask("tools/call", json!({ "name": "poke", "arguments": {} })).await;
    timeout(PATIENCE, server.reached("running", 1)).await.unwrap();
    let status = host.terminate().await;
    assert_eq!(status.code(), Some(143));
    let ledger = server.ledger();
    assert_eq!((ledger.http("DELETE"), ledger.cancelled.len()), (1, 1));
}

#[tokio::test]
async fn what_the_host_asked_last_is_answered_though_it_closes_its_end() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    let id = host.ask("tools/list", json!({})).await;
    host.close();
    assert!(host.answer(&id).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn subscriptions_and_the_log_level_live_through_a_restart() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    assert_eq!(host.request("resources/subscribe", json!({ "uri": "mem://a" })).await["result"], json!({}));
    assert_eq!(host.request("logging/setLevel", json!({ "level": "debug" })).await["result"], json!({}));
    server.restart().await;
    assert_eq!(host.request("ping", json!({})).await["result"], json!({}));
    // What changed in between was told to nobody: the host is told to look.
    let updated = host.notification("notifications/resources/updated").await;
    assert_eq!(updated["params"], json!({ "uri": "mem://a" }));
    let restored =
        |method: &'static str| move |ledger: &oncewire_tests::server::Ledger| ledger.by_rpc.get(method) == Some(&2);
    timeout(PATIENCE, server.until(restored("resources/subscribe"))).await.unwrap();
    timeout(PATIENCE, server.until(restored("logging/setLevel"))).await.unwrap();
    let _: Value = host.call("poke").await;
}
