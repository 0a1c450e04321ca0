//! Compares what a client said and did with what a scenario expects, and with what no client may ever do.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::expect::{CallExpect, ErrorExpect, EventsExpect, LedgerExpect, Table};
use super::model::{Method, Step, Vector};
use super::partial::mismatch;
use super::report::{Outcome, Report};
use crate::server::{Ledger, Lifecycle};

/// Longer than any call may take that meets a failure it can see.
const PROMPT_MS: u64 = 5_000;

/// Everything that is wrong, in words; nothing if all is well.
pub fn judge(vector: &Vector, report: &Report, ledgers: &BTreeMap<String, Ledger>) -> Vec<String> {
    let mut wrong = Vec::new();
    calls(vector, report, &mut wrong);
    for expected in &vector.expect.ledger {
        match ledgers.get(&expected.on) {
            None => wrong.push(format!("there is no server {}", expected.on)),
            Some(ledger) => wrong.extend(ledger_says(expected, ledger)),
        }
    }
    wrong.extend(events(&vector.expect.events, &report.events));
    let tokens = vector.client.tokens.iter().flatten();
    for word in vector.expect.texts_lack.iter().chain(tokens) {
        let everywhere = report.texts.iter().cloned().chain(report.events.iter().map(Value::to_string));
        wrong.extend(
            everywhere.filter(|text| text.contains(word.as_str())).map(|text| format!("{word:?} is in {text:?}")),
        );
    }
    if let Some(times) = vector.expect.tokens_asked.filter(|times| *times != report.tokens_asked) {
        wrong.push(format!("the token provider was asked {} times, not {times}", report.tokens_asked));
    }
    for (name, ledger) in ledgers {
        wrong.extend(promises(vector, report, ledger).into_iter().map(|what| format!("server {name}: {what}")));
    }
    wrong
}

// ---- calls ----

fn calls(vector: &Vector, report: &Report, wrong: &mut Vec<String>) {
    let mut named = BTreeSet::new();
    for (name, expected) in &vector.expect.calls {
        let family = format!("{name}.");
        let members: Vec<_> =
            report.calls.iter().filter(|(call, _)| *call == name || call.starts_with(&family)).collect();
        if members.is_empty() {
            wrong.push(format!("call {name}: no outcome was reported"));
        }
        for (call, outcome) in members {
            named.insert(call);
            wrong.extend(outcome_is(expected, outcome).into_iter().map(|what| format!("call {call}: {what}")));
        }
    }
    for (call, outcome) in &report.calls {
        if !named.contains(call) {
            let success = CallExpect { ok: Some(Value::Object(Map::new())), ..CallExpect::default() };
            let expected = if outcome.ok == Some(Value::Null) { CallExpect::default() } else { success };
            wrong.extend(outcome_is(&expected, outcome).into_iter().map(|what| format!("call {call}: {what}")));
        }
        if let Some(error) = &outcome.error {
            wrong.extend(error_is_sound(error).map(|what| format!("call {call}: {what} in {error}")));
        }
    }
}

fn outcome_is(expected: &CallExpect, outcome: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    if !expected.any_of.is_empty() {
        let all: Vec<_> = expected.any_of.iter().map(|choice| outcome_is(choice, outcome)).collect();
        if all.iter().all(|wrong| !wrong.is_empty()) {
            wrong.push(format!("none of the choices holds: {all:?}"));
        }
    } else if let Some(error) = &expected.error {
        match &outcome.error {
            None => wrong.push(format!("expected an error, got {}", shown(outcome))),
            Some(given) => wrong.extend(error_is(error, given)),
        }
    } else if expected.cancelled {
        if !outcome.cancelled {
            wrong.push(format!("expected the host's cancellation, got {}", shown(outcome)));
        }
    } else {
        match (&outcome.ok, &expected.ok) {
            (None, _) => wrong.push(format!("expected success, got {}", shown(outcome))),
            (Some(result), Some(wanted)) => wrong.extend(mismatch(wanted, result)),
            (Some(_), None) => {}
        }
    }
    let (most, least) = (expected.within_ms.unwrap_or(PROMPT_MS), expected.at_least_ms.unwrap_or(0));
    if expected.any_of.is_empty() && !(least..=most).contains(&outcome.elapsed_ms) {
        wrong.push(format!("it took {} ms, not {least} to {most}", outcome.elapsed_ms));
    }
    if let Some(least) = expected.progress.filter(|least| outcome.progress.len() < *least) {
        wrong.push(format!("{} progress notifications, not {least}", outcome.progress.len()));
    }
    wrong
}

