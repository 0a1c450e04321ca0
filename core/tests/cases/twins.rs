//! The twin of a refusal among everything else that goes on: what it may not confirm, what must not stop it, and whom it may hold up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{CallToolResult, Client, Error, EventName, Execution, Kind, Proof};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::support::{
    Log, NOTHING, at_once, builder, connect, failure, hang, milliseconds, run_and_cut, scripted, seconds,
};

/// As servers say it that answer whatever it is with 200.
fn gone(arrival: &Arrival) -> serde_json::Value {
    let mut message = arrival.error_message(-32_001, "Session not found");
    message["id"] = serde_json::Value::Null;
    message
}

/// A `poke` that nobody waits for yet.
fn left_running(client: &Client) -> JoinHandle<Result<CallToolResult, Error>> {
    let client = client.clone();
    tokio::spawn(async move { client.call_tool("poke", NOTHING).await })
}

/// A server that takes half a second for each ping.
fn with_slow_pings(server: &Server) -> Arc<Scripted> {
    scripted(server, |arrival, _| async move {
        if arrival.method() == "ping" {
            sleep(milliseconds(500)).await;
        }
        None
    })
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_a_get_that_reads_on_is_not_said_of_the_call() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), arrival.session()) {
                    ("tools/call", _) if nth == 0 => {
                        server.execute(&arrival);
                        server.forget_sessions();
                        Some(Ok(Reply::event_stream().event_with_id("e1", &NOTHING)))
                    }
                    ("resume", _) => Some(Ok(Reply::event_stream().event(&gone(&arrival)))),
                    (_, Some("session-1")) => Some(Ok(Reply::json(200, &gone(&arrival)))),
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let error = client.call_tool("poke", NOTHING).await.unwrap_err();
    assert_ne!(error.execution(), Execution::NotExecuted, "{error}");
    assert_eq!(server.executed("poke"), 1);
    client.call_tool("poke", NOTHING).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_no_proof_that_what_it_answers_did_not_run() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        server.execute(&arrival);
                        Some(Ok(Reply::new(307).header("location", "/login")))
                    }
                    ("tools/call", 1) => Some(Err(Cause::Refused)),
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.execution, failure.proof), (Execution::MayHaveExecuted, None));
    assert_eq!(server.executed("poke"), 1);
}

/// A load balancer leads everything away; a tool passes on where its own upstream led it, or leads to what came of it.
#[tokio::test(start_paused = true)]
async fn a_redirect_is_proof_only_if_a_ping_is_led_to_the_same_place_in_the_same_way() {
    const THERE: &str = "http://other.test/mcp";
    for (status, tool, ping, runs, execution) in [
        (308, THERE, THERE, 0, Execution::NotExecuted),
        (307, THERE, THERE, 0, Execution::NotExecuted),
        (308, "http://other.test/orders", THERE, 1, Execution::MayHaveExecuted),
        (307, "http://node-1.test/mcp", "http://node-2.test/mcp", 1, Execution::MayHaveExecuted),
        // What these lead to may be what came of it.
        (303, THERE, THERE, 1, Execution::MayHaveExecuted),
        (302, THERE, THERE, 1, Execution::MayHaveExecuted),
        (301, THERE, THERE, 1, Execution::MayHaveExecuted),
    ] {
        let server = Server::new();
        let exchange = scripted(&server, {
            let server = server.clone();
            move |arrival, _| {
                let to = match arrival.method() {
                    "tools/call" => Some(tool),
                    "ping" | "tools/list" => Some(ping),
                    _ => None,
                };
                if runs > 0 && arrival.method() == "tools/call" {
                    server.execute(&arrival);
                }
                async move { to.map(|to| Ok(Reply::new(status).header("location", to))) }
            }
        });
        let client = connect(&exchange).await;
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((failure.kind, failure.execution), (Kind::Redirect, execution), "{status} {tool} {ping}");
        assert_eq!(server.executed("poke"), runs, "{status} {tool} {ping}");
        let asks = matches!(status, 307 | 308);
        assert_eq!(exchange.ledger().count("ping") > 0, asks, "no question where no answer counts: {status}");
    }
}

