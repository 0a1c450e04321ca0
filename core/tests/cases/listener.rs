//! The GET stream that opens and shuts: bounded opens, growing gaps, and nothing concluded from it.

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Entry, Reply, Scripted, Server};
use oncewire::{EventName, Kind};
use serde_json::json;
use std::sync::Arc;
use tokio::time::{Instant, sleep};

use crate::support::{Log, NOTHING, builder, milliseconds, scripted, seconds};

/// The opens in a row that may deliver nothing.
const OPENS: usize = 8;

/// The pauses between the end of one GET and the arrival of the next, in milliseconds.
fn gaps(gets: &[Entry]) -> Vec<u128> {
    gets.windows(2).map(|pair| (pair[1].at - pair[0].over.unwrap().0).as_millis()).collect()
}

async fn stay_and_call(exchange: &Arc<Scripted>, log: &Log, stay: u64) {
    let client = builder(exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
    for _ in 0..stay / 5 {
        sleep(seconds(5)).await;
        client.call_tool("poke", NOTHING).await.unwrap();
    }
    assert_eq!(client.state(), "ready");
    assert_eq!(exchange.ledger().count("initialize"), 1, "the stream says nothing of the session");
    client.close().await;
}

async fn opens_and_shuts(body: fn() -> Reply) {
    fastrand::seed(7);
    let server = Server::new();
    let exchange =
        scripted(
            &server,
            move |arrival, _| async move { matches!(arrival.method(), "GET" | "resume").then(|| Ok(body())) },
        );
    let log = Log::default();
    stay_and_call(&exchange, &log, 30).await;
    let gets = exchange.ledger().of("GET");
    assert!((2..=OPENS).contains(&gets.len()), "{} opens in 30 s", gets.len());

    let log = Log::default();
    stay_and_call(
        &scripted(&server, move |arrival, _| async move {
            matches!(arrival.method(), "GET" | "resume").then(|| Ok(body()))
        }),
        &log,
        600,
    )
    .await;
    let off = log.of(EventName::ListenerOff);
    assert_eq!(off.len(), 1);
    assert_eq!(off[0].reason.as_deref(), Some("it was opened too often without a message"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_at_once_is_opened_a_bounded_number_of_times_with_growing_gaps() {
    opens_and_shuts(Reply::event_stream).await;
    opens_and_shuts(|| Reply::event_stream().chunk("id: listen-1\ndata:\n\n")).await;
    opens_and_shuts(|| Reply::text(200, "hello")).await;
}

#[tokio::test(start_paused = true)]
async fn the_gaps_grow_with_jitter_up_to_the_bound() {
    fastrand::seed(7);
    let server = Server::new();
    let exchange =
        scripted(&server, |arrival, _| async move { (arrival.method() == "GET").then(|| Ok(Reply::event_stream())) });
    stay_and_call(&exchange, &Log::default(), 600).await;
    let gets = exchange.ledger().of("GET");
    assert_eq!(gets.len(), OPENS);
    let gaps = gaps(&gets);
    for (number, gap) in gaps.iter().enumerate() {
        let bound = 500 * (1 << number).min(60);
        assert!((500..=500 + bound + 1).contains(gap), "gap {number} is {gap} ms, the bound {bound} ms");
    }
    let (early, late) = gaps.split_at(3);
    assert!(early.iter().max() < late.iter().max(), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_delivered_message_starts_the_count_anew() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().event(&message)))
    });
    let log = Log::default();
    stay_and_call(&exchange, &log, 60).await;
    let gets = exchange.ledger().of("GET");
    assert!(gets.len() > 3 * OPENS, "{} opens", gets.len());
    assert!(gaps(&gets).iter().all(|gap| (500..=1_001).contains(gap)), "the gaps do not grow");
    assert_eq!(log.of(EventName::ListenerOn).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_offers_none_is_asked_once() {
    let exchange = Server::new().exchange();
    let log = Log::default();
    stay_and_call(&exchange, &log, 60).await;
    assert_eq!(exchange.ledger().count("GET"), 1);
    assert_eq!(log.of(EventName::ListenerOff)[0].reason.as_deref(), Some("the server offers none"));
}

#[tokio::test(start_paused = true)]
async fn the_servers_retry_is_the_least_gap_and_one_above_a_minute_ends_it() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        let retry = if nth < 3 { 7_000 } else { 60_001 };
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().retry(retry)))
    });
    let log = Log::default();
    stay_and_call(&exchange, &log, 300).await;
    let gets = exchange.ledger().of("GET");
    assert_eq!(gets.len(), 4);
    assert!(gaps(&gets).iter().all(|gap| *gap >= 7_000));
    assert_eq!(log.of(EventName::ListenerOff)[0].reason.as_deref(), Some("the server asks to wait too long"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_never_answered_disturbs_nothing_and_ends_with_the_client() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "GET" { std::future::pending().await } else { None }
    });
    stay_and_call(&exchange, &Log::default(), 60).await;
    assert_eq!(exchange.ledger().count("GET"), 1);
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refused_reopening_is_a_suspicion_that_one_ping_clears() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            ("GET", 0) => Some(Ok(Reply::event_stream().wait(seconds(1)))),
            ("GET", 1) => Some(Err(Cause::Refused)),
            _ => None,
        }
    });
    let log = Log::default();
    let client = builder(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
    exchange.ledger().arrivals("GET", 2).await;
    tokio::task::yield_now().await;
    assert_eq!(exchange.ledger().count("ping"), 0, "nobody wants to know yet");
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("ping"), 1);
    assert_eq!(exchange.ledger().count("initialize"), 1);
    assert_eq!(log.of(EventName::SessionSuspect).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_replaced_costs_the_next_call_no_failed_attempt() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("GET", 0) => Some(Ok(Reply::event_stream().wait(seconds(1)))),
                    ("GET", 1) => {
                        server.forget_sessions();
                        Some(Err(Cause::Refused))
                    }
                    _ => None,
                }
            }
        }
    });
    let client = builder(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("GET", 2).await;
    sleep(milliseconds(1)).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("tools/call"), 1, "the ping saw the loss, not the call");
    assert_eq!(exchange.ledger().count("initialize"), 2);
    assert_eq!(client.generation(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_listener_ends_when_its_session_does() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().never()))
    });
    let client = builder(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("GET", 1).await;
    server.forget_sessions();
    let began = Instant::now();
    client.call_tool("poke", NOTHING).await.unwrap();
    exchange.ledger().arrivals("GET", 2).await;
    assert_eq!(began.elapsed(), std::time::Duration::ZERO);
    let open: Vec<_> = exchange.ledger().open();
    assert_eq!(open.len(), 1, "only the new listener");
    assert_eq!(open[0].session(), Some("session-2"));
    client.close().await;
    let error = client.call_tool("poke", NOTHING).await.unwrap_err();
    assert_eq!((error.kind(), error.not_executed()), (Kind::Closed, true));
}
