//! `close()`: within its time, with one DELETE for each session, and nothing afterwards.

use std::sync::Arc;

use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Execution, Kind};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{NOTHING, builder, connect, failure, hang, milliseconds, scripted, seconds};

/// What is true after a client is closed, whatever it was at.
async fn nothing_is_left(exchange: Arc<Scripted>) {
    let arrived = exchange.ledger().len();
    sleep(seconds(300)).await;
    assert_eq!(exchange.ledger().len(), arrived, "{:?}", exchange.ledger().methods());
    assert!(exchange.ledger().open().is_empty(), "{:?}", exchange.ledger().open());
    assert_eq!(Arc::strong_count(&exchange), 1, "somebody still holds the exchange");
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0, "tasks are left");
}

#[tokio::test(start_paused = true)]
async fn every_answer_to_the_delete_is_borne_and_closing_twice_is_harmless() {
    for status in [200, 204, 404, 405, 500] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, _| async move {
            (arrival.method() == "DELETE").then(|| Ok(Reply::new(status)))
        });
        let client = connect(&exchange).await;
        client.call_tool("poke", NOTHING).await.unwrap();
        client.close().await;
        client.close().await;
        let deletes = exchange.ledger().of("DELETE");
        assert_eq!(deletes.iter().map(|entry| entry.session()).collect::<Vec<_>>(), [Some("session-1")]);
        let late = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((late.kind, late.execution), (Kind::Closed, Execution::NotExecuted));
        assert!(client.is_closed());
        drop(client);
        nothing_is_left(exchange).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_is_never_answered_ends_with_the_close_timeout() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "DELETE" { hang(&arrival).await } else { None }
    });
    let client = builder(&exchange).close_timeout(seconds(3)).connect().await.unwrap();
    let began = Instant::now();
    client.close().await;
    assert!(began.elapsed() <= seconds(3) + milliseconds(1), "{:?}", began.elapsed());
    assert_eq!(exchange.ledger().count("DELETE"), 1);
    drop(client);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_are_judged_and_the_server_is_told_before_the_session_ends() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        server.execute(&arrival);
                        Some(Ok(Reply::event_stream().chunk(": here\n\n").never()))
                    }
                    ("tools/call", 1) => hang(&arrival).await,
                    // The body of this one is not taken before the client closes.
                    ("tools/call", _) => std::future::pending().await,
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("poke", NOTHING).await })
        })
        .collect();
    exchange.ledger().arrivals("tools/call", 3).await;
    let began = Instant::now();
    client.close().await;
    assert_eq!(began.elapsed(), seconds(0), "nothing has to be waited for");
    let mut verdicts = Vec::new();
    for call in calls {
        let failure = failure(call.await.unwrap());
        assert_eq!(failure.kind, Kind::Closed);
        verdicts.push(failure.execution);
    }
    assert_eq!(verdicts, [Execution::MayHaveExecuted, Execution::MayHaveExecuted, Execution::NotExecuted]);
    let end = exchange.ledger().methods().split_off(5);
    assert_eq!(end, ["notifications/cancelled", "notifications/cancelled", "DELETE"]);
    drop(client);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_any_more_still_gets_the_delete_in_time() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if matches!(arrival.method(), "initialize" | "notifications/initialized") { None } else { hang(&arrival).await }
    });
    let client = connect(&exchange).await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    let began = Instant::now();
    client.close().await;
    assert!(began.elapsed() <= seconds(5) + milliseconds(1), "{:?}", began.elapsed());
    assert_eq!(failure(call.await.unwrap()).kind, Kind::Closed);
    assert_eq!(exchange.ledger().count("DELETE"), 1);
    drop(client);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn a_close_during_the_handshake_ends_the_session_that_arrives() {
    for (slow, arrives) in [(milliseconds(500), true), (seconds(60), false)] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, _| async move {
            if arrival.method() == "initialize" {
                arrival.take();
                sleep(slow).await;
            }
            None
        });
        let client = builder(&exchange).lazy(true).connect().await.unwrap();
        let call = tokio::spawn({
            let client = client.clone();
            async move { client.call_tool("poke", NOTHING).await }
        });
        exchange.ledger().arrivals("initialize", 1).await;
        let began = Instant::now();
        client.close().await;
        assert!(began.elapsed() <= seconds(5) + milliseconds(1), "{:?}", began.elapsed());
        let failure = failure(call.await.unwrap());
        assert_eq!((failure.kind, failure.execution), (Kind::Closed, Execution::NotExecuted));
        assert_eq!(exchange.ledger().count("DELETE"), usize::from(arrives));
        assert_eq!(exchange.ledger().count("notifications/initialized"), 0, "nobody wants it any more");
        drop(client);
        nothing_is_left(exchange).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_while_initialized_hangs_ends_the_half_made_session() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "notifications/initialized" { hang(&arrival).await } else { None }
    });
    let client = builder(&exchange).lazy(true).connect().await.unwrap();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("notifications/initialized", 1).await;
    client.close().await;
    assert_eq!(failure(call.await.unwrap()).kind, Kind::Closed);
    assert_eq!(exchange.ledger().methods(), ["initialize", "notifications/initialized", "DELETE"]);
    drop(client);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn a_verification_that_hangs_does_not_cost_the_session_its_delete() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        match arrival.method() {
            "custom" => Some(Ok(Reply::new(404))),
            "ping" => hang(&arrival).await,
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    client.request("custom", NOTHING).await.unwrap_err();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("ping", 2).await;
    let began = Instant::now();
    client.close().await;
    assert!(began.elapsed() <= seconds(5) + milliseconds(1), "{:?}", began.elapsed());
    assert_eq!(failure(call.await.unwrap()).execution, Execution::NotExecuted);
    assert_eq!(exchange.ledger().count("DELETE"), 1);
    drop(client);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_runs_and_a_reply_that_hangs_do_not_outlive_the_close() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        match arrival.method() {
            "GET" => {
                let ask = |id: &str, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
                let reply = Reply::event_stream().event(&ask("r", "roots/list")).event(&ask("p", "ping"));
                Some(Ok(reply.never()))
            }
            "" => hang(&arrival).await,
            _ => None,
        }
    });
    let client =
        builder(&exchange).listen(true).on_roots(|_| async { std::future::pending().await }).connect().await.unwrap();
    exchange.ledger().arrivals("", 1).await;
    let began = Instant::now();
    client.close().await;
    assert!(began.elapsed() <= seconds(5) + milliseconds(1), "{:?}", began.elapsed());
    assert_eq!(exchange.ledger().count("DELETE"), 1);
    drop(client);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn the_last_drop_deletes_the_session_and_one_before_it_does_not() {
    let server = Server::new();
    let exchange = builder_with_listener(&server);
    let client = builder(&exchange).listen(true).connect().await.unwrap();
    let other = client.clone();
    drop(client);
    sleep(seconds(1)).await;
    assert_eq!(exchange.ledger().count("DELETE"), 0);
    other.call_tool("poke", NOTHING).await.unwrap();
    drop(other);
    sleep(seconds(1)).await;
    assert_eq!(exchange.ledger().count("DELETE"), 1);
    nothing_is_left(exchange).await;
}