fn shown(outcome: &Outcome) -> String {
    match (&outcome.ok, &outcome.error) {
        (Some(result), _) => format!("the result {result}"),
        (None, Some(error)) => format!("the error {error}"),
        (None, None) if outcome.cancelled => "the host's cancellation".to_owned(),
        (None, None) => "nothing".to_owned(),
    }
}

fn error_is(expected: &ErrorExpect, error: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = error["text"].as_str().unwrap_or_default();
    let word = |member: &str| error[member].as_str();
    let mut require = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    let class = expected.class.as_ref();
    require(
        class.is_none_or(|class| class.allows(word("class"))),
        format!("the class is {} in {error}", error["class"]),
    );
    for (member, wanted) in [("kind", &expected.kind), ("proof", &expected.proof), ("phase", &expected.phase)] {
        let holds = wanted.as_ref().is_none_or(|wanted| wanted.allows(word(member)));
        require(holds, format!("{member} is {}, not {wanted:?}, in {error}", error[member]));
    }
    let status = expected.http_status.map(u64::from);
    require(
        status.is_none_or(|status| error["http_status"].as_u64() == Some(status)),
        format!("http_status in {error}"),
    );
    let code = expected.code;
    require(code.is_none_or(|code| error["code"].as_i64() == Some(code)), format!("code in {error}"));
    let attempts = error["attempts"].as_array().cloned().unwrap_or_default();
    let count = expected.attempts;
    require(count.is_none_or(|count| count == attempts.len()), format!("{} attempts in {error}", attempts.len()));
    if !expected.attempt.is_empty() {
        let difference = mismatch(&Value::Array(expected.attempt.clone()), &Value::Array(attempts));
        require(difference.is_none(), format!("attempts {}", difference.unwrap_or_default()));
    }
    for part in &expected.text_has {
        require(text.contains(part), format!("{part:?} is not in the text {text:?}"));
    }
    for part in &expected.text_lacks {
        require(!text.contains(part), format!("{part:?} is in the text {text:?}"));
    }
    if !expected.fields.is_null() {
        let difference = mismatch(&expected.fields, error);
        require(difference.is_none(), format!("field {}", difference.unwrap_or_default()));
    }
    wrong
}

/// What holds for every error, whatever the scenario.
fn error_is_sound(error: &Value) -> Option<String> {
    let execution = error["execution"].as_str();
    if error["class"].as_str() != execution {
        return Some(format!("class {} and execution {} differ", error["class"], error["execution"]));
    }
    if error["text"].as_str().is_none_or(str::is_empty) {
        return Some("no text".to_owned());
    }
    if execution == Some("not_executed") && error["proof"].as_str().is_none() {
        return Some("not_executed without a proof".to_owned());
    }
    if execution != Some("not_executed") && !error["proof"].is_null() {
        return Some("a proof of something else than not_executed".to_owned());
    }
    for member in ["kind", "method"] {
        if error[member].as_str().is_none_or(str::is_empty) {
            return Some(format!("no {member}"));
        }
    }
    let attempts = error["attempts"].as_array();
    let ambiguous = attempts.into_iter().flatten().any(|attempt| attempt["execution"] == "may_have_executed");
    if ambiguous && execution == Some("not_executed") {
        return Some("not_executed after an ambiguous attempt".to_owned());
    }
    if error["proof_basis"].is_null() != error["proof"].is_null() {
        return Some(format!("the proof {} rests on {}", error["proof"], error["proof_basis"]));
    }
    None
}

// ---- ledgers ----

