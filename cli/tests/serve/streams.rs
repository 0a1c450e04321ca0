//! What goes on which stream, and what is read on after a connection broke.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::bridge::Bridge;

#[tokio::test]
async fn progress_and_questions_of_a_call_reach_its_caller() {
    let bridge = Bridge::start(&[]).await;
    let client = oncewire::Client::builder(&bridge.url)
        .no_proxy()
        .on_roots(|_| async { Ok(json!({ "roots": [] })) })
        .connect()
        .await
        .unwrap();
    let progress = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&progress);
    let call =
        client.call_tool("tell", Value::Null).on_progress(move |progress| seen.lock().unwrap().push(progress.progress));
    assert_eq!(call.await.unwrap().text(), "tell");
    assert_eq!(*progress.lock().unwrap(), [1.0]);
    let answers = bridge.lines("answers");
    assert!(answers[0].contains("\"roots\":[]") && answers[0].contains("ask-1"), "{answers:?}");
}

#[tokio::test]
async fn an_answer_is_read_on_after_the_connection_broke() {
    let bridge = Bridge::start(&[]).await;
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let begun = bridge.ask("POST", &[], Some(&initialize)).await;
    assert_eq!(begun.status(), 200, "{begun:?}");
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let session = ("Mcp-Session-Id", session.as_str());

    // The call is sent, the first event is read, and the connection is cut while the tool runs.
    let call =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "wait", "arguments": {} } });
    let place = bridge.first_id(session, &call).await;
    bridge.until("runs", 1).await;
    std::fs::write(bridge.file("go"), "").unwrap();

    let read_on = bridge.ask("GET", &[session, ("Last-Event-ID", &place)], None).await;
    assert_eq!(read_on.status(), 200, "{read_on:?}");
    assert!(read_on.text().contains("\"id\":2,\"result\""), "{read_on:?}");
    // And once more: reading changes nothing.
    let again = bridge.ask("GET", &[session, ("Last-Event-ID", &place)], None).await;
    assert!(again.text().contains("\"id\":2,\"result\""), "{again:?}");
    assert_eq!(bridge.lines("runs").len(), 1);

    for unknown in ["99-1", "nonsense"] {
        let answer = bridge.ask("GET", &[session, ("Last-Event-ID", unknown)], None).await;
        assert_eq!(answer.status(), 400, "{answer:?}");
    }
    // A client that takes no streams gets a document.
    let ping = json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" });
    let answer = bridge.ask("POST", &[session, ("Accept", "application/json")], Some(&ping)).await;
    assert_eq!((answer.status(), answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(bridge.ask("DELETE", &[session], None).await.status(), 200);
    assert_eq!(bridge.ask("POST", &[session], Some(&ping)).await.status(), 404);
}
