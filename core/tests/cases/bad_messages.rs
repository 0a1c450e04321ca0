//! What comes beside the answer and is no message, and an answer that lacks its end: neither costs the answer, nor a second run.

use std::sync::{Arc, Mutex};

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{EventName, Execution, Kind};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Log, NOTHING, builder, connect, failure, milliseconds, scripted, seconds};

/// The tool runs, and this is the body of its answer.
fn answering(server: &Server, body: fn(Reply, &Arrival, &str) -> Reply) -> Arc<Scripted> {
    scripted(server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                (arrival.method() == "tools/call").then(|| {
                    let answer = arrival.result_message(&server.execute(&arrival)).to_string();
                    Ok(body(Reply::event_stream(), &arrival, &answer))
                })
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text_cost_only_themselves() {
    let log =
        &b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"caf\xe9\"}}\n\n"[..];
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                let id = arrival.id().unwrap_or_default();
                server.execute(&arrival);
                let result = [&b"{\"jsonrpc\":\"2.0\",\"id\":"[..], id.to_string().as_bytes()].concat();
                let result =
                    [&result[..], b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}"].concat();
                match arrival.name() {
                    Some("peek") => {
                        let event = [&b"data: "[..], &result, b"\n\n"].concat();
                        Some(Ok(Reply::event_stream().chunk(log).chunk(event)))
                    }
                    Some("poke") => Some(Ok(Reply::new(200).header("content-type", "application/json").chunk(result))),
                    _ => None,
                }
            }
        }
    });
    let heard: Arc<Mutex<Vec<serde_json::Value>>> = Arc::default();
    let ears = Arc::clone(&heard);
    let client = builder(&exchange)
        .on_notification(move |notification| ears.lock().unwrap().push(notification.params.clone()))
        .connect()
        .await
        .unwrap();
    for tool in ["peek", "poke"] {
        assert_eq!(client.call_tool(tool, NOTHING).await.unwrap().text(), "caf\u{fffd}");
        assert_eq!(server.executed(tool), 1);
    }
    assert_eq!(*heard.lock().unwrap(), [json!({ "data": "caf\u{fffd}" })]);
}

