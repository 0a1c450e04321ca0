//! Who subscribes, who unsubscribes, and who waits for the server to agree.

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Server};
use oncewire::{EventName, Execution, Kind};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::listen::{LISTEN, announcing, filters, held, quiet};
use crate::support::{Log, either_era, failure, hang, milliseconds, scripted, seconds};

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
