//! The clocks of a call: one deadline for everything it does, progress, silence, and the time that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{CallOptions, Execution, Kind, Phase, Proof};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{NOTHING, builder, connect, failure, hang, milliseconds, scripted, seconds};

/// A tool that takes 3 s and tells its progress every 0.4 s, if it is asked to.
fn progressing(server: &Server) -> Arc<Scripted> {
    scripted(server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                if arrival.method() != "tools/call" {
                    return None;
                }
                let result = server.execute(&arrival);
                let mut reply = Reply::event_stream();
                for step in 1..=7u32 {
                    reply = reply.wait(milliseconds(400));
                    if let Some(progress) = arrival.progress(f64::from(step)) {
                        reply = reply.event(&progress);
                    }
                }
                Some(Ok(reply.wait(milliseconds(200)).event(&arrival.result_message(&result))))
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn progress_restarts_the_timeout_where_it_is_told_to() {
    let exchange = progressing(&Server::new());
    let client = connect(&exchange).await;
    let began = Instant::now();
    client.call_tool("poke", NOTHING).timeout(seconds(1)).reset_on_progress(true).await.unwrap();
    assert_eq!(began.elapsed(), seconds(3));
    let entries = exchange.ledger().of("tools/call");
    assert!(!entries[0].message["params"]["_meta"]["progressToken"].is_null(), "asked for without a callback");
}

#[tokio::test(start_paused = true)]
async fn without_that_the_timeout_stands() {
    let exchange = progressing(&Server::new());
    let client = connect(&exchange).await;
    let seen = Arc::new(AtomicUsize::new(0));
    let call = client.call_tool("poke", NOTHING).timeout(seconds(1)).on_progress({
        let seen = Arc::clone(&seen);
        move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    });
    let began = Instant::now();
    let failure = failure(call.await);
    assert_eq!(began.elapsed(), seconds(1));
    assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::MayHaveExecuted));
    assert_eq!(failure.phase, Phase::Streaming);
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    assert!(failure.attempts[0].progress_seen && failure.attempts[0].response_started);
}

#[tokio::test(start_paused = true)]
async fn progress_is_not_asked_for_where_nobody_wants_it() {
    let exchange = progressing(&Server::new());
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    let entries = exchange.ledger().of("tools/call");
    assert!(entries[0].message["params"]["_meta"].get("progressToken").is_none());
}

#[tokio::test(start_paused = true)]
async fn the_total_cap_is_moved_by_nothing() {
    let client = connect(&progressing(&Server::new())).await;
    let call = client.call_tool("poke", NOTHING).timeout(seconds(1)).reset_on_progress(true);
    let began = Instant::now();
    let failure = failure(call.max_total_timeout(seconds(2)).await);
    assert_eq!(began.elapsed(), seconds(2));
    assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::MayHaveExecuted));
}

