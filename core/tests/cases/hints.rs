//! The server's hints: whose they are, when they are asked for, and how long they hold.

use std::sync::Arc;

use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Execution, Resend, TrustAnnotations};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{NOTHING, builder, connect, failure, hang, run_and_cut, scripted, seconds};

/// Runs the first `losses` tool calls, and cuts the connection before a byte of the answer.
fn losing(server: &Server, losses: usize) -> Arc<Scripted> {
    scripted(server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                if arrival.method() == "tools/call" && nth < losses { run_and_cut(&server, &arrival) } else { None }
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn hints_are_looked_up_once_at_the_moment_that_they_are_needed() {
    let server = Server::new();
    let exchange = losing(&server, 2);
    let client = connect(&exchange).await;
    client.call_tool("peek", NOTHING).await.unwrap();
    assert_eq!((server.executed("peek"), exchange.ledger().count("tools/list")), (3, 1));
    let client = connect(&losing(&server, 0)).await;
    client.call_tool("peek", NOTHING).await.unwrap();
    let exchange = losing(&server, 1);
    let client = connect(&exchange).await;
    client.list_tools().await.unwrap();
    client.call_tool("nudge", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("tools/list"), 1, "known already");
}

#[tokio::test(start_paused = true)]
async fn a_tool_without_a_hint_and_one_that_is_not_believed_are_not_resent() {
    for (tool, trust, ran) in [
        ("poke", TrustAnnotations::Hinted, 1),
        ("peek", TrustAnnotations::Hinted, 2),
        ("nudge", TrustAnnotations::Hinted, 2),
        ("peek", TrustAnnotations::ReadOnly, 2),
        ("nudge", TrustAnnotations::ReadOnly, 1),
        ("peek", TrustAnnotations::None, 1),
        ("nudge", TrustAnnotations::None, 1),
    ] {
        let server = Server::new();
        let exchange = losing(&server, 1);
        let client = builder(&exchange).trust_annotations(trust).connect().await.unwrap();
        let outcome = client.call_tool(tool, NOTHING).await;
        assert_eq!(server.executed(tool), ran, "{tool} under {trust:?}");
        assert_eq!(outcome.is_ok(), ran == 2);
        if let Err(error) = outcome {
            assert_eq!(error.execution(), Execution::MayHaveExecuted);
        }
        let asked = exchange.ledger().count("tools/list");
        assert_eq!(asked, usize::from(trust != TrustAnnotations::None), "nobody asks for what is not believed");
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_word_stands_above_every_hint() {
    for (resend, tool, ran) in [(Resend::Always, "poke", 2), (Resend::Never, "peek", 1)] {
        let server = Server::new();
        let exchange = losing(&server, 1);
        let client = connect(&exchange).await;
        let outcome = client.call_tool(tool, NOTHING).resend(resend).await;
        assert_eq!((server.executed(tool), outcome.is_ok()), (ran, ran == 2));
        assert_eq!(exchange.ledger().count("tools/list"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_up_takes_two_seconds_at_most_and_no_answer_means_no_hints() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, _| {
            let server = server.clone();
            async move {
                match arrival.method() {
                    "tools/call" => run_and_cut(&server, &arrival),
                    "tools/list" => hang(&arrival).await,
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let began = Instant::now();
    let failure = failure(client.call_tool("peek", NOTHING).await);
    assert_eq!(began.elapsed(), seconds(2));
    assert_eq!((failure.execution, failure.attempts.len()), (Execution::MayHaveExecuted, 1));
    assert_eq!(exchange.ledger().count("tools/list"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_lost_while_the_session_is_replaced_asks_the_new_one_for_its_hints() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        arrival.take();
                        sleep(seconds(1)).await;
                        run_and_cut(&server, &arrival)
                    }
                    ("initialize", 1) => {
                        arrival.take();
                        sleep(seconds(3)).await;
                        None
                    }
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let call = tokio::spawn(client.call_tool("peek", NOTHING).into_future());
    exchange.ledger().arrivals("tools/call", 1).await;
    client.recover().await.unwrap();
    call.await.unwrap().unwrap();
    let lists = exchange.ledger().of("tools/list");
    assert_eq!(lists.iter().map(|entry| entry.session()).collect::<Vec<_>>(), [Some("session-2")]);
    assert_eq!(server.executed("peek"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_does_not_outlive_the_deadline() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, _| {
            let server = server.clone();
            async move {
                match arrival.method() {
                    "tools/call" => run_and_cut(&server, &arrival),
                    "tools/list" => hang(&arrival).await,
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let began = Instant::now();
    let failure = failure(client.call_tool("peek", NOTHING).timeout(seconds(1)).await);
    assert_eq!(began.elapsed(), seconds(1));
    assert_eq!(failure.execution, Execution::MayHaveExecuted);
}

/// The first tool call runs and is lost together with the session; what `tools/list` says is up to the test.
fn restarting(server: &Server, hint_after: Option<bool>) -> Arc<Scripted> {
    scripted(server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        let lost = run_and_cut(&server, &arrival);
                        server.forget_sessions();
                        lost
                    }
                    ("tools/list", _) if arrival.session() == Some("session-2") => {
                        let hint = hint_after?;
                        let tool =
                            json!({ "name": "peek", "inputSchema": {}, "annotations": { "readOnlyHint": hint } });
                        Some(Ok(arrival.result(&json!({ "tools": [tool] }))))
                    }
                    _ => None,
                }
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_read_only_tool_is_resent_on_the_new_session_by_the_hints_of_that_session() {
    let server = Server::new();
    let exchange = restarting(&server, Some(true));
    let client = connect(&exchange).await;
    client.list_tools().await.unwrap();
    client.call_tool("peek", NOTHING).await.unwrap();
    assert_eq!(server.executed("peek"), 2);
    assert_eq!(client.generation(), 2);
    assert_eq!(exchange.ledger().count("tools/list"), 2, "once in each generation");
}

#[tokio::test(start_paused = true)]
async fn hints_are_not_carried_over_to_a_new_session() {
    let server = Server::new();
    let exchange = restarting(&server, Some(false));
    let client = connect(&exchange).await;
    client.list_tools().await.unwrap();
    let failure = failure(client.call_tool("peek", NOTHING).await);
    assert_eq!(server.executed("peek"), 1, "the new server does not call it read-only any more");
    assert_eq!(failure.execution, Execution::MayHaveExecuted);
}

#[tokio::test(start_paused = true)]
async fn an_idempotent_tool_is_not_resent_on_another_session() {
    let server = Server::new();
    let exchange = restarting(&server, None);
    let client = connect(&exchange).await;
    client.list_tools().await.unwrap();
    let failure = failure(client.call_tool("nudge", NOTHING).await);
    assert_eq!(server.executed("nudge"), 1, "its state may have moved since");
    assert_eq!((failure.execution, failure.proof), (Execution::MayHaveExecuted, None));
    client.call_tool("nudge", NOTHING).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn tools_that_changed_are_asked_for_anew() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        let answer = arrival.result_message(&server.execute(&arrival));
                        let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                        Some(Ok(Reply::event_stream().event(&changed).event(&answer)))
                    }
                    ("tools/call", 1) => run_and_cut(&server, &arrival),
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    client.list_tools().await.unwrap();
    client.call_tool("peek", NOTHING).await.unwrap();
    client.call_tool("peek", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("tools/list"), 2);
    assert_eq!(server.executed("peek"), 3);
}
