//! The server answers with a question, the host answers that, and the call goes on: several legs, each a request of its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Entry, Reply, Scripted, Server};
use oncewire::{Client, Execution, Kind, Lifecycle, Proof};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{NOTHING, either_era, failure, milliseconds, scripted, seconds};

/// What the leg asks for; the answer brings it back.
pub(crate) fn question(arrival: &Arrival, requests: &Value, state: &str) -> Reply {
    arrival.result(&json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state }))
}

pub(crate) fn elicitation() -> Value {
    json!({ "who": { "method": "elicitation/create", "params": { "message": "who?" } } })
}

/// The first `legs` legs ask who it is, the next one does what was asked for.
pub(crate) fn asking(server: &Server, legs: usize) -> Arc<Scripted> {
    scripted(server, move |arrival, _| async move {
        let asks = matches!(arrival.method(), "tools/call" | "resources/read" | "prompts/get");
        let leg = arrival.param("/requestState").and_then(Value::as_str).map_or(0, str::len);
        (asks && leg < legs).then(|| Ok(question(&arrival, &elicitation(), &"*".repeat(leg + 1))))
    })
}

/// A client whose user takes so long to say who it is.
pub(crate) async fn client(exchange: &Arc<Scripted>, takes: Duration) -> Client {
    let answer = move |_: Value| async move {
        sleep(takes).await;
        Ok(json!({ "action": "accept", "content": { "name": "a" } }))
    };
    either_era(exchange).on_elicitation(answer).connect().await.unwrap()
}

fn meta<'a>(entry: &'a Entry, key: &str) -> &'a Value {
    &entry.message["params"]["_meta"][key]
}

fn all_differ(values: &[Value]) {
    let texts: HashSet<_> = values.iter().map(Value::to_string).collect();
    assert_eq!(texts.len(), values.len(), "{values:?}");
}

