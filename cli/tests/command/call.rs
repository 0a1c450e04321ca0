//! `oncewire call`: arguments, results, and a code for each verdict.

use oncewire_tests::server::{FaultServer, Options};
use serde_json::{Value, json};
use test_case::test_case;

use crate::support::{run, run_with_input, server};

/// A server with a tool that says what it takes, and what is sent to it.
async fn typed_server() -> FaultServer {
    let schema = json!({
        "type": "object",
        "properties": {"to": {"type": "string"}, "count": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["to"],
    });
    let options =
        Options { tools: [("echo".to_owned(), json!({ "inputSchema": schema }))].into(), ..Options::default() };
    server(options, json!([])).await
}

fn calls(server: &FaultServer) -> usize {
    server.ledger().arrivals_of("tools/call", None)
}

#[tokio::test]
async fn arguments_are_typed_by_the_schema() {
    let server = typed_server().await;
    let words = ["to=ada", "count=3", "tags=a", "tags=b"];
    let ran = run(&[&["call", server.url(), "echo"], &words[..]].concat()).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.json(), json!({"to": "ada", "count": 3, "tags": ["a", "b"]}), "shown once, and structured");
    let ran = run(&[&["call", server.url(), "echo", "--json"], &words[..]].concat()).await;
    assert_eq!(ran.json()["structuredContent"], json!({"to": "ada", "count": 3, "tags": ["a", "b"]}));
    assert_eq!(ran.json()["isError"], false, "the result as the server sent it");
    assert_eq!(calls(&server), 2);
    assert_eq!(server.ledger().sessions_left(), 0);
}

#[tokio::test]
async fn arguments_come_from_files_and_from_standard_input() {
    let server = typed_server().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "{\"to\": \"file\"}").unwrap();
    let path = format!("@{}", file.path().display());
    let to = |ran: crate::support::Ran| ran.json()["to"].as_str().unwrap_or_default().to_owned();
    let url = server.url();
    assert_eq!(to(run(&["call", url, "echo", "--arguments", &path]).await), "file");
    assert_eq!(to(run(&["call", url, "echo", "--arguments", "{\"to\": \"typed\"}"]).await), "typed");
    assert_eq!(to(run_with_input(&["call", url, "echo", "--arguments", "-"], "{\"to\": \"in\"}").await), "in");
    assert_eq!(to(run_with_input(&["call", url, "echo", "to=-"], "a letter").await), "a letter");
    assert_eq!(to(run(&["call", url, "echo", &format!("to={path}")]).await), "{\"to\": \"file\"}");
}

#[test_case(&["ada"], "\"ada\""; "no argument")]
#[test_case(&["to:=ada"], "to"; "no JSON")]
#[test_case(&["to=@/surely/not/there"], "to"; "no file")]
#[test_case(&["--arguments", "[]"], "--arguments"; "no object")]
#[test_case(&["to=a", "--arguments", "{}"], "--arguments"; "both ways at once")]
#[test_case(&["--resend", "sometimes"], "--resend"; "no word")]
#[tokio::test]
async fn a_fault_that_shows_before_connecting_is_named_and_nothing_is_sent(words: &[&str], argument: &str) {
    let server = typed_server().await;
    let ran = run(&[&["--json", "call", server.url(), "echo"], words].concat()).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), ""), "{ran:?}");
    let error = ran.json();
    assert!(error["argument"].as_str().unwrap().starts_with(argument), "{error}");
    assert_eq!((&error["kind"], &error["proof"]), (&json!("config"), &json!("never_sent")), "{error}");
    assert_eq!(server.ledger().connections.opened, 0, "nothing is sent");
}

#[test_case("echo", &["count=many", "to=a"], "count: it must be an integer, not \"many\""; "a type")]
#[test_case("echo", &["count=3"], "to: it is missing"; "what is missing")]
#[test_case("echo", &["to=a", "cuont=3"], "cuont: the tool has no such argument"; "a slip of the finger")]
#[test_case("echo", &["--arguments", "{\"to\": 3}"], "to: it must be a string"; "JSON that does not fit")]
#[test_case("ehco", &["to=a"], "TOOL: the server has no tool \"ehco\"; it has poke, peek, nudge, slow, echo"; "a tool that is not there")]
#[tokio::test]
async fn a_fault_that_the_schema_shows_is_named_and_the_tool_is_not_called(tool: &str, words: &[&str], says: &str) {
    let server = typed_server().await;
    let ran = run(&[&["call", server.url(), tool], words].concat()).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.err.starts_with(&format!("error: {says}")) && ran.err.ends_with("; nothing was called\n"), "{ran:?}");
    assert_eq!(calls(&server), 0, "the tool is not called");
    assert_eq!(server.ledger().sessions_left(), 0);
}

