//! Texts that help: which server, why it did not connect, what it said, how long to wait.

use std::error::Error as _;
use std::sync::Arc;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{Client, Error, EventName, Execution, Kind, Proof};
use serde_json::json;
use test_case::test_case;

use crate::support::{Log, NOTHING, builder, connect, failure, hang, scripted, seconds};

const SERVER: &str = "http://server.test/mcp";

fn dead() -> Arc<Scripted> {
    Scripted::new(|_| async { Err(Cause::Refused) })
}

fn lazy(exchange: &Arc<Scripted>) -> Client {
    builder(exchange).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_ends_a_call_while_no_connection_succeeds_tells_why_none_did() {
    let client = lazy(&dead());
    let error = client.call_tool("poke", NOTHING).timeout(seconds(1)).await.unwrap_err();
    let text = error.to_string();
    for part in ["timed out", SERVER, "connection refused", "was not executed"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(error.source().unwrap().to_string().contains("connection refused"));
    let failure = failure::<()>(Err(error));
    assert_eq!((failure.kind, failure.proof), (Kind::Timeout, Some(Proof::NeverSent)));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_ends_a_call_while_a_gateway_has_no_server_tells_what_it_said() {
    let exchange = Scripted::new(|_| async { Ok(Reply::text(503, "no healthy upstream")) });
    let failure = failure(lazy(&exchange).call_tool("poke", NOTHING).timeout(seconds(2)).await);
    assert_eq!((failure.kind, failure.http_status), (Kind::Timeout, Some(503)));
    assert_eq!(failure.excerpt.as_deref(), Some("no healthy upstream"));
    assert!(failure.reason.contains("HTTP 503: no healthy upstream"), "{}", failure.reason);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_ends_a_call_while_the_first_try_hangs_tells_where_it_hangs() {
    let exchange = Scripted::new(|_| std::future::pending());
    let failure = failure(lazy(&exchange).call_tool("poke", NOTHING).timeout(seconds(1)).await);
    assert_eq!(failure.reason, format!("timed out while connecting to {SERVER}"));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_ends_a_call_in_a_recovery_tells_both_troubles() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == "initialize" && nth > 0).then_some(Err(Cause::ConnectReset))
    });
    let client = connect(&exchange).await;
    server.forget_sessions();
    let failure = failure(client.call_tool("peek", NOTHING).timeout(seconds(1)).await);
    assert_eq!(failure.kind, Kind::Timeout);
    for part in ["lost the session", "connection reset while connecting"] {
        assert!(failure.reason.contains(part), "{part}: {}", failure.reason);
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_out_of_a_call_that_is_under_way_speaks_of_no_connecting() {
    let exchange = scripted(&Server::new(), |arrival, _| async move {
        if arrival.method() == "tools/call" { hang(&arrival).await } else { None }
    });
    let failure = failure(connect(&exchange).await.call_tool("poke", NOTHING).timeout(seconds(1)).await);
    assert_eq!((failure.reason.as_str(), failure.execution), ("timed out", Execution::MayHaveExecuted));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_is_told() {
    for status in [429, 503] {
        let exchange = scripted(&Server::new(), move |arrival, _| async move {
            (arrival.method() == "tools/call").then(|| Ok(Reply::new(status).header("retry-after", "1234")))
        });
        let error = connect(&exchange).await.call_tool("poke", NOTHING).await.unwrap_err();
        assert!(error.to_string().ends_with("the server asks to wait 1234 s before another try"), "{error}");
        assert_eq!(failure::<()>(Err(error)).retry_after, Some(seconds(1234)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_named_in_text_and_events() {
    let log = Log::default();
    let builder = builder(&dead()).connect_patience(seconds(0)).on_event(log.observer());
    let error = builder.connect().await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("connecting to http://server.test/mcp failed: connection refused; connect was not"),
        "{text}"
    );
    let failed = log.of(EventName::ConnectFailed);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].server.as_deref(), Some(SERVER));
    assert!(log.of(EventName::RecoveryFailed).is_empty());
}

#[test_case(403, "<p>Access is only allowed at localhost:9114</p>", "HTTP 403: Access is only allowed at localhost:9114"; "a page")]
#[test_case(404, "{\"detail\": \"Not Found\"}", "HTTP 404: Not Found (is the path of the URL right?"; "nothing there")]
#[test_case(405, "", "HTTP 405 (is the path of the URL right?"; "another method there")]
#[tokio::test(start_paused = true)]
async fn a_refused_handshake_says_what_the_server_said(status: u16, page: &'static str, told: &str) {
    let exchange = Scripted::new(move |_| async move { Ok(Reply::text(status, page)) });
    let error = builder(&exchange).connect().await.unwrap_err();
    assert!(error.to_string().contains(told), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_initialized_says_what_the_server_said() {
    let exchange = scripted(&Server::new(), |arrival, _| async move {
        let refusal = json!({ "message": "clients of this name are not let in" });
        (arrival.method() == "notifications/initialized").then(|| Ok(Reply::json(400, &refusal)))
    });
    let Err(Error::NotExecuted(failure)) = builder(&exchange).connect().await else { panic!("connected") };
    assert!(failure.reason.contains("notifications/initialized: clients of this name"), "{}", failure.reason);
}
