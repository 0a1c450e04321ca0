//! `oncewire list`

use oncewire_tests::server::{FaultServer, Options};
use serde_json::{Value, json};

use crate::support::{run, server};

#[tokio::test]
async fn a_program_gets_one_line_for_each_item() {
    let options = Options {
        tools: [(
            "create_draft".to_owned(),
            json!({
                "description": "Writes a draft.\nMore of it.",
                "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "count": {"type": "integer"}}, "required": ["to"]},
                "annotations": {"readOnlyHint": false, "destructiveHint": false},
            }),
        )]
        .into(),
        page_size: 2,
        ..Options::default()
    };
    let server = server(options, json!([])).await;
    let ran = run(&["list", server.url(), "tools"]).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.out.lines().count(), 6, "all pages: {ran:?}");
    assert!(ran.out.contains("create_draft\tcount to*\twrites, not destructive\tWrites a draft.\n"), "{ran:?}");

    let ran = run(&["list", server.url()]).await;
    let firsts: Vec<_> = ran.out.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(firsts.len(), 6 + 3 + 1 + 2, "tools, resources, a template, prompts: {ran:?}");
    let ledger = server.ledger();
    assert_eq!(ledger.sessions_left(), 0, "each session is ended");
    assert_eq!(ledger.arrivals_of("tools/call", None), 0);
}

#[tokio::test]
async fn json_is_the_result_as_the_server_sent_it() {
    let server = FaultServer::healthy().await.unwrap();
    let ran = run(&["list", server.url(), "prompts", "--json"]).await;
    assert_eq!(ran.json(), json!({"prompts": [{"name": "hello"}, {"name": "bye"}]}));
    let ran = run(&["--json", "list", server.url()]).await;
    let all = ran.json();
    let names: Vec<_> = all.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["prompts", "resourceTemplates", "resources", "tools"]);
    assert_eq!(all["tools"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn what_a_server_does_not_have_is_not_asked_for() {
    let options = Options { capabilities: Some(json!({"tools": {}})), ..Options::default() };
    let server = server(options, json!([])).await;
    let ran = run(&["list", server.url(), "--json"]).await;
    assert_eq!(ran.json().as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
    assert_eq!(server.ledger().arrivals_of("resources/list", None), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_not_executed() {
    let server = FaultServer::healthy().await.unwrap();
    server.go_down().await;
    let ran = run(&["list", server.url(), "--connect-patience", "0"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{ran:?}");
    assert!(ran.err.starts_with("error: connecting to "), "{ran:?}");
    let error: Value = run(&["list", server.url(), "--connect-patience", "0", "--json"]).await.json();
    assert_eq!(error["proof"], "never_sent", "{error}");
    assert!(error["text"].is_string(), "{error}");
}
