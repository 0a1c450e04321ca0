//! A server that others publish, on standard input and output behind `oncewire serve`: what the suite says of it must be what it says of the
//! server itself, or better.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::judge::judge;
use super::suite::{LIMIT, Suite};
use crate::peers::{everything, hosts};

/// The revision that `oncewire serve` speaks.
pub(crate) const REVISION: &str = "2025-11-25";

/// The scenarios for servers that server-everything passes by itself, over its own HTTP, and the last two, which it does not: they are about
/// what stands before it here. The others want to see a certain tool's text, picture or resource.
pub(crate) const SCENARIOS: [&str; 12] = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "server-sse-multiple-streams",
    "resources-list",
    "resources-subscribe",
    "prompts-list",
    "server-session-lifecycle",
    "dns-rebinding-protection",
];

/// A server-everything behind `oncewire serve`. Both end when this is dropped.
pub(crate) struct Served {
    _bridge: Child,
    url: String,
}

impl Served {
    /// Starts it.
    pub(crate) async fn start() -> Result<Self> {
        let script: PathBuf = match everything::script().await? {
            Ok(script) => script,
            Err(problem) => bail!("server-everything: {problem}"),
        };
        let mut command = Command::new(hosts::oncewire().await?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--", "node"]).arg(script).arg("stdio");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut bridge = command.spawn().context("cannot start the bridge")?;
        let mut said = BufReader::new(bridge.stderr.take().context("no pipe")?).lines();
        let first = timeout(LIMIT, said.next_line()).await.context("the bridge says nothing")??.unwrap_or_default();
        let url = first.strip_prefix("listening on ").with_context(|| format!("the bridge says {first:?}"))?.to_owned();
        // What is said later goes nowhere, but has somewhere to go.
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Ok(Self { _bridge: bridge, url })
    }

    /// How many checks succeeded, or what is wrong.
    pub(crate) async fn passes(&self, suite: &Suite, scenario: &str) -> Result<Result<usize, String>> {
        let arguments = ["server", "--url", &self.url, "--scenario", scenario, "--spec-version", REVISION];
        let ran = suite.run(&format!("served-{REVISION}-{scenario}"), &arguments, &[]).await?;
        Ok(judge(&ran).map_err(|problem| format!("{problem}\n{}", ran.said)))
    }
}
