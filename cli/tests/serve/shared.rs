//! One process for all sessions.

use std::sync::{Arc, Mutex};

use oncewire::Execution;
use serde_json::Value;
use tokio::time::timeout;

use crate::bridge::{Bridge, PATIENCE};

#[tokio::test]
async fn all_sessions_share_a_process_and_each_gets_its_own_answers() {
    let bridge = Bridge::start(&["--shared"]).await;
    let (one, other) = (bridge.client().await, bridge.client().await);
    assert_eq!(other.server_info().unwrap()["name"], "shell");
    let progress = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&progress);
    let told = one.call_tool("tell", Value::Null).on_progress(move |_| *seen.lock().unwrap() += 1);
    assert_eq!(told.await.unwrap().text(), "tell");
    assert_eq!(*progress.lock().unwrap(), 1);
    // What the process asks could be anybody's business.
    assert!(bridge.lines("answers")[0].contains("-32601"), "{:?}", bridge.lines("answers"));
    let (a, b) = tokio::join!(
        one.call_tool("poke", Value::Null).into_future(),
        other.call_tool("nudge", Value::Null).into_future()
    );
    assert_eq!((a.unwrap().text(), b.unwrap().text()), ("poke".to_owned(), "nudge".to_owned()));
    one.close().await;
    other.ping().await.unwrap();
    assert_eq!(bridge.lines("begun").len(), 1);
}

#[tokio::test]
async fn the_end_of_the_process_ends_all_sessions_and_the_next_one_starts_another() {
    let bridge = Bridge::start(&["--shared"]).await;
    let (one, other) = (bridge.client().await, bridge.client().await);
    let error = timeout(PATIENCE, one.call_tool("die", Value::Null).into_future()).await.unwrap().unwrap_err();
    assert_eq!(error.execution(), Execution::MayHaveExecuted, "{error}");
    for client in [one, other] {
        assert_eq!(client.call_tool("poke", Value::Null).await.unwrap().text(), "poke");
        assert_eq!(client.generation(), 2);
    }
    assert_eq!((bridge.lines("begun").len(), bridge.lines("runs").len()), (2, 3));
}