fn ledger_says(expected: &LedgerExpect, ledger: &Ledger) -> Option<String> {
    let whole = serde_json::to_value(ledger).unwrap_or_default();
    let number = match number(expected, &whole) {
        Ok(number) => number,
        Err(what) => return Some(what),
    };
    let holds = expected.is.is_none_or(|bound| number == bound)
        && expected.at_least.is_none_or(|bound| number >= bound)
        && expected.at_most.is_none_or(|bound| number <= bound);
    if holds { None } else { Some(format!("{number} is out of bounds: {}", said(expected))) }
}

fn said(expected: &LedgerExpect) -> String {
    let mut value = serde_json::to_value(expected).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null() && *member != false);
    }
    value.to_string()
}

fn number(expected: &LedgerExpect, ledger: &Value) -> Result<u64, String> {
    let wanted = Value::Object(expected.matching.clone());
    let entries = |table: &str| {
        let entries = ledger.pointer(&format!("/{table}")).and_then(Value::as_array).cloned().unwrap_or_default();
        entries.into_iter().filter(|entry| mismatch(&wanted, entry).is_none()).collect::<Vec<_>>()
    };
    if let Some(order) = &expected.order {
        let arrivals = ledger["arrivals"].as_array().cloned().unwrap_or_default();
        let mut rest = arrivals.iter();
        for step in order {
            let step = Value::Object(step.clone());
            if !rest.any(|arrival| mismatch(&step, arrival).is_none()) {
                return Err(format!("no arrival {step} in its place of {}", said(expected)));
            }
        }
        return Ok(0);
    }
    if expected.gaps {
        let times: Vec<_> = entries("arrivals").iter().filter_map(|arrival| arrival["at_ms"].as_u64()).collect();
        let shortest = times.iter().zip(times.iter().skip(1)).map(|(one, next)| next - one).min();
        return shortest.ok_or_else(|| format!("fewer than two arrivals: {}", said(expected)));
    }
    if let Some(name) = &expected.value {
        return ledger.pointer(&format!("/{name}")).and_then(Value::as_u64).ok_or_else(|| format!("no number {name}"));
    }
    let table = match expected.count {
        Some(Table::Arrivals) => "arrivals",
        Some(Table::Executions) => "executions",
        Some(Table::Sessions) => "sessions",
        Some(Table::Cancelled) => "cancelled",
        Some(Table::Responses) => "responses",
        Some(Table::Registrations) => "authorization/registrations",
        Some(Table::Authorizations) => "authorization/authorizations",
        Some(Table::TokenRequests) => "authorization/token_requests",
        Some(Table::Logins) => "authorization/logins",
        None => return Err(format!("nothing to count: {}", said(expected))),
    };
    let entries = entries(table);
    let number = match &expected.distinct {
        None => entries.len(),
        Some(member) => entries.iter().map(|entry| entry[member].to_string()).collect::<BTreeSet<_>>().len(),
    };
    Ok(number as u64)
}

/// Whether a ledger is as wanted now; for awaiting it. An expectation that cannot be read never is.
pub(crate) fn ledger_is(expected: &LedgerExpect, ledger: &Ledger) -> bool {
    ledger_says(expected, ledger).is_none()
}

// ---- events ----

fn event_is(wanted: &Value, event: &Value) -> bool {
    match wanted {
        Value::String(name) => event["event"] == **name,
        other => mismatch(other, event).is_none(),
    }
}

fn events(expected: &EventsExpect, events: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    let all = || events.iter().map(|event| event["event"].as_str().unwrap_or("?")).collect::<Vec<_>>();
    let mut rest = events.iter();
    if let Some(missing) = expected.order.iter().find(|wanted| !rest.any(|event| event_is(wanted, event))) {
        wrong.push(format!("no event {missing} in its place in {:?}", all()));
    }
    for unwanted in &expected.never {
        wrong.extend(
            events.iter().filter(|event| event_is(unwanted, event)).map(|event| format!("there is an event {event}")),
        );
    }
    for (name, times) in &expected.count {
        let count = events.iter().filter(|event| event["event"] == **name).count();
        if count != *times {
            wrong.push(format!("{count} events {name}, not {times}, in {:?}", all()));
        }
    }
    for [from, to, none] in &expected.none_between {
        let mut open = false;
        for event in events {
            if event_is(from, event) {
                open = true;
            } else if event_is(to, event) {
                open = false;
            } else if open && event_is(none, event) {
                wrong.push(format!("an event {none} between {from} and {to} in {:?}", all()));
            }
        }
    }
    wrong
}

