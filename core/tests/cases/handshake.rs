//! The handshake: its order, its two tries, its patience, and what becomes of half-made sessions.

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Server};
use oncewire::{Execution, Kind};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{NOTHING, builder, connect, failure, hang, milliseconds, scripted, seconds};

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_the_server_has_taken_initialized_and_odd_answers_to_it_are_ignored() {
    for odd in 0..3 {
        let server = Server::new();
        let exchange = scripted(&server, {
            let server = server.clone();
            move |arrival, _| {
                let server = server.clone();
                async move {
                    match arrival.method() {
                        "initialize" => {
                            arrival.take();
                            let given = server.give_session(&arrival);
                            let early = json!({ "jsonrpc": "2.0", "method": "notifications/message",
                                "params": { "level": "info", "data": "up" } });
                            let session = format!("session-{}", server.sessions().len());
                            drop(given);
                            let result =
                                json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {} });
                            let reply = Reply::event_stream().header("mcp-session-id", &session).event(&early);
                            Some(Ok(reply.event(&arrival.result_message(&result))))
                        }
                        "notifications/initialized" => {
                            sleep(milliseconds(200)).await;
                            let taken = server.answer(&arrival).await;
                            Some(match odd {
                                0 => taken,
                                1 => Ok(Reply::text(200, "thanks")),
                                _ => Ok(Reply::new(204)),
                            })
                        }
                        _ => {
                            let known = server.sessions();
                            let session = known.iter().find(|session| Some(&*session.id) == arrival.session());
                            (!session.is_some_and(|session| session.initialized)).then(|| Ok(Reply::new(405)))
                        }
                    }
                }
            }
        });
        let clients: Vec<_> = (0..32)
            .map(|_| {
                let builder = builder(&exchange);
                tokio::spawn(async move {
                    let client = builder.connect().await.unwrap();
                    client.call_tool("poke", NOTHING).await.unwrap();
                    client
                })
            })
            .collect();
        let mut connected = Vec::new();
        for client in clients {
            connected.push(client.await.unwrap());
        }
        connected[0].recover().await.unwrap();
        connected[0].call_tool("poke", NOTHING).await.unwrap();
        assert_eq!(server.executed("poke"), 33, "none was turned away");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_has_two_tries() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "initialize" { hang(&arrival).await } else { None }
    });
    let began = Instant::now();
    let failure = failure(builder(&exchange).connect().await);
    assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::NotExecuted));
    assert_eq!(exchange.ledger().count("initialize"), 2);
    let took = began.elapsed();
    assert!(took >= seconds(60) && took < seconds(61), "{took:?}");
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 0);
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_second_try_may_bring_the_session() {
    for status in [404, 500, 502, 429] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, nth| async move {
            (arrival.method() == "initialize" && nth == 0).then(|| Ok(Reply::new(status)))
        });
        let client = connect(&exchange).await;
        client.call_tool("poke", NOTHING).await.unwrap();
        assert_eq!(exchange.ledger().count("initialize"), 2, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_wakes_up_is_waited_for() {
    for status in [429, 502, 503, 504] {
        for method in ["initialize", "notifications/initialized"] {
            let server = Server::new();
            let exchange = scripted(&server, move |arrival, nth| async move {
                (arrival.method() == method && nth < 5).then(|| Ok(Reply::new(status)))
            });
            let client = connect(&exchange).await;
            client.call_tool("poke", NOTHING).await.unwrap();
            assert_eq!(exchange.ledger().count(method), 6, "{status} to {method}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_heeded_in_a_handshake_and_a_longer_one_surfaces() {
    let after = |wait: &'static str| {
        let server = Server::new();
        scripted(&server, move |arrival, nth| async move {
            let first = arrival.method() == "initialize" && nth == 0;
            first.then(|| Ok(Reply::new(503).header("retry-after", wait)))
        })
    };
    let began = Instant::now();
    // Longer than patience, and waited for all the same: the server has said when.
    connect(&after("30")).await;
    let took = began.elapsed();
    assert!(took >= seconds(30) && took < seconds(31), "{took:?}");
    let began = Instant::now();
    let exchange = after("61");
    let failure = failure(builder(&exchange).connect().await);
    assert_eq!((failure.kind, failure.retry_after, failure.http_status), (Kind::Gateway, Some(seconds(61)), Some(503)));
    assert!(failure.to_string().contains("61 s"), "{failure}");
    assert_eq!((began.elapsed(), exchange.ledger().len()), (seconds(0), 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_deadline_waits_for_a_gateway_as_long_as_that_says() {
    let server = Server::new();
    let begun = Instant::now();
    let exchange =
        scripted(&server, move |_, _| async move { (begun.elapsed() < seconds(40)).then(|| Ok(Reply::new(502))) });
    let client = builder(&exchange).lazy(true).connect().await.unwrap();
    client.call_tool("poke", NOTHING).timeout(seconds(60)).await.unwrap();
    assert!(begun.elapsed() < seconds(45), "{:?}", begun.elapsed());
    assert_eq!(server.executed("poke"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_recovery_waits_for_a_gateway_and_no_longer_than_patience() {
    for (times, recovers) in [(4, true), (usize::MAX, false)] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, nth| async move {
            (arrival.method() == "initialize" && nth > 0 && nth - 1 < times).then(|| Ok(Reply::new(503)))
        });
        let client = connect(&exchange).await;
        server.forget_sessions();
        let began = Instant::now();
        let outcome = client.call_tool("poke", NOTHING).await;
        assert_eq!(outcome.is_ok(), recovers);
        assert!(began.elapsed() < seconds(12), "{:?}", began.elapsed());
        if !recovers {
            assert_eq!(failure(outcome).kind, Kind::RecoveryFailed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_initialized_fails_gets_its_delete() {
    for cut in [false, true] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, nth| async move {
            if arrival.method() != "notifications/initialized" || nth > 0 {
                return None;
            }
            arrival.take();
            Some(if cut { Err(Cause::Closed) } else { Ok(Reply::new(500)) })
        });
        let client = connect(&exchange).await;
        client.call_tool("poke", NOTHING).await.unwrap();
        let deletes = exchange.ledger().of("DELETE");
        assert_eq!(deletes.iter().map(|entry| entry.session()).collect::<Vec<_>>(), [Some("session-1")]);
        assert_eq!(client.generation(), 1, "it was never a session of ours");
        client.close().await;
        assert!(server.sessions().iter().all(|session| session.deletes == 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_spoken_ends_the_session_at_once() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        let result = json!({ "protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {} });
        (arrival.method() == "initialize").then(|| Ok(arrival.result(&result).header("mcp-session-id", "old")))
    });
    let failure = failure(builder(&exchange).connect().await);
    assert_eq!(failure.kind, Kind::Protocol);
    sleep(milliseconds(1)).await;
    assert_eq!(exchange.ledger().methods(), ["initialize", "DELETE"]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_port_is_knocked_at_until_patience_ends() {
    let server = Server::new();
    let dead = || scripted(&server, |_, _| async move { Some(Err(Cause::Refused)) });
    let exchange = dead();
    let began = Instant::now();
    let failure_of_connect = failure(builder(&exchange).connect().await);
    assert_eq!(failure_of_connect.kind, Kind::Connect);
    let took = began.elapsed();
    assert!(took >= seconds(10) && took <= seconds(12), "{took:?}");
    let exchange = dead();
    let began = Instant::now();
    failure(builder(&exchange).connect_patience(seconds(0)).connect().await);
    assert_eq!((began.elapsed(), exchange.ledger().len()), (seconds(0), 1));
}
