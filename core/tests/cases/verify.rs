//! A session that may be gone is asked, once, before it is used again.

use std::sync::Arc;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{Error, EventName, Execution, Kind, Recovery};
use tokio::time::{Instant, sleep};

use crate::support::{Log, NOTHING, builder, connect, failure, hang, milliseconds, scripted, seconds};

/// The first raw request gets this answer, the rest is healthy. Nothing is known of it, so it is surfaced at once.
fn answering(server: &Server, reply: fn(&oncewire::transport::scripted::Arrival) -> Reply) -> Arc<Scripted> {
    scripted(server, move |arrival, nth| async move {
        if arrival.method() == "ping" {
            sleep(milliseconds(100)).await;
        }
        (arrival.method() == "custom" && nth == 0).then(|| Ok(reply(&arrival)))
    })
}

async fn sixteen_reads(client: &oncewire::Client) {
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.read_resource("mem://a").await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_suspicion_many_callers_cost_one_ping() {
    let suspicions: [fn(&oncewire::transport::scripted::Arrival) -> Reply; 3] = [
        |_| Reply::new(404),
        |_| Reply::text(500, "Session terminated"),
        |arrival| arrival.error(-32_000, "Session terminated: not found in store; session expired"),
    ];
    for (number, reply) in suspicions.into_iter().enumerate() {
        let server = Server::new();
        let exchange = answering(&server, reply);
        let log = Log::default();
        let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
        let error = client.request("custom", NOTHING).await.unwrap_err();
        let expected = if number == 2 { Execution::Answered } else { Execution::MayHaveExecuted };
        assert_eq!(error.execution(), expected, "suspicion {number}: {error}");
        sixteen_reads(&client).await;
        assert_eq!(exchange.ledger().count("ping"), 2, "suspicion {number}: the twin, and one to verify");
        assert_eq!(exchange.ledger().count("initialize"), 1, "the session was alive");
        assert_eq!(log.of(EventName::SessionSuspect).len(), 1);
        assert_eq!(log.of(EventName::SessionLost).len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_is_refused_starts_one_recovery_and_no_call_fails() {
    let server = Server::new();
    let exchange = answering(&server, |_| Reply::new(404));
    let client = connect(&exchange).await;
    client.request("custom", NOTHING).await.unwrap_err();
    server.forget_sessions();
    sixteen_reads(&client).await;
    assert_eq!(exchange.ledger().count("ping"), 2, "the twin, and one to verify");
    assert_eq!(exchange.ledger().count("initialize"), 2);
    assert_eq!(exchange.ledger().count("resources/read"), 16, "none of them was sent on the lost session");
    client.close().await;
    let deletes = exchange.ledger().of("DELETE");
    assert_eq!(deletes.len(), 1);
    assert_eq!(deletes[0].session(), Some("session-2"));
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_is_refused_in_another_way_starts_a_recovery_and_the_old_session_is_deleted() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.session(), arrival.method(), nth) {
            (Some("session-1"), "tools/call", _) => Some(Ok(Reply::new(404))),
            // The second is the verification.
            (Some("session-1"), "ping", 1..) => Some(Ok(Reply::text(400, "Bad Request"))),
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap_err();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((exchange.ledger().count("ping"), exchange.ledger().count("initialize")), (2, 2));
    sleep(milliseconds(1)).await;
    let deletes = exchange.ledger().of("DELETE");
    assert_eq!(deletes.iter().map(|entry| entry.session()).collect::<Vec<_>>(), [Some("session-1")]);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_without_a_server_says_nothing_of_the_session() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (nth == 0 && matches!(arrival.method(), "tools/call" | "ping")).then(|| Ok(Reply::new(503)))
    });
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap_err();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((exchange.ledger().count("ping"), exchange.ledger().count("initialize")), (0, 1));
    assert_eq!(exchange.ledger().count("DELETE"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_says_nothing_leaves_the_session_as_it_is() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            ("tools/call", 0) => Some(Ok(Reply::new(404))),
            ("ping", 0) => Some(Ok(Reply::new(503))),
            ("ping", 1) => Some(Err(Cause::Reset)),
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap_err();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((exchange.ledger().count("ping"), exchange.ledger().count("initialize")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_hangs_holds_nobody_up_for_longer_than_two_seconds() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            ("tools/call", 0) => Some(Ok(Reply::new(404))),
            ("ping", _) => hang(&arrival).await,
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    let began = Instant::now();
    let suspicion = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(
        (began.elapsed(), suspicion.execution),
        (seconds(4), Execution::MayHaveExecuted),
        "the twin, then its hints"
    );
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(began.elapsed(), seconds(4), "the look-up has waited for the verification, which said nothing");
    client.close().await;
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_shows_life_is_verified_before_it_is_declared_lost() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        let answer = arrival.result_message(&server.execute(&arrival));
                        Some(Ok(Reply::event_stream().wait(seconds(5)).event(&answer)))
                    }
                    // A replica that does not know the session.
                    ("resources/read", 0) => Some(Ok(Reply::text(404, "unknown"))),
                    _ => None,
                }
            }
        }
    });
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    client.read_resource("mem://a").await.unwrap();
    slow.await.unwrap().unwrap();
    assert_eq!((exchange.ledger().count("ping"), exchange.ledger().count("initialize")), (1, 1));
    assert_eq!(log.of(EventName::SessionLost).len(), 0);
    client.close().await;
    assert_eq!(exchange.ledger().count("DELETE"), 1);
}

#[tokio::test(start_paused = true)]
async fn two_refusals_in_a_row_that_nothing_confirms_make_the_next_call_open_a_session() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        // Not a word that anybody knows, and pings are answered.
        let refused = arrival.session() == Some("session-1") && arrival.method() == "tools/call";
        refused.then(|| Ok(Reply::text(400, "come again?")))
    });
    let client = connect(&exchange).await;
    for _ in 0..2 {
        let refused = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((refused.execution, refused.kind), (Execution::MayHaveExecuted, Kind::HttpStatus));
    }
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(client.generation(), 2);
    client.close().await;
    let deletes = exchange.ledger().of("DELETE");
    assert_eq!(deletes.len(), 2, "the server never said that the first one is gone");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_what_was_asked_for_costs_no_session_however_often_it_comes() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "tools/call").then(|| Ok(Reply::text(403, "not you")))
    });
    let client = connect(&exchange).await;
    for _ in 0..5 {
        failure(client.call_tool("poke", NOTHING).await);
    }
    assert_eq!((client.generation(), exchange.ledger().count("initialize")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn without_recovery_a_suspicion_that_is_right_still_reports_each_call() {
    let server = Server::new();
    let exchange = answering(&server, |_| Reply::new(404));
    let client = builder(&exchange).recovery(Recovery::Off).connect().await.unwrap();
    client.request("custom", NOTHING).await.unwrap_err();
    server.forget_sessions();
    let error = client.call_tool("poke", NOTHING).await.unwrap_err();
    assert!(matches!(error, Error::NotExecuted(_)), "{error}");
    assert_eq!(error.kind(), Kind::SessionLost);
    assert_eq!(exchange.ledger().count("initialize"), 1);
}
