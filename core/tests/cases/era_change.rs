//! A server that speaks the other era by now, under a live client: one re-negotiation, and no verdict that is not true.

use std::sync::Arc;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{Era, Error, EventName, Execution, Kind, Lifecycle, Proof, Recovery};
use tokio::time::sleep;

use crate::support::{Log, NOTHING, at_once, either_era, failure, milliseconds, scripted, seconds};

/// A server whose answers take a moment, so that all calls are on their way before the first sees the change.
fn slow(server: &Server) -> Arc<Scripted> {
    scripted(server, |arrival, _| async move {
        if matches!(arrival.method(), "tools/call" | "resources/read") {
            sleep(milliseconds(1)).await;
        }
        None
    })
}

/// Every third call has no leave to be repeated.
async fn mixed(client: &oncewire::Client, callers: usize) -> Vec<Result<(), Error>> {
    at_once(callers, |number| {
        let client = client.clone();
        async move {
            match number % 3 {
                0 => client.call_tool("poke", NOTHING).await.map(drop),
                1 => client.read_resource("mem://a").await.map(drop),
                _ => client.call_tool("peek", NOTHING).await.map(drop),
            }
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_costs_one_negotiation_and_runs_nothing_twice() {
    for callers in [1, 16] {
        for (server, sessions) in [(Server::new(), 1), (Server::stateless(), 0)] {
            let exchange = slow(&server);
            let log = Log::default();
            let client = either_era(&exchange).on_event(log.observer()).connect().await.unwrap();
            client.call_tool("poke", NOTHING).await.unwrap();
            server.change_era(Lifecycle::Modern);
            for (number, outcome) in mixed(&client, callers).await.into_iter().enumerate() {
                match (number % 3, outcome) {
                    // The error bears the id of the call: nothing proves that it did not run.
                    (0, Err(Error::Answered(answered))) => assert_eq!(answered.code, -32_022),
                    (0, other) => panic!("{other:?}"),
                    (_, outcome) => outcome.unwrap(),
                }
            }
            client.call_tool("poke", NOTHING).await.unwrap();
            assert_eq!((client.era(), client.generation()), (Some(Lifecycle::Modern), 2), "{callers} callers");
            assert_eq!(server.executed("poke"), 2);
            let ledger = exchange.ledger();
            assert_eq!((ledger.count("initialize"), ledger.count("ping")), (2, 1), "{callers} callers");
            assert_eq!(ledger.count("server/discover"), 2);
            assert_eq!(log.of(EventName::SessionLost).len(), 1);
            assert_eq!(log.of(EventName::SessionReplaced).len(), 1);
            client.close().await;
            assert_eq!(ledger.count("DELETE"), sessions, "one attempt for the session that was left behind");
            assert_eq!(server.complaints(), Vec::<String>::new());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rollback_costs_one_negotiation_and_no_call() {
    for callers in [1, 16] {
        for (stateful, server) in [(true, Server::new()), (false, Server::stateless())] {
            server.change_era(Lifecycle::Modern);
            let exchange = slow(&server);
            let log = Log::default();
            let client = either_era(&exchange).on_event(log.observer()).connect().await.unwrap();
            client.call_tool("poke", NOTHING).await.unwrap();
            server.change_era(Lifecycle::Legacy);
            for outcome in mixed(&client, callers).await {
                outcome.unwrap();
            }
            assert_eq!((client.era(), client.generation()), (Some(Lifecycle::Legacy), 2), "{callers} callers");
            assert_eq!(server.executed("poke"), 1 + callers.div_ceil(3), "each once");
            assert_eq!(exchange.ledger().count("initialize"), 1);
            let discoveries = exchange.ledger().count("server/discover");
            assert!((3..=4).contains(&discoveries), "to connect, the twins of the tools, to begin anew: {discoveries}");
            assert_eq!(log.of(EventName::SessionLost).len(), 1);
            client.close().await;
            assert_eq!(exchange.ledger().count("DELETE"), usize::from(stateful));
            assert_eq!(server.complaints(), Vec::<String>::new());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rollback_that_is_not_said_in_words_costs_the_calls_that_meet_it_and_no_more() {
    let server = Server::modern();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, _| {
            let modern = arrival.header("mcp-protocol-version") == Some("2026-07-28");
            let refused = server.era() == Lifecycle::Legacy && modern;
            async move {
                if matches!(arrival.method(), "tools/call" | "resources/read") {
                    sleep(milliseconds(1)).await;
                }
                refused.then(|| Ok(Reply::text(404, "cannot POST")))
            }
        }
    });
    let client = either_era(&exchange).connect().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    server.change_era(Lifecycle::Legacy);
    for outcome in mixed(&client, 16).await {
        let failure = failure(outcome);
        assert_eq!((failure.kind, failure.proof), (Kind::HttpStatus, Some(Proof::Rejected)));
    }
    for outcome in mixed(&client, 16).await {
        outcome.unwrap();
    }
    assert_eq!((client.era(), client.generation()), (Some(Lifecycle::Legacy), 2));
    assert_eq!(exchange.ledger().count("server/discover"), 4, "to connect, the twin, to verify, to begin anew");
    assert_eq!(exchange.ledger().count("initialize"), 1);
    assert_eq!(server.executed("poke"), 7);
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_and_a_rollback_while_a_call_runs_leave_it_alone() {
    for (from, to) in [(Lifecycle::Legacy, Lifecycle::Modern), (Lifecycle::Modern, Lifecycle::Legacy)] {
        let server = Server::new();
        server.change_era(from);
        let exchange = server.scripted(|arrival, server| async move {
            if arrival.name() == Some("poke") && server.executed("poke") == 0 {
                let result = server.execute(&arrival);
                let answer = arrival.result_message(&result);
                return Ok(Reply::event_stream().wait(seconds(30)).event(&answer));
            }
            server.answer(&arrival).await
        });
        let client = either_era(&exchange).connect().await.unwrap();
        let running = tokio::spawn(client.call_tool("poke", NOTHING).into_future());
        exchange.ledger().arrivals("tools/call", 1).await;
        server.change_era(to);
        client.read_resource("mem://a").await.unwrap();
        assert_eq!((client.generation(), client.era().map(Lifecycle::as_str)), (2, Some(to.as_str())));
        running.await.unwrap().unwrap();
        assert_eq!(server.executed("poke"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_set_and_subscribed_goes_along_into_the_other_era() {
    let server = Server::modern();
    let exchange = server.exchange();
    let client = either_era(&exchange).connect().await.unwrap();
    client.set_log_level("debug").await.unwrap();
    client.subscribe("mem://a").await.unwrap();
    server.change_era(Lifecycle::Legacy);
    client.call_tool("poke", NOTHING).await.unwrap();
    exchange.ledger().arrivals("logging/setLevel", 1).await;
    exchange.ledger().arrivals("resources/subscribe", 1).await;
    server.change_era(Lifecycle::Modern);
    client.read_resource("mem://a").await.unwrap();
    exchange.ledger().arrivals("subscriptions/listen", 2).await;
    let listens = exchange.ledger().of("subscriptions/listen");
    for listen in &listens {
        assert_eq!(listen.message["params"]["notifications"]["resourceSubscriptions"][0], "mem://a");
    }
    assert_eq!(listens[1].message["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "debug");
    client.close().await;
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_recovery_the_other_era_is_reported_and_asked_for_by_the_host() {
    let server = Server::modern();
    let exchange = server.exchange();
    let client = either_era(&exchange).recovery(Recovery::Surface).connect().await.unwrap();
    server.change_era(Lifecycle::Legacy);
    for _ in 0..2 {
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!(failure.kind, Kind::SessionLost);
    }
    client.recover().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((client.era(), server.executed("poke")), (Some(Lifecycle::Legacy), 1));
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_was_seen_by_the_handshake_alone_is_asked_about_once() {
    let server = Server::new();
    let exchange = server.exchange();
    let client = either_era(&exchange).connect().await.unwrap();
    server.change_era(Lifecycle::Modern);
    client.recover().await.unwrap();
    assert_eq!(client.era(), Some(Lifecycle::Modern));
    let rest = exchange.ledger().methods().split_off(3);
    assert_eq!(rest[..2], ["initialize", "server/discover"]);
    // The other way round, and the probe is cut: no verdict, so it is asked for again.
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == "server/discover" && nth == 1).then(|| {
            arrival.take();
            Err(Cause::Closed)
        })
    });
    let client = either_era(&exchange).connect().await.unwrap();
    server.change_era(Lifecycle::Legacy);
    client.recover().await.unwrap();
    assert_eq!((client.era(), exchange.ledger().count("server/discover")), (Some(Lifecycle::Legacy), 3));
}

#[tokio::test(start_paused = true)]
async fn a_client_of_one_era_fails_in_the_other_and_works_again_when_it_is_over() {
    for era in [Lifecycle::Legacy, Lifecycle::Modern] {
        let server = Server::new();
        server.change_era(era);
        let exchange = slow(&server);
        let (option, other) = match era {
            Lifecycle::Modern => (Era::Modern, Lifecycle::Legacy),
            _ => (Era::Legacy, Lifecycle::Modern),
        };
        let client = either_era(&exchange).era(option).connect().await.unwrap();
        client.call_tool("poke", NOTHING).await.unwrap();
        server.change_era(other);
        for outcome in mixed(&client, 16).await {
            let error = outcome.unwrap_err();
            assert!(error.execution() == Execution::Answered || error.kind() == Kind::RecoveryFailed, "{error}");
        }
        assert_eq!(server.executed("poke"), 1);
        server.change_era(era);
        for outcome in mixed(&client, 16).await {
            outcome.unwrap();
        }
        assert_eq!((client.era().map(Lifecycle::as_str), server.executed("poke")), (Some(era.as_str()), 7));
    }
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_behind_a_gateway_that_is_busy_is_asked_about_until_it_is_known() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == "server/discover" && nth == 1).then(|| Ok(Reply::text(503, "not now")))
    });
    let client = either_era(&exchange).connect().await.unwrap();
    server.change_era(Lifecycle::Modern);
    client.recover().await.unwrap();
    assert_eq!((client.era(), exchange.ledger().count("server/discover")), (Some(Lifecycle::Modern), 3));
}
