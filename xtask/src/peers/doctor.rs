//! `cargo xtask peers --doctor`: what `oncewire doctor` says of real servers, held to the reports in `xtask/peers/doctor`. Of a report is left out what differs each time: times,
//! ports, ids.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use oncewire::Era;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::place::Place;
use super::rows::{Row, What};
use super::{Peer, hosts, scripts};
use crate::workspace;

/// The longest that one examination may take; it ends by itself before.
const LIMIT: Duration = Duration::from_secs(120);
/// A finding that hangs on how fast a machine is.
const BY_TIME: [&str; 2] = ["limits.serial", "streams.buffered"];
/// Where the token of a server is put that wants one.
const TOKEN: &str = "ONCEWIRE_PEER_TOKEN";

/// What became of one server.
#[derive(Debug)]
enum Said {
    /// The report is the one that is kept.
    Kept,
    /// It was written down.
    Written,
    /// It differs, in these lines.
    Other(Vec<String>),
    /// None is kept.
    Unknown,
    /// There is no server.
    LeftOut(String),
}

/// All of these rows that are servers, one after the other. `Ok(false)` means that a report is not the one that is kept.
pub(crate) async fn all(rows: Vec<&'static Row>, write: bool) -> Result<bool> {
    let program = hosts::oncewire().await?;
    let (mut passed, mut failed) = (0, 0);
    for row in rows.into_iter().filter(|row| is_server(row)) {
        let name = row.name;
        match examine(row, &program, write).await {
            Ok(Said::Kept) => {
                passed += 1;
                println!("[{name}] ok");
            }
            Ok(Said::Written) => {
                passed += 1;
                println!("[{name}] written");
            }
            Ok(Said::Other(lines)) => {
                failed += 1;
                println!("[{name}] WRONG  the report is not the one that is kept; with --write-docs it is kept:");
                lines.iter().for_each(|line| println!("  {line}"));
            }
            Ok(Said::Unknown) => println!("[{name}] left out, since no report is kept; with --write-docs it is"),
            Ok(Said::LeftOut(problem)) => println!("[{name}] left out, since {problem}"),
            Err(error) => {
                failed += 1;
                println!("[{name}] WRONG  {error:#}");
            }
        }
    }
    println!("doctor: {passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

/// Is it a server that can be examined?
fn is_server(row: &Row) -> bool {
    matches!(row.what, What::Handshake(..) | What::Modern(_) | What::Framework(..))
}

/// Examines the server of this row.
async fn examine(row: &'static Row, program: &Path, write: bool) -> Result<Said> {
    let (peer, era) = match start(row).await? {
        Ok(started) => started,
        Err(problem) => return Ok(Said::LeftOut(problem)),
    };
    let report = report(program, &peer, era).await;
    peer.end().await?;
    compare(row.name, &report?, write)
}

async fn start(row: &'static Row) -> Result<Result<(Peer, Era), String>> {
    let (peer, era) = match row.what {
        What::Handshake(recipe, era) => (recipe.start(recipe.about(), row.name).await?, era),
        What::Modern(recipe) => (recipe.start(recipe.modern_about(), row.name).await?, Era::Auto),
        What::Framework(framework, era) => {
            let place = Place::free(row.name)?;
            let ledger = place.open_ledger()?;
            let launch = match framework.launch(&place).await? {
                Ok(launch) => launch,
                Err(problem) => return Ok(Err(problem)),
            };
            (Ok(Peer::start(framework.about(), launch.into(), ledger).await?), era)
        }
        _ => bail!("{} is no server", row.name),
    };
    Ok(peer.map(|peer| (peer, era)))
}

async fn report(program: &Path, peer: &Peer, era: Era) -> Result<Value> {
    let mut command = Command::new(program);
    command.args(["doctor", &peer.url(), "--json", "--no-proxy"]).stdin(Stdio::null()).kill_on_drop(true);
    if era == Era::Legacy {
        command.args(["--era", "legacy"]);
    }
    if let Some(token) = peer.about.token {
        command.env(TOKEN, token).args(["--token-env", TOKEN]);
    }
    let output = timeout(LIMIT, command.output()).await.context("the doctor did not end")??;
    let report = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no report: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(normal(report))
}

/// The report without what differs each time.
fn normal(mut report: Value) -> Value {
    if let Some(findings) = report.pointer_mut("/servers/0/findings").and_then(Value::as_array_mut) {
        findings.retain(|finding| !BY_TIME.iter().any(|check| finding["check"] == *check));
    }
    normalise(&mut report);
    report
}

fn normalise(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                // What a server says of time is its own; what was measured is of the machine.
                if name == "serial" || name == "spread" || (name.ends_with("_ms") && name != "retry_ms") {
                    *member = Value::Null;
                }
                normalise(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::String(text) => *text = without_ids(text),
        _ => {}
    }
}

/// The text with its UUIDs and the ports of this machine replaced.
fn without_ids(text: &str) -> String {
    const UUID: usize = 36;
    const HOST: &str = "127.0.0.1:";
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix(HOST) {
            out.push_str("SERVER");
            rest = behind.trim_start_matches(|sign: char| sign.is_ascii_digit());
        } else if let Some(behind) = rest.get(..UUID).filter(|word| is_uuid(word)).and_then(|_| rest.get(UUID..)) {
            out.push_str("UUID");
            rest = behind;
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    out
}

fn is_uuid(word: &str) -> bool {
    word.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

fn compare(name: &str, report: &Value, write: bool) -> Result<Said> {
    let file = scripts()?.join("doctor").join(format!("{name}.json"));
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    if write {
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        return Ok(Said::Written);
    }
    let kept = workspace::page(&file)?;
    if kept.is_empty() {
        return Ok(Said::Unknown);
    }
    if kept == text {
        return Ok(Said::Kept);
    }
    let more = |sign: char, these: &str, those: &str| -> Vec<String> {
        these
            .lines()
            .filter(|line| !those.lines().any(|other| other == *line))
            .map(|line| format!("{sign} {line}"))
            .collect()
    };
    Ok(Said::Other([more('+', &text, &kept), more('-', &kept, &text)].concat()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_each_time_is_left_out() {
        let report = json!({ "servers": [{ "target": "http://127.0.0.1:20123/mcp", "took_ms": 7, "facts": { "retry_ms": 500, "serial": true },
            "findings": [{ "check": "limits.serial" }, { "check": "a.b", "detail": "no 0194f2c1-aaaa-7bbb-8ccc-0123456789ab" }] }] });
        let kept = json!({ "servers": [{ "target": "http://SERVER/mcp", "took_ms": null, "facts": { "retry_ms": 500, "serial": null },
            "findings": [{ "check": "a.b", "detail": "no UUID" }] }] });
        assert_eq!(normal(report), kept);
    }
}