// ---- what no client may ever do ----

fn promises(vector: &Vector, report: &Report, ledger: &Ledger) -> Vec<String> {
    let mut wrong = Vec::new();
    let keyed = |key: &str| ledger.executions.iter().filter(move |run| run.key.as_deref() == Some(key)).count();

    // 1. At most once without leave. The hinted tools may repeat, the others not.
    for run in &ledger.executions {
        let unhinted = matches!(run.name.as_deref(), Some("poke" | "slow"));
        if let Some(key) = run.key.as_deref().filter(|key| unhinted && !vector.expect.repeats_allowed && keyed(key) > 1)
        {
            wrong.push(format!("{:?} ran {} times under one key", run.name, keyed(key)));
            break;
        }
    }
    // 2. The verdict is true.
    for (call, outcome) in &report.calls {
        let Some(error) = &outcome.error else { continue };
        let ran = error["idempotency_key"].as_str().map_or(0, keyed);
        if error["execution"] == "not_executed" && ran > 0 {
            wrong.push(format!("call {call} is said to be not executed, and ran {ran} times"));
        }
    }
    // 4. One recovery.
    if ledger.max_concurrent_initialize > 1 {
        wrong.push(format!("{} handshakes at once", ledger.max_concurrent_initialize));
    }
    // 5. Nothing left behind.
    for session in &ledger.sessions {
        if session.deletes > 1 {
            wrong.push(format!("{} DELETEs for {}", session.deletes, session.id));
        }
        if session.alive && session.deletes == 0 && !vector.expect.sessions_may_stay {
            wrong.push(format!("{} is alive and nobody deleted it", session.id));
        }
    }
    if ledger.connections.open > 0 {
        wrong.push(format!("{} connections are open after close", ledger.connections.open));
    }
    if ledger.too_early > 0 && !vector.expect.too_early_allowed {
        wrong.push(format!("{} requests before the end of the handshake", ledger.too_early));
    }
    // What a client may not say in an era, and that it speaks none that it was not allowed to.
    for arrival in &ledger.arrivals {
        if let Some(what) = arrival.malformed.as_ref().filter(|_| !vector.expect.malformed_allowed) {
            wrong.push(format!("{:?} {:?} is malformed: {what}", arrival.rpc, arrival.name));
        }
        if arrival.era == Lifecycle::Modern && arrival.rpc.as_deref() == Some("ping") {
            wrong.push("a ping in the modern era".to_owned());
        }
        let foreign = match vector.client.era.as_deref() {
            Some("legacy") => arrival.era == Lifecycle::Modern,
            Some("modern") => arrival.era == Lifecycle::Legacy,
            _ => false,
        };
        if foreign {
            wrong.push(format!("{} {:?} is of the {:?} era", arrival.http, arrival.rpc, arrival.era));
        }
    }
    // MCP 2025-11-25, basic, requests: an id must not have been used before in the same session.
    // A redirect that is followed is the same request once more (RFC 9110 section 15.4).
    // Without a session there is nothing to tell two clients apart by.
    let connects = vector.steps.iter().filter(|step| match step {
        Step::Call(call) | Step::Start(call) => call.method == Method::Connect,
        _ => false,
    });
    let one_client = connects.count() < 2;
    let mut ids = BTreeSet::new();
    let redirected = |status: Option<u16>| status.is_some_and(|status| (300..400).contains(&status));
    for arrival in ledger.arrivals.iter().filter(|arrival| arrival.rpc.is_some() && !redirected(arrival.status)) {
        if !one_client && arrival.era == Lifecycle::Modern {
            continue;
        }
        if let Some(id) = &arrival.rpc_id
            && !ids.insert((arrival.session.clone(), id.to_string()))
        {
            wrong.push(format!("the JSON-RPC id {id} was used twice"));
        }
    }
    wrong
}
