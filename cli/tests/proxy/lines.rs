//! A host that writes what it must not.

use oncewire_tests::server::Options;
use serde_json::{Value, json};

use crate::host::{Host, Speaks, runs, server};

#[tokio::test]
async fn whatever_is_written_is_answered_by_a_typed_error_and_costs_nothing_else() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    for (line, id, code) in [
        (&b"hello"[..], Value::Null, -32_700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", Value::Null, -32_700),
        (b"\xff\xfe", Value::Null, -32_700),
        (b"7", Value::Null, -32_600),
        (b"{}", Value::Null, -32_600),
        (b"{\"id\":50,\"method\":{}}", json!(50), -32_600),
        (b"{\"id\":[],\"method\":\"ping\"}", Value::Null, -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":51,\"method\":\"tools/call\",\"params\":[1]}", json!(51), -32_602),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":52,\"method\":\"tools/call\",\"params\":{\"name\":\"poke\",\"_meta\":7}}",
            json!(52),
            -32_602,
        ),
        (b"[]", Value::Null, -32_600),
    ] {
        host.line(line).await;
        let error = host.until(|message| message["id"] == id && message["error"]["code"] == code).await;
        assert!(error["error"]["message"].is_string(), "{error}");
    }
    host.line(b"   \r").await;
    host.line(br#"[{"jsonrpc":"2.0","id":60,"method":"tools/call","params":{"name":"poke"}},{"jsonrpc":"2.0","id":61,"method":"ping"}]"#).await;
    let batch = host.until(Value::is_array).await;
    assert_eq!((&batch[0]["id"], &batch[1]["id"]), (&json!(60), &json!(61)), "{batch}");
    assert_eq!(batch[0]["error"]["code"], -32_600);
    // Answers to nothing, and notifications that nobody knows.
    host.send(&json!({ "jsonrpc": "2.0", "id": "oncewire-99", "result": {} })).await;
    host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 999 } })).await;
    host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" })).await;
    assert!(host.call("poke").await["result"].is_object());
    assert_eq!(runs(&server.ledger(), "poke"), 1);
    let (status, _) = host.end().await;
    assert!(status.success());
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_under_its_id() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    let huge = "x".repeat(33 * 1024 * 1024);
    host.line(format!(r#"{{"method":"tools/call","params":{{"name":"poke","arguments":{{"id":1,"a":"{huge}"}}}},"jsonrpc":"2.0","id":70}}"#).as_bytes()).await;
    let error = host.answer(&json!(70)).await;
    assert_eq!(error["error"]["code"], -32_600, "{error}");
    assert!(host.call("poke").await["result"].is_object());
    assert_eq!(runs(&server.ledger(), "poke"), 1);
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused() {
    let rules = json!([{ "when": { "name": "poke" }, "times": 1, "do": [{ "gate": "go" }] }]);
    let server = server(Options::default(), rules).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    let call =
        json!({ "jsonrpc": "2.0", "id": 80, "method": "tools/call", "params": { "name": "poke", "arguments": {} } });
    host.send(&call).await;
    host.send(&call).await;
    assert_eq!(host.answer(&json!(80)).await["error"]["code"], -32_600);
    server.release("go");
    assert!(host.answer(&json!(80)).await["result"].is_object());
    assert_eq!(runs(&server.ledger(), "poke"), 1);
}

#[tokio::test]
async fn a_request_before_the_introduction_is_told_what_is_missing() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &[]);
    assert_eq!(host.request("ping", json!({})).await["result"], json!({}));
    let error = host.call("poke").await["error"].clone();
    assert_eq!(error["code"], -32_600);
    assert!(error["message"].as_str().unwrap().contains("initialize"), "{error}");
    assert_eq!(host.request("server/discover", json!({})).await["error"]["code"], -32_601);
    assert_eq!(server.ledger().arrivals.len(), 0);
}

#[tokio::test]
async fn a_flood_is_refused_past_the_bound_and_every_request_is_answered() {
    let rules = json!([{ "when": { "name": "poke" }, "do": [{ "gate": "go" }] }]);
    let server = server(Options::default(), rules).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    let mut ids = Vec::new();
    for _ in 0..1_030 {
        ids.push(host.ask("tools/call", json!({ "name": "poke", "arguments": {} })).await);
    }
    let refused = host.answer(&ids[1_029]).await;
    assert_eq!(refused["error"]["code"], -32_600, "{refused}");
    server.release("go");
    let mut done = 0;
    for id in &ids[..1_029] {
        done += usize::from(host.answer(id).await["result"].is_object());
    }
    assert_eq!(done, 1_024);
    assert_eq!(runs(&server.ledger(), "poke"), 1_024);
}
