//! What the server asks of the client, and what the client tells its host: both with bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{EventName, HandlerError, HandlerRefusal};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{Gate, NOTHING, builder, connect, milliseconds, scripted, seconds};

fn asking(count: usize, method: &'static str) -> Reply {
    let ask = |number| json!({ "jsonrpc": "2.0", "id": format!("ask-{number}"), "method": method, "params": {} });
    (0..count).fold(Reply::event_stream(), |reply, number| reply.event(&ask(number))).never()
}

#[tokio::test(start_paused = true)]
async fn sixteen_handlers_run_at_once_and_the_seventeenth_request_is_refused() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "GET").then(|| Ok(asking(17, "sampling/createMessage")))
    });
    let (gate, running) = (Gate::new(), Arc::new(AtomicUsize::new(0)));
    let client = builder(&exchange)
        .listen(true)
        .on_sampling({
            let (gate, running) = (gate.clone(), Arc::clone(&running));
            move |_: Value| {
                let (gate, running) = (gate.clone(), Arc::clone(&running));
                async move {
                    running.fetch_add(1, Ordering::Relaxed);
                    gate.pass().await;
                    Ok(json!({ "done": true }))
                }
            }
        })
        .connect()
        .await
        .unwrap();
    exchange.ledger().arrivals("", 1).await;
    sleep(milliseconds(1)).await;
    assert_eq!(running.load(Ordering::Relaxed), 16);
    let refused = exchange.ledger().of("");
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].message["id"], "ask-16");
    assert_eq!(refused[0].message["error"]["code"], -32_603);
    gate.open();
    exchange.ledger().arrivals("", 17).await;
    let replies = exchange.ledger().of("");
    assert!(replies[1..].iter().all(|reply| reply.message["result"]["done"] == true));
    assert!(replies.iter().all(|reply| reply.session() == Some("session-1")));
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_or_panics_fails_its_own_request_only() {
    let server = Server::new();
    let exchange =
        scripted(&server, |arrival, _| async move { (arrival.method() == "GET").then(|| Ok(asking(3, "roots/list"))) });
    let count = Arc::new(AtomicUsize::new(0));
    let client = builder(&exchange)
        .listen(true)
        .on_roots(move |_| {
            let number = count.fetch_add(1, Ordering::Relaxed);
            async move {
                match number {
                    0 => Err(HandlerError::from("no roots today")),
                    1 => panic!("oh"),
                    _ => Ok(json!({ "roots": [] })),
                }
            }
        })
        .connect()
        .await
        .unwrap();
    exchange.ledger().arrivals("", 3).await;
    let mut replies: Vec<_> = exchange.ledger().of("").into_iter().map(|entry| entry.message).collect();
    replies.sort_by_key(|reply| reply["id"].to_string());
    assert_eq!(replies[0]["error"]["message"], "no roots today");
    assert_eq!(replies[1]["error"]["code"], -32_603);
    assert_eq!(replies[2]["result"], json!({ "roots": [] }));
    client.call_tool("poke", NOTHING).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_nobody_handles_is_answered_so_and_a_ping_is_answered() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        let ask = |id: u64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
        let reply = || Reply::event_stream().event(&ask(1, "ping")).event(&ask(2, "elicitation/create")).never();
        (arrival.method() == "GET").then(|| Ok(reply()))
    });
    let client = builder(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("", 2).await;
    let replies = exchange.ledger().of("");
    assert_eq!(replies[0].message, json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    assert_eq!(replies[1].message["error"]["code"], -32_601);
    client.close().await;
}

/// The stream of a call asks for the roots, and answers the call once that is answered.
fn asking_for_roots(server: &Server) -> Arc<Scripted> {
    let answered = Gate::new();
    scripted(server, move |arrival, _| {
        let answered = answered.clone();
        async move {
            match arrival.method() {
                "tools/call" => {
                    let result = json!({ "jsonrpc": "2.0", "id": arrival.message["id"], "result": { "content": [] } });
                    let ask = json!({ "jsonrpc": "2.0", "id": "ask", "method": "roots/list" });
                    let reply = Reply::event_stream().event(&ask).until(async move { answered.pass().await });
                    Some(Ok(reply.event(&result)))
                }
                "" => {
                    answered.open();
                    None
                }
                _ => None,
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_may_answer_what_the_server_asks_on_its_stream() {
    let exchange = asking_for_roots(&Server::new());
    let client = builder(&exchange).on_roots(|_| async { Ok(json!("the client's")) }).connect().await.unwrap();
    client
        .call_tool("poke", NOTHING)
        .on_request(|method, _| async move { Ok(json!({ "asked": method })) })
        .await
        .unwrap();
    assert_eq!(exchange.ledger().of("")[0].message["result"], json!({ "asked": "roots/list" }));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_handler_reaches_the_server_as_it_is() {
    let exchange = asking_for_roots(&Server::new());
    let refusal = || HandlerRefusal { code: -1, message: "the user said no".to_owned(), data: Some(json!([1])) };
    let client = builder(&exchange).on_roots(move |_| async move { Err(refusal().into()) }).connect().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    let error = json!({ "code": -1, "message": "the user said no", "data": [1] });
    assert_eq!(exchange.ledger().of("")[0].message["error"], error);
}

#[tokio::test(start_paused = true)]
async fn a_notification_of_the_host_goes_out_once_on_the_current_session() {
    let method = "notifications/roots/list_changed";
    let server = Server::new();
    let exchange = server.exchange();
    let roots = json!({ "roots": { "listChanged": true } });
    let client = builder(&exchange)
        .on_roots(|_| async { Ok(json!({ "roots": [] })) })
        .capabilities(roots.as_object().cloned().unwrap())
        .connect()
        .await
        .unwrap();
    assert_eq!(exchange.ledger().of("initialize")[0].message["params"]["capabilities"], roots);
    client.notify(method, json!({ "n": 1 })).await.unwrap();
    let sent = exchange.ledger().of(method);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].message, json!({ "jsonrpc": "2.0", "method": method, "params": { "n": 1 } }));
    assert_eq!(sent[0].session(), Some("session-1"));
    assert!(client.notify(method, json!(1)).await.is_err());
    client.close().await;
    assert!(client.notify(method, NOTHING).await.is_err());
    assert_eq!(exchange.ledger().count(method), 1);
}

/// The first session asks for the roots, which takes 5 s; the test does something meanwhile and sees who replied.
async fn while_a_handler_runs(lost: bool) -> Vec<Option<String>> {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == "GET" && nth == 0).then(|| Ok(asking(1, "roots/list")))
    });
    let started = Gate::new();
    let client = builder(&exchange)
        .listen(true)
        .on_roots({
            let started = started.clone();
            move |_| {
                let started = started.clone();
                async move {
                    started.open();
                    sleep(seconds(5)).await;
                    Ok(json!({ "roots": [] }))
                }
            }
        })
        .connect()
        .await
        .unwrap();
    started.pass().await;
    if lost {
        server.forget_sessions();
        client.call_tool("poke", NOTHING).await.unwrap();
    } else {
        client.recover().await.unwrap();
    }
    assert_eq!(client.generation(), 2);
    sleep(seconds(60)).await;
    exchange.ledger().of("").iter().map(|entry| entry.session().map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_handler_for_the_get_stream_stops_when_its_session_is_gone_or_replaced() {
    assert_eq!(while_a_handler_runs(true).await, []);
    assert_eq!(while_a_handler_runs(false).await, []);
}

#[tokio::test(start_paused = true)]
async fn the_event_queue_drops_the_oldest_and_counts_them() {
    let exchange = Server::new().exchange();
    let client = connect(&exchange).await;
    let mut events = client.events();
    for _ in 0..1_100 {
        client.ping().await.unwrap();
    }
    let first = events.next().await.unwrap();
    assert_eq!(first.event, EventName::CallFinished);
    assert_eq!(events.dropped(), 1_100 - 1_024);
    let mut left = 1;
    client.close().await;
    drop(client);
    while let Some(event) = events.next().await {
        left += usize::from(event.event == EventName::CallFinished);
    }
    assert!(left >= 1_022, "{left} of the newest are there");
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_takes_nothing_with_it() {
    let exchange = Server::new().exchange();
    let client = builder(&exchange).on_event(|_| panic!("oh")).connect().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    client.close().await;
    assert_eq!(exchange.ledger().count("DELETE"), 1);
}
