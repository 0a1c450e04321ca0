//! A session is a process: it begins with one, and ends with it.

use std::time::Duration;

use oncewire::{Client, Execution};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::bridge::{Bridge, PATIENCE};

#[tokio::test]
async fn each_session_has_a_process_that_ends_with_it() {
    let bridge = Bridge::start(&[]).await;
    let (one, other) = (bridge.client().await, bridge.client().await);
    assert_eq!(one.server_info().unwrap()["name"], "shell");
    assert_eq!(one.list_tools().await.unwrap().items.len(), 1);
    assert_eq!(one.call_tool("poke", json!({})).await.unwrap().text(), "poke");
    other.call_tool("poke", Value::Null).await.unwrap();
    assert_eq!((bridge.lines("begun").len(), bridge.lines("runs").len()), (2, 2));
    one.close().await;
    bridge.until("ended", 1).await;
    // The other one goes on.
    other.ping().await.unwrap();
    other.close().await;
    bridge.until("ended", 2).await;
}

#[tokio::test]
async fn a_process_that_dies_in_a_call_is_a_lost_answer_and_the_next_call_begins_anew() {
    let bridge = Bridge::start(&[]).await;
    let client = bridge.client().await;
    let error = client.call_tool("die", Value::Null).await.unwrap_err();
    assert_eq!(error.execution(), Execution::MayHaveExecuted, "{error}");
    assert_eq!(client.call_tool("poke", Value::Null).await.unwrap().text(), "poke");
    assert_eq!((client.generation(), bridge.lines("begun").len()), (2, 2));
    assert_eq!(bridge.lines("runs"), ["\"die\"", "\"poke\""]);
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_told() {
    let bridge = Bridge::start(&[]).await;
    std::fs::remove_file(bridge.file("server.sh")).unwrap();
    let error = Client::builder(&bridge.url).no_proxy().connect_patience(Duration::ZERO).connect().await.unwrap_err();
    assert!(error.to_string().contains("502"), "{error}");
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let answer = bridge.ask("POST", &[], Some(&initialize)).await;
    assert!(answer.text().contains("ended before it answered"), "{answer:?}");
}

#[tokio::test]
async fn a_session_that_nobody_uses_is_ended() {
    let bridge = Bridge::start(&["--session-idle", "100ms"]).await;
    let client = Client::builder(&bridge.url).no_proxy().listen(false).connect().await.unwrap();
    bridge.until("ended", 1).await;
    // The client does not notice.
    client.call_tool("poke", Value::Null).await.unwrap();
    assert_eq!(client.generation(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_every_process() {
    let mut bridge = Bridge::start(&[]).await;
    let clients = [bridge.client().await, bridge.client().await];
    let waiting = tokio::spawn(clients[0].call_tool("wait", Value::Null).into_future());
    bridge.until("runs", 1).await;
    assert_eq!(bridge.terminate().await.code(), Some(143));
    let error = timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.execution(), Execution::MayHaveExecuted, "{error}");
    for process in bridge.lines("begun") {
        let alive =
            std::process::Command::new("kill").args(["-0", &process]).stderr(std::process::Stdio::null()).status();
        assert!(!alive.unwrap().success(), "{process} lives on");
    }
}
