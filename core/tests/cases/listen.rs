//! The stream of `subscriptions/listen`: when it is opened, how often it is issued, and what comes on it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Client, EventName};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{Log, NOTHING, either_era, milliseconds, scripted, seconds};

type Script = fn(&Arrival) -> Result<Reply, Cause>;

pub(crate) const LISTEN: &str = "subscriptions/listen";

/// A server that announces the changes of its tools; the streams are the script's.
pub(crate) fn announcing<F>(server: &Server, listen: F) -> Arc<Scripted>
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

pub(crate) fn held(arrival: &Arrival) -> Reply {
    Reply::event_stream().event(&arrival.acknowledgement()).never()
}

pub(crate) fn filters(exchange: &Scripted) -> Vec<Value> {
    exchange.ledger().of(LISTEN).iter().map(|entry| entry.message["params"]["notifications"].clone()).collect()
}

pub(crate) async fn quiet(client: &Client) {
    sleep(seconds(1_000)).await;
    assert_eq!(client.state().as_str(), "ready");
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

#[tokio::test(start_paused = true)]
async fn who_hears_is_listened_for_as_long_as_the_client_lives_at_a_bounded_rate() {
    let ends: [(Script, usize, usize); 3] = [
        (|_| Ok(Reply::new(503)), 120, 320),
        (|_| Err(Cause::Refused), 120, 320),
        (|arrival| Ok(Reply::event_stream().event(&arrival.acknowledgement()).wait(seconds(1))), 1_000, 2_000),
    ];
    for (end, least, most) in ends {
        let exchange = announcing(&Server::modern(), move |arrival, _| end(arrival));
        let log = Log::default();
        let builder = either_era(&exchange).listen(true).on_event(log.observer()).on_notification(|_| {});
        let client = builder.connect().await.unwrap();
        sleep(seconds(3_000)).await;
        let opened = exchange.ledger().count(LISTEN);
        assert!((least..=most).contains(&opened), "{opened} in 3,000 s");
        assert_eq!(log.of(EventName::ListenerOff).len(), 0);
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_renewed_once_for_the_stream() {
    for good in ["token-2", "token-3"] {
        let exchange = announcing(&Server::modern(), move |arrival, _| {
            let taken = arrival.header("authorization") == Some(&format!("Bearer {good}"));
            Ok(if taken { held(arrival) } else { Reply::new(401).header("www-authenticate", "Bearer") })
        });
        let asked: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
        let asking = Arc::clone(&asked);
        let client = either_era(&exchange)
            .listen(true)
            .token_provider(move |refused| {
                let mut asked = asking.lock().unwrap();
                asked.push(refused);
                let token = format!("token-{}", asked.len());
                async move { Ok(token) }
            })
            .connect()
            .await
            .unwrap();
        quiet(&client).await;
        assert_eq!(*asked.lock().unwrap(), [None, Some("token-1".to_owned())]);
        let opened = exchange.ledger().count(LISTEN);
        assert_eq!(opened, if good == "token-2" { 2 } else { 8 });
    }
}
