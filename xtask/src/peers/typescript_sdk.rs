//! Small servers on the official TypeScript SDK, npm `@modelcontextprotocol/sdk` 1.x: over HTTP, and behind the bridges over standard
//! input and output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::install::{self, Installed};
use super::ledger::Ledger;
use super::offers::Offers;
use super::process::{self, Launch};
use super::{About, Peer, Resumption, Tool};

const PACKAGE: &str = "@modelcontextprotocol/sdk";
/// The version.
pub(crate) const VERSION: &str = "1.32.2";

/// How it holds sessions and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Sessions, answers as streams without event ids.
    Sessions,
    /// The same, with event ids from an event store.
    Events,
    /// Sessions, answers as plain JSON.
    Json,
    /// One transport for the whole process, which answers 400 to a session that it does not know.
    Bare,
}

/// Installs it if need be and starts it; the text says why there is none.
pub(crate) async fn start(title: String, mode: Mode, name: &str) -> Result<Result<Peer, String>> {
    let folder = match folder().await? {
        Ok(folder) => folder,
        Err(problem) => return Ok(Err(problem)),
    };
    let file = super::folder()?.join(format!("{name}.ledger"));
    let ledger = Ledger::create(file.clone())?;
    let port = process::free_port()?;
    let word = match mode {
        Mode::Sessions => "sessions",
        Mode::Events => "events",
        Mode::Json => "json",
        Mode::Bare => "bare",
    };
    let launch = Launch {
        program: "node".into(),
        arguments: vec![super::scripts()?.join("sdk_peer.mjs").into()],
        environment: vec![
            ("PORT", port.to_string().into()),
            ("PEER_MODE", word.into()),
            ("PEER_LEDGER", file.into()),
            ("PEER_PACKAGES", folder.into()),
        ],
        port,
        log: super::folder()?.join(format!("{name}.log")),
    };
    let resumption = if mode == Mode::Events { Resumption::Works } else { Resumption::NotOffered };
    let about = About { opens_again: mode != Mode::Bare, ..about(title, resumption) };
    Peer::start(about, launch, ledger).await.map(Ok)
}

/// The folder that it is installed in.
async fn folder() -> Result<Result<PathBuf, String>> {
    Ok(match install::npm(PACKAGE, VERSION).await? {
        Installed::Here(folder) => Ok(folder),
        Installed::NoInstaller(problem) => Err(problem),
    })
}

/// How a bridge starts the small server over standard input and output.
#[derive(Debug)]
pub(crate) struct Stdio {
    pub(crate) script: PathBuf,
    pub(crate) environment: Vec<(&'static str, OsString)>,
    pub(crate) ledger: Ledger,
}

/// Installs the SDK if need be; the bridge passes its own environment on.
pub(crate) async fn stdio(name: &str) -> Result<Result<Stdio, String>> {
    let folder = match folder().await? {
        Ok(folder) => folder,
        Err(problem) => return Ok(Err(problem)),
    };
    let file = super::folder()?.join(format!("{name}.ledger"));
    let ledger = Ledger::create(file.clone())?;
    let environment = vec![("PEER_LEDGER", file.into()), ("PEER_PACKAGES", folder.into())];
    Ok(Ok(Stdio { script: super::scripts()?.join("stdio_peer.mjs"), environment, ledger }))
}

/// What is known of the small server.
pub(crate) fn about(title: String, resumption: Resumption) -> About {
    About {
        title,
        quick: Tool { name: "quick", arguments: serde_json::json!({}) },
        slow: Tool { name: "slow", arguments: serde_json::json!({ "seconds": Peer::SLOW }) },
        slow_reads: false,
        resumption,
        opens_again: true,
        retry: Duration::from_millis(500),
        offers: Offers::small(true),
    }
}
