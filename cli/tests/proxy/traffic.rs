//! Progress, cancellation, questions and notifications, both ways.

use oncewire_tests::server::Options;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::host::{Host, PATIENCE, Speaks, pushed, runs, server};

fn asking(method: &str) -> Value {
    let request = json!({ "request": { "id": "server-1", "method": method, "params": { "message": "who?" } } });
    json!([{ "when": { "name": "poke" }, "do": [{ "head": { "headers": { "content-type": "text/event-stream" } } }, request, "execute", { "answer_event": {} }] }])
}

#[tokio::test]
async fn progress_comes_in_order_under_the_token_of_the_host_and_before_the_result() {
    let rules = json!([{ "when": { "name": "poke" }, "do": [{ "head": { "headers": { "content-type": "text/event-stream" } } }, { "progress": { "count": 3 } }, "execute", { "answer_event": {} }] }]);
    let server = server(Options::default(), rules).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    for token in [json!("mine"), json!(7)] {
        host.heard.clear();
        let params =
            json!({ "name": "poke", "arguments": {}, "_meta": { "progressToken": token, "traceparent": "00-a" } });
        let answer = host.request("tools/call", params).await;
        assert!(answer["result"].is_object(), "{answer}");
        let progress: Vec<_> =
            host.heard.iter().filter(|message| message["method"] == "notifications/progress").collect();
        assert_eq!(progress.len(), 3, "{:?}", host.heard);
        assert!(progress.iter().all(|message| message["params"]["progressToken"] == token), "{progress:?}");
        assert!(progress.is_sorted_by_key(|message| message["params"]["progress"].as_f64().unwrap()));
    }
    // Without a token the server is asked for none.
    host.heard.clear();
    host.call("poke").await;
    assert!(host.heard.iter().all(|message| message["method"] != "notifications/progress"));
}

#[tokio::test]
async fn a_call_that_the_host_cancels_is_cancelled_at_the_server_and_not_answered() {
    let rules = json!([{ "when": { "name": "poke" }, "times": 1, "do": [{ "mark": "running" }, "hold"] }]);
    let server = server(Options::default(), rules).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    let id = host.ask("tools/call", json!({ "name": "poke", "arguments": {} })).await;
    timeout(PATIENCE, server.reached("running", 1)).await.unwrap();
    host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })).await;
    timeout(PATIENCE, server.until(|ledger| ledger.cancelled.len() == 1)).await.unwrap();
    // The id is free again, and nothing came under it.
    host.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).await;
    assert_eq!(host.answer(&id).await["result"], json!({}));
    assert!(host.heard.iter().all(|message| message["id"] != id), "{:?}", host.heard);
}

#[tokio::test]
async fn a_question_of_the_server_reaches_the_host_and_the_answer_the_server() {
    let server = server(Options::default(), asking("elicitation/create")).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &[]);
    host.capabilities =
        json!({ "elicitation": { "form": {} }, "roots": { "listChanged": true }, "experimental": { "x": {} } });
    host.introduce().await;
    let arrivals = server.ledger().arrivals;
    let sent = &arrivals.iter().find(|it| it.rpc.as_deref() == Some("initialize")).unwrap().params;
    assert_eq!(sent["capabilities"], host.capabilities);
    assert_eq!(sent["clientInfo"], json!({ "name": "host", "version": "7" }));
    let id = host.ask("tools/call", json!({ "name": "poke", "arguments": {} })).await;
    let question = host.until(|message| message["method"] == "elicitation/create").await;
    assert_eq!(question["params"]["message"], "who?");
    assert_ne!(question["id"], "server-1", "ids are kept apart");
    let content = json!({ "action": "accept", "content": { "name": "Ada" } });
    host.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": content })).await;
    assert!(host.answer(&id).await["result"].is_object());
    let responses = server.ledger().responses;
    assert_eq!((&responses[0]["id"], &responses[0]["result"]), (&json!("server-1"), &content));
    host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" })).await;
    timeout(PATIENCE, server.until(|ledger| ledger.by_rpc.contains_key("notifications/roots/list_changed")))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_refusal_of_the_host_reaches_the_server_as_it_is() {
    let server = server(Options::default(), asking("sampling/createMessage")).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &[]);
    host.capabilities = json!({ "sampling": {} });
    host.introduce().await;
    let id = host.ask("tools/call", json!({ "name": "poke", "arguments": {} })).await;
    let question = host.until(|message| message["method"] == "sampling/createMessage").await;
    let error = json!({ "code": -1, "message": "the user said no", "data": { "why": 1 } });
    host.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error })).await;
    host.answer(&id).await;
    assert_eq!(server.ledger().responses[0]["error"], error);
    assert_eq!(runs(&server.ledger(), "poke"), 1);
}

#[tokio::test]
async fn what_the_host_cannot_do_is_not_asked_of_it() {
    let server = server(Options::default(), asking("sampling/createMessage")).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    host.call("poke").await;
    assert_eq!(server.ledger().responses[0]["error"]["code"], -32_601);
    assert!(host.heard.iter().all(|message| message["method"] != "sampling/createMessage"));
}

#[tokio::test]
async fn a_notification_of_the_server_reaches_the_host_as_it_is() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Legacy).await;
    let params = json!({ "level": "info", "data": { "n": 18_446_744_073_709_551_615_u64 } });
    pushed(&server, "notifications/message", params.clone()).await;
    assert_eq!(host.notification("notifications/message").await["params"], params);
}

#[tokio::test]
async fn hidden_tools_are_neither_listed_nor_called() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &["--ignore-tool", "po*"]);
    host.introduce().await;
    let tools = host.request("tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"peek") && !names.contains(&"poke"), "{names:?}");
    assert_eq!(host.call("poke").await["error"]["code"], -32_602);
    assert_eq!(runs(&server.ledger(), "poke"), 0);
}
