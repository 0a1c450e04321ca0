//! Futures that are dropped: the server is told once, and nothing more is sent.

use oncewire::transport::scripted::{Arrival, Reply, Server};
use oncewire::{EventName, Execution, Kind};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::support::{Log, NOTHING, builder, connect, hang, milliseconds, run_and_cut, scripted, seconds};

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_once_with_the_id_of_its_request() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        match arrival.method() {
            "tools/call" | "resources/read" | "prompts/get" => hang(&arrival).await,
            _ => None,
        }
    });
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    let patience = milliseconds(200);
    assert!(timeout(patience, client.call_tool("poke", NOTHING).into_future()).await.is_err());
    assert!(timeout(patience, client.read_resource("mem://a").into_future()).await.is_err());
    assert!(timeout(patience, client.get_prompt("hello", NOTHING).into_future()).await.is_err());
    sleep(seconds(60)).await;
    let told: Vec<_> = exchange.ledger().of("notifications/cancelled");
    let told: Vec<_> = told.iter().map(|entry| entry.message["params"]["requestId"].as_u64()).collect();
    let sent: Vec<_> = ["tools/call", "resources/read", "prompts/get"]
        .iter()
        .flat_map(|method| exchange.ledger().of(method))
        .map(|entry| entry.id())
        .collect();
    assert_eq!(told, sent);
    assert_eq!(exchange.ledger().len(), 2 + 3 + 3, "nothing else");
    assert!(exchange.ledger().open().is_empty());
    let finished = log.of(EventName::CallFinished);
    assert_eq!(finished.len(), 3);
    assert!(
        finished.iter().all(|event| {
            event.kind == Some(Kind::Cancelled) && event.execution == Some(Execution::MayHaveExecuted)
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_body_never_left_is_not_cancelled_at_the_server() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "tools/call" { std::future::pending().await } else { None }
    });
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    assert!(timeout(seconds(1), client.call_tool("poke", NOTHING).into_future()).await.is_err());
    sleep(seconds(60)).await;
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 0);
    assert_eq!(log.of(EventName::CallFinished)[0].execution, Some(Execution::NotExecuted));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_session_cancels_nothing_and_sends_nothing_later() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "initialize" {
            arrival.take();
            sleep(seconds(2)).await;
        }
        None
    });
    let client = builder(&exchange).build().unwrap();
    assert!(timeout(seconds(1), client.call_tool("poke", NOTHING).into_future()).await.is_err());
    sleep(seconds(60)).await;
    assert_eq!(exchange.ledger().methods(), ["initialize", "notifications/initialized"]);
    assert_eq!(client.state().as_str(), "ready");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_between_two_attempts_is_not_resent() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, _| {
            let server = server.clone();
            async move { if arrival.method() == "resources/read" { run_and_cut(&server, &arrival) } else { None } }
        }
    });
    let log = Log::default();
    let client =
        builder(&exchange).backoff(seconds(100), seconds(100)).on_event(log.observer()).connect().await.unwrap();
    fastrand::seed(3);
    let dropped = timeout(milliseconds(1), client.read_resource("mem://a").into_future()).await;
    assert!(dropped.is_err(), "it waits for its back-off");
    sleep(seconds(300)).await;
    assert_eq!(exchange.ledger().count("resources/read"), 1);
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 0, "that request is over");
    let finished = log.of(EventName::CallFinished);
    assert_eq!(finished[0].execution, Some(Execution::MayHaveExecuted));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_reads_on_is_cancelled() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, _| {
            let server = server.clone();
            async move {
                match arrival.method() {
                    "tools/call" => {
                        server.execute(&arrival);
                        Some(Ok(Reply::event_stream().event_with_id("event-1", &NOTHING)))
                    }
                    "resume" => Some(Ok(Reply::event_stream().never())),
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    assert!(timeout(seconds(1), client.call_tool("poke", NOTHING).into_future()).await.is_err());
    sleep(seconds(300)).await;
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 1);
    assert_eq!(exchange.ledger().count("resume"), 1);
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_dropped_between_pages_asks_for_no_more() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() != "tools/list" {
            return None;
        }
        arrival.take();
        sleep(milliseconds(400)).await;
        Some(Ok(arrival.result(&json!({ "tools": [], "nextCursor": nth.to_string() }))))
    });
    let client = connect(&exchange).await;
    assert!(timeout(seconds(1), client.list_tools().into_future()).await.is_err());
    sleep(seconds(60)).await;
    assert_eq!(exchange.ledger().count("tools/list"), 3);
    assert_eq!(exchange.ledger().count("notifications/cancelled"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connect_that_is_dropped_deletes_the_session_that_still_arrives() {
    for stage in ["initialize", "notifications/initialized"] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, _| async move {
            if arrival.method() == stage {
                arrival.take();
                sleep(seconds(2)).await;
            }
            None
        });
        assert!(timeout(seconds(1), builder(&exchange).connect()).await.is_err());
        sleep(seconds(60)).await;
        assert_eq!(server.sessions().len(), 1, "{stage}");
        assert_eq!(server.sessions()[0].deletes, 1, "{stage}");
        assert!(exchange.ledger().open().is_empty());
        assert_eq!(std::sync::Arc::strong_count(&exchange), 1);
        assert_eq!(exchange.ledger().count("notifications/cancelled"), 0, "initialize is never cancelled");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connect_that_is_dropped_while_it_knocks_stops_knocking() {
    let server = Server::new();
    let exchange = scripted(&server, |_, _| async move { Some(Err(oncewire::transport::exchange::Cause::Refused)) });
    assert!(timeout(seconds(1), builder(&exchange).connect()).await.is_err());
    let knocked = exchange.ledger().len();
    sleep(seconds(60)).await;
    assert_eq!(exchange.ledger().len(), knocked);
    assert_eq!(std::sync::Arc::strong_count(&exchange), 1);
}
