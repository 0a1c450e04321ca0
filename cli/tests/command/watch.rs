//! `oncewire watch`

#![cfg(unix)]

use oncewire_tests::server::{FaultServer, Push};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::{PATIENCE, ended, oncewire, seen};

fn push(method: &str, params: &Value) -> Push {
    serde_json::from_value(json!({"method": method, "params": params})).unwrap()
}

#[tokio::test]
async fn what_the_server_says_comes_out_line_by_line_until_ctrl_c() {
    let server = FaultServer::healthy().await.unwrap();
    let mut child = oncewire(&["watch", server.url(), "--resource", "mem://a", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async |wanted: &str| loop {
        let line = timeout(PATIENCE, lines.next_line()).await.expect("no line comes").unwrap().expect("it has ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["event"] == wanted || line["method"] == wanted {
            return line;
        }
    };
    assert_eq!(next("ready").await["generation"], 1);
    next("listener_on").await;
    seen(server.until(|ledger| ledger.executions_of("resources/subscribe", None) == 1)).await;
    server.push(&push("notifications/resources/updated", &json!({"uri": "mem://a"})));
    assert_eq!(next("notifications/resources/updated").await["params"]["uri"], "mem://a");
    server.push(&push("notifications/message", &json!({"level": "info", "data": "hello"})));
    assert_eq!(next("notifications/message").await["params"]["data"], "hello");
    // The process behind the URL is replaced: the session is recovered, and the subscription made again.
    server.restart().await;
    assert_eq!(next("session_replaced").await["generation"], 2);
    seen(server.until(|ledger| ledger.executions_of("resources/subscribe", None) == 2)).await;
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let ran = ended(child).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "Ctrl+C is its orderly end: {ran:?}");
    assert_eq!(server.ledger().sessions_left(), 0);
}
