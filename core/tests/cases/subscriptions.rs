//! The stream of `subscriptions/listen`: what is asked for on it, how often it is issued, and who waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Client, EventName, Execution, Kind};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Log, NOTHING, either_era, failure, hang, milliseconds, scripted, seconds};

type Script = fn(&Arrival) -> Result<Reply, Cause>;

const LISTEN: &str = "subscriptions/listen";

/// A server that announces the changes of its tools; the streams are the script's.
fn announcing<F>(server: &Server, listen: F) -> Arc<Scripted>
where
    F: Fn(&Arrival, usize) -> Result<Reply, Cause> + Send + Sync + 'static,
{
    scripted(server, move |arrival, nth| {
        let answer = match arrival.method() {
            "server/discover" => Some(Ok(Server::discovery(
                &arrival,
                &json!({ "tools": { "listChanged": true }, "prompts": {}, "resources": { "subscribe": true } }),
            ))),
            LISTEN => {
                arrival.take();
                Some(listen(&arrival, nth))
            }
            _ => None,
        };
        async move { answer }
    })
}

fn held(arrival: &Arrival) -> Reply {
    Reply::event_stream().event(&arrival.acknowledgement()).never()
}

fn filters(exchange: &Scripted) -> Vec<Value> {
    exchange.ledger().of(LISTEN).iter().map(|entry| entry.message["params"]["notifications"].clone()).collect()
}

async fn quiet(client: &Client) {
    sleep(seconds(1_000)).await;
    assert_eq!(client.state(), "ready");
}

