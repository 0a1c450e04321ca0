//! The fault server, in both eras: what its ledger says is worth something only if the server is correct when no rule makes it fail.

use anyhow::{Context as _, Result};
use oncewire_tests::server::{FaultServer, Script};

use super::judge::judge;
use super::suite::Suite;

/// Tools that some of the scenarios look for, by their names.
const MODERN_SCRIPT: &str = include_str!("../../conformance/fault-server.json");

/// The scenarios for servers that are about what the fault server does; the others want to see a certain tool's text, picture or resource.
const LEGACY: [&str; 8] = [
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "logging-set-level",
    "completion-complete",
    "tools-list",
    "resources-list",
    "server-sse-multiple-streams",
];
const MODERN: [&str; 16] = [
    "server-stateless",
    "completion-complete",
    "tools-list",
    "resources-list",
    "caching",
    "http-header-validation",
    "http-custom-header-server-validation",
    "input-required-result-basic-elicitation",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-request-state",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-result-type",
    "input-required-result-unsupported-methods",
    "input-required-result-tampered-state",
];

/// What is run of a revision.
pub(crate) fn scenarios(revision: &str) -> &'static [&'static str] {
    if is_modern(revision) { &MODERN } else { &LEGACY }
}

fn is_modern(revision: &str) -> bool {
    revision >= "2026"
}

/// How many checks succeeded, or what is wrong. None may be left out: a server can be asked whatever there is to ask.
pub(crate) async fn passes(suite: &Suite, revision: &str, scenario: &str) -> Result<Result<usize, String>> {
    let script = if is_modern(revision) {
        serde_json::from_str(MODERN_SCRIPT).context("the script of the fault server cannot be read")?
    } else {
        Script::default()
    };
    let server = FaultServer::start(script).await.context("cannot start the fault server")?;
    let arguments = ["server", "--url", server.url(), "--scenario", scenario, "--spec-version", revision];
    let ran = suite.run(&format!("server-{revision}-{scenario}"), &arguments, &[]).await?;
    let left_out = ran.checks.iter().find(|check| check.status == "SKIPPED");
    let judged = judge(&ran).and_then(|succeeded| match left_out {
        None => Ok(succeeded),
        Some(check) => Err(format!("not everything was checked: {check}")),
    });
    Ok(judged.map_err(|problem| format!("{problem}\n{}", ran.said)))
}
