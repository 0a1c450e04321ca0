//! Results that are kept as long as the server allows it, where the host asks for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{EventName, Execution, Kind};
use serde_json::json;
use tokio::time::{Instant, advance, sleep};

use crate::input_required::{elicitation, question};
use crate::support::{Gate, Log, NOTHING, either_era, milliseconds, seconds};

/// Lists and reads may be kept for a minute, by everybody or by one login. What changes is told when the gate opens.
fn keepable(server: &Server, scope: &'static str, gate: &Gate) -> Arc<Scripted> {
    let gate = gate.clone();
    server.scripted(move |arrival, server| {
        let gate = gate.clone();
        async move {
            let changed = |what: &str, params| json!({ "jsonrpc": "2.0", "method": what, "params": params });
            match arrival.method() {
                "server/discover" => {
                    Ok(Server::discovery(&arrival, &json!({ "tools": { "listChanged": true }, "resources": {} })))
                }
                "subscriptions/listen" => Ok(Reply::event_stream()
                    .event(&arrival.acknowledgement())
                    .until(async move { gate.pass().await })
                    .event(&changed("notifications/tools/list_changed", json!({})))
                    .event(&changed("notifications/resources/updated", json!({ "uri": "mem://a" })))
                    .never()),
                method if method.ends_with("/list") || method == "resources/read" => {
                    let mut result = server.execute(&arrival);
                    result["ttlMs"] = json!(60_000);
                    result["cacheScope"] = json!(scope);
                    Ok(arrival.result(&result))
                }
                _ => server.answer(&arrival).await,
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn what_may_be_kept_is_answered_from_memory_until_it_is_old() {
    let (server, gate) = (Server::modern(), Gate::new());
    let exchange = keepable(&server, "public", &gate);
    let log = Log::default();
    let client = either_era(&exchange).cache(true).on_event(log.observer()).connect().await.unwrap();
    for _ in 0..3 {
        assert_eq!(client.list_tools().await.unwrap().items.len(), 3);
        client.list_resources().await.unwrap();
        assert_eq!(client.read_resource("mem://a").await.unwrap().contents.len(), 1);
        client.get_prompt("hello", NOTHING).await.unwrap();
        client.call_tool("poke", NOTHING).await.unwrap();
        sleep(seconds(10)).await;
    }
    let count = |method| exchange.ledger().count(method);
    assert_eq!((count("tools/list"), count("resources/list"), count("resources/read")), (1, 1, 1));
    assert_eq!((count("prompts/get"), server.executed("poke")), (3, 3), "these are not kept");
    assert_eq!(log.of(EventName::CallFinished).len(), 15, "each call has its end");
    advance(seconds(40)).await;
    client.read_resource("mem://a").await.unwrap();
    assert_eq!(exchange.ledger().count("resources/read"), 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_unless_the_host_asks_and_the_server_allows_it() {
    let gate = Gate::new();
    for (asked, exchange) in
        [(false, keepable(&Server::modern(), "public", &gate)), (true, Server::modern().exchange())]
    {
        let client = either_era(&exchange).cache(asked).connect().await.unwrap();
        client.read_resource("mem://a").await.unwrap();
        client.read_resource("mem://a").await.unwrap();
        assert_eq!(exchange.ledger().count("resources/read"), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_has_changed_is_asked_for_again() {
    let (server, gate) = (Server::modern(), Gate::new());
    let exchange = keepable(&server, "public", &gate);
    let client = either_era(&exchange).cache(true).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("subscriptions/listen", 1).await;
    let ask = async || {
        client.list_tools().await.unwrap();
        client.list_resources().await.unwrap();
        client.read_resource("mem://a").await.unwrap();
        client.read_resource("mem://b").await.unwrap();
    };
    ask().await;
    gate.open();
    sleep(milliseconds(1)).await;
    ask().await;
    let count = |method| exchange.ledger().count(method);
    assert_eq!((count("tools/list"), count("resources/list"), count("resources/read")), (2, 1, 3));
    client.recover().await.unwrap();
    ask().await;
    let count = |method| exchange.ledger().count(method);
    assert_eq!((count("tools/list"), count("resources/list"), count("resources/read")), (3, 2, 5), "another server");
}

#[tokio::test(start_paused = true)]
async fn what_is_private_is_for_the_login_that_asked() {
    for (scope, reads) in [("public", 1), ("private", 2)] {
        let exchange = Server::modern().scripted(move |arrival, server| {
            let expired =
                arrival.method() == "prompts/get" && arrival.header("authorization") == Some("Bearer token-0");
            async move {
                match arrival.method() {
                    _ if expired => Ok(Reply::new(401).header("www-authenticate", "Bearer")),
                    "resources/read" => {
                        let mut result = server.execute(&arrival);
                        result["ttlMs"] = json!(60_000);
                        result["cacheScope"] = json!(scope);
                        Ok(arrival.result(&result))
                    }
                    _ => server.answer(&arrival).await,
                }
            }
        });
        let count = Arc::new(AtomicUsize::new(0));
        let client = either_era(&exchange)
            .cache(true)
            .token_provider(move |_| {
                let number = count.fetch_add(1, Ordering::Relaxed);
                async move { Ok(format!("token-{number}")) }
            })
            .connect()
            .await
            .unwrap();
        client.read_resource("mem://a").await.unwrap();
        client.read_resource("mem://a").await.unwrap();
        assert_eq!(exchange.ledger().count("resources/read"), 1, "{scope}: the same login");
        client.get_prompt("hello", NOTHING).await.unwrap();
        client.read_resource("mem://a").await.unwrap();
        assert_eq!(exchange.ledger().count("resources/read"), reads, "{scope}: another token");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_private_is_for_whoever_the_headers_of_that_request_named() {
    for (scope, reads) in [("public", 1), ("private", 2)] {
        let exchange = keepable(&Server::modern(), scope, &Gate::new());
        let user = Arc::new(Mutex::new("anna"));
        let asked = Arc::new(AtomicUsize::new(0));
        let client = either_era(&exchange)
            .cache(true)
            .header("x-team", "blue")
            .header_provider({
                let (user, asked) = (Arc::clone(&user), Arc::clone(&asked));
                move || {
                    let user = user.lock().unwrap().to_owned();
                    let number = asked.fetch_add(1, Ordering::Relaxed);
                    let headers = vec![("x-user".to_owned(), user), ("traceparent".to_owned(), number.to_string())];
                    async move { Ok(headers) }
                }
            })
            .connect()
            .await
            .unwrap();
        let reads_as = async |name| {
            *user.lock().unwrap() = name;
            client.read_resource("mem://a").await.unwrap();
            exchange.ledger().count("resources/read")
        };
        assert_eq!(reads_as("anna").await, 1, "{scope}");
        assert_eq!(asked.load(Ordering::Relaxed), exchange.ledger().len(), "nothing is kept that it hangs on");
        assert_eq!(reads_as("anna").await, 1, "{scope}: the same person");
        assert_eq!(reads_as("bert").await, reads, "{scope}: another person");
        assert_eq!(reads_as("bert").await, reads, "{scope}");
        assert_eq!(reads_as("anna").await, reads, "{scope}: what was hers is hers still");
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_who_changes_while_it_is_asked_gets_what_the_answer_was_asked_with() {
    let (server, gate, changed) = (Server::modern(), Gate::new(), Gate::new());
    let user = Arc::new(Mutex::new("anna"));
    let exchange = server.scripted({
        let (gate, changed) = (gate.clone(), changed.clone());
        move |arrival, server| {
            let (gate, changed) = (gate.clone(), changed.clone());
            async move {
                if arrival.method() != "resources/read" {
                    return server.answer(&arrival).await;
                }
                changed.open();
                gate.pass().await;
                let mut result = server.execute(&arrival);
                result["ttlMs"] = json!(60_000);
                result["cacheScope"] = json!("private");
                Ok(arrival.result(&result))
            }
        }
    });
    let client = either_era(&exchange)
        .cache(true)
        .header_provider({
            let user = Arc::clone(&user);
            move || {
                let headers = vec![("x-user".to_owned(), user.lock().unwrap().to_owned())];
                async move { Ok(headers) }
            }
        })
        .connect()
        .await
        .unwrap();
    let reading = tokio::spawn({
        let client = client.clone();
        async move { client.read_resource("mem://a").await }
    });
    changed.pass().await;
    *user.lock().unwrap() = "bert";
    gate.open();
    reading.await.unwrap().unwrap();
    client.read_resource("mem://a").await.unwrap();
    assert_eq!(exchange.ledger().count("resources/read"), 2, "it was asked for by another one");
}

#[tokio::test(start_paused = true)]
async fn what_the_host_had_to_answer_for_is_not_kept() {
    let server = Server::modern();
    let exchange = server.scripted(|arrival, server| async move {
        if arrival.method() != "resources/read" {
            return server.answer(&arrival).await;
        }
        if arrival.param("/requestState").is_none() {
            return Ok(question(&arrival, &elicitation(), "*"));
        }
        let mut result = server.execute(&arrival);
        result["ttlMs"] = json!(60_000);
        Ok(arrival.result(&result))
    });
    let client = either_era(&exchange)
        .cache(true)
        .on_elicitation(|_| async move { Ok(json!({ "action": "accept" })) })
        .connect()
        .await
        .unwrap();
    client.read_resource("mem://a").await.unwrap();
    client.read_resource("mem://a").await.unwrap();
    assert_eq!(server.executed("resources/read"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_answers_nothing_from_memory() {
    let (server, gate) = (Server::modern(), Gate::new());
    let exchange = keepable(&server, "public", &gate);
    let client = either_era(&exchange).cache(true).connect().await.unwrap();
    client.read_resource("mem://a").await.unwrap();
    let began = Instant::now();
    client.close().await;
    let error = client.read_resource("mem://a").await.unwrap_err();
    assert_eq!((error.kind(), error.execution()), (Kind::Closed, Execution::NotExecuted));
    assert_eq!(began.elapsed(), seconds(0));
}
