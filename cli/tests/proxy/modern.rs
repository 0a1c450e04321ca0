//! What is another way in the era without handshake: questions, subscriptions, log levels.

use oncewire_tests::server::{Era, Options, Push};
use serde_json::{Value, json};
use test_case::test_case;
use tokio::time::timeout;

use crate::host::{Host, PATIENCE, Speaks, pushed, runs, server};

/// A server of either era that asks who it is before it runs `poke`.
async fn asking(era: Era) -> oncewire_tests::server::FaultServer {
    let question = json!({ "method": "elicitation/create", "params": { "message": "who?" } });
    if era == Era::Modern {
        let asks = json!({ "poke": { "rounds": [{ "requests": { "who": question }, "state": "s1" }] } });
        return server(Options { era, asks: serde_json::from_value(asks).unwrap(), ..Options::default() }, json!([]))
            .await;
    }
    let request = json!({ "request": { "id": 1, "method": question["method"], "params": question["params"] } });
    let stream = json!({ "head": { "headers": { "content-type": "text/event-stream" } } });
    server(
        Options::default(),
        json!([{ "when": { "name": "poke" }, "do": [stream, request, "execute", { "answer_event": {} }] }]),
    )
    .await
}

#[test_case(Era::Legacy)]
#[test_case(Era::Modern)]
#[tokio::test]
async fn a_question_is_a_result_and_its_answer_the_next_leg(era: Era) {
    let server = asking(era).await;
    let mut host = Host::start(server.url(), Speaks::Modern, &[]);
    host.capabilities = json!({ "elicitation": { "form": {} } });
    host.introduce().await;
    let asked = host.call("poke").await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!((&request["method"], &request["params"]["message"]), (&json!("elicitation/create"), &json!("who?")));
    // What a server does before it asks is no run of the tool.
    let ran =
        || server.ledger().executions.iter().filter(|run| run.name.as_deref() == Some("poke") && !run.asked).count();
    assert_eq!(ran(), 0);
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    let leg = json!({ "name": "poke", "arguments": {}, "requestState": asked["requestState"], "inputResponses": { key: answer } });
    // A leg of another call is no leg of this one.
    let mut wrong = leg.clone();
    wrong["name"] = "peek".into();
    assert_eq!(host.request("tools/call", wrong).await["error"]["code"], -32_602);
    let done = host.request("tools/call", leg.clone()).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(ran(), 1);
    // Its state was good once.
    assert_eq!(host.request("tools/call", leg).await["error"]["code"], -32_602);
    assert_eq!(ran(), 1);
}

#[test_case(Era::Legacy)]
#[test_case(Era::Modern)]
#[tokio::test]
async fn a_subscription_hears_what_it_asked_for_and_no_more(era: Era) {
    let server = server(Options { era, ..Options::default() }, json!([])).await;
    let mut host = Host::ready(&server, Speaks::Modern).await;
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["mem://a"] });
    let id = host.ask("subscriptions/listen", json!({ "notifications": filter })).await;
    let agreed = host.notification("notifications/subscriptions/acknowledged").await;
    let stamp = "io.modelcontextprotocol/subscriptionId";
    assert_eq!((&agreed["params"]["notifications"], &agreed["params"]["_meta"][stamp]), (&filter, &id));
    pushed(&server, "notifications/resources/updated", json!({ "uri": "mem://a" })).await;
    let updated = host.notification("notifications/resources/updated").await;
    assert_eq!((&updated["params"]["uri"], &updated["params"]["_meta"][stamp]), (&json!("mem://a"), &id));
    // Another resource, and a list that was not asked for: a server with a handshake tells them all the same.
    for (method, params) in [
        ("notifications/resources/updated", json!({ "uri": "mem://b" })),
        ("notifications/prompts/list_changed", Value::Null),
    ] {
        server.push(&Push { id: None, method: method.to_owned(), params });
    }
    pushed(&server, "notifications/tools/list_changed", Value::Null).await;
    host.notification("notifications/tools/list_changed").await;
    assert!(host.heard.iter().all(|message| message.get("method").is_none()), "{:?}", host.heard);
    host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })).await;
    if era == Era::Legacy {
        let gone = server.until(|ledger| ledger.by_rpc.contains_key("resources/unsubscribe"));
        timeout(PATIENCE, gone).await.unwrap();
    }
    assert!(host.call("poke").await["result"].is_object());
}

#[tokio::test]
async fn a_log_level_of_a_request_is_set_at_a_server_with_a_handshake() {
    let server = server(Options::default(), json!([])).await;
    let mut host = Host::ready(&server, Speaks::Modern).await;
    for _ in 0..2 {
        let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
        host.request("tools/call", json!({ "name": "poke", "arguments": {}, "_meta": meta })).await;
    }
    let ledger = server.ledger();
    assert_eq!((ledger.by_rpc["logging/setLevel"], runs(&ledger, "poke")), (1, 2));
}

#[tokio::test]
async fn what_nobody_goes_on_with_is_cancelled_at_the_end() {
    let server = asking(Era::Legacy).await;
    let mut host = Host::start(server.url(), Speaks::Modern, &[]);
    host.capabilities = json!({ "elicitation": {} });
    host.introduce().await;
    host.call("poke").await;
    let (status, _) = host.end().await;
    assert!(status.success());
    let ledger = server.ledger();
    assert_eq!((runs(&ledger, "poke"), ledger.cancelled.len(), ledger.http("DELETE")), (0, 1, 1));
}
