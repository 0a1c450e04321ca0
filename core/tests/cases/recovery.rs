//! One recovery: however many callers saw the loss, and whatever they do meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Server};
use oncewire::{EventName, Execution, Kind, Phase, Proof, Recovery};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{Gate, Log, NOTHING, builder, connect, failure, hang, milliseconds, scripted, seconds};

#[tokio::test(start_paused = true)]
async fn sixteen_callers_cost_one_handshake_and_each_is_repeated_once() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() == "initialize" && nth > 0 {
            sleep(milliseconds(300)).await;
        }
        None
    });
    let client = connect(&exchange).await;
    server.forget_sessions();
    let calls = (0..16).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            match number % 3 {
                0 => client.call_tool("poke", NOTHING).await.map(drop),
                1 => client.read_resource("mem://a").await.map(drop),
                _ => client.get_prompt("hello", NOTHING).await.map(drop),
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(exchange.ledger().count("initialize"), 2);
    assert_eq!(server.executions().len(), 16);
    assert!(server.executions().iter().all(|execution| execution.session.as_deref() == Some("session-2")));
    client.close().await;
    assert_eq!(exchange.ledger().of("DELETE").len(), 1, "only the session that the server still knows");
}

/// Waiters cost next to nothing, and none is forgotten.
async fn ten_thousand(pause: std::time::Duration) {
    let server = Server::new();
    let gate = Gate::new();
    let exchange = scripted(&server, {
        let gate = gate.clone();
        move |arrival, _| {
            let gate = gate.clone();
            async move {
                if arrival.method() == "initialize" {
                    arrival.take();
                    gate.pass().await;
                }
                None
            }
        }
    });
    let client = builder(&exchange).build().unwrap();
    let waiting = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = (0..10_000)
        .map(|_| {
            let (client, waiting) = (client.clone(), Arc::clone(&waiting));
            tokio::spawn(async move {
                waiting.fetch_add(1, Ordering::Relaxed);
                client.call_tool("poke", NOTHING).await
            })
        })
        .collect();
    while waiting.load(Ordering::Relaxed) < calls.len() {
        sleep(pause).await;
    }
    gate.open();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(exchange.ledger().count("initialize"), 1);
    assert_eq!(exchange.ledger().count("notifications/initialized"), 1);
    assert_eq!(server.executed("poke"), 10_000);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_waiters_cost_one_handshake() {
    ten_thousand(milliseconds(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waiters_cost_one_handshake_on_several_threads() {
    ten_thousand(milliseconds(1)).await;
}

#[tokio::test(start_paused = true)]
async fn two_waiters_do_not_keep_each_other_awake() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "initialize" {
            arrival.take();
            sleep(seconds(20)).await;
        }
        None
    });
    let client = builder(&exchange).build().unwrap();
    // Where a waiter wakes another, paused time never moves on and this never ends.
    let (one, two) = tokio::join!(client.call_tool("poke", NOTHING), client.call_tool("poke", NOTHING));
    assert!(one.is_ok() && two.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_failed_flight_fails_its_waiters_together_and_the_next_call_tries_again() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() == "tools/call" {
            // So that all are on their way before the first sees the loss.
            sleep(milliseconds(1)).await;
        }
        (arrival.method() == "initialize" && (1..=2).contains(&nth)).then(|| Ok(Reply::text(500, "starting")))
    });
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    server.forget_sessions();
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("poke", NOTHING).await })
        })
        .collect();
    for call in calls {
        let failure = failure(call.await.unwrap());
        assert_eq!((failure.kind, failure.execution), (Kind::RecoveryFailed, Execution::NotExecuted));
        assert_eq!(failure.proof, Some(Proof::SessionRejected));
        assert!(
            failure
                .reason
                .contains("the session was lost and reconnecting to http://server.test/mcp failed, because HTTP 500"),
            "{}",
            failure.reason
        );
    }
    assert_eq!(exchange.ledger().count("initialize"), 3, "two tries of one flight");
    assert_eq!(client.state().as_str(), "lost");
    let began = Instant::now();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert!(began.elapsed() <= seconds(2));
    assert_eq!(log.of(EventName::RecoveryFailed).len(), 1);
    let order: Vec<_> = log
        .names()
        .into_iter()
        .filter(|name| !matches!(name, EventName::AttemptFailed | EventName::CallFinished))
        .collect();
    assert_eq!(
        order,
        [
            EventName::Connecting,
            EventName::Ready,
            EventName::SessionSuspect,
            EventName::SessionLost,
            EventName::Recovering,
            EventName::RecoveryFailed,
            EventName::Recovering,
            EventName::SessionReplaced,
            EventName::Ready
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn flights_that_fail_in_a_row_are_at_most_two_seconds_apart() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == "initialize" && nth > 0).then(|| Ok(arrival.error(-32_603, "no more")))
    });
    let client = connect(&exchange).await;
    server.forget_sessions();
    for round in 0..20 {
        let began = Instant::now();
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!(failure.kind, Kind::RecoveryFailed);
        assert_eq!(failure.execution, Execution::NotExecuted);
        assert!(began.elapsed() <= seconds(2), "round {round} took {:?}", began.elapsed());
    }
    assert_eq!(exchange.ledger().count("initialize"), 21, "a refusal of the server's own is not tried again");
}

