//! Who is let in, and what is answered to what is no good request.

use oncewire::{Client, Kind};
use serde_json::{Value, json};
use test_case::test_case;

use crate::bridge::Bridge;

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

#[test_case(&[("Host", "evil.example")], 403)]
#[test_case(&[("Origin", "https://evil.example")], 403)]
#[test_case(&[("Origin", "http://localhost:3000")], 400; "a page of this machine may ask, and lacks a session")]
#[test_case(&[("Content-Type", "text/plain")], 415)]
#[test_case(&[("Accept", "text/html")], 406)]
#[test_case(&[("MCP-Protocol-Version", "2031-01-01")], 400)]
#[test_case(&[("Mcp-Session-Id", "no-such")], 404)]
#[test_case(&[], 400; "a session is required")]
#[tokio::test]
async fn what_is_no_good_request_starts_no_process(headers: &[(&str, &str)], status: u16) {
    let bridge = Bridge::start(&[]).await;
    let answer = bridge.ask("POST", headers, Some(&ping())).await;
    assert_eq!(answer.status(), status, "{answer:?}");
    assert!(bridge.lines("begun").is_empty());
}

#[tokio::test]
async fn other_methods_bodies_and_batches_are_refused() {
    let bridge = Bridge::start(&[]).await;
    assert_eq!(bridge.ask("PUT", &[], None).await.status(), 405);
    assert_eq!(bridge.ask("POST", &[], None).await.status(), 400);
    assert_eq!(bridge.ask("POST", &[], Some(&json!([ping()]))).await.status(), 400);
    assert_eq!(bridge.ask("POST", &[], Some(&json!({ "id": 1 }))).await.status(), 400);
    assert_eq!(bridge.ask("GET", &[], None).await.status(), 400);
    assert_eq!(bridge.ask("OPTIONS", &[("Origin", "https://evil.example")], None).await.status(), 403);
}

#[tokio::test]
async fn a_token_is_asked_for_where_one_is_set() {
    let bridge = Bridge::start(&["--token-env", "BRIDGE_TOKEN"]).await;
    let answer = bridge.ask("POST", &[], Some(&ping())).await;
    assert_eq!((answer.status(), answer.header("www-authenticate")), (401, Some("Bearer")));
    let refused = Client::builder(&bridge.url).no_proxy().token("wrong").connect().await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Auth, "{refused}");
    let client = Client::builder(&bridge.url).no_proxy().token("s3cret").connect().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
}

#[tokio::test]
async fn an_address_that_others_reach_wants_a_token_or_the_word_that_it_needs_none() {
    let run = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_oncewire"));
        command.arg("serve").args(arguments).args(["--", "true"]).output().await.unwrap()
    };
    let refused = run(&["--listen", "0.0.0.0:0"]).await;
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("--listen") && said.contains("--token-env"), "{said}");
    assert_eq!(run(&["--path", "mcp"]).await.status.code(), Some(2));
}
