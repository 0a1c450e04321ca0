//! Where a call that asks for input ends: no handler, one that fails, too many legs, a result of a type that nobody knows, a caller
//! that leaves.

use oncewire::transport::scripted::{Reply, Server};
use oncewire::{EventName, Execution, HandlerError, Kind};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::input_required::{asking, client, elicitation, question};
use crate::support::{Log, NOTHING, connect, either_era, failure, scripted, seconds};

#[tokio::test(start_paused = true)]
async fn without_a_handler_the_question_is_the_end() {
    let server = Server::modern();
    let exchange = asking(&server, 1);
    let client = either_era(&exchange).connect().await.unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::MayHaveExecuted));
    assert!(failure.reason.contains("elicitation/create, for which the client has no handler"), "{}", failure.reason);
    assert_eq!(exchange.ledger().count("tools/call"), 1);
    let capabilities = "/params/_meta/io.modelcontextprotocol~1clientCapabilities";
    let advertised = exchange.ledger().of("tools/call")[0].message.pointer(capabilities).cloned();
    assert_eq!(advertised, Some(json!({})), "nothing was promised");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_or_panics_ends_its_call_alone() {
    let server = Server::modern();
    let exchange = asking(&server, 1);
    for panics in [false, true] {
        let client = either_era(&exchange)
            .on_elicitation(move |_| async move {
                assert!(!panics, "oh");
                Err::<Value, _>(HandlerError::from("nobody is there"))
            })
            .connect()
            .await
            .unwrap();
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((failure.kind, failure.execution), (Kind::Config, Execution::MayHaveExecuted));
        assert!(panics || failure.reason.contains("nobody is there"), "{}", failure.reason);
        client.complete(&json!({ "type": "ref/prompt", "name": "hello" }), "a", "b").await.unwrap();
        client.close().await;
    }
    assert_eq!(exchange.ledger().count("tools/call"), 2);
}