#[tokio::test(start_paused = true)]
async fn a_call_lives_through_two_losses_and_the_third_surfaces() {
    for (losses, lives) in [(2, true), (3, false)] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, _| async move {
            let lost = (1..=losses).any(|number| arrival.session() == Some(&format!("session-{number}")));
            (matches!(arrival.method(), "tools/call" | "ping" | "tools/list") && lost).then(|| Ok(Reply::new(404)))
        });
        let client = connect(&exchange).await;
        let outcome = client.call_tool("poke", NOTHING).await;
        assert_eq!(outcome.is_ok(), lives);
        assert_eq!(exchange.ledger().count("initialize"), 3);
        if let Err(error) = outcome {
            assert_eq!((error.kind(), error.proof()), (Kind::SessionLost, Some(Proof::SessionRejected)));
            assert_eq!(error.attempts().len(), 3);
        }
        client.call_tool("poke", NOTHING).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn under_surface_every_call_reports_the_loss_until_the_host_recovers() {
    let server = Server::new();
    let exchange = server.exchange();
    let client = builder(&exchange).recovery(Recovery::Surface).connect().await.unwrap();
    server.forget_sessions();
    let first = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((first.kind, first.proof), (Kind::SessionLost, Some(Proof::SessionRejected)));
    let second = failure(client.read_resource("mem://a").await);
    assert_eq!((second.kind, second.execution), (Kind::SessionLost, Execution::NotExecuted));
    assert_eq!(second.attempts.len(), 0, "nothing is sent on a lost session");
    assert_eq!(second.phase, Phase::Queued);
    assert_eq!((client.state().as_str(), exchange.ledger().count("initialize")), ("lost", 1));
    client.recover().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((client.generation(), exchange.ledger().count("initialize")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn under_off_each_refused_call_reports_it_and_nothing_else_happens() {
    let server = Server::new();
    let exchange = server.exchange();
    let log = Log::default();
    let client = builder(&exchange).recovery(Recovery::Off).on_event(log.observer()).connect().await.unwrap();
    server.forget_sessions();
    for _ in 0..3 {
        let failure = failure(client.read_resource("mem://a").await);
        assert_eq!((failure.kind, failure.proof), (Kind::SessionLost, Some(Proof::SessionRejected)));
        assert_eq!(failure.attempts.len(), 1);
    }
    assert_eq!((client.state().as_str(), exchange.ledger().count("initialize")), ("ready", 1));
    assert_eq!(log.of(EventName::SessionLost).len(), 1);
    client.recover().await.unwrap();
    client.read_resource("mem://a").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_starter_of_a_flight_may_leave_and_so_may_all_waiters() {
    let server = Server::new();
    let gate = Gate::new();
    let exchange = scripted(&server, {
        let gate = gate.clone();
        move |arrival, nth| {
            let gate = gate.clone();
            async move {
                if arrival.method() == "initialize" && nth > 0 {
                    arrival.take();
                    gate.pass().await;
                }
                None
            }
        }
    });
    let client = connect(&exchange).await;
    server.forget_sessions();
    let starter = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("initialize", 2).await;
    let waiter = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    tokio::task::yield_now().await;
    starter.abort();
    gate.open();
    waiter.await.unwrap().unwrap();
    assert_eq!(exchange.ledger().count("initialize"), 2);
    assert_eq!(server.executed("poke"), 1);

    let client = {
        server.forget_sessions();
        let alone = tokio::spawn({
            let client = client.clone();
            async move { client.call_tool("poke", NOTHING).await }
        });
        exchange.ledger().arrivals("initialize", 3).await;
        alone.abort();
        client
    };
    sleep(seconds(1)).await;
    assert_eq!(
        (client.state().as_str(), client.generation()),
        ("ready", 3),
        "the session that nobody waited for is current"
    );
    assert_eq!(exchange.ledger().count("DELETE"), 0);
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("initialize"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_loss_that_is_reported_late_starts_nothing() {
    let server = Server::new();
    let gate = Gate::new();
    let exchange = scripted(&server, {
        let gate = gate.clone();
        move |arrival, nth| {
            let gate = gate.clone();
            async move {
                if arrival.method() == "tools/call" && nth == 0 {
                    arrival.take();
                    gate.pass().await;
                    return Some(Ok(Reply::text(404, "unknown")));
                }
                None
            }
        }
    });
    let client = connect(&exchange).await;
    let late = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    server.forget_sessions();
    client.call_tool("poke", NOTHING).await.unwrap();
    gate.open();
    late.await.unwrap().unwrap();
    assert_eq!(exchange.ledger().count("initialize"), 2);
    assert_eq!(client.generation(), 2);
}

#[tokio::test(start_paused = true)]
async fn recovery_by_hand_spares_the_calls_of_the_old_session_and_deletes_it_after_the_last() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, nth| {
            let server = server.clone();
            async move {
                if arrival.method() != "tools/call" || nth > 0 {
                    return None;
                }
                let answer = arrival.result_message(&server.execute(&arrival));
                Some(Ok(Reply::event_stream().wait(seconds(6)).event(&answer)))
            }
        }
    });
    let client = connect(&exchange).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    client.recover().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    sleep(seconds(5)).await;
    assert_eq!(exchange.ledger().count("DELETE"), 0, "a call still waits on it");
    slow.await.unwrap().unwrap();
    sleep(milliseconds(1)).await;
    let deletes = exchange.ledger().of("DELETE");
    assert_eq!(deletes.iter().map(|entry| entry.session()).collect::<Vec<_>>(), [Some("session-1")]);
}

#[tokio::test(start_paused = true)]
async fn what_was_set_on_the_old_session_is_set_on_the_new_one_and_a_failure_of_it_is_an_event() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            // The first is the caller's, the second the restoring.
            ("logging/setLevel", 1) => Some(Ok(Reply::new(500))),
            ("resources/subscribe", 2) => hang(&arrival).await,
            _ => None,
        }
    });
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    client.set_log_level("debug").await.unwrap();
    client.subscribe("mem://a").await.unwrap();
    client.subscribe("mem://b").await.unwrap();
    client.unsubscribe("mem://b").await.unwrap();
    server.forget_sessions();
    let began = Instant::now();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert!(began.elapsed() < seconds(1), "nobody waits for it");
    sleep(seconds(60)).await;
    let of_new = |method: &str| -> Vec<Value> {
        let entries = exchange.ledger().of(method);
        let new = entries.into_iter().filter(|entry| entry.session() == Some("session-2"));
        new.map(|entry| entry.message["params"].clone()).collect()
    };
    assert_eq!(of_new("logging/setLevel"), [json!({ "level": "debug" })]);
    assert_eq!(of_new("resources/subscribe"), [json!({ "uri": "mem://a" })]);
    assert_eq!(log.of(EventName::RestoreFailed).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn patience_for_a_server_that_starts_late_is_shared_too() {
    let server = Server::new();
    let up_at = Instant::now() + seconds(2);
    let exchange =
        scripted(&server, move |_, _| async move { (Instant::now() < up_at).then_some(Err(Cause::Refused)) });
    let client = builder(&exchange).build().unwrap();
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("poke", NOTHING).timeout(seconds(5)).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(server.sessions().len(), 1);
    assert_eq!(server.executed("poke"), 4);
}
