//! Lists: opaque cursors, the end of endless ones, and a session that is replaced in the middle.

use std::sync::Arc;

use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{EventName, Execution, Kind, Proof};
use serde_json::{Value, json};

use crate::support::{Log, NOTHING, builder, connect, failure, scripted};

/// A page for each cursor: `pages` maps what was asked for to the next cursor.
fn paged(server: &Server, pages: fn(Option<&str>, Option<&str>) -> Option<String>) -> Arc<Scripted> {
    scripted(server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                if arrival.method() != "resources/list" || !server.knows(&arrival) {
                    return None;
                }
                let cursor = arrival.param("/cursor").and_then(Value::as_str);
                let mut page =
                    json!({ "resources": [{ "uri": format!("mem://{}", cursor.unwrap_or("first")), "name": "x" }] });
                if let Some(next) = pages(cursor, arrival.session()) {
                    page["nextCursor"] = json!(next);
                }
                Some(Ok(arrival.result(&page)))
            }
        }
    })
}

fn cursors(exchange: &Scripted) -> Vec<Value> {
    exchange.ledger().of("resources/list").iter().map(|entry| entry.message["params"]["cursor"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_empty_cursor_is_a_cursor() {
    let exchange = paged(&Server::new(), |cursor, _| cursor.is_none().then(String::new));
    let client = connect(&exchange).await;
    let list = client.list_resources().await.unwrap();
    assert_eq!(list.items.len(), 2);
    assert_eq!(cursors(&exchange), [Value::Null, json!("")]);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_comes_again_is_a_typed_error() {
    let exchange = paged(&Server::new(), |_, _| Some("again".to_owned()));
    let client = connect(&exchange).await;
    let failure = failure(client.list_resources().await);
    assert_eq!((failure.kind, failure.execution), (Kind::Protocol, Execution::MayHaveExecuted));
    assert_eq!(cursors(&exchange), [Value::Null, json!("again")]);
    assert!(failure.reason.contains("cursor"), "{}", failure.reason);
}

#[tokio::test(start_paused = true)]
async fn pages_are_counted() {
    let endless = |cursor: Option<&str>, _: Option<&str>| {
        Some((cursor.map_or(0, |cursor| cursor.parse::<u32>().unwrap()) + 1).to_string())
    };
    let exchange = paged(&Server::new(), endless);
    let client = builder(&exchange).max_pages(5).connect().await.unwrap();
    let list = client.list_resources().await.unwrap();
    assert_eq!((list.items.len(), list.next_cursor.as_deref()), (5, Some("5")), "the rest can be asked for");
    assert_eq!(exchange.ledger().count("resources/list"), 5);
    let one = client.list_resources().cursor("5").await.unwrap();
    assert_eq!((one.items.len(), one.next_cursor.as_deref()), (1, Some("6")));
}

#[tokio::test(start_paused = true)]
async fn a_list_starts_again_at_its_first_page_when_the_session_is_replaced() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                if arrival.method() != "resources/list" || !server.knows(&arrival) {
                    return None;
                }
                let (session, cursor) = (arrival.session().unwrap_or_default(), arrival.param("/cursor"));
                let mut page = json!({ "resources": [{ "uri": format!("{session}/{}", cursor.unwrap_or(&json!("1"))), "name": "x" }] });
                if cursor.is_none() {
                    page["nextCursor"] = json!(format!("2 of {session}"));
                }
                if nth == 0 {
                    server.forget_sessions();
                }
                Some(Ok(arrival.result(&page)))
            }
        }
    });
    let client = connect(&exchange).await;
    let list = client.list_resources().await.unwrap();
    let uris: Vec<_> = list.items.iter().map(|item| item.uri.clone()).collect();
    assert_eq!(uris, ["session-2/\"1\"", "session-2/\"2 of session-2\""], "nothing of the old session is left in it");
    let foreign = exchange.ledger().of("resources/list").into_iter().filter(|entry| {
        let cursor = entry.message["params"]["cursor"].as_str().unwrap_or_default().to_owned();
        !cursor.is_empty() && !cursor.ends_with(entry.session().unwrap())
    });
    assert_eq!(foreign.count(), 0, "no cursor crosses to another session");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_replaced_at_every_page_ends_the_list() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, _| {
            let server = server.clone();
            async move {
                if arrival.method() != "resources/list" || !server.knows(&arrival) {
                    return None;
                }
                server.forget_sessions();
                Some(Ok(arrival.result(&json!({ "resources": [], "nextCursor": "more" }))))
            }
        }
    });
    let client = connect(&exchange).await;
    let failure = failure(client.list_resources().await);
    assert!(matches!(failure.kind, Kind::Protocol | Kind::SessionLost), "{failure:?}");
    assert!(exchange.ledger().count("initialize") <= 5);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_lost_is_asked_for_again_and_not_the_list() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            ("resources/list", 0) => Some(Ok(arrival.result(&json!({ "resources": [], "nextCursor": "2" })))),
            ("resources/list", 1) => Some(Ok(Reply::new(502))),
            _ => None,
        }
    });
    let client = connect(&exchange).await;
    client.list_resources().await.unwrap();
    assert_eq!(cursors(&exchange), [Value::Null, json!("2"), json!("2")]);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_of_an_earlier_session_is_not_sent_on_a_later_one() {
    let server = Server::new();
    let exchange = paged(&server, |cursor, session| match cursor {
        None => Some(format!("2 of {}", session.unwrap_or_default())),
        Some("the same in each") => None,
        Some(_) => Some("the same in each".to_owned()),
    });
    let log = Log::default();
    let client = builder(&exchange).max_pages(1).on_event(log.observer()).connect().await.unwrap();
    let cursor = client.list_resources().await.unwrap().next_cursor.unwrap();
    let further = client.list_resources().cursor(&cursor).await.unwrap().next_cursor.unwrap();
    server.forget_sessions();
    client.call_tool("peek", NOTHING).await.unwrap();
    let sent = exchange.ledger().len();
    for cursor in [&cursor, &further] {
        let failure = failure(client.list_resources().cursor(cursor).await);
        assert_eq!((failure.kind, failure.execution), (Kind::Config, Execution::NotExecuted));
        assert_eq!((failure.proof, failure.attempts.len()), (Some(Proof::NeverSent), 0));
        assert!(failure.reason.contains("first page"), "{}", failure.reason);
    }
    assert_eq!(exchange.ledger().len(), sent, "nothing was sent");
    let ended = log.of(EventName::CallFinished);
    assert_eq!(ended.last().unwrap().kind, Some(Kind::Config), "the call has its end");
    // Of one that comes from elsewhere nothing is known, and the new session's own are good, also one that is the same in each.
    client.list_resources().cursor("from elsewhere").await.unwrap();
    client.list_resources().cursor(&further).await.unwrap();
    let cursor = client.list_resources().await.unwrap().next_cursor.unwrap();
    client.list_resources().cursor(&cursor).await.unwrap();
}