#[tokio::test(start_paused = true)]
async fn sixteen_legs_are_enough() {
    let server = Server::modern();
    let exchange = asking(&server, 15);
    client(&exchange, seconds(0)).await.call_tool("poke", NOTHING).await.unwrap();
    let exchange = asking(&server, usize::MAX);
    let failure = failure(client(&exchange, seconds(0)).await.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::MayHaveExecuted));
    assert_eq!(exchange.ledger().count("tools/call"), 16);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_can_read_is_no_answer() {
    let results = [
        json!({ "resultType": "input_required" }),
        json!({ "resultType": "input_required", "inputRequests": {} }),
        json!({ "resultType": "input_required", "inputRequests": { "a": 1 } }),
        json!({ "resultType": "of another world" }),
        json!({ "resultType": 7 }),
    ];
    for result in results {
        let server = Server::modern();
        let answer = result.clone();
        let exchange = scripted(&server, move |arrival, _| {
            let answer = answer.clone();
            async move { (arrival.method() == "tools/call").then(|| Ok(arrival.result(&answer))) }
        });
        let failure = failure(client(&exchange, seconds(0)).await.call_tool("poke", NOTHING).await);
        assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::MayHaveExecuted), "{result}");
        assert_eq!(exchange.ledger().count("tools/call"), 1, "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_no_result_also_if_its_members_could_be_read_as_one() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "tools/call").then(|| Ok(arrival.result(&json!(["complete"]))))
    });
    let error = client(&exchange, seconds(0)).await.call_tool("poke", NOTHING).await.unwrap_err();
    assert_eq!((error.kind(), error.execution()), (Kind::Protocol, Execution::Answered), "{error}");
    assert_eq!(exchange.ledger().count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn only_three_methods_may_ask_and_a_raw_request_is_the_hosts_to_read() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, _| async move {
        let asks = matches!(arrival.method(), "completion/complete" | "tools/call");
        asks.then(|| Ok(question(&arrival, &elicitation(), "*")))
    });
    let client = client(&exchange, seconds(0)).await;
    let reference = json!({ "type": "ref/prompt", "name": "hello" });
    assert_eq!(failure(client.complete(&reference, "a", "b").await).kind, Kind::Protocol);
    let raw = client.request("tools/call", json!({ "name": "poke" })).await.unwrap();
    let raw: Value = serde_json::from_str(raw.get()).unwrap();
    assert_eq!(raw["inputRequests"], elicitation());
    assert_eq!(exchange.ledger().count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn in_the_handshake_era_the_type_of_a_result_is_data() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "tools/call").then(|| Ok(question(&arrival, &elicitation(), "*")))
    });
    let result = connect(&exchange).await.call_tool("poke", NOTHING).await.unwrap();
    assert!(result.raw.get().contains("input_required"));
    assert_eq!(exchange.ledger().count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_while_the_host_answers_sends_nothing_more() {
    let server = Server::modern();
    let exchange = asking(&server, 1);
    let log = Log::default();
    let client = either_era(&exchange)
        .on_event(log.observer())
        .on_elicitation(|_| async move {
            sleep(seconds(30)).await;
            Ok(json!({ "action": "accept" }))
        })
        .connect()
        .await
        .unwrap();
    assert!(timeout(seconds(10), client.call_tool("poke", NOTHING).into_future()).await.is_err());
    let sent = exchange.ledger().len();
    sleep(seconds(300)).await;
    assert_eq!(exchange.ledger().len(), sent);
    let finished = log.of(EventName::CallFinished);
    assert_eq!(finished.len(), 1);
    assert_eq!(finished[0].kind, Some(Kind::Cancelled));
    assert_eq!(finished[0].execution, Some(Execution::MayHaveExecuted), "it was asked something, and not told more");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_while_the_host_answers_sends_nothing_more() {
    let server = Server::modern();
    let exchange = asking(&server, 1);
    let client = client(&exchange, seconds(30)).await;
    let running = tokio::spawn(client.call_tool("poke", NOTHING).into_future());
    exchange.ledger().arrivals("tools/call", 1).await;
    sleep(seconds(1)).await;
    client.close().await;
    let failure = failure(running.await.unwrap());
    assert_eq!((failure.kind, failure.execution), (Kind::Closed, Execution::MayHaveExecuted));
    sleep(seconds(300)).await;
    assert_eq!(exchange.ledger().methods(), ["server/discover", "tools/list", "tools/call"]);
    assert_eq!(server.executed("poke"), 0);
}

#[tokio::test(start_paused = true)]
async fn more_questions_than_handlers_wait_for_their_turn() {
    let server = Server::modern();
    let requests: Value = (0..40)
        .map(|number| (number.to_string(), json!({ "method": "elicitation/create" })))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let exchange = scripted(&server, move |arrival, nth| {
        let requests = requests.clone();
        async move { (arrival.method() == "tools/call" && nth == 0).then(|| Ok(question(&arrival, &requests, "*"))) }
    });
    client(&exchange, seconds(1)).await.call_tool("poke", NOTHING).await.unwrap();
    let answers = exchange.ledger().of("tools/call")[1].message["params"]["inputResponses"].clone();
    assert_eq!(answers.as_object().unwrap().len(), 40);
}

#[tokio::test(start_paused = true)]
async fn a_question_on_a_stream_is_read_like_any_other_result() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        let asked = json!({ "resultType": "input_required", "requestState": "*" });
        let reply = Reply::event_stream().event(&arrival.progress(1.0).unwrap_or_default());
        (arrival.method() == "tools/call" && nth == 0).then(|| Ok(reply.event(&arrival.result_message(&asked))))
    });
    let client = client(&exchange, seconds(0)).await;
    client.call_tool("poke", NOTHING).on_progress(|_| {}).await.unwrap();
    assert_eq!(server.executed("poke"), 1);
}
