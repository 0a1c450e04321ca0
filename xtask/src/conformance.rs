//! `cargo xtask conformance`: the official conformance suite of MCP, at a pinned version.
//!
//! What is here is the part that certifies the fault server: a ledger is worth something only if the server that keeps it is correct when no rule
//! makes it fail. A scenario that checks nothing passes in the suite, so at least one check must have succeeded.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use oncewire_tests::server::FaultServer;
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

use crate::peers::install::{self, Installed};
use crate::workspace;

const PACKAGE: &str = "@modelcontextprotocol/conformance";
/// The newest one; what the registry calls the latest knows no current version of the protocol.
const VERSION: &str = "0.2.0-alpha.12";
/// The suite imports what Node has from this version on.
const NODE_NEEDED: u32 = 22;
const NODE_VERSION: &str = "22.23.3";
/// Initialised, deleted, and then unknown.
const SCENARIO: &str = "server-session-lifecycle";
const LIMIT: Duration = Duration::from_secs(60);

/// The command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only what takes seconds: the fault server against the suite's scenario of a session's life. All that there is so far
    #[arg(long)]
    quick: bool,
}

/// One check of a scenario, as the suite reports it.
#[derive(Debug, Deserialize)]
struct Check {
    id: String,
    status: String,
}

/// Runs it. `Ok(false)` means that a check failed, or that there was none.
pub(crate) fn run(options: &Options) -> Result<bool> {
    if !options.quick {
        println!("the quick part is all that there is so far");
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async { timeout(LIMIT + LIMIT, session_lifecycle()).await.context("the suite hangs")? })
}

async fn session_lifecycle() -> Result<bool> {
    let suite = installed(install::npm(PACKAGE, VERSION).await?)?;
    let node = node().await?;
    let program = suite.join("node_modules").join(PACKAGE).join("dist").join("index.js");
    let results = workspace::target()?.join("xtask").join("conformance");
    if results.exists() {
        std::fs::remove_dir_all(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let server = FaultServer::healthy().await.context("cannot start the fault server")?;
    let mut command = Command::new(node);
    command.arg(program).args(["server", "--url", server.url(), "--scenario", SCENARIO, "-o"]).arg(&results);
    // A server on this machine needs no proxy.
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1").stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(LIMIT, command.output()).await.context("the suite takes too long")?;
    let output = output.context("cannot start the suite")?;
    let checks = checks(&results)?;
    let passed = checks.iter().filter(|check| check.status == "SUCCESS").count();
    for check in &checks {
        println!("{:<8} {}", check.status, check.id);
    }
    println!("{SCENARIO} of {PACKAGE} {VERSION}: {passed} of {} checks passed", checks.len());
    let good = output.status.success() && passed > 0 && passed == checks.len();
    if !good {
        println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    Ok(good)
}

/// The checks that the suite wrote down, in whatever folders it made.
fn checks(results: &std::path::Path) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    let folders = std::fs::read_dir(results).context("the suite wrote no results")?;
    for folder in folders {
        let file = folder?.path().join("checks.json");
        let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let read: Vec<Check> =
            serde_json::from_slice(&text).with_context(|| format!("cannot parse {}", file.display()))?;
        checks.extend(read);
    }
    Ok(checks)
}

/// A Node that is new enough: this machine's, or else one from the registry.
async fn node() -> Result<PathBuf> {
    let version = Command::new("node").arg("--version").output().await.context("node is not on this machine")?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    if major.is_some_and(|major: u32| major >= NODE_NEEDED) {
        return Ok("node".into());
    }
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => {
            bail!("node {NODE_NEEDED} or newer is needed, this machine has {version}, and there is none for {other}")
        }
    };
    // What the package `node` fetches when it is installed.
    let package = format!("node-{system}-{machine}");
    let folder = installed(install::npm(&package, NODE_VERSION).await?)?;
    let name = if cfg!(windows) { "node.exe" } else { "node" };
    Ok(folder.join("node_modules").join(package).join("bin").join(name))
}

fn installed(outcome: Installed) -> Result<PathBuf> {
    match outcome {
        Installed::Here(folder) => Ok(folder),
        Installed::NoInstaller(problem) => bail!("{problem}"),
    }
}
