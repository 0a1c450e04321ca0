//! In the modern era the tools are listed before the first of them is called, because their headers are in their schemas.

use std::sync::{Arc, Mutex};

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{Client, EventName};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Gate, Log, NOTHING, at_once, either_era, hang, milliseconds, scripted, seconds};

async fn poke(client: &Client, callers: usize) {
    let calls = at_once(callers, |_| {
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    for outcome in calls.await {
        outcome.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_callers_cost_one_list_and_the_next_none() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "tools/list" {
            sleep(milliseconds(300)).await;
        }
        None
    });
    let client = either_era(&exchange).connect().await.unwrap();
    poke(&client, 16).await;
    poke(&client, 16).await;
    assert_eq!(exchange.ledger().methods()[..3], ["server/discover", "tools/list", "tools/call"]);
    assert_eq!((exchange.ledger().count("tools/list"), server.executed("poke")), (1, 32));
    client.recover().await.unwrap();
    poke(&client, 1).await;
    assert_eq!(exchange.ledger().count("tools/list"), 2, "a new generation is asked anew");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_the_host_asked_for_is_enough() {
    let exchange = Server::modern().exchange();
    let client = either_era(&exchange).connect().await.unwrap();
    client.list_tools().await.unwrap();
    poke(&client, 3).await;
    client.read_resource("mem://a").await.unwrap();
    assert_eq!(exchange.ledger().count("tools/list"), 1);
    let exchange = Server::new().exchange();
    let client = either_era(&exchange).connect().await.unwrap();
    poke(&client, 3).await;
    assert_eq!(exchange.ledger().count("tools/list"), 0, "the handshake era has no such headers");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_costs_two_seconds_at_most_and_once() {
    for hangs in [true, false] {
        let server = Server::modern();
        let exchange = scripted(&server, move |arrival, _| async move {
            match arrival.method() {
                "tools/list" if hangs => hang(&arrival).await,
                "tools/list" => Some(Ok(Reply::text(500, "broken"))),
                _ => None,
            }
        });
        let client = either_era(&exchange).connect().await.unwrap();
        let began = Instant::now();
        poke(&client, 16).await;
        let took = began.elapsed();
        assert!(
            if hangs { took >= seconds(2) && took < milliseconds(2_010) } else { took < milliseconds(10) },
            "{took:?}"
        );
        poke(&client, 16).await;
        assert!(began.elapsed() < milliseconds(2_010));
        assert_eq!((exchange.ledger().count("tools/list"), server.executed("poke")), (1, 32));
        assert!(exchange.ledger().open().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_while_it_asks_leaves_the_asking_to_the_next() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        if arrival.method() == "tools/list" && nth == 0 { hang(&arrival).await } else { None }
    });
    let client = either_era(&exchange).connect().await.unwrap();
    assert!(timeout(seconds(1), client.call_tool("poke", NOTHING).into_future()).await.is_err());
    poke(&client, 3).await;
    assert_eq!((exchange.ledger().count("tools/list"), server.executed("poke")), (2, 3));
}

/// A server that announces its tools' changes, on a stream that says so at each opening of the gate.
fn announcing(server: &Server, gate: &Gate, during_list: bool) -> Arc<Scripted> {
    let gate = gate.clone();
    scripted(server, move |arrival, nth| {
        let gate = gate.clone();
        async move {
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            match arrival.method() {
                "server/discover" => {
                    Some(Ok(Server::discovery(&arrival, &json!({ "tools": { "listChanged": true } }))))
                }
                "subscriptions/listen" => {
                    let reply = Reply::event_stream().event(&arrival.acknowledgement());
                    Some(Ok(reply.until(async move { gate.pass().await }).event(&changed).never()))
                }
                "tools/list" if during_list && nth == 0 => {
                    let list = arrival.result_message(&json!({ "tools": [{ "name": "poke", "inputSchema": {} }] }));
                    Some(Ok(Reply::event_stream().event(&changed).event(&list)))
                }
                _ => None,
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_tools_is_asked_about_before_the_next_call() {
    let (server, gate) = (Server::modern(), Gate::new());
    let exchange = announcing(&server, &gate, false);
    let client = either_era(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("subscriptions/listen", 1).await;
    poke(&client, 2).await;
    gate.open();
    sleep(milliseconds(1)).await;
    assert_eq!(exchange.ledger().count("tools/list"), 1, "nobody wants to know yet");
    poke(&client, 16).await;
    assert_eq!(exchange.ledger().count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_change_while_the_list_is_read_is_asked_about_too() {
    let (server, gate) = (Server::modern(), Gate::new());
    let exchange = announcing(&server, &gate, true);
    let client = either_era(&exchange).connect().await.unwrap();
    poke(&client, 1).await;
    poke(&client, 1).await;
    poke(&client, 1).await;
    assert_eq!(exchange.ledger().count("tools/list"), 2, "the first list was old when it came");
}

#[tokio::test(start_paused = true)]
async fn arguments_go_into_the_headers_that_the_schema_names() {
    let server = Server::modern();
    let seen: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let told = Arc::clone(&seen);
    let exchange = scripted(&server, move |arrival, _| {
        let told = Arc::clone(&told);
        async move {
            if arrival.method() == "tools/call" {
                told.lock().unwrap().push(arrival.header("mcp-param-region").map(str::to_owned));
            }
            let region = json!({ "type": "string", "x-mcp-header": "Region" });
            let tools = json!({ "tools": [
                { "name": "poke", "inputSchema": { "type": "object", "properties": { "region": region } } },
                { "name": "odd", "inputSchema": { "type": "object", "x-mcp-header": "Root" } },
            ] });
            (arrival.method() == "tools/list").then(|| Ok(arrival.result(&tools)))
        }
    });
    let log = Log::default();
    let client = either_era(&exchange).on_event(log.observer()).connect().await.unwrap();
    for arguments in [json!({ "region": "west" }), json!({ "region": " w" }), json!({ "region": null }), NOTHING] {
        client.call_tool("poke", arguments).await.unwrap();
    }
    let west = |text: &str| Some(text.to_owned());
    assert_eq!(*seen.lock().unwrap(), [west("west"), west("=?base64?IHc=?="), None, None]);
    assert!(log.of(EventName::ToolDropped).is_empty(), "the host was offered nothing");
    let offered: Vec<_> = client.list_tools().await.unwrap().items.into_iter().map(|tool| tool.name).collect();
    assert_eq!(offered, ["poke"]);
    let dropped = log.of(EventName::ToolDropped);
    assert_eq!((dropped.len(), dropped[0].name.as_deref()), (1, Some("odd")));
    assert!(dropped[0].reason.as_deref().is_some_and(|reason| reason.contains("x-mcp-header")));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_expired_costs_no_headers() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, _| async move {
        let old = arrival.header("authorization") == Some("Bearer token-0");
        let refused = Reply::new(401).header("www-authenticate", "Bearer");
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        let tools = json!({ "tools": [
            { "name": "poke", "inputSchema": { "type": "object", "properties": { "region": region } } },
        ] });
        match arrival.method() {
            "tools/list" | "tools/call" if old => Some(Ok(refused)),
            "tools/list" => Some(Ok(arrival.result(&tools))),
            "tools/call" if arrival.header("mcp-param-region").is_none() => Some(Err(Cause::Other)),
            _ => None,
        }
    });
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let client = either_era(&exchange)
        .token_provider(move |_| {
            let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async move { Ok(format!("token-{number}")) }
        })
        .connect()
        .await
        .unwrap();
    client.call_tool("poke", json!({ "region": "west" })).await.unwrap();
    assert_eq!(server.executed("poke"), 1);
}