#[tokio::test(start_paused = true)]
async fn an_error_with_bytes_that_are_no_text_is_the_answer_all_the_same() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                (arrival.method() == "tools/call").then(|| {
                    server.execute(&arrival);
                    let head =
                        format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{\"code\":-32000,", arrival.json_id());
                    let body = [head.as_bytes(), b"\"message\":\"no caf\xe9\"}}"].concat();
                    Ok(Reply::new(400).header("content-type", "application/json").chunk(body))
                })
            }
        }
    });
    let client = connect(&exchange).await;
    for tool in ["peek", "poke"] {
        let error = client.call_tool(tool, NOTHING).await.unwrap_err();
        assert_eq!((error.kind(), error.execution()), (Kind::Rpc, Execution::Answered));
        assert!(error.to_string().contains("no caf\u{fffd}"), "{error}");
        assert_eq!(server.executed(tool), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_beside_the_answer_is_told_and_costs_nothing_else() {
    let beside: [(&str, usize); 6] = [
        ("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\n\n", 1),
        ("data: {\"jsonrpc\":\"2.0\",\"id\":4242,\"result\":{\"half\":\n\n", 1),
        ("data: [1, 2\n\n", 1),
        ("data: {\"type\":\"ping\"}\n\n", 1),
        ("data: ping\n\n", 0),
        ("event: strange\ndata: {\"broken\n\n", 0),
    ];
    for (bad, told) in beside {
        let server = Server::new();
        let exchange = scripted(&server, {
            let server = server.clone();
            move |arrival, _| {
                let server = server.clone();
                async move {
                    (arrival.method() == "tools/call").then(|| {
                        let answer = arrival.result_message(&server.execute(&arrival));
                        Ok(Reply::event_stream().chunk(bad).wait(seconds(50)).event(&answer))
                    })
                }
            }
        });
        let log = Log::default();
        let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
        assert_eq!(client.call_tool("peek", NOTHING).await.unwrap().text(), "did peek", "{bad}");
        assert_eq!(server.executed("peek"), 1, "{bad}");
        let dropped = log.of(EventName::MessageDropped);
        assert_eq!(dropped.len(), told, "{bad}");
        assert!(dropped.iter().all(|event| event.reason.as_deref().is_some_and(|reason| !reason.contains("half"))));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_not_waited_for_in_vain() {
    let cases: [(&str, u64); 3] = [
        // It bears the id: there is no other.
        ("data: {\"jsonrpc\":\"2.0\",\"id\": $id,\"result\":{\"text\":\"half\n\n", 0),
        // It may have been the answer.
        ("data: {\"jsonrpc\":\"2.0\",\"result\":{\"text\":\"half\n\n", 60),
        ("data: {\"jsonrpc\"\n\n", 60),
    ];
    for (bad, waited) in cases {
        let server = Server::new();
        let exchange = scripted(&server, {
            let server = server.clone();
            move |arrival, _| {
                let server = server.clone();
                async move {
                    (arrival.method() == "tools/call").then(|| {
                        server.execute(&arrival);
                        let bad = bad.replace("$id", &arrival.json_id().to_string());
                        Ok(Reply::event_stream().chunk(bad).never())
                    })
                }
            }
        });
        let client = connect(&exchange).await;
        let began = Instant::now();
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!(began.elapsed(), seconds(waited), "{bad}");
        assert_eq!((failure.execution, server.executed("poke")), (Execution::MayHaveExecuted, 1));
        assert_eq!(failure.kind, if waited == 0 { Kind::Protocol } else { Kind::Timeout });
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_under_another_name_is_the_answer() {
    let server = Server::new();
    let exchange = answering(&server, |reply, _, answer| {
        let noise = "event: error\ndata: {\"error\":\"upstream\"}\n\n";
        let log = "event: log\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
        reply.chunk(noise).chunk(log).chunk(format!("event: response\ndata: {answer}\n\n")).never()
    });
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let ears = Arc::clone(&heard);
    let client = builder(&exchange)
        .on_notification(move |notification| ears.lock().unwrap().push(notification.method.clone()))
        .connect()
        .await
        .unwrap();
    assert_eq!(client.call_tool("poke", NOTHING).await.unwrap().text(), "did poke");
    assert_eq!(*heard.lock().unwrap(), ["notifications/message"]);
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_without_its_blank_line_is_no_reason_for_a_second_run() {
    let ends: [fn(Reply) -> Reply; 3] =
        [|reply| reply, |reply| reply.broken(Cause::Reset), |reply| reply.wait(seconds(1)).broken(Cause::Closed)];
    for end in ends {
        for lacks in ["", "\n", "\r"] {
            let server = Server::new();
            let exchange = scripted(&server, {
                let server = server.clone();
                move |arrival, _| {
                    let server = server.clone();
                    async move {
                        (arrival.method() == "tools/call").then(|| {
                            let answer = arrival.result_message(&server.execute(&arrival));
                            Ok(end(Reply::event_stream().chunk(format!("id: 1\ndata: {answer}{lacks}"))))
                        })
                    }
                }
            });
            let client = connect(&exchange).await;
            for tool in ["peek", "poke"] {
                assert_eq!(client.call_tool(tool, NOTHING).await.unwrap().text(), format!("did {tool}"), "{lacks:?}");
                assert_eq!((server.executed(tool), exchange.ledger().count("resume")), (1, 0));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_without_its_blank_line_outlives_the_silence_behind_it() {
    let server = Server::new();
    let exchange = answering(&server, |reply, _, answer| reply.chunk(format!("data: {answer}\n")).never());
    let client = builder(&exchange).idle_timeout(milliseconds(300)).connect().await.unwrap();
    let began = Instant::now();
    assert_eq!(client.call_tool("peek", NOTHING).await.unwrap().text(), "did peek");
    assert_eq!((began.elapsed(), server.executed("peek")), (milliseconds(300), 1));
}

#[tokio::test(start_paused = true)]
async fn half_an_answer_is_none() {
    let server = Server::new();
    let exchange =
        answering(&server, |reply, _, answer| reply.chunk(format!("data: {}\n", answer.strip_suffix('}').unwrap())));
    let client = connect(&exchange).await;
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::StreamEnded, Execution::MayHaveExecuted));
}
