//! S21 with many clients: no request goes out before its handshake is over, whatever the server says early or answers oddly.

use oncewire::Client;
use oncewire_tests::server::Options;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const CLIENTS: usize = 32;

async fn many_clients(answer: Value) {
    let held = json!([{"delay_ms": 200}, answer]);
    let rules = json!([
        {"when": {"rpc": "notifications/initialized"}, "do": held},
        {"when": {"rpc": "initialize"}, "do": [
            {"notify": {"method": "notifications/message", "params": {"level": "info", "data": "early"}}},
            {"answer_event": {}},
        ]},
    ]);
    let server = super::server(Options::default(), rules).await;
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let url = server.url().to_owned();
        clients.spawn(async move {
            let client = Client::builder(url).no_proxy().connect().await.unwrap();
            client.call_tool("poke", Value::Null).await.unwrap();
            client
        });
    }
    let clients = clients.join_all().await;
    assert_eq!(server.ledger().sessions.len(), CLIENTS);

    server.forget_sessions();
    let mut again = JoinSet::new();
    for client in clients {
        again.spawn(async move {
            client.call_tool("poke", Value::Null).await.unwrap();
            // One more, forced by the caller.
            client.recover().await.unwrap();
            client.call_tool("poke", Value::Null).await.unwrap();
            client.close().await;
        });
    }
    again.join_all().await;
    let ledger = server.ledger();
    assert_eq!(ledger.too_early, 0);
    assert_eq!(ledger.sessions.len(), 3 * CLIENTS);
    assert_eq!(ledger.executions_of("tools/call", Some("poke")), 3 * CLIENTS);
    let left: Vec<_> = ledger.sessions.iter().filter(|it| it.deletes == 0 && !it.forgotten).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_clients_wait_for_the_answer_to_initialized() {
    many_clients(json!("answer")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_clients_do_with_200_and_a_text_for_an_answer_to_initialized() {
    many_clients(json!({"respond": {"headers": {"Content-Type": "text/plain"}, "text": "ok"}})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_clients_do_with_204_for_an_answer_to_initialized() {
    many_clients(json!({"respond": {"status": 204}})).await;
}
