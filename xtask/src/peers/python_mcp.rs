//! A small server on the official Python SDK, PyPI `mcp`, 1.x or 2.x: sessions, and 404 for a session that it does not know.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::install::{self, Installed};
use super::ledger::Ledger;
use super::offers::Offers;
use super::process::{self, Launch};
use super::{About, Peer, Resumption, Tool};

const PACKAGE: &str = "mcp";
/// The last of the handshake era alone.
pub(crate) const V1: &str = "1.30.0";
/// Both eras on one endpoint; a client that begins with `initialize` gets the handshake era.
pub(crate) const V2: &str = "2.3.0";

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// As streams without event ids.
    Streams,
    /// As streams with event ids, from an event store.
    Events,
    /// As plain JSON.
    Json,
}

/// What it is called in the output.
pub(crate) fn title() -> String {
    format!("mcp {V1} (PyPI)")
}

/// Installs it if need be and starts it, for the demo; the text says why there is none.
pub(crate) async fn start() -> Result<Result<Peer, String>> {
    let (launch, ledger) = match launch(V1, Answers::Streams, "python_mcp").await? {
        Ok(launch) => launch,
        Err(problem) => return Ok(Err(problem)),
    };
    Peer::start(about(title(), Answers::Streams), launch, ledger).await.map(Ok)
}

/// Installs it if need be, and says how to start it. `name` is for its files.
pub(crate) async fn launch(version: &str, answers: Answers, name: &str) -> Result<Result<(Launch, Ledger), String>> {
    let folder = match install::pip(PACKAGE, version).await? {
        Installed::Here(folder) => folder,
        Installed::NoInstaller(problem) => return Ok(Err(problem)),
    };
    let file = super::folder()?.join(format!("{name}.ledger"));
    let ledger = Ledger::create(file.clone())?;
    let port = process::free_port()?;
    let mut arguments: Vec<OsString> = vec![
        super::scripts()?.join("mcp_peer.py").into(),
        "--port".into(),
        port.to_string().into(),
        "--ledger".into(),
        file.into(),
    ];
    match answers {
        Answers::Streams => {}
        Answers::Events => arguments.push("--events".into()),
        Answers::Json => arguments.push("--json".into()),
    }
    let launch = Launch {
        program: install::python_of(&folder).into(),
        arguments,
        environment: Vec::new(),
        port,
        log: super::folder()?.join(format!("{name}.log")),
    };
    Ok(Ok((launch, ledger)))
}

/// What is known of it.
pub(crate) fn about(title: String, answers: Answers) -> About {
    About {
        title,
        quick: Tool { name: "quick", arguments: json!({}) },
        slow: Tool { name: "slow", arguments: json!({ "seconds": Peer::SLOW }) },
        slow_reads: false,
        resumption: if answers == Answers::Events { Resumption::Works } else { Resumption::NotOffered },
        opens_again: true,
        retry: Duration::from_millis(500),
        offers: Offers::small(false),
    }
}
