//! Reading on after a cut: the lossless way back, with a bound, and never a second execution.

use std::sync::Arc;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{EventName, Execution, Kind, Phase};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Log, NOTHING, builder, connect, failure, milliseconds, scripted, seconds};

/// What the nth GET that reads on gets; `None` delivers the answer.
type Resumed = fn(usize) -> Option<Result<Reply, Cause>>;

/// The first tool call runs and is cut after an event id; what each GET that reads on gets is up to the test.
fn cutting(server: &Server, retry: Option<u64>, resumed: Resumed) -> Arc<Scripted> {
    let answer: Arc<std::sync::Mutex<Value>> = Arc::default();
    scripted(server, {
        let server = server.clone();
        move |arrival: Arrival, nth| {
            let (server, answer) = (server.clone(), Arc::clone(&answer));
            async move {
                match (arrival.method(), nth) {
                    ("tools/call" | "resources/read", 0) => {
                        *answer.lock().unwrap() = arrival.result_message(&server.execute(&arrival));
                        let mut reply = Reply::event_stream().event_with_id("event-0", &NOTHING);
                        if let Some(retry) = retry {
                            reply = reply.retry(retry);
                        }
                        Some(Ok(reply.wait(milliseconds(100)).broken(Cause::Reset)))
                    }
                    ("resume", nth) => {
                        arrival.take();
                        Some(resumed(nth).unwrap_or_else(|| Ok(Reply::event_stream().event(&answer.lock().unwrap()))))
                    }
                    _ => None,
                }
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_resumed_stream_delivers_the_answer_of_the_one_execution() {
    let server = Server::new();
    let exchange = cutting(&server, None, |_| None);
    let log = Log::default();
    let client = builder(&exchange).on_event(log.observer()).connect().await.unwrap();
    let result = client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((result.text().as_str(), server.executed("poke")), ("did poke", 1));
    let gets = exchange.ledger().of("resume");
    assert_eq!(gets.len(), 1);
    assert_eq!((gets[0].header("last-event-id"), gets[0].session()), (Some("event-0"), Some("session-1")));
    assert_eq!((log.of(EventName::Resuming).len(), log.of(EventName::Resumed).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_servers_retry_is_waited_for_before_each_resume() {
    let server = Server::new();
    // Polling: it ends with new ids five times, then delivers.
    let exchange = cutting(&server, Some(200), |nth| {
        (nth < 5).then(|| Ok(Reply::event_stream().event_with_id(&format!("event-{}", nth + 1), &NOTHING)))
    });
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    let gets = exchange.ledger().of("resume");
    assert_eq!(gets.len(), 6);
    let ids: Vec<_> = gets.iter().map(|get| get.header("last-event-id").unwrap().to_owned()).collect();
    assert_eq!(ids, ["event-0", "event-1", "event-2", "event-3", "event-4", "event-5"]);
    let call = &exchange.ledger().of("tools/call")[0];
    assert_eq!(gets[0].at - call.over.unwrap().0, milliseconds(200));
    assert!(gets.windows(2).all(|pair| pair[1].at - pair[0].over.unwrap().0 == milliseconds(200)));
    assert_eq!(server.executed("poke"), 1);
}

#[tokio::test(start_paused = true)]
async fn three_resumes_without_a_new_event_id_end_it() {
    let server = Server::new();
    let exchange = cutting(&server, Some(1_000), |_| Some(Ok(Reply::event_stream())));
    let client = connect(&exchange).await;
    let began = Instant::now();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(began.elapsed(), milliseconds(3_100));
    assert_eq!((failure.kind, failure.execution), (Kind::StreamEnded, Execution::MayHaveExecuted));
    assert_eq!(failure.phase, Phase::Resuming);
    assert_eq!((exchange.ledger().count("resume"), exchange.ledger().count("tools/call")), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_get_that_brings_no_head_counts_as_an_empty_resume() {
    let server = Server::new();
    let exchange = cutting(&server, Some(10), |nth| if nth < 2 { Some(Err(Cause::Refused)) } else { None });
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    let exchange = cutting(&server, Some(10), |_| Some(Err(Cause::Refused)));
    let client = connect(&exchange).await;
    assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::StreamEnded);
    assert_eq!(exchange.ledger().count("resume"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_refused_resume_settles_at_once() {
    let refusals: [Resumed; 5] = [
        |_| Some(Ok(Reply::new(400))),
        |_| Some(Ok(Reply::new(401))),
        |_| Some(Ok(Reply::new(404))),
        |_| Some(Ok(Reply::new(405))),
        |_| Some(Ok(Reply::text(200, "hello"))),
    ];
    for resumed in refusals {
        let server = Server::new();
        let exchange = cutting(&server, None, resumed);
        let client = connect(&exchange).await;
        let began = Instant::now();
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!(began.elapsed(), milliseconds(100));
        assert_eq!((failure.kind, failure.execution), (Kind::StreamEnded, Execution::MayHaveExecuted));
        assert!(failure.reason.contains("resuming it was answered HTTP"), "{}", failure.reason);
        assert_eq!((exchange.ledger().count("resume"), exchange.ledger().count("tools/call")), (1, 1));
        assert_eq!(exchange.ledger().count("initialize"), 1, "a GET says nothing of the session");
    }
}

#[tokio::test(start_paused = true)]
async fn trouble_of_the_moment_is_one_empty_resume() {
    let troubles: [Resumed; 8] = [
        |nth| (nth < 2).then(|| Ok(Reply::new(408))),
        |nth| (nth < 2).then(|| Ok(Reply::new(409))),
        |nth| (nth < 2).then(|| Ok(Reply::new(425))),
        |nth| (nth < 2).then(|| Ok(Reply::new(429))),
        |nth| (nth < 2).then(|| Ok(Reply::new(500))),
        |nth| (nth < 2).then(|| Ok(Reply::new(502))),
        |nth| (nth < 2).then(|| Ok(Reply::new(503))),
        |nth| (nth < 2).then(|| Ok(Reply::new(504))),
    ];
    for resumed in troubles {
        let server = Server::new();
        let exchange = cutting(&server, None, resumed);
        let client = connect(&exchange).await;
        assert_eq!(client.call_tool("poke", NOTHING).await.unwrap().text(), "did poke");
        assert_eq!((exchange.ledger().count("resume"), server.executed("poke")), (3, 1));
    }
    let exchange = cutting(&Server::new(), None, |_| Some(Ok(Reply::new(503))));
    let client = connect(&exchange).await;
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::StreamEnded, Execution::MayHaveExecuted));
    assert!(failure.reason.contains("resuming it was answered HTTP 503"), "{}", failure.reason);
    assert_eq!(exchange.ledger().count("resume"), 3);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for_before_the_next_resume_and_no_longer_than_a_minute() {
    let exchange =
        cutting(&Server::new(), Some(200), |nth| (nth == 0).then(|| Ok(Reply::new(429).header("retry-after", "7"))));
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    let gets = exchange.ledger().of("resume");
    assert_eq!(gets[1].at - gets[0].at, seconds(7));
    let exchange = cutting(&Server::new(), None, |_| Some(Ok(Reply::new(503).header("retry-after", "61"))));
    let client = connect(&exchange).await;
    let began = Instant::now();
    assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::StreamEnded);
    assert_eq!((began.elapsed(), exchange.ledger().count("resume")), (milliseconds(100), 1));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_while_reading_on_is_renewed_once() {
    let server = Server::new();
    let exchange = cutting(&server, None, |nth| (nth == 0).then(|| Ok(Reply::new(401))));
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let asking = Arc::clone(&asked);
    let client = builder(&exchange)
        .token_provider(move |refused| {
            asking.lock().unwrap().push(refused.clone());
            async move { Ok(if refused.is_some() { "second" } else { "first" }.to_owned()) }
        })
        .connect()
        .await
        .unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [None, Some("first".to_owned())]);
    let tokens: Vec<_> =
        exchange.ledger().of("resume").iter().map(|get| get.headers["authorization"].clone()).collect();
    assert_eq!(tokens, ["Bearer first", "Bearer second"]);
    assert_eq!(server.executed("poke"), 1);

    let exchange = cutting(&Server::new(), None, |_| Some(Ok(Reply::new(401))));
    let client = builder(&exchange)
        .token_provider(|refused| async move { refused.map_or(Ok("first".to_owned()), |_| Err("no more".into())) })
        .connect()
        .await
        .unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.execution, exchange.ledger().count("resume")), (Execution::MayHaveExecuted, 1));
    assert!(failure.reason.contains("no more"), "{}", failure.reason);
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_resume_is_refused_is_sent_again() {
    let server = Server::new();
    let exchange = cutting(&server, None, |_| Some(Ok(Reply::new(405))));
    let client = connect(&exchange).await;
    client.read_resource("mem://a").await.unwrap();
    assert_eq!(exchange.ledger().count("resources/read"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_retry_above_a_minute_or_past_the_deadline_is_not_waited_for() {
    for (retry, deadline) in [(60_001, None), (5_000, Some(seconds(4)))] {
        let server = Server::new();
        let exchange = cutting(&server, Some(retry), |_| None);
        let client = connect(&exchange).await;
        let mut call = client.call_tool("poke", NOTHING);
        if let Some(deadline) = deadline {
            call = call.timeout(deadline);
        }
        let began = Instant::now();
        let failure = failure(call.await);
        assert_eq!(began.elapsed(), milliseconds(100), "retry: {retry}");
        assert_eq!((failure.kind, failure.execution), (Kind::StreamEnded, Execution::MayHaveExecuted));
        assert_eq!(exchange.ledger().count("resume"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_a_minute_is_waited_for() {
    let server = Server::new();
    let exchange = cutting(&server, Some(60_000), |_| None);
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("resume"), 1);
}

#[tokio::test(start_paused = true)]
async fn silence_on_a_resumed_stream_is_borne_for_the_orphan_timeout() {
    let server = Server::new();
    let exchange = cutting(&server, None, |_| Some(Ok(Reply::event_stream().chunk(": here\n\n").never())));
    let client = builder(&exchange).orphan_timeout(seconds(20)).connect().await.unwrap();
    let began = Instant::now();
    let silent = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(began.elapsed(), milliseconds(20_100));
    assert_eq!((silent.kind, silent.execution), (Kind::Timeout, Execution::MayHaveExecuted));
    assert_eq!(server.executed("poke"), 1);
    let exchange = cutting(&server, None, |_| {
        let mut reply = Reply::event_stream();
        for _ in 0..10 {
            reply = reply.wait(seconds(15)).chunk(": here\n\n");
        }
        Some(Ok(reply
            .event_with_id("event-9", &json!({ "jsonrpc": "2.0", "method": "notifications/message" }))
            .never()))
    });
    let client = builder(&exchange).orphan_timeout(seconds(20)).connect().await.unwrap();
    let began = Instant::now();
    failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(began.elapsed(), milliseconds(100) + seconds(170), "bytes of any kind hold it off");
}

#[tokio::test(start_paused = true)]
async fn an_event_id_that_was_taken_back_or_cannot_be_sent_is_not_resumed() {
    for chunk in ["id: a\ndata:\n\nid:\ndata:\n\n", ": nothing\n\n"] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, _| async move {
            (arrival.method() == "tools/call").then(|| Ok(Reply::event_stream().chunk(chunk)))
        });
        let client = connect(&exchange).await;
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((failure.kind, failure.phase), (Kind::StreamEnded, Phase::Streaming));
        assert_eq!(exchange.ledger().count("resume"), 0);
    }
}
