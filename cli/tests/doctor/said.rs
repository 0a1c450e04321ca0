//! What is said, and how: the grade, the text, the exit codes, SARIF, a host's config.

use serde_json::{Value, json};
use test_case::test_case;

use crate::command::{checks, doctor, examined, report, server};

/// A server that gives back what was missed, with tools that say what they do.
fn resumable() -> Value {
    let hints = |repeatable: bool| json!({ "annotations": { "readOnlyHint": false, "idempotentHint": repeatable } });
    let again = "data: {\"jsonrpc\":\"2.0\",\"id\":$last_id.tools/list,\"result\":{\"tools\":[]}}\n\n";
    json!({
        "options": { "answer": "sse", "tools": { "poke": hints(false), "slow": hints(false), "nudge": hints(true) } },
        "rules": [
            { "when": { "http": "GET", "last_event_id": "1" }, "do": [{ "head": {} }, { "send": again }, "end"] },
            { "when": { "rpc": "tools/list" }, "do": [{ "event": { "id": "1", "data": "" } }, { "answer_event": { "id": "2" } }, "end"] },
        ],
    })
}

#[tokio::test]
async fn a_good_server_has_an_a() {
    let server = server(resumable()).await;
    let report = examined(&server, &[]).await;
    assert_eq!(report["facts"]["streams"]["resume"], "returned", "{report:#}");
    assert_eq!(report["facts"]["session"]["unknown_confirmed"], true, "{report:#}");
    assert_eq!(report["facts"]["session"]["unknown"]["class"], "session_rejected");
    assert_eq!(report["grade"]["letter"], "A", "{report:#}");
    assert_eq!(report["grade"]["score"], 91, "a tool that runs was not tried");
    let worst: Vec<_> =
        report["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] != "info").collect();
    assert!(worst.is_empty(), "{worst:#?}");
}

#[tokio::test]
async fn a_lost_session_that_nobody_understands_bounds_the_grade() {
    let mut script = resumable();
    script["options"]["unknown_session"] = json!({ "custom": { "status": 500, "body": "oops" } });
    let report = examined(&server(script).await, &[]).await;
    assert!(report["grade"]["letter"].as_str() >= Some("D"), "{report:#}");
}

#[tokio::test]
async fn a_modern_server_is_graded_by_its_hints() {
    let server = server(json!({ "options": { "era": "modern" } })).await;
    let report = examined(&server, &[]).await;
    assert_eq!(report["facts"]["era"]["speaks"], "modern");
    assert_eq!(report["facts"]["session"], Value::Null);
    let losses: Vec<_> =
        report["grade"]["parts"].as_array().unwrap().iter().map(|part| part["loss"].as_str().unwrap()).collect();
    assert_eq!(losses, ["an answer is cut off", "somebody has to decide about a lost call"]);
    assert_eq!(server.ledger().sessions.len(), 0);
}

#[test_case(&[], 0; "nothing is asked")]
#[test_case(&["--fail-on", "warning"], 1; "a warning")]
#[test_case(&["--fail-on", "F"], 0; "a bad grade only")]
#[test_case(&["--fail-on", "A"], 1; "every grade")]
#[test_case(&["--fail-on", "x"], 2; "no such word")]
#[tokio::test]
async fn the_exit_code_says_what_was_asked(arguments: &[&str], code: i32) {
    let server = server(json!({})).await;
    assert_eq!(doctor(&[&[server.url()], arguments].concat()).await.status.code(), Some(code));
}

#[tokio::test]
async fn nobody_there_is_a_failure_and_bad_input_sends_nothing() {
    let server = server(json!({ "options": { "start_down": true } })).await;
    assert_eq!(doctor(&[server.url()]).await.status.code(), Some(1));
    for wrong in [&["ftp://a.test/"][..], &[], &["--config", "/no/such/file"], &[server.url(), "--timeout", "0"]] {
        let output = doctor(wrong).await;
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{wrong:?}");
    }
}

#[tokio::test]
async fn the_text_has_a_fix_for_each_finding_and_no_colours_in_a_pipe() {
    let server = server(json!({})).await;
    let output = doctor(&[server.url()]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(output.stderr.is_empty(), "a progress line without a terminal");
    let severities = ["  info    ", "  warning ", "  error   "];
    let found = text.lines().filter(|line| severities.iter().any(|severity| line.starts_with(severity))).count();
    assert!(found >= 3 && found == text.matches("          fix: ").count(), "{text}");
    assert!(text.contains("retry safety: "), "{text}");
}

#[tokio::test]
async fn sarif_names_the_rule_of_each_result() {
    let server = server(json!({})).await;
    let output = doctor(&[server.url(), "--sarif"]).await;
    let sarif: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &sarif["runs"][0];
    let rules: Vec<_> = run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| &rule["id"]).collect();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty() && results.iter().all(|result| rules.contains(&&result["ruleId"])), "{sarif:#}");
}