#[tokio::test]
async fn each_verdict_has_a_code_of_its_own() {
    let failed = json!({"content": [{"type": "text", "text": "no ink"}], "isError": true});
    let cases = [
        ("execute, reset", json!(["execute", "reset"]), 4, "may have run"),
        (
            "an error",
            json!([{"respond": {"json": {"jsonrpc": "2.0", "id": "$id", "error": {"code": -32000, "message": "no ink"}}}}]),
            5,
            "no ink",
        ),
        (
            "the tool's own",
            json!([{"respond": {"json": {"jsonrpc": "2.0", "id": "$id", "result": failed}}}]),
            6,
            "the tool says that it failed",
        ),
        ("refused", json!([{"respond": {"status": 413, "text": "too large"}}]), 3, "was not executed"),
    ];
    for (name, act, code, says) in cases {
        // A refusal is proven by its twin, which is refused in the same words.
        let twin = |rpc: &str| json!({"when": {"rpc": if code == 3 { rpc } else { "never" }}, "do": act});
        let rules = json!([{"when": {"rpc": "tools/call"}, "do": act}, twin("ping"), twin("tools/list")]);
        let server = server(Options::default(), rules).await;
        let ran = run(&["call", server.url(), "poke", "--unchecked"]).await;
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert!(ran.err.contains(says), "{name}: {ran:?}");
        let ran = run(&["call", server.url(), "poke", "--unchecked", "--json"]).await;
        assert_eq!((ran.code, ran.err.as_str()), (Some(code), ""), "{name}: {ran:?}");
        let written = ran.json();
        if code == 6 {
            assert_eq!(written["isError"], true, "{written}");
        } else {
            assert!(written["text"].as_str().unwrap().contains(says), "{name}: {written}");
        }
    }
}

#[tokio::test]
async fn what_the_caller_says_of_the_call_reaches_the_server() {
    let rules = json!([{"when": {"name": "poke"}, "times": 1, "do": ["execute", "reset"]}]);
    let server = server(Options::default(), rules).await;
    let ran = run(&["call", server.url(), "poke", "--resend", "always", "--idempotency-key", "ours"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "poke done\n"), "{ran:?}");
    let ledger = server.ledger();
    let keys: Vec<_> = ledger.arrivals.iter().filter(|it| it.name.is_some()).map(|it| it.key.as_deref()).collect();
    assert_eq!(keys, [Some("ours"), Some("ours")], "leave to repeat, and one key");
    run(&["call", server.url(), "poke", "--no-idempotency-key", "--unchecked"]).await;
    let ledger = server.ledger();
    let last = ledger.arrivals.iter().rfind(|it| it.name.is_some()).unwrap();
    assert_eq!(last.key, None);
}

#[tokio::test]
async fn images_are_saved_and_told_of() {
    let content =
        json!([{"type": "text", "text": "a picture"}, {"type": "image", "data": "AAEC", "mimeType": "image/png"}]);
    let answer = json!({"jsonrpc": "2.0", "id": "$id", "result": {"content": content}});
    let rules = json!([{"when": {"rpc": "tools/call"}, "do": [{"respond": {"json": answer}}]}]);
    let server = server(Options::default(), rules).await;
    let folder = tempfile::tempdir().unwrap();
    let ran = run(&["call", server.url(), "poke", "--output", folder.path().to_str().unwrap()]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("a picture\n[image/png, 3 bytes, saved as "), "{ran:?}");
    assert_eq!(std::fs::read(folder.path().join("poke-1.png")).unwrap(), [0, 1, 2]);
    let ran = run(&["call", server.url(), "poke"]).await;
    assert!(ran.out.contains("[image/png, 3 bytes; --output FOLDER saves it]"), "{ran:?}");
}

#[tokio::test]
async fn a_timeout_is_the_callers_and_the_verdict_is_told() {
    let options = Options { slow_ms: 60_000, ..Options::default() };
    let server = server(options, json!([])).await;
    let ran = run(&["call", server.url(), "slow", "--timeout", "300ms", "--json"]).await;
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let error: Value = ran.json();
    assert_eq!((&error["kind"], &error["execution"]), (&json!("timeout"), &json!("may_have_executed")), "{error}");
}
