//! Calls of the modern era: what takes the place of methods that it does not have, and what is not sent in it.

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Server};
use oncewire::{EventName, Execution, Kind};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::{Log, NOTHING, builder, either_era, failure, hang, milliseconds, scripted, seconds};

#[tokio::test(start_paused = true)]
async fn a_ping_asks_the_server_what_it_is() {
    let server = Server::modern();
    let exchange = server.exchange();
    let client = either_era(&exchange).connect().await.unwrap();
    client.ping().await.unwrap();
    assert_eq!(exchange.ledger().methods(), ["server/discover"; 2]);
    let raw = client.request("ping", NOTHING).await.unwrap_err();
    assert_eq!(raw.execution(), Execution::Answered, "a raw request is sent as it is");
    assert_eq!(server.complaints(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_log_level_is_sent_with_every_request_and_with_none_of_its_own() {
    let server = Server::modern();
    let exchange = server.exchange();
    let log = Log::default();
    let client = either_era(&exchange).on_event(log.observer()).connect().await.unwrap();
    client.read_resource("mem://a").await.unwrap();
    client.set_log_level("debug").await.unwrap();
    client.read_resource("mem://a").await.unwrap();
    client.recover().await.unwrap();
    client.set_log_level("error").await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    let level = |message: &Value| message.pointer("/params/_meta/io.modelcontextprotocol~1logLevel").cloned();
    let levels: Vec<_> = exchange.ledger().entries().iter().map(|entry| level(&entry.message)).collect();
    let (debug, error) = (Some(json!("debug")), Some(json!("error")));
    assert_eq!(levels, [None, None, debug.clone(), debug, error.clone(), error]);
    assert_eq!(log.of(EventName::CallFinished).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_closes_its_stream_and_says_nothing() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.name(), nth) {
            (Some("poke"), 0) => hang(&arrival).await,
            (Some("poke"), 1) => Some(Ok(Reply::event_stream().chunk(": here\n\n").never())),
            _ => None,
        }
    });
    let log = Log::default();
    let client = either_era(&exchange).on_event(log.observer()).connect().await.unwrap();
    let neighbour = tokio::spawn(client.read_resource("mem://a").into_future());
    for _ in 0..2 {
        assert!(timeout(milliseconds(200), client.call_tool("poke", NOTHING).into_future()).await.is_err());
    }
    neighbour.await.unwrap().unwrap();
    let error = client.call_tool("poke", NOTHING).timeout(seconds(2)).await;
    assert!(error.is_ok(), "{error:?}");
    assert!(exchange.ledger().open().is_empty(), "the streams are closed");
    client.close().await;
    sleep(seconds(300)).await;
    let methods = exchange.ledger().methods();
    assert!(
        methods.iter().all(|method| !method.starts_with("notifications/") && method != "DELETE" && method != "GET")
    );
    let cancelled = log.of(EventName::CallFinished).into_iter().filter(|event| event.kind == Some(Kind::Cancelled));
    assert!(cancelled.map(|event| event.execution).eq([Some(Execution::MayHaveExecuted); 2]));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_closes_the_stream_and_says_nothing() {
    for idle in [false, true] {
        let server = Server::modern();
        let exchange = scripted(&server, |arrival, _| async move {
            if arrival.name() == Some("poke") { hang(&arrival).await } else { None }
        });
        let client = either_era(&exchange).connect().await.unwrap();
        let call = client.call_tool("poke", NOTHING);
        let call = if idle { call.idle_timeout(seconds(1)) } else { call.timeout(seconds(1)) };
        let failure = failure(call.await);
        assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::MayHaveExecuted));
        client.close().await;
        assert!(exchange.ledger().open().is_empty());
        assert_eq!(exchange.ledger().methods(), ["server/discover", "tools/list", "tools/call"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_not_resumed_and_not_repeated_without_leave() {
    let server = Server::modern();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let cut = matches!(arrival.method(), "tools/call" | "resources/read") && nth == 0;
            if cut {
                server.execute(&arrival);
            }
            async move { cut.then(|| Ok(Reply::event_stream().event_with_id("event-1", &Value::Null).broken(Cause::Reset))) }
        }
    });
    let client = either_era(&exchange).connect().await.unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::StreamEnded, Execution::MayHaveExecuted));
    client.read_resource("mem://a").await.unwrap();
    assert_eq!((server.executed("poke"), server.executed("resources/read")), (1, 2));
    assert_eq!(exchange.ledger().count("resume"), 0);
    assert_eq!((client.generation(), server.complaints()), (1, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_session_id_from_a_modern_server_is_not_taken() {
    let server = Server::modern();
    let exchange = server.scripted(|arrival, server| async move {
        server.answer(&arrival).await.map(|reply| reply.header("mcp-session-id", "trap"))
    });
    let client = either_era(&exchange).connect().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    client.recover().await.unwrap();
    client.close().await;
    assert!(exchange.ledger().entries().iter().all(|entry| entry.session().is_none()));
    assert_eq!(exchange.ledger().count("DELETE"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_handed_over_and_other_types_only_to_who_declared_extensions() {
    let answers = [
        json!({ "resultType": "task", "task": { "taskId": "t1", "status": "working" } }),
        json!({ "resultType": "org.example/later", "x": 1 }),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        for declared in [false, true] {
            let server = Server::modern();
            let result = answer.clone();
            let exchange = scripted(&server, move |arrival, _| {
                let result = result.clone();
                async move { (arrival.method() == "tools/call").then(|| Ok(arrival.result(&result))) }
            });
            let extensions = json!({ "org.example/ext": { "a": 1 } });
            let given =
                if declared { extensions.as_object().cloned().unwrap_or_default() } else { serde_json::Map::new() };
            let client = either_era(&exchange).extensions(given).connect().await.unwrap();
            let outcome = client.call_tool("poke", NOTHING).await;
            let capabilities = "/params/_meta/io.modelcontextprotocol~1clientCapabilities";
            for entry in exchange.ledger().entries() {
                let expected = if declared { json!({ "extensions": extensions }) } else { json!({}) };
                assert_eq!(entry.message.pointer(capabilities), Some(&expected));
            }
            match (number, declared) {
                (0, _) => {
                    let result = outcome.unwrap();
                    assert_eq!(result.result_type, "task");
                    assert!(result.task.is_some_and(|task| task.get().contains("t1")));
                }
                (_, true) => assert_eq!(outcome.unwrap().result_type, "org.example/later"),
                (_, false) => {
                    let failure = failure(outcome);
                    assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::MayHaveExecuted));
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_handshake_advertises_extensions_too_and_only_if_given() {
    for given in [json!({}), json!({ "org.example/ext": {} })] {
        let exchange = Server::new().exchange();
        let extensions = given.as_object().cloned().unwrap_or_default();
        builder(&exchange).extensions(extensions).connect().await.unwrap();
        let capabilities = exchange.ledger().of("initialize")[0].message["params"]["capabilities"].clone();
        let expected = if given == json!({}) { json!({}) } else { json!({ "extensions": given }) };
        assert_eq!(capabilities, expected);
    }
}