fn builder_with_listener(server: &Server) -> Arc<Scripted> {
    scripted(server, |arrival, _| async move { (arrival.method() == "GET").then(|| Ok(Reply::event_stream().never())) })
}

#[tokio::test(start_paused = true)]
async fn a_call_keeps_the_client_that_it_was_made_with() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "tools/call" {
            arrival.take();
            sleep(seconds(3)).await;
        }
        None
    });
    let client = connect(&exchange).await;
    let call = tokio::spawn(client.call_tool("poke", NOTHING).into_future());
    drop(client);
    call.await.unwrap().unwrap();
    sleep(seconds(1)).await;
    assert_eq!(exchange.ledger().count("DELETE"), 1);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn a_close_future_that_is_dropped_closes_all_the_same() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "DELETE" {
            arrival.take();
            sleep(seconds(2)).await;
        }
        None
    });
    let client = connect(&exchange).await;
    let closing = tokio::time::timeout(milliseconds(1), client.close()).await;
    assert!(closing.is_err(), "it has not come back yet");
    sleep(seconds(5)).await;
    assert!(server.sessions().iter().all(|session| session.deletes == 1));
    drop(client);
    nothing_is_left(exchange).await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_clients_leave_nothing() {
    let server = Server::new();
    let exchange = builder_with_listener(&server);
    for _ in 0..100 {
        let client = builder(&exchange).listen(true).connect().await.unwrap();
        client.call_tool("poke", NOTHING).await.unwrap();
        client.close().await;
    }
    assert_eq!(server.sessions().len(), 100);
    assert!(server.sessions().iter().all(|session| session.deletes == 1));
    nothing_is_left(exchange).await;
}
