//! What is asked for while the session is replaced: it holds on the next one, unless it was refused or taken back.

use std::sync::Arc;

use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Client, EventName};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::support::{Gate, Log, NOTHING, builder, connect, scripted, seconds};

const SUBSCRIBE: &str = "resources/subscribe";
const UNSUBSCRIBE: &str = "resources/unsubscribe";

/// On the first session these methods are answered behind the gate.
fn slow_on_the_first(server: &Server, method: &'static str, gate: &Gate) -> Arc<Scripted> {
    let gate = gate.clone();
    scripted(server, {
        let server = server.clone();
        move |arrival: Arrival, _| {
            let (server, gate) = (server.clone(), gate.clone());
            async move {
                if arrival.method() != method || arrival.session() != Some("session-1") {
                    return None;
                }
                // The session was known when the request came.
                let result = server.execute(&arrival);
                gate.pass().await;
                Some(Ok(arrival.result(&result)))
            }
        }
    })
}

/// Another call sees that the session is gone, and a new one is made.
async fn replace(server: &Server, client: &Client) {
    server.forget_sessions();
    client.call_tool("poke", NOTHING).await.unwrap();
    sleep(seconds(1)).await;
}

/// The session and the URI or level of each such request.
fn sent(exchange: &Scripted, method: &str) -> Vec<(String, String)> {
    let asked = |entry: oncewire::transport::scripted::Entry| {
        let params = &entry.message["params"];
        let what = params["uri"].as_str().or(params["level"].as_str()).unwrap_or_default().to_owned();
        (entry.session().unwrap_or_default().to_owned(), what)
    };
    exchange.ledger().of(method).into_iter().map(asked).collect()
}

fn on(session: &str, what: &str) -> (String, String) {
    (session.to_owned(), what.to_owned())
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_while_the_session_is_replaced_holds_on_the_next_one() {
    for (method, what) in [(SUBSCRIBE, "mem://a"), ("logging/setLevel", "debug")] {
        let (server, gate) = (Server::new(), Gate::new());
        let exchange = slow_on_the_first(&server, method, &gate);
        let client = connect(&exchange).await;
        let call = if method == SUBSCRIBE { client.subscribe(what) } else { client.set_log_level(what) };
        let asking = tokio::spawn(call.into_future());
        exchange.ledger().arrivals(method, 1).await;
        replace(&server, &client).await;
        gate.open();
        asking.await.unwrap().unwrap();
        assert_eq!(sent(&exchange, method), [on("session-1", what), on("session-2", what)]);
        replace(&server, &client).await;
        assert_eq!(sent(&exchange, method).last(), Some(&on("session-3", what)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_or_given_up_is_not_restored() {
    for method in [SUBSCRIBE, "logging/setLevel"] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, nth| async move {
            let refuses = arrival.method() == method && nth > 0;
            let hangs = nth > 1;
            match (refuses, hangs) {
                (false, _) => None,
                (true, false) => Some(Ok(arrival.error(-32_602, "no"))),
                (true, true) => std::future::pending().await,
            }
        });
        let client = connect(&exchange).await;
        let ask = |what: &str| if method == SUBSCRIBE { client.subscribe(what) } else { client.set_log_level(what) };
        ask("granted").await.unwrap();
        ask("refused").await.unwrap_err();
        assert!(timeout(seconds(2), ask("given up").into_future()).await.is_err());
        replace(&server, &client).await;
        let restored: Vec<_> =
            sent(&exchange, method).into_iter().filter(|(session, _)| session == "session-2").collect();
        assert_eq!(restored, [on("session-2", "granted")]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_unsubscribed_while_it_is_restored_is_unsubscribed_for_sure() {
    let (server, gate) = (Server::new(), Gate::new());
    let exchange = scripted(&server, {
        let gate = gate.clone();
        move |arrival, nth| {
            let gate = gate.clone();
            async move {
                // The second is the one that restores.
                if arrival.method() == SUBSCRIBE && nth == 1 {
                    gate.pass().await;
                }
                None
            }
        }
    });
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    client.subscribe("mem://a").await.unwrap();
    replace(&server, &client).await;
    client.unsubscribe("mem://a").await.unwrap();
    gate.open();
    sleep(seconds(1)).await;
    assert_eq!(sent(&exchange, UNSUBSCRIBE), [on("session-2", "mem://a"), on("session-2", "mem://a")]);
    assert_eq!(log.of(EventName::RestoreFailed).len(), 0);
    replace(&server, &client).await;
    assert_eq!(sent(&exchange, SUBSCRIBE).len(), 2, "nothing of it is restored");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_another_caller_has_outlives_one_that_is_refused() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == SUBSCRIBE && nth == 1).then(|| {
            Ok(Reply::json(
                200,
                &json!({ "jsonrpc": "2.0", "id": arrival.json_id(), "error": { "code": 1, "message": "no" } }),
            ))
        })
    });
    let client = connect(&exchange).await;
    client.subscribe("mem://a").await.unwrap();
    client.subscribe("mem://a").await.unwrap_err();
    replace(&server, &client).await;
    assert_eq!(sent(&exchange, SUBSCRIBE).last(), Some(&on("session-2", "mem://a")));
}
