//! Bounds on what a server may send: past them the answer is an error, and its connection is free.

use oncewire::transport::scripted::{Over, Reply, Server};
use oncewire::{Execution, Kind};

use serde_json::json;

use crate::support::{NOTHING, builder, connect, failure, scripted, seconds};

fn endless(mut reply: Reply) -> Reply {
    for _ in 0..100 {
        reply = reply.wait(seconds(1)).chunk("x".repeat(1_000));
    }
    reply
}

#[tokio::test(start_paused = true)]
async fn a_message_past_the_limit_is_an_error_and_the_body_is_let_go() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "tools/call").then(|| Ok(endless(Reply::json(200, &NOTHING))))
    });
    let client = builder(&exchange).max_message(10_000).connect().await.unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::TooLarge, Execution::MayHaveExecuted));
    assert_eq!(failure.attempts.len(), 1);
    let calls = exchange.ledger().of("tools/call");
    assert!(matches!(calls[0].over, Some((_, Over::Dropped { drained: false }))), "{:?}", calls[0].over);
    client.read_resource("mem://a").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_past_the_limit_is_an_error_and_the_stream_is_let_go() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "tools/call").then(|| Ok(endless(Reply::event_stream().chunk("data: "))))
    });
    let client = builder(&exchange).max_event(10_000).connect().await.unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::TooLarge, Execution::MayHaveExecuted));
    let calls = exchange.ledger().of("tools/call");
    assert!(matches!(calls[0].over, Some((_, Over::Dropped { drained: false }))), "{:?}", calls[0].over);
}

#[tokio::test(start_paused = true)]
async fn what_counts_is_what_came_envelope_and_lines_of_an_event_included() {
    for as_event in [false, true] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, _| async move {
            (arrival.method() == "tools/call").then(|| {
                let result = json!({ "content": [{ "type": "text", "text": "x\n".repeat(1_000) }] });
                let message = arrival.result_message(&result);
                Ok(if as_event { Reply::event_stream().event(&message) } else { Reply::json(200, &message) })
            })
        });
        // The ids of the two clients are the same, and so the lengths of the messages.
        let whole = connect(&exchange).await;
        whole.call_tool("poke", NOTHING).await.unwrap();
        let id = exchange.ledger().of("tools/call")[0].id().unwrap();
        let envelope = format!(r#"{{"id":{id},"jsonrpc":"2.0","result":{{"content":[{{"text":"","type":"text"}}]}}}}"#);
        let lines = if as_event { "data: \n".len() } else { 0 };
        let length = envelope.len() + 3 * 1_000 + lines;
        for (limit, passes) in [(length, true), (length - 1, false)] {
            let client = builder(&exchange).max_message(limit).connect().await.unwrap();
            let answered = client.call_tool("poke", NOTHING).await;
            assert_eq!(answered.is_ok(), passes, "{as_event}, {limit}: {answered:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_too_large_is_not_asked_for_over_and_over() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "resources/read").then(|| Ok(Reply::text(200, &"x".repeat(20_000))))
    });
    let client = builder(&exchange).max_message(10_000).connect().await.unwrap();
    assert_eq!(failure(client.read_resource("mem://a").await).kind, Kind::TooLarge);
    assert!(exchange.ledger().count("resources/read") <= 3);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_whose_body_never_ends_does_not_hold_the_call() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "tools/call").then(|| Ok(Reply::new(403).chunk("<html>").never()))
    });
    let client = builder(&exchange).connect().await.unwrap();
    let began = tokio::time::Instant::now();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert!(began.elapsed() <= seconds(5));
    assert_eq!((failure.http_status, failure.proof), (Some(403), None));
    assert!(exchange.ledger().open().is_empty());
}