#[tokio::test(start_paused = true)]
async fn each_leg_is_a_request_of_its_own_with_the_state_of_the_one_before() {
    let server = Server::modern();
    let exchange = asking(&server, 3);
    let client = client(&exchange, seconds(0)).await;
    client.call_tool("poke", json!({ "to": "b" })).idempotency_key("mine").await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    client.read_resource("mem://a").await.unwrap();
    client.get_prompt("hello", NOTHING).await.unwrap();
    assert_eq!(server.executed("poke"), 2);
    for (method, calls) in [("tools/call", 2), ("resources/read", 1), ("prompts/get", 1)] {
        let legs = exchange.ledger().of(method);
        assert_eq!(legs.len(), 4 * calls);
        all_differ(&legs.iter().map(|leg| leg.message["id"].clone()).collect::<Vec<_>>());
        for (number, leg) in legs.iter().enumerate() {
            let params = &leg.message["params"];
            let state = match number % 4 {
                0 => Value::Null,
                leg => Value::from("*".repeat(leg)),
            };
            assert_eq!(params["requestState"], state);
            let answers = json!({ "who": { "action": "accept", "content": { "name": "a" } } });
            assert_eq!(params["inputResponses"], if state.is_null() { Value::Null } else { answers });
        }
    }
    let legs = exchange.ledger().of("tools/call");
    let keys: Vec<_> = legs.iter().map(|leg| meta(leg, "dev.oncewire/idempotency-key").clone()).collect();
    all_differ(&keys);
    assert_eq!(keys[0], "mine");
    assert!(keys.iter().all(Value::is_string), "{keys:?}");
    assert!(legs.iter().all(|leg| *meta(leg, "dev.oncewire/attempt") == 1));
    assert!(legs[..4].iter().all(|leg| leg.message["params"]["arguments"] == json!({ "to": "b" })));
    assert_eq!(server.complaints(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn one_leg_may_ask_for_all_there_is_and_the_next_for_nothing() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        let all = json!({
            "b/who": { "method": "elicitation/create", "params": { "message": "who?" } },
            "a": { "method": "roots/list" },
            "": { "method": "sampling/createMessage", "params": { "maxTokens": 1 } },
        });
        match (arrival.method(), nth) {
            ("tools/call", 0) => Some(Ok(question(&arrival, &all, "\u{e9}\\\"\n{}"))),
            ("tools/call", 1) => {
                Some(Ok(arrival.result(&json!({ "resultType": "input_required", "requestState": "wait" }))))
            }
            ("tools/call", 2) => {
                let requests = json!({ "x": { "method": "roots/list", "params": {} } });
                Some(Ok(arrival.result(&json!({ "resultType": "input_required", "inputRequests": requests }))))
            }
            _ => None,
        }
    });
    let client = either_era(&exchange)
        .on_elicitation(|params| async move { Ok(json!({ "action": "accept", "content": params })) })
        .on_sampling(|params| async move { Ok(json!({ "model": "m", "tokens": params["maxTokens"] })) })
        .on_roots(|_| async move { Ok(json!({ "roots": [] })) })
        .connect()
        .await
        .unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    let legs: Vec<_> =
        exchange.ledger().of("tools/call").into_iter().map(|leg| leg.message["params"].clone()).collect();
    let answers = json!({
        "b/who": { "action": "accept", "content": { "message": "who?" } },
        "a": { "roots": [] },
        "": { "model": "m", "tokens": 1 },
    });
    assert_eq!((&legs[1]["inputResponses"], &legs[1]["requestState"]), (&answers, &json!("\u{e9}\\\"\n{}")));
    assert_eq!((legs[2].get("inputResponses"), &legs[2]["requestState"]), (None, &json!("wait")));
    assert_eq!((&legs[3]["inputResponses"], legs[3].get("requestState")), (&json!({ "x": { "roots": [] } }), None));
    assert_eq!(server.executed("poke"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_leg_is_judged_as_any_call_and_only_the_leg_is_sent_again() {
    for (tool, sent) in [("poke", 2), ("peek", 3)] {
        let server = Server::modern();
        let lost = server.clone();
        let exchange = scripted(&server, move |arrival, nth| {
            let lost = lost.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => Some(Ok(question(&arrival, &elicitation(), "*"))),
                    ("tools/call", 1) => {
                        lost.execute(&arrival);
                        Some(Err(Cause::Closed))
                    }
                    _ => None,
                }
            }
        });
        let client = client(&exchange, seconds(0)).await;
        let outcome = client.call_tool(tool, NOTHING).await;
        let legs = exchange.ledger().of("tools/call");
        assert_eq!(legs.len(), sent, "{tool}");
        if tool == "poke" {
            let failure = failure(outcome);
            assert_eq!((failure.kind, failure.execution), (Kind::ConnectionClosed, Execution::MayHaveExecuted));
            let verdicts: Vec<_> = failure.attempts.iter().map(|attempt| attempt.execution).collect();
            assert_eq!(verdicts, [Execution::Answered, Execution::MayHaveExecuted]);
        } else {
            outcome.unwrap();
            let key = "dev.oncewire/idempotency-key";
            assert_eq!(meta(&legs[1], key), meta(&legs[2], key), "the same leg");
            assert_ne!(meta(&legs[0], key), meta(&legs[1], key));
            let attempts: Vec<_> = legs.iter().map(|leg| meta(leg, "dev.oncewire/attempt").clone()).collect();
            assert_eq!(attempts, [1, 1, 2]);
            assert_eq!(legs[2].message["params"]["requestState"], "*");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leg_that_was_not_run_for_sure_is_sent_again_whatever_the_tool() {
    let causes: [fn() -> Result<Reply, Cause>; 3] =
        [|| Err(Cause::Refused), || Err(Cause::GoneAway), || Ok(Reply::new(429).header("retry-after", "1"))];
    for cause in causes {
        let server = Server::modern();
        let exchange = scripted(&server, move |arrival, nth| async move {
            match (arrival.method(), nth) {
                ("tools/call", 0) => Some(Ok(question(&arrival, &elicitation(), "*"))),
                // The second question is the twin of what was turned away.
                ("tools/call" | "server/discover", 1) => Some(cause()),
                _ => None,
            }
        });
        let client = client(&exchange, seconds(0)).await;
        client.call_tool("poke", NOTHING).await.unwrap();
        assert_eq!((server.executed("poke"), exchange.ledger().count("tools/call")), (1, 3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_leg_that_is_refused_leaves_the_call_in_doubt() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            ("tools/call", 0) => Some(Ok(question(&arrival, &elicitation(), "*"))),
            ("tools/call" | "server/discover", 1) => Some(Ok(Reply::text(413, "too much"))),
            _ => None,
        }
    });
    let failure = failure(client(&exchange, seconds(0)).await.call_tool("poke", NOTHING).await);
    assert_eq!((failure.execution, failure.proof), (Execution::MayHaveExecuted, None), "the first leg was answered");
    assert_eq!(failure.attempts[1].proof, Some(Proof::Rejected));
}

#[tokio::test(start_paused = true)]
async fn a_leg_is_for_the_era_that_asked_for_it() {
    let server = Server::modern();
    let exchange = asking(&server, 1);
    let rolled_back = server.clone();
    let client = either_era(&exchange)
        .on_elicitation(move |_| {
            rolled_back.change_era(Lifecycle::Legacy);
            async move { Ok(json!({ "action": "accept" })) }
        })
        .connect()
        .await
        .unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::MayHaveExecuted));
    assert_eq!((server.executed("poke"), client.era()), (0, Some(Lifecycle::Legacy)));
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_the_host_answers() {
    let server = Server::modern();
    let exchange = asking(&server, 3);
    let client = client(&exchange, seconds(60)).await;
    let began = Instant::now();
    client.call_tool("poke", NOTHING).timeout(milliseconds(500)).idle_timeout(milliseconds(500)).await.unwrap();
    assert!(began.elapsed() >= seconds(180));
}