#[tokio::test]
async fn all_servers_of_a_config_are_examined_and_its_values_are_not_shown() {
    let server = server(json!({ "options": { "tokens": ["s3cret-of-the-config"] } })).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hosts.json");
    let config = json!({ "mcpServers": {
        "good": { "url": server.url(), "headers": { "Authorization": "Bearer s3cret-of-the-config" } },
        "none": {},
    } });
    std::fs::write(&file, config.to_string()).unwrap();
    let (report, printed) = report(&["--config", file.to_str().unwrap()]).await;
    let servers = report["servers"].as_array().unwrap();
    assert_eq!((&servers[0]["name"], &servers[1]["name"]), (&json!("good"), &json!("none")));
    assert!(servers[0]["grade"]["letter"].is_string(), "{report:#}");
    assert_eq!(checks(&servers[1]), ["doctor.unusable"]);
    assert!(!printed.contains("s3cret"), "{printed}");
}

/// The page has each check, with the very words.
#[tokio::test]
async fn the_page_has_every_check() {
    let server = server(json!({})).await;
    let output = doctor(&[server.url(), "--sarif"]).await;
    let sarif: Value = serde_json::from_slice(&output.stdout).unwrap();
    let page = include_str!("../../../docs/doctor.md");
    for rule in sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap() {
        let (id, title, fix) = (&rule["id"], &rule["shortDescription"]["text"], &rule["help"]["text"]);
        let row = format!("| `{}` |", id.as_str().unwrap());
        let line =
            page.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("{id} is not on the page"));
        assert!(line.contains(title.as_str().unwrap()) && line.contains(fix.as_str().unwrap()), "{line}");
    }
}

fn running(resumed: Value) -> Value {
    let mut script = resumable();
    let rules = script["rules"].as_array_mut().unwrap();
    rules.insert(0, json!({ "when": { "http": "GET", "last_event_id": "7" }, "do": resumed }));
    rules
        .push(json!({ "when": { "name": "slow" }, "do": ["execute", { "event": { "id": "7", "data": "" } }, "hold"] }));
    script
}

/// A tool whose stream is cut while it runs is read on, and runs once.
#[test_case(json!([{ "answer_event": { "id": "8" } }, "end"]), "returned", 100; "the answer comes")]
#[test_case(json!([{ "comment": "" }, "end"]), "empty", 60; "nothing comes")]
#[test_case(json!([{ "respond": { "status": 405 } }]), "refused", 60; "it is refused")]
#[tokio::test]
async fn reading_on_is_tried_while_a_tool_runs(resumed: Value, gave: &str, score: u64) {
    let server = server(running(resumed)).await;
    let report = examined(&server, &["--call", "slow"]).await;
    assert_eq!(report["facts"]["streams"]["resume_running"], gave, "{report:#}");
    assert_eq!(report["grade"]["parts"][1]["score"], score, "{report:#}");
    assert_eq!(checks(&report).contains(&"streams.resume_broken"), gave != "returned");
    assert_eq!(server.ledger().executions_of("tools/call", Some("slow")), 1);
}
