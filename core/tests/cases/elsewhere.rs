//! An answer that comes on another stream than that of its request: it is the answer, once, and nobody waits for it without a bound.

use std::sync::Arc;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Client, Execution, Kind};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::support::{NOTHING, builder, failure, milliseconds, scripted, seconds};

/// What is said on the GET stream, in order.
type Said = Arc<watch::Sender<Vec<Value>>>;

/// The stream says the nth thing when there is one; after the last it goes on as `end` says.
fn stream(said: &Said, count: usize, end: fn(Reply) -> Reply) -> Reply {
    let mut reply = Reply::event_stream();
    for nth in 0..count {
        let said = Arc::clone(said);
        reply = reply.later(async move {
            let mut said = said.subscribe();
            let said = said.wait_for(|said| said.len() > nth).await.unwrap();
            format!("data: {}\n\n", said[nth])
        });
    }
    end(reply)
}

/// Tools run, and are answered on the GET stream; what the POST itself gets is up to the test.
fn answering(server: &Server, count: usize, end: fn(Reply) -> Reply, post: fn() -> Option<Reply>) -> Arc<Scripted> {
    let said = Said::default();
    scripted(server, {
        let server = server.clone();
        move |arrival: Arrival, _| {
            let (server, said) = (server.clone(), Arc::clone(&said));
            async move {
                match arrival.method() {
                    "GET" => Some(Ok(stream(&said, count, end))),
                    "tools/call" => {
                        let result = server.execute(&arrival);
                        let message = match arrival.name() {
                            Some("nudge") => arrival.error_message(-32_000, "no"),
                            _ => arrival.result_message(&result),
                        };
                        said.send_modify(|said| said.push(message));
                        match post() {
                            Some(reply) => Some(Ok(reply)),
                            None => std::future::pending().await,
                        }
                    }
                    _ => None,
                }
            }
        }
    })
}

async fn listening(exchange: &Arc<Scripted>) -> Client {
    let client = builder(exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("GET", 1).await;
    sleep(milliseconds(10)).await;
    client
}

#[tokio::test(start_paused = true)]
async fn the_answer_is_taken_from_the_get_stream() {
    let posts: [fn() -> Option<Reply>; 3] = [|| Some(Reply::new(202)), || None, || Some(Reply::event_stream().never())];
    for post in posts {
        let server = Server::new();
        let exchange = answering(&server, 3, Reply::never, post);
        let client = listening(&exchange).await;
        for tool in ["poke", "peek"] {
            assert_eq!(client.call_tool(tool, NOTHING).await.unwrap().text(), format!("did {tool}"));
            assert_eq!(server.executed(tool), 1);
        }
        let error = client.call_tool("nudge", NOTHING).await.unwrap_err();
        assert_eq!((error.kind(), error.execution(), server.executed("nudge")), (Kind::Rpc, Execution::Answered, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_counts_also_if_the_stream_ends_right_behind_it() {
    for end in [|reply| reply, |reply: Reply| reply.broken(Cause::Reset)] {
        let server = Server::new();
        let exchange = answering(&server, 1, end, || Some(Reply::new(202)));
        let client = listening(&exchange).await;
        assert_eq!(client.call_tool("peek", NOTHING).await.unwrap().text(), "did peek");
        assert_eq!(server.executed("peek"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_twice_is_delivered_once() {
    let server = Server::new();
    let said = Said::default();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival: Arrival, _| {
            let (server, said) = (server.clone(), Arc::clone(&said));
            async move {
                match arrival.method() {
                    "GET" => Some(Ok(stream(&said, 4, Reply::never))),
                    "tools/call" => {
                        let message = arrival.result_message(&server.execute(&arrival));
                        said.send_modify(|said| said.extend([message.clone(), message.clone()]));
                        Some(Ok(Reply::event_stream().event(&message).event(&message)))
                    }
                    _ => None,
                }
            }
        }
    });
    let client = listening(&exchange).await;
    for tool in ["poke", "peek"] {
        assert_eq!(client.call_tool(tool, NOTHING).await.unwrap().text(), format!("did {tool}"));
        sleep(seconds(1)).await;
    }
    assert_eq!(server.executions().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_answer_is_taken_from_the_stream_of_another_call() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        let first: Arc<std::sync::Mutex<Value>> = Arc::default();
        move |arrival: Arrival, _| {
            let (server, first) = (server.clone(), Arc::clone(&first));
            async move {
                if arrival.method() != "tools/call" {
                    return None;
                }
                let message = arrival.result_message(&server.execute(&arrival));
                if arrival.name() == Some("poke") {
                    *first.lock().unwrap() = message;
                    return Some(Ok(Reply::event_stream().never()));
                }
                let first = first.lock().unwrap().clone();
                Some(Ok(Reply::event_stream().event(&first).wait(seconds(5)).event(&message)))
            }
        }
    });
    let client = builder(&exchange).connect().await.unwrap();
    let waiting = tokio::spawn(client.call_tool("poke", NOTHING).into_future());
    exchange.ledger().arrivals("tools/call", 1).await;
    let began = Instant::now();
    let other = tokio::spawn(client.call_tool("peek", NOTHING).into_future());
    assert_eq!(waiting.await.unwrap().unwrap().text(), "did poke");
    assert_eq!(began.elapsed(), seconds(0));
    assert_eq!(other.await.unwrap().unwrap().text(), "did peek");
    assert_eq!(server.executions().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_it_without_a_bound() {
    let silent: fn(Reply) -> Reply = |reply| reply.wait(seconds(30)).chunk(": here\n\n").never();
    type Case = (fn(Reply) -> Reply, Kind, u64, u64);
    let cases: [Case; 3] = [
        // The stream ends.
        (|reply| reply.wait(seconds(7)), Kind::Protocol, 6, 7),
        (|reply| reply.wait(seconds(7)).broken(Cause::Reset), Kind::Protocol, 6, 7),
        // It is silent for a minute.
        (silent, Kind::Timeout, 89, 90),
    ];
    for (end, kind, least, most) in cases {
        let server = Server::new();
        let exchange = answering(&server, 0, end, || Some(Reply::new(202)));
        let client = listening(&exchange).await;
        let began = Instant::now();
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert!(began.elapsed() >= seconds(least) && began.elapsed() <= seconds(most), "{:?}", began.elapsed());
        assert_eq!((failure.kind, failure.execution), (kind, Execution::MayHaveExecuted));
        assert_eq!(server.executed("poke"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn without_such_a_stream_202_is_no_answer_at_once() {
    for listens in [true, false] {
        let server = Server::new();
        let exchange =
            scripted(
                &server,
                |arrival, _| async move { (arrival.method() == "tools/call").then(|| Ok(Reply::new(202))) },
            );
        let client = builder(&exchange).listen(listens).connect().await.unwrap();
        sleep(seconds(1)).await;
        let began = Instant::now();
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((began.elapsed(), failure.kind), (seconds(0), Kind::Protocol));
    }
    // One that does not open is waited for two seconds.
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        match arrival.method() {
            "GET" => std::future::pending().await,
            "tools/call" => Some(Ok(Reply::new(202))),
            _ => None,
        }
    });
    let client = listening(&exchange).await;
    let began = Instant::now();
    assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::Protocol);
    assert_eq!(began.elapsed(), seconds(2));
}
