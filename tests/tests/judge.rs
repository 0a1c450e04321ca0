//! The judge says no when it should: each thing that it demands is broken once.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use oncewire_tests::server::Ledger;
use oncewire_tests::vector::{Vector, expand, judge};
use serde_json::{Value, json};

fn vector(expect: Value) -> Vector {
    let file = json!({
        "cases": ["S00"], "about": "", "client": {"tokens": ["hush"]}, "expect": expect,
        "steps": [{"call": {"method": "call_tool", "as": "a"}}]
    });
    expand("x", &file.to_string()).unwrap().remove(0)
}

fn ledger() -> Value {
    let mut ledger = serde_json::to_value(Ledger::default()).unwrap();
    ledger["arrivals"] = json!([arrival(0, "initialize", None), arrival(1, "tools/call", Some("poke"))]);
    ledger["executions"] = json!([run("k")]);
    ledger["sessions"] = json!([{"id": "s", "generation": 1, "created_ms": 0, "initialized": true, "alive": false, "forgotten": false, "deletes": 1, "requests": 1, "last_used_ms": 0, "left": false}]);
    ledger
}

fn arrival(seq: u64, rpc: &str, name: Option<&str>) -> Value {
    let mut arrival = serde_json::to_value(oncewire_tests::server::Arrival::default()).unwrap();
    for (key, value) in [
        ("seq", json!(seq)),
        ("at_ms", json!(seq * 100)),
        ("rpc", json!(rpc)),
        ("name", json!(name)),
        ("rpc_id", json!(seq)),
    ] {
        arrival[key] = value;
    }
    arrival
}

fn run(key: &str) -> Value {
    json!({"arrival": 1, "rpc": "tools/call", "name": "poke", "session": "s", "key": key, "started_ms": 1, "ended_ms": 2, "asked": false})
}

fn error() -> Value {
    json!({
        "class": "may_have_executed", "execution": "may_have_executed", "text": "closed; may have run", "kind": "connection_closed",
        "method": "tools/call", "name": "poke", "phase": "streaming", "idempotency_key": "k",
        "attempts": [{"id": 1, "execution": "may_have_executed"}]
    })
}

fn wrong(expect: Value, report: Value, ledger: Value) -> Vec<String> {
    let report = serde_json::from_value(report).unwrap();
    let ledgers: BTreeMap<_, _> = [("main".to_owned(), serde_json::from_value(ledger).unwrap())].into();
    judge(&vector(expect), &report, &ledgers)
}

fn failed(error: &Value) -> Value {
    json!({"calls": {"a": {"elapsed_ms": 10, "error": error}}})
}

#[track_caller]
fn complains(about: &str, wrong: &[String]) {
    assert!(wrong.iter().any(|what| what.contains(about)), "{about:?} is not in {wrong:?}");
}

const LOST: &str = r#"{"calls": {"a": {"error": {"class": "may_have_executed"}}}}"#;

fn lost() -> Value {
    serde_json::from_str(LOST).unwrap()
}

#[test]
fn what_is_as_expected_passes() {
    let expect = json!({
        "calls": {"a": {"error": {
            "class": "may_have_executed", "kind": ["connection_closed", "stream_ended"], "phase": "streaming", "attempts": 1,
            "attempt": [{"id": 1}], "text_has": ["may have run"], "text_lacks": ["expired"], "fields": {"name": "poke"}
        }}},
        "ledger": [
            {"count": "executions", "where": {"name": "poke"}, "is": 1},
            {"count": "arrivals", "distinct": "rpc", "at_least": 2, "at_most": 2},
            {"value": "connections/opened", "is": 0},
            {"order": [{"rpc": "initialize"}, {"name": "poke"}]},
            {"gaps": true, "at_least": 100}
        ]
    });
    assert_eq!(wrong(expect, failed(&error()), ledger()), Vec::<String>::new());
}

#[test]
fn outcomes_of_the_wrong_sort_are_named() {
    let ok = json!({"calls": {"a": {"ok": {"n": 1}}}});
    complains("expected an error", &wrong(lost(), ok.clone(), ledger()));
    complains("expected success", &wrong(json!({}), failed(&error()), ledger()));
    complains("/n: expected 2", &wrong(json!({"calls": {"a": {"ok": {"n": 2}}}}), ok.clone(), ledger()));
    complains("cancellation", &wrong(json!({"calls": {"a": {"cancelled": true}}}), ok.clone(), ledger()));
    complains("no outcome", &wrong(json!({"calls": {"b": {}}}), ok.clone(), ledger()));
    complains(
        "none of the choices",
        &wrong(json!({"calls": {"a": {"any_of": [{"cancelled": true}, {"error": {}}]}}}), ok.clone(), ledger()),
    );
    complains("progress", &wrong(json!({"calls": {"a": {"progress": 1}}}), ok.clone(), ledger()));
    complains("it took 6000 ms", &wrong(json!({}), json!({"calls": {"a": {"elapsed_ms": 6000, "ok": {}}}}), ledger()));
    complains("it took 0 ms", &wrong(json!({"calls": {"a": {"at_least_ms": 5}}}), ok, ledger()));
    complains("expected success, got nothing", &wrong(json!({}), json!({"calls": {"a": {}}}), ledger()));
}