#[tokio::test(start_paused = true)]
async fn the_options_of_a_tool_win_over_the_clients_and_those_of_the_call_over_both() {
    let exchange = progressing(&Server::new());
    let mut options = CallOptions::default();
    options.timeout = Some(seconds(2));
    let client = builder(&exchange).timeout(milliseconds(500)).tool_options("poke", options).connect().await.unwrap();
    for (call, expected) in [
        (client.call_tool("poke", NOTHING), seconds(2)),
        (client.call_tool("peek", NOTHING), milliseconds(500)),
        (client.call_tool("poke", NOTHING).timeout(seconds(1)), seconds(1)),
    ] {
        let began = Instant::now();
        assert_eq!(failure(call.await).kind, Kind::Timeout);
        assert_eq!(began.elapsed(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_handshake_counts() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "initialize" { hang(&arrival).await } else { None }
    });
    let client = builder(&exchange).lazy(true).connect().await.unwrap();
    let began = Instant::now();
    let failure = failure(client.call_tool("poke", NOTHING).timeout(seconds(1)).await);
    assert_eq!(began.elapsed(), seconds(1));
    assert_eq!((failure.kind, failure.phase), (Kind::Timeout, Phase::Queued));
    assert_eq!((failure.execution, failure.proof), (Execution::NotExecuted, Some(Proof::NeverSent)));
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 0, "initialize is not to be cancelled");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_recovery_counts_and_the_proof_of_the_loss_is_kept() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() == "initialize" && nth > 0 { hang(&arrival).await } else { None }
    });
    let client = connect(&exchange).await;
    server.forget_sessions();
    let began = Instant::now();
    let failure = failure(client.call_tool("poke", NOTHING).timeout(seconds(1)).await);
    assert_eq!(began.elapsed(), seconds(1));
    assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::NotExecuted));
    assert_eq!(failure.proof, Some(Proof::SessionRejected));
    assert_eq!(failure.attempts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_pages_share_one_deadline() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() != "tools/list" {
            return None;
        }
        arrival.take();
        sleep(milliseconds(400)).await;
        Some(Ok(arrival.result(&json!({ "tools": [], "nextCursor": format!("page-{nth}") }))))
    });
    let client = connect(&exchange).await;
    let began = Instant::now();
    let failure = failure(client.list_tools().timeout(seconds(1)).await);
    assert_eq!(began.elapsed(), seconds(1));
    assert_eq!(failure.kind, Kind::Timeout);
    assert_eq!(exchange.ledger().count("tools/list"), 3);
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_a_handler_of_the_call_runs() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                if arrival.method() != "tools/call" {
                    return None;
                }
                let result = server.execute(&arrival);
                let question = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                    "params": { "message": "sure?", "requestedSchema": { "type": "object", "properties": {} } } });
                let reply = Reply::event_stream().wait(milliseconds(600)).event(&question).wait(milliseconds(5_300));
                Some(Ok(reply.event(&arrival.result_message(&result))))
            }
        }
    });
    let client = builder(&exchange)
        .on_elicitation(|_: Value| async {
            sleep(seconds(5)).await;
            Ok(json!({ "action": "decline" }))
        })
        .connect()
        .await
        .unwrap();
    let began = Instant::now();
    client.call_tool("poke", NOTHING).timeout(seconds(1)).await.unwrap();
    assert_eq!(began.elapsed(), milliseconds(5_900));
}

#[tokio::test(start_paused = true)]
async fn bytes_of_any_kind_hold_the_idle_timeout_off() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() != "tools/call" {
            return None;
        }
        let mut reply = Reply::event_stream();
        for _ in 0..10 {
            reply = reply.wait(milliseconds(900)).chunk(": still here\n\n");
        }
        let answer = arrival.result_message(&json!({ "content": [] }));
        Some(Ok(if nth == 0 { reply.event(&answer) } else { reply.never() }))
    });
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).idle_timeout(seconds(1)).await.unwrap();
    let began = Instant::now();
    let failure = failure(client.call_tool("poke", NOTHING).idle_timeout(seconds(1)).await);
    assert_eq!(began.elapsed(), seconds(10));
    assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::MayHaveExecuted));
    sleep(milliseconds(1)).await;
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_orphan_is_waited_for_from_the_moment_that_its_session_is_declared_gone() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                if arrival.method() != "tools/call" || nth > 0 {
                    return None;
                }
                server.execute(&arrival);
                Some(Ok(Reply::event_stream().chunk(": here\n\n").never()))
            }
        }
    });
    let client = connect(&exchange).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    sleep(seconds(600)).await;
    assert!(!slow.is_finished(), "a server that is alive and silent shows no failure");
    server.forget_sessions();
    let began = Instant::now();
    client.read_resource("mem://a").await.unwrap();
    let failure = failure(slow.await.unwrap());
    assert_eq!(began.elapsed(), seconds(60));
    assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::MayHaveExecuted));
    assert_eq!(failure.attempts.len(), 1, "and it is not sent again");
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 0, "there is no session to cancel it on");
    client.close().await;
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_orphan_that_still_answers_is_delivered() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                if arrival.method() != "tools/call" || nth > 0 {
                    return None;
                }
                let answer = arrival.result_message(&server.execute(&arrival));
                let reply = Reply::event_stream().wait(seconds(50)).chunk(": here\n\n").wait(seconds(50));
                Some(Ok(reply.event(&answer)))
            }
        }
    });
    let client = connect(&exchange).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    server.forget_sessions();
    let began = Instant::now();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert!(began.elapsed() < seconds(1), "the neighbour is not waited for");
    assert_eq!(slow.await.unwrap().unwrap().text(), "did poke");
    sleep(milliseconds(1)).await;
    assert_eq!(exchange.ledger().count("DELETE"), 1, "declared gone, it has shown life");
    assert_eq!(server.executed("poke"), 2);
}
