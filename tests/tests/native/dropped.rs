//! A client that nobody closes.

use std::time::Duration;

use oncewire::Client;
use oncewire_tests::server::{FaultServer, Options};
use serde_json::{Value, json};
use tokio::time::timeout;

const PROMPT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn the_last_drop_of_a_client_ends_its_session() {
    let server = FaultServer::healthy().await.unwrap();
    let client = Client::builder(server.url()).no_proxy().connect().await.unwrap();
    let clone = client.clone();
    drop(client);
    clone.call_tool("poke", Value::Null).await.unwrap();
    assert_eq!(server.ledger().http("DELETE"), 0, "a clone is left");
    drop(clone);
    let gone = server.until(|ledger| ledger.connections.open == 0 && ledger.sessions.iter().all(|it| it.deletes == 1));
    timeout(PROMPT, gone).await.unwrap_or_else(|_| panic!("{:?}", server.ledger()));
}

#[tokio::test]
async fn a_connect_that_is_dropped_ends_the_session_that_it_was_given() {
    let rules = json!([{"when": {"rpc": "initialize"}, "do": ["answer", {"mark": "given"}]},
        {"when": {"rpc": "notifications/initialized"}, "do": [{"mark": "shaking"}, "hold"]}]);
    let server = super::server(Options::default(), rules).await;
    let builder = Client::builder(server.url()).no_proxy().close_timeout(Duration::from_secs(1));
    let connect = tokio::spawn(builder.connect());
    timeout(PROMPT, server.reached("shaking", 1)).await.unwrap();
    connect.abort();
    let _ = connect.await;
    let gone = server.until(|ledger| ledger.connections.open == 0 && ledger.http("DELETE") == 1);
    timeout(PROMPT, gone).await.unwrap_or_else(|_| panic!("{:?}", server.ledger()));
}