#[test]
fn each_field_of_an_error_is_looked_at() {
    for (field, expected) in [
        ("class", json!({"class": "answered"})),
        ("class", json!({"class": ["answered", "not_executed"]})),
        ("kind", json!({"kind": "timeout"})),
        ("phase", json!({"phase": ["queued", "sending"]})),
        ("proof", json!({"proof": "never_sent"})),
        ("http_status", json!({"http_status": 500})),
        ("code", json!({"code": -1})),
        ("1 attempts", json!({"attempts": 2})),
        ("attempts /0/id", json!({"attempt": [{"id": 2}]})),
        ("is not in the text", json!({"text_has": ["nothing"]})),
        ("is in the text", json!({"text_lacks": ["may have run"]})),
        ("field /name", json!({"fields": {"name": "peek"}})),
    ] {
        complains(field, &wrong(json!({"calls": {"a": {"error": expected}}}), failed(&error()), ledger()));
    }
}

#[test]
fn unsound_errors_are_named_whatever_is_expected() {
    for (member, value, about) in [
        ("class", json!("answered"), "differ"),
        ("text", json!(""), "no text"),
        ("proof", json!("never_sent"), "a proof of something else"),
        ("kind", Value::Null, "no kind"),
        ("method", Value::Null, "no method"),
    ] {
        let mut error = error();
        error[member] = value;
        complains(about, &wrong(json!({"calls": {"a": {"error": {}}}}), failed(&error), ledger()));
    }
    let mut claims = error();
    (claims["class"], claims["execution"]) = (json!("not_executed"), json!("not_executed"));
    let expect = json!({"calls": {"a": {"error": {}}}});
    complains("without a proof", &wrong(expect.clone(), failed(&claims), ledger()));
    claims["proof"] = json!("never_sent");
    complains("after an ambiguous attempt", &wrong(expect.clone(), failed(&claims), ledger()));
    complains("ran 1 times", &wrong(expect.clone(), failed(&claims), ledger()));
    claims["attempts"] = json!([]);
    complains("\"never_sent\" rests on null", &wrong(expect, failed(&claims), ledger()));
}

#[test]
fn bounds_of_the_ledger_are_kept() {
    for (about, expected) in [
        ("out of bounds", json!({"count": "executions", "is": 2})),
        ("out of bounds", json!({"count": "arrivals", "where": {"rpc": "tools/call"}, "at_most": 0})),
        ("out of bounds", json!({"count": "sessions", "at_least": 2})),
        ("out of bounds", json!({"gaps": true, "at_least": 101})),
        ("in its place", json!({"order": [{"name": "poke"}, {"rpc": "initialize"}]})),
        ("no number", json!({"value": "connections/closed", "is": 0})),
        ("nothing to count", json!({"is": 0})),
        ("fewer than two", json!({"gaps": true, "where": {"rpc": "ping"}})),
        ("no server b", json!({"on": "b", "count": "arrivals"})),
    ] {
        let mut expect = lost();
        expect["ledger"] = json!([expected]);
        complains(about, &wrong(expect, failed(&error()), ledger()));
    }
}

#[test]
fn events_texts_and_tokens_are_looked_at() {
    let mut report = failed(&error());
    report["events"] =
        json!([{"event": "ready"}, {"event": "session_lost"}, {"event": "ready", "n": 1}, {"event": "closed"}]);
    report["texts"] = json!(["a text with a word"]);
    for (about, expected) in [
        ("in its place", json!({"events": {"order": ["session_lost", "session_lost"]}})),
        ("there is an event", json!({"events": {"never": [{"event": "ready", "n": 1}]}})),
        ("2 events ready", json!({"events": {"count": {"ready": 1}}})),
        ("between", json!({"events": {"none_between": [["session_lost", "closed", "ready"]]}})),
        ("\"word\" is in", json!({"texts_lack": ["word"]})),
        ("asked 0 times", json!({"tokens_asked": 1})),
    ] {
        let mut expect = lost();
        expect.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
        complains(about, &wrong(expect, report.clone(), ledger()));
    }
    report["texts"] = json!(["Bearer hush"]);
    complains("hush", &wrong(lost(), report, ledger()));
}

#[test]
fn the_promises_are_demanded_unasked() {
    type Break = fn(&mut Value);
    let breaks: [(&str, Break); 9] = [
        ("ran 2 times under one key", |ledger| ledger["executions"] = json!([run("k"), run("k")])),
        ("2 handshakes at once", |ledger| ledger["max_concurrent_initialize"] = json!(2)),
        ("2 DELETEs", |ledger| ledger["sessions"][0]["deletes"] = json!(2)),
        ("nobody deleted it", |ledger| {
            ledger["sessions"][0]["deletes"] = json!(0);
            ledger["sessions"][0]["alive"] = json!(true);
        }),
        ("1 connections are open", |ledger| ledger["connections"] = json!({"opened": 1, "open": 1})),
        ("before the end of the handshake", |ledger| ledger["too_early"] = json!(1)),
        ("is malformed: no header", |ledger| ledger["arrivals"][1]["malformed"] = json!("no header")),
        ("is of the Modern era", |ledger| ledger["arrivals"][1]["era"] = json!("modern")),
        ("was used twice", |ledger| ledger["arrivals"][1]["rpc_id"] = json!(0)),
    ];
    for (about, change) in breaks {
        let mut ledger = ledger();
        change(&mut ledger);
        complains(about, &wrong(lost(), failed(&error()), ledger));
    }
}
