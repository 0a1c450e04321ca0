//! Ctrl+C: the server is told, the verdict is said, and a second one ends at once.

#![cfg(unix)]

use std::process::Stdio;

use oncewire_tests::server::Options;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::support::{ended, oncewire, seen, server};

/// Sends a signal to the command, and to nothing else.
async fn signal(child: &Child, name: &str) {
    let id = child.id().unwrap().to_string();
    let sent = Command::new("kill").args([name, &id]).stdout(Stdio::null()).status().await.unwrap();
    assert!(sent.success());
}

#[tokio::test]
async fn it_cancels_the_call_tells_the_server_and_says_the_verdict() {
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let options = Options { slow_ms: 60_000, ..Options::default() };
        let server = server(options, json!([])).await;
        let child = oncewire(&["call", server.url(), "slow"]).spawn().unwrap();
        seen(server.until(|ledger| ledger.executions_of("tools/call", Some("slow")) == 1)).await;
        signal(&child, name).await;
        let ran = ended(child).await;
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{ran:?}");
        assert!(ran.err.starts_with("error: interrupted: ") && ran.err.contains("the tool may have run"), "{ran:?}");
        let ledger = server.ledger();
        assert_eq!(
            (ledger.cancelled.len(), ledger.sessions_left()),
            (1, 0),
            "the server is told, and the session ends"
        );
    }
}

#[tokio::test]
async fn what_was_never_sent_was_not_executed() {
    let rules = json!([{"when": {"rpc": "initialize"}, "do": [{"mark": "asked"}, "hold"]}]);
    let server = server(Options::default(), rules).await;
    let child = oncewire(&["--json", "call", server.url(), "poke"]).spawn().unwrap();
    seen(server.reached("asked", 1)).await;
    signal(&child, "-INT").await;
    let ran = ended(child).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(130), ""), "{ran:?}");
    let error = ran.json();
    assert_eq!((&error["execution"], &error["interrupted"]), (&json!("not_executed"), &json!(true)), "{error}");
    assert_eq!(server.ledger().arrivals_of("tools/call", None), 0);
}

#[tokio::test]
async fn a_second_one_ends_at_once() {
    // A server that does not answer the DELETE holds up the orderly end.
    let rules = json!([{"when": {"http": "DELETE"}, "do": [{"mark": "leaving"}, "hold"]}]);
    let options = Options { slow_ms: 60_000, ..Options::default() };
    let server = server(options, rules).await;
    let child = oncewire(&["call", server.url(), "slow"]).spawn().unwrap();
    seen(server.until(|ledger| ledger.executions_of("tools/call", Some("slow")) == 1)).await;
    signal(&child, "-INT").await;
    seen(server.reached("leaving", 1)).await;
    signal(&child, "-INT").await;
    let ran = ended(child).await;
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(130), "", ""), "{ran:?}");
}

#[tokio::test]
async fn of_watch_it_is_the_orderly_end_also_before_there_is_a_session() {
    let rules = json!([{"when": {"rpc": "initialize"}, "do": [{"mark": "asked"}, "hold"]}]);
    let server = server(Options::default(), rules).await;
    let child = oncewire(&["watch", server.url()]).spawn().unwrap();
    seen(server.reached("asked", 1)).await;
    signal(&child, "-INT").await;
    let ran = ended(child).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
}