#[tokio::test(start_paused = true)]
async fn it_is_opened_only_if_there_is_something_to_hear() {
    for (announced, wanted, opened) in [
        (json!({ "tools": {}, "resources": { "subscribe": true } }), true, vec![]),
        (json!({ "tools": { "listChanged": true } }), false, vec![]),
        (json!({ "tools": { "listChanged": true } }), true, vec![json!({ "toolsListChanged": true })]),
        (
            json!({ "prompts": { "listChanged": true }, "resources": { "listChanged": true } }),
            true,
            vec![json!({ "promptsListChanged": true, "resourcesListChanged": true })],
        ),
    ] {
        let server = Server::modern();
        let capabilities = announced.clone();
        let exchange = scripted(&server, move |arrival, _| {
            let discovery = Server::discovery(&arrival, &capabilities);
            async move { (arrival.method() == "server/discover").then_some(Ok(discovery)) }
        });
        let client = either_era(&exchange).listen(wanted).connect().await.unwrap();
        quiet(&client).await;
        assert_eq!(filters(&exchange), opened, "{announced}");
        client.close().await;
        assert!(exchange.ledger().open().is_empty());
        assert_eq!(exchange.ledger().len(), 1 + opened.len(), "nothing else");
        assert_eq!(server.complaints(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_is_issued_again_with_growing_gaps_and_a_bound() {
    let ends: [Script; 5] = [
        |_| Ok(Reply::event_stream()),
        |arrival| Ok(Reply::event_stream().event(&arrival.acknowledgement())),
        |arrival| Ok(Reply::event_stream().event(&arrival.acknowledgement()).broken(Cause::Reset)),
        |_| Ok(Reply::new(503)),
        |_| Err(Cause::Closed),
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let server = Server::modern();
        let exchange = announcing(&server, move |arrival, _| end(arrival));
        let log = Log::default();
        let client = either_era(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
        quiet(&client).await;
        let opened: Vec<_> = exchange.ledger().of(LISTEN).iter().map(|entry| entry.at).collect();
        assert_eq!(opened.len(), 8, "end {number}");
        assert!(opened.windows(2).all(|pair| pair[1] - pair[0] >= milliseconds(500)), "end {number}");
        assert_eq!(log.of(EventName::ListenerOff).len(), 1, "end {number}");
        assert_eq!(log.of(EventName::ListenerOn).len(), usize::from(matches!(number, 1 | 2)), "end {number}");
        client.call_tool("poke", NOTHING).await.unwrap();
        assert_eq!(client.generation(), 1, "what becomes of it says nothing of the calls");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_starts_the_count_anew() {
    let server = Server::modern();
    let exchange = announcing(&server, |arrival, nth| {
        let reply = Reply::event_stream().event(&arrival.acknowledgement());
        let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        Ok(if nth == 6 { reply.event(&changed) } else { reply })
    });
    let client = either_era(&exchange).listen(true).connect().await.unwrap();
    quiet(&client).await;
    assert_eq!(exchange.ledger().count(LISTEN), 7 + 8);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_a_proxy_ends_after_a_minute_is_issued_as_long_as_the_client_lives() {
    let server = Server::modern();
    let exchange = announcing(&server, |arrival, _| {
        Ok(Reply::event_stream().event(&arrival.acknowledgement()).wait(seconds(60)).broken(Cause::Reset))
    });
    let log = Log::default();
    let client = either_era(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
    quiet(&client).await;
    let opened = exchange.ledger().count(LISTEN);
    assert!((15..=17).contains(&opened), "{opened} in 1,000 s");
    assert_eq!(log.of(EventName::ListenerOff).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_away_for_long_is_listened_to_again_once_it_answers_a_call() {
    let server = Server::modern();
    let away = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&away);
    let exchange =
        announcing(
            &server,
            move |arrival, _| {
                if down.load(Ordering::Relaxed) { Err(Cause::Refused) } else { Ok(held(arrival)) }
            },
        );
    let log = Log::default();
    let client = either_era(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
    quiet(&client).await;
    assert_eq!((exchange.ledger().count(LISTEN), log.of(EventName::ListenerOff).len()), (8, 1));
    away.store(false, Ordering::Relaxed);
    client.call_tool("poke", NOTHING).await.unwrap();
    sleep(milliseconds(1)).await;
    assert_eq!((exchange.ledger().count(LISTEN), log.of(EventName::ListenerOn).len()), (9, 1));
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().open().len(), 1, "one stream at a time");
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_answered_do_not_lift_the_bound() {
    let server = Server::modern();
    let exchange = announcing(&server, |_, _| Ok(Reply::new(503)));
    let client = either_era(&exchange).listen(true).connect().await.unwrap();
    for _ in 0..1_000 {
        client.call_tool("poke", NOTHING).await.unwrap();
        sleep(seconds(1)).await;
    }
    let opened = exchange.ledger().count(LISTEN);
    assert!(opened <= 8 * 1_000 / 30, "{opened} in 1,000 s");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_offers_none_is_asked_once() {
    for (status, code) in [(404, -32_601), (400, -32_602), (200, -32_601), (405, 0)] {
        let server = Server::modern();
        let exchange = announcing(&server, move |arrival, _| {
            Ok(match code {
                0 => Reply::new(status),
                code => Reply::json(status, &arrival.error_message(code, "no")),
            })
        });
        let log = Log::default();
        let client = either_era(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
        quiet(&client).await;
        assert_eq!(exchange.ledger().count(LISTEN), 1, "{status} {code}");
        assert_eq!(log.of(EventName::ListenerOff).len(), 1);
        client.close().await;
        assert_eq!(log.of(EventName::ListenerOff).len(), 1, "it was off");
    }
}

#[tokio::test(start_paused = true)]
async fn who_subscribes_waits_until_the_server_agrees_and_the_stream_has_the_new_filter() {
    let server = Server::modern();
    let exchange = announcing(&server, |arrival, nth| {
        let late = Reply::event_stream().wait(seconds(3)).event(&arrival.acknowledgement()).never();
        Ok(if nth == 0 { held(arrival) } else { late })
    });
    let client = either_era(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals(LISTEN, 1).await;
    let began = Instant::now();
    client.subscribe("mem://a").await.unwrap();
    assert!(began.elapsed() >= seconds(3) && began.elapsed() < milliseconds(3_010));
    client.subscribe("mem://b").await.unwrap();
    client.unsubscribe("mem://a").await.unwrap();
    exchange.ledger().arrivals(LISTEN, 4).await;
    let with = |uris: Value| json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
    let expected = [
        json!({ "toolsListChanged": true }),
        with(json!(["mem://a"])),
        with(json!(["mem://a", "mem://b"])),
        with(json!(["mem://b"])),
    ];
    assert_eq!(filters(&exchange), expected);
    assert_eq!(exchange.ledger().open().len(), 1, "one stream at a time");
    client.close().await;
    assert!(exchange.ledger().open().is_empty());
    assert_eq!(server.complaints(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_last_one_that_is_unsubscribed_ends_the_stream() {
    let server = Server::modern();
    let exchange = server.exchange();
    let log = Log::default();
    let client = either_era(&exchange).on_event(log.observer()).connect().await.unwrap();
    client.subscribe("mem://a").await.unwrap();
    assert_eq!(exchange.ledger().open().len(), 1);
    client.unsubscribe("mem://a").await.unwrap();
    sleep(seconds(60)).await;
    assert!(exchange.ledger().open().is_empty());
    assert_eq!(exchange.ledger().count(LISTEN), 1, "there is nothing left to ask for");
    client.subscribe("mem://b").await.unwrap();
    assert_eq!(filters(&exchange)[1], json!({ "resourceSubscriptions": ["mem://b"] }));
    assert_eq!((log.of(EventName::ListenerOn).len(), log.of(EventName::ListenerOff).len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn an_agreement_counts_also_if_the_stream_ends_right_behind_it() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, _| async move {
        let reply = || Reply::event_stream().event(&arrival.acknowledgement());
        (arrival.method() == LISTEN).then(|| Ok(reply()))
    });
    let client = either_era(&exchange).connect().await.unwrap();
    let began = Instant::now();
    client.subscribe("mem://a").await.unwrap();
    assert_eq!(began.elapsed(), seconds(0));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_refused_is_a_typed_error_and_forgotten() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        let refused = Reply::json(404, &arrival.error_message(-32_601, "Method not found"));
        (arrival.method() == LISTEN && nth < 2).then_some(Ok(refused))
    });
    let client = either_era(&exchange).connect().await.unwrap();
    for uri in ["mem://a", "mem://b"] {
        let failure = failure(client.subscribe(uri).await);
        assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::NotExecuted));
        assert!(failure.reason.contains("the server offers no subscriptions"), "{}", failure.reason);
    }
    client.subscribe("mem://c").await.unwrap();
    assert_eq!(
        filters(&exchange)[2],
        json!({ "resourceSubscriptions": ["mem://c"] }),
        "asked again, without the refused"
    );
}

#[tokio::test(start_paused = true)]
async fn an_agreement_to_something_else_is_none() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, _| async move {
        let some = json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": { "notifications": { "resourceSubscriptions": ["mem://b"] } } });
        (arrival.method() == LISTEN).then(|| Ok(Reply::event_stream().event(&some).never()))
    });
    let client = either_era(&exchange).connect().await.unwrap();
    let failure = failure(client.subscribe("mem://a").await);
    assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::NotExecuted));
    assert!(failure.reason.contains("does not tell of changes of this resource"), "{}", failure.reason);
    client.subscribe("mem://b").await.unwrap();
    assert_eq!(filters(&exchange)[1], json!({ "resourceSubscriptions": ["mem://b"] }));
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_of_a_stream_that_is_lost_again_and_again_hears_of_that() {
    for cause in [Cause::Refused, Cause::Closed] {
        let server = Server::modern();
        let exchange = scripted(&server, move |arrival, _| async move {
            (arrival.method() == LISTEN).then(|| {
                if cause == Cause::Closed {
                    arrival.take();
                }
                Err(cause)
            })
        });
        let client = either_era(&exchange).connect().await.unwrap();
        let began = Instant::now();
        let failure = failure(client.subscribe("mem://a").await);
        assert_eq!(failure.kind, Kind::StreamEnded, "{}", failure.reason);
        assert!(began.elapsed() < seconds(70), "{:?}", began.elapsed());
        assert_eq!(exchange.ledger().count(LISTEN), 8);
        client.unsubscribe("mem://a").await.unwrap();
        quiet(&client).await;
        assert_eq!(exchange.ledger().count(LISTEN), 8);
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_an_agreement_that_never_comes_has_a_clock_of_his_own_and_close() {
    let server = Server::modern();
    let exchange =
        scripted(
            &server,
            |arrival, _| async move { if arrival.method() == LISTEN { hang(&arrival).await } else { None } },
        );
    let client = either_era(&exchange).connect().await.unwrap();
    let error = client.subscribe("mem://a").timeout(seconds(2)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    assert!(timeout(seconds(2), client.subscribe("mem://b").into_future()).await.is_err());
    let waiting = tokio::spawn(client.subscribe("mem://c").into_future());
    sleep(seconds(10)).await;
    let began = Instant::now();
    client.unsubscribe("mem://d").await.unwrap();
    assert_eq!(began.elapsed(), seconds(0), "nobody has to agree to that");
    client.close().await;
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), Kind::Closed);
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_leaves_takes_its_wish_along_unless_another_has_it_too() {
    let server = Server::modern();
    let exchange = announcing(&server, |arrival, _| {
        let asks = arrival.param("/notifications/resourceSubscriptions").is_some();
        let late = Reply::event_stream().wait(seconds(3)).event(&arrival.acknowledgement()).never();
        Ok(if asks { late } else { held(arrival) })
    });
    let client = either_era(&exchange).listen(true).connect().await.unwrap();
    let without = json!({ "toolsListChanged": true });
    let error = failure(client.subscribe("mem://a").timeout(seconds(2)).await);
    assert_eq!((error.kind, error.execution), (Kind::Timeout, Execution::NotExecuted));
    assert!(timeout(seconds(2), client.subscribe("mem://b").into_future()).await.is_err());
    sleep(seconds(10)).await;
    assert_eq!(filters(&exchange).last(), Some(&without), "what was said not to be executed is not in force");
    let staying = tokio::spawn(client.subscribe("mem://c").into_future());
    assert!(timeout(seconds(2), client.subscribe("mem://c").into_future()).await.is_err());
    staying.await.unwrap().unwrap();
    assert!(timeout(seconds(2), client.subscribe("mem://c").into_future()).await.is_err());
    sleep(seconds(10)).await;
    assert_eq!(
        filters(&exchange).last(),
        Some(&json!({ "toolsListChanged": true, "resourceSubscriptions": ["mem://c"] }))
    );
    assert_eq!(exchange.ledger().open().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_goes_on_waiting_on_the_next_connection() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() == LISTEN && nth == 0 { hang(&arrival).await } else { None }
    });
    let client = either_era(&exchange).connect().await.unwrap();
    let waiting = tokio::spawn(client.subscribe("mem://a").into_future());
    exchange.ledger().arrivals(LISTEN, 1).await;
    client.recover().await.unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(exchange.ledger().open().len(), 1, "the stream of the old connection is closed");
}

#[tokio::test(start_paused = true)]
async fn what_is_told_goes_to_the_host_and_the_agreement_does_not() {
    let server = Server::modern();
    let exchange = announcing(&server, |arrival, _| {
        let updated =
            json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "mem://a" } });
        let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" });
        let reply = Reply::event_stream().event(&arrival.acknowledgement()).event(&updated).event(&ask);
        Ok(reply.never())
    });
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let ears = Arc::clone(&heard);
    let client = either_era(&exchange)
        .listen(true)
        .on_roots(|_| async move { Ok(json!({ "roots": [] })) })
        .on_notification(move |notification| ears.lock().unwrap().push(notification.method.clone()))
        .connect()
        .await
        .unwrap();
    quiet(&client).await;
    assert_eq!(*heard.lock().unwrap(), ["notifications/resources/updated"]);
    client.close().await;
    assert_eq!(exchange.ledger().methods(), ["server/discover", LISTEN], "a request of the server is not replied to");
}

#[tokio::test(start_paused = true)]
async fn the_last_clone_that_is_dropped_ends_the_stream() {
    let server = Server::modern();
    let exchange = announcing(&server, |arrival, _| Ok(held(arrival)));
    let client = either_era(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals(LISTEN, 1).await;
    drop(client);
    sleep(seconds(10)).await;
    assert!(exchange.ledger().open().is_empty());
    assert_eq!(Arc::strong_count(&exchange), 1);
}
