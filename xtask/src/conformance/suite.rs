//! The suite itself: the package at a pinned version, the Node that it needs, and one run of it.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

use super::clients::Client;
use crate::peers::install::{self, Installed};
use crate::workspace;

const PACKAGE: &str = "@modelcontextprotocol/conformance";
/// The newest one; what the registry calls the latest knows no current version of the protocol.
const VERSION: &str = "0.2.0-alpha.12";
/// The suite imports what Node has from this version on.
const NODE_NEEDED: u32 = 22;
const NODE_VERSION: &str = "22.23.3";
/// The longest that one run may take. A client of ours ends itself long before.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// One check of a scenario, as the suite reports it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Check {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) error_message: Option<String>,
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ({})", self.status, self.id, self.name)?;
        match &self.error_message {
            Some(message) => write!(formatter, ": {message}"),
            None => Ok(()),
        }
    }
}

/// What a program needs to be told, besides what we were.
pub(crate) type Environment = [(OsString, OsString)];

/// What one run of the suite came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) checks: Vec<Check>,
    pub(crate) status: ExitStatus,
    /// What the suite said, and what the client did, if it failed.
    pub(crate) said: String,
}

/// The suite, installed.
#[derive(Debug)]
pub(crate) struct Suite {
    node: PathBuf,
    package: PathBuf,
    results: PathBuf,
}

impl Suite {
    /// What it is called in the output.
    pub(crate) fn title() -> String {
        format!("{PACKAGE} {VERSION}")
    }

    /// Installs it if need be; the results of earlier runs are removed.
    pub(crate) async fn install() -> Result<Self> {
        let folder = installed(install::npm(PACKAGE, VERSION).await?)?;
        let results = workspace::target()?.join("xtask").join("conformance");
        if results.exists() {
            std::fs::remove_dir_all(&results).with_context(|| format!("cannot remove {}", results.display()))?;
        }
        Ok(Self { node: node().await?, package: folder.join("node_modules").join(PACKAGE), results })
    }

    /// A file of the package.
    pub(crate) fn read(&self, file: &str) -> Result<String> {
        let file = self.package.join(file);
        std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    }

    /// Plays one scenario against a client, by itself: what runs beside it would take from its time.
    pub(crate) async fn play(&self, client: &Client, revision: &str, scenario: &str, more: &[&str]) -> Result<Ran> {
        let about = ["--command", &client.command, "--scenario", scenario, "--spec-version", revision];
        let name = format!("{}-{revision}-{}", client.name, scenario.replace('/', "-"));
        self.run(&name, &[&["client"], &about[..], more].concat(), &client.environment).await
    }

    /// Runs it once; what it writes goes into a folder of this name.
    pub(crate) async fn run(&self, name: &str, arguments: &[&str], environment: &Environment) -> Result<Ran> {
        let results = self.results.join(name);
        let mut command = Command::new(&self.node);
        command.arg(self.package.join("dist").join("index.js")).args(arguments).arg("-o").arg(&results);
        command.current_dir(workspace::root()?).envs(environment.iter().map(|(name, value)| (name, value)));
        // A server on this machine needs no proxy.
        command.env("NO_PROXY", "localhost,127.0.0.1").env("no_proxy", "localhost,127.0.0.1");
        let output = timeout(LIMIT, command.stdin(Stdio::null()).kill_on_drop(true).output()).await;
        let output = output.with_context(|| format!("{name} takes too long"))?.context("cannot start the suite")?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let checks = checks(&results).with_context(|| format!("{name}:\n{said}"))?;
        Ok(Ran { checks, status: output.status, said })
    }
}

/// The checks that the suite wrote down, in whatever folders it made: there is one more for each stroke in a scenario's name.
fn checks(folder: &Path) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for entry in std::fs::read_dir(folder).context("the suite wrote no results")? {
        let path = entry?.path();
        if path.is_dir() {
            checks.extend(self::checks(&path)?);
        } else if path.ends_with("checks.json") {
            let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let read: Vec<Check> =
                serde_json::from_slice(&text).with_context(|| format!("cannot parse {}", path.display()))?;
            checks.extend(read);
        }
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