fn refuse_login(arrival: &Arrival) -> Option<Result<Reply, Cause>> {
    let refused = arrival.header("authorization") == Some("Bearer token-1") && arrival.method() != "initialize";
    (refused && arrival.id().is_some()).then(|| Ok(Reply::text(401, "who are you?")))
}

#[tokio::test(start_paused = true)]
async fn headers_that_differ_in_each_request_do_not_make_a_refused_token_another_one() {
    for name in ["traceparent", "x-signature"] {
        let server = Server::new();
        let exchange = scripted(&server, |arrival, _| async move { refuse_login(&arrival) });
        let counter = Arc::new(AtomicUsize::new(0));
        let client = builder(&exchange)
            .token("token-1")
            .header_provider(move || {
                let number = counter.fetch_add(1, Ordering::Relaxed);
                async move { Ok(vec![(name.to_owned(), format!("00-{number}"))]) }
            })
            .connect()
            .await
            .unwrap();
        let _ = at_once(16, {
            let client = client.clone();
            move |_| {
                let client = client.clone();
                async move { client.call_tool("poke", NOTHING).await.unwrap_err() }
            }
        })
        .await;
        let twins = exchange.ledger().count("ping");
        assert!(twins <= 3, "{name}: {twins}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_hand_is_handed_over_when_the_deadline_ends_its_twin() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        match arrival.method() {
            "tools/call" => Some(Ok(Reply::json(400, &arrival.error_message(-32_000, "Session not found")))),
            "ping" => hang(&arrival).await,
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    let error = client.call_tool("poke", NOTHING).timeout(seconds(1)).await.unwrap_err();
    assert!(matches!(error, Error::Answered(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn close_does_not_wait_for_a_twin() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        match arrival.method() {
            "tools/call" => Some(Ok(Reply::text(404, "gone"))),
            "ping" => hang(&arrival).await,
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    let call = left_running(&client);
    exchange.ledger().arrivals("ping", 1).await;
    let began = Instant::now();
    client.close().await;
    let took = began.elapsed();
    let failure = failure(call.await.unwrap());
    assert_eq!((failure.kind, failure.execution), (Kind::Closed, Execution::MayHaveExecuted));
    assert!(exchange.ledger().open().is_empty());
    assert_eq!(exchange.ledger().count("DELETE"), 1);
    assert_eq!(took, seconds(0));
}

#[tokio::test(start_paused = true)]
async fn a_call_on_a_session_that_is_refused_in_whatever_words_does_not_wait_for_ever() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), arrival.session()) {
            ("tools/call", _) if nth == 0 => hang(&arrival).await,
            ("tools/call" | "tools/list" | "ping", Some("session-1")) => Some(Ok(Reply::text(400, "come again?"))),
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    let hanging = left_running(&client);
    exchange.ledger().arrivals("tools/call", 1).await;
    let _ = client.call_tool("poke", NOTHING).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(client.generation(), 2);
    let settled = tokio::time::timeout(seconds(3600), hanging).await.expect("it settles").unwrap();
    assert_eq!(failure(settled).execution, Execution::MayHaveExecuted);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_declared_gone_and_speaks_gets_its_delete() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), arrival.session()) {
                    ("tools/call", _) if nth == 0 => {
                        server.execute(&arrival);
                        let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "at it" } });
                        Some(Ok(Reply::event_stream().wait(seconds(5)).event(&log).never()))
                    }
                    (method, Some("session-1"))
                        if method != "notifications/initialized"
                            && method != "DELETE"
                            && method != "notifications/cancelled" =>
                    {
                        Some(Ok(Reply::text(404, "Session not found")))
                    }
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).timeout(seconds(10)).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    client.read_resource("mem://a").await.unwrap();
    assert_eq!(client.generation(), 2);
    failure(slow.await.unwrap());
    sleep(seconds(1)).await;
    assert_eq!(exchange.ledger().of("DELETE").iter().filter(|entry| entry.session() == Some("session-1")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_pings_on_the_stream_of_a_call_is_answered_whatever_others_said_of_the_session() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), arrival.session()) {
                    ("tools/call", _) if nth == 0 => {
                        let result = server.execute(&arrival);
                        let ping = json!({ "jsonrpc": "2.0", "id": "p1", "method": "ping" });
                        Some(Ok(Reply::event_stream()
                            .wait(seconds(5))
                            .event(&ping)
                            .wait(seconds(1))
                            .event(&arrival.result_message(&result))))
                    }
                    ("resources/read" | "ping", Some("session-1")) => Some(Ok(Reply::text(404, "Session not found"))),
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let slow = left_running(&client);
    exchange.ledger().arrivals("tools/call", 1).await;
    client.read_resource("mem://a").await.unwrap();
    slow.await.unwrap().unwrap();
    assert_eq!(exchange.ledger().count(""), 1);
    client.close().await;
    assert_eq!(exchange.ledger().of("DELETE").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_given_up_costs_none_of_its_neighbours_anything() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), arrival.session()) {
                    ("tools/call", _) if nth == 0 => {
                        let result = server.execute(&arrival);
                        let ask = json!({ "jsonrpc": "2.0", "id": "a1", "method": "elicitation/create", "params": {} });
                        Some(Ok(Reply::event_stream()
                            .event(&ask)
                            .wait(seconds(20))
                            .event(&arrival.result_message(&result))))
                    }
                    ("tools/call", Some("session-1")) => Some(Ok(Reply::text(400, "come again?"))),
                    _ => None,
                }
            }
        }
    });
    let client = builder(&exchange)
        .on_elicitation(|_| async move {
            sleep(seconds(10)).await;
            Ok(json!({ "action": "accept", "content": {} }))
        })
        .connect()
        .await
        .unwrap();
    let slow = left_running(&client);
    exchange.ledger().arrivals("tools/call", 1).await;
    for _ in 0..2 {
        failure(client.call_tool("poke", NOTHING).await);
    }
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(client.generation(), 2);
    assert_eq!(exchange.ledger().count("DELETE"), 0);
    slow.await.unwrap().unwrap();
    assert_eq!(exchange.ledger().of("")[0].message["result"]["action"], "accept");
    sleep(seconds(1)).await;
    assert_eq!(exchange.ledger().count("DELETE"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_twin_that_goes_out_while_another_call_recovers_still_confirms() {
    let server = Server::new();
    let exchange = with_slow_pings(&server);
    let client = connect(&exchange).await;
    server.forget_sessions();
    let poke = left_running(&client);
    exchange.ledger().arrivals("ping", 1).await;
    client.read_resource("mem://a").await.unwrap();
    poke.await.unwrap().unwrap();
    assert_eq!((server.executed("poke"), exchange.ledger().count("initialize")), (1, 2));
    client.close().await;
    assert_eq!(exchange.ledger().count("DELETE"), 1);
}

/// Some servers have one session for the whole process: to whatever comes before the next `initialize` they say that there is none, and from then
/// on that it is another one.
#[tokio::test(start_paused = true)]
async fn no_recovery_changes_what_a_server_says_between_a_refusal_and_its_twin() {
    let server = Server::new();
    let handshakes = Arc::new(AtomicUsize::new(0));
    let exchange = scripted(&server, {
        let handshakes = Arc::clone(&handshakes);
        move |arrival, nth| {
            if arrival.method() == "initialize" {
                handshakes.fetch_add(1, Ordering::SeqCst);
            }
            let refused = handshakes.load(Ordering::SeqCst) == 1
                && arrival.session().is_some()
                && matches!(arrival.method(), "tools/call" | "resources/read" | "ping");
            // The first call of a tool hears of it late: the twin of the second one waits for that.
            let late = arrival.method() == "tools/call" && nth == 0;
            async move {
                if late {
                    sleep(milliseconds(20)).await;
                }
                let none = arrival.error_message(-32_000, "Bad Request: Server not initialized");
                refused.then(|| Ok(Reply::json(400, &none)))
            }
        }
    });
    let client = connect(&exchange).await;
    server.forget_sessions();
    let late = left_running(&client);
    exchange.ledger().arrivals("tools/call", 1).await;
    let poke = left_running(&client);
    exchange.ledger().arrivals("tools/call", 2).await;
    client.read_resource("mem://a").await.unwrap();
    poke.await.unwrap().unwrap();
    late.await.unwrap().unwrap();
    assert_eq!((server.executed("poke"), exchange.ledger().count("initialize")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_new_session_that_the_host_asks_for_stops_no_twin() {
    let server = Server::new();
    let exchange = with_slow_pings(&server);
    let client = connect(&exchange).await;
    server.forget_sessions();
    let poke = left_running(&client);
    exchange.ledger().arrivals("ping", 1).await;
    client.recover().await.unwrap();
    poke.await.unwrap().unwrap();
    assert_eq!((server.executed("poke"), exchange.ledger().count("initialize")), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn the_caller_that_began_a_twin_may_go() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "ping" {
            sleep(milliseconds(500)).await;
        }
        if arrival.method() == "tools/call" && arrival.session() == Some("session-1") {
            return Some(Ok(Reply::text(404, "unknown")));
        }
        None
    });
    let client = connect(&exchange).await;
    server.forget_sessions();
    let call = || {
        let client = client.clone();
        tokio::spawn(async move { client.call_tool("poke", NOTHING).await })
    };
    let (first, second) = (call(), call());
    exchange.ledger().arrivals("ping", 1).await;
    sleep(milliseconds(10)).await;
    first.abort();
    second.await.unwrap().unwrap();
    assert_eq!((server.executed("poke"), exchange.ledger().count("initialize")), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn two_refusals_in_other_words_share_a_twin_and_not_its_proof() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        server.execute(&arrival);
                        sleep(milliseconds(10)).await;
                        server.forget_sessions();
                        Some(Ok(Reply::text(404, "no such record")))
                    }
                    ("tools/call", 1) => {
                        sleep(milliseconds(10)).await;
                        Some(Ok(Reply::text(404, "unknown")))
                    }
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let outcomes = at_once(2, {
        let client = client.clone();
        move |_| {
            let client = client.clone();
            async move { client.call_tool("poke", NOTHING).await.map(|_| ()) }
        }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert_eq!(server.executed("poke"), 2);
    assert_eq!(exchange.ledger().count("initialize"), 2);
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_the_second_call_after_a_loss_works() {
    let server = Server::new();
    let exchange = server.exchange();
    let client = builder(&exchange).retry_budget(0.0, 0).connect().await.unwrap();
    server.forget_sessions();
    let first = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((first.execution, first.kind), (Execution::MayHaveExecuted, Kind::HttpStatus));
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("initialize"), 2);
}

#[tokio::test(start_paused = true)]
async fn twins_that_hang_are_one_at_a_time_and_hold_each_call_for_two_seconds() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        match arrival.method() {
            "tools/call" => Some(Ok(Reply::text(403, "no"))),
            "ping" => hang(&arrival).await,
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    let took = at_once(64, {
        let client = client.clone();
        move |number| {
            let client = client.clone();
            async move {
                sleep(milliseconds(100 * number as u64)).await;
                let began = Instant::now();
                failure(client.call_tool("poke", NOTHING).await);
                began.elapsed()
            }
        }
    })
    .await;
    assert!(took.iter().all(|took| *took <= seconds(2)), "{took:?}");
    assert!(exchange.ledger().count("ping") <= 5, "{}", exchange.ledger().count("ping"));
    client.close().await;
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_token_cannot_be_renewed_is_told_what_its_twin_proves() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move { refuse_login(&arrival) });
    let client = builder(&exchange)
        .token_provider(|refused| async move {
            match refused {
                None => Ok("token-1".to_owned()),
                Some(_) => Err("the keychain is locked".into()),
            }
        })
        .connect()
        .await
        .unwrap();
    // What was asked for in vain may have ended the old token all the same. The failure stands for a while, and nobody asks again.
    for proof in [None, Some(Proof::Unauthorized)] {
        let failure = failure(client.read_resource("mem://a").await);
        assert!(failure.reason.contains("keychain"), "{}", failure.reason);
        assert_eq!((failure.kind, failure.proof), (Kind::Auth, proof));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_a_twin() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "tools/call").then(|| Ok(Reply::text(429, "slow down").header("retry-after", "7")))
    });
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(
        (failure.execution, failure.kind, failure.retry_after),
        (Execution::MayHaveExecuted, Kind::RateLimited, Some(seconds(7)))
    );
    assert_eq!(log.of(EventName::AttemptFailed).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_to_run_it_again_is_no_answer_to_a_call_that_may_have_run() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => run_and_cut(&server, &arrival),
                    ("tools/call", _) => {
                        Some(Ok(Reply::json(400, &arrival.error_message(-32_000, "Session not found"))))
                    }
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let failure = failure(client.call_tool("nudge", NOTHING).await);
    assert_eq!((failure.execution, failure.kind), (Execution::MayHaveExecuted, Kind::SessionLost));
    assert_eq!(server.executed("nudge"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_without_ping_says_of_it_what_a_tool_says_of_a_record() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                match arrival.method() {
                    "tools/call" => {
                        server.execute(&arrival);
                        Some(Ok(Reply::text(404, "<h1>Not Found</h1>")))
                    }
                    "ping" => Some(Ok(Reply::text(404, "<h1>Not Found</h1>"))),
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(server.executed("poke"), 1, "{failure:?}");
    assert_eq!(failure.execution, Execution::MayHaveExecuted);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_is_read_while_a_twin_is_out_has_a_twin_of_its_own() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => Some(Ok(Reply::text(401, "who are you?"))),
                    ("ping", 0) => {
                        sleep(milliseconds(500)).await;
                        Some(Ok(Reply::text(401, "who are you?")))
                    }
                    // It runs, and passes on what a server behind it says.
                    ("tools/call", _) => {
                        server.execute(&arrival);
                        Some(Ok(Reply::text(401, "who are you?")))
                    }
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let first = left_running(&client);
    exchange.ledger().arrivals("ping", 1).await;
    let second = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((server.executed("poke"), second.execution), (1, Execution::MayHaveExecuted));
    assert_eq!(failure(first.await.unwrap()).execution, Execution::NotExecuted);
    assert_eq!(exchange.ledger().count("ping"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_was_confirmed_is_none_of_two_in_a_row_that_were_not() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        let refuses = matches!((arrival.method(), nth), ("tools/call", 0 | 1) | ("ping" | "tools/list", 0));
        refuses.then(|| Ok(Reply::text(400, "come again?")))
    });
    let client = connect(&exchange).await;
    let confirmed = failure(client.call_tool("poke", NOTHING).await);
    let alone = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((confirmed.execution, alone.execution), (Execution::NotExecuted, Execution::MayHaveExecuted));
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(client.generation(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_login_that_was_not_tried_for_want_of_budget_was_not_tried() {
    let server = Server::new();
    let of_login = Arc::new(AtomicUsize::new(0));
    let exchange = scripted(&server, {
        let of_login = Arc::clone(&of_login);
        move |arrival, _| {
            let status = if of_login.load(Ordering::Relaxed) == 0 { 429 } else { 401 };
            let refuses = matches!(arrival.method(), "tools/call" | "ping");
            async move { refuses.then(|| Ok(Reply::text(status, "no").header("retry-after", "3600"))) }
        }
    });
    let client = builder(&exchange).retry_budget(0.0, 1).connect().await.unwrap();
    let poke = async || failure(client.call_tool("poke", NOTHING).await).execution;
    let mut twins = 0;
    while poke().await == Execution::NotExecuted {
        twins += 1;
        assert!(twins < 100, "the budget has an end");
    }
    of_login.store(1, Ordering::Relaxed);
    for _ in 0..4 {
        assert_eq!(poke().await, Execution::MayHaveExecuted, "nothing is left to send a twin with");
    }
    sleep(seconds(20)).await;
    assert_eq!(poke().await, Execution::NotExecuted);
}

#[tokio::test(start_paused = true)]
async fn a_twin_that_hears_of_a_loss_has_verified_the_session() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                (arrival.method() == "tools/call" && nth == 0).then(|| {
                    server.execute(&arrival);
                    server.forget_sessions();
                    Ok(Reply::text(403, "not for you"))
                })
            }
        }
    });
    let client = connect(&exchange).await;
    let refused = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((refused.kind, refused.execution), (Kind::Auth, Execution::MayHaveExecuted));
    client.call_tool("poke", NOTHING).await.unwrap();
    let ledger = exchange.ledger();
    assert_eq!((client.generation(), ledger.count("tools/call"), ledger.count("DELETE")), (2, 2, 0));
}
