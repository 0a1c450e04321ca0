//! A small server on the official Python SDK, PyPI `mcp`, 1.x or 2.x: sessions, and 404 for a session that it does not know.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::install::{self, Installed};
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::recipe::Recipe;
use super::{About, Peer, Reports, Resumption, Sessions, Talks, Tool};

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

/// What it is called in the table.
pub(crate) fn package(version: &str, answers: Answers) -> String {
    let how = match answers {
        Answers::Streams => "",
        Answers::Events => ", event store",
        Answers::Json => ", JSON answers",
    };
    format!("PyPI {PACKAGE} {version}{how}")
}

/// What it is called in the demo.
pub(crate) fn title() -> String {
    format!("mcp {V1} (PyPI)")
}

/// Installs it if need be and starts it, for the demo; the text says why there is none.
pub(crate) async fn start() -> Result<Result<Peer, String>> {
    Recipe::Mcp1(Answers::Streams).start(about(title(), Answers::Streams), "python_mcp").await
}

/// Installs it if need be, and says how to start it.
pub(crate) async fn launch(place: &Place, version: &str, answers: Answers) -> Result<Result<Launch, String>> {
    let folder = match install::pip(PACKAGE, version).await? {
        Installed::Here(folder) => folder,
        Installed::NoInstaller(problem) => return Ok(Err(problem)),
    };
    let mut launch = script(place, &folder, "mcp_peer.py")?;
    match answers {
        Answers::Streams => {}
        Answers::Events => launch.arguments.push("--events".into()),
        Answers::Json => launch.arguments.push("--json".into()),
    }
    Ok(Ok(launch))
}

/// A script of ours, run by the interpreter of this folder.
pub(crate) fn script(place: &Place, folder: &Path, name: &str) -> Result<Launch> {
    Ok(Launch {
        program: install::python_of(folder).into(),
        arguments: vec![
            // Nothing is written beside the scripts.
            "-B".into(),
            super::scripts()?.join(name).into(),
            "--port".into(),
            place.port.to_string().into(),
            "--ledger".into(),
            place.ledger.clone().into(),
        ],
        environment: Vec::new(),
        port: place.port,
        log: place.log.clone(),
    })
}

/// What is known of it in the handshake era.
pub(crate) fn about(title: String, answers: Answers) -> About {
    About {
        title,
        quick: Tool::quick(),
        slow: Tool::slow(),
        slow_reads: false,
        resumption: if answers == Answers::Events { Resumption::Works } else { Resumption::NotOffered },
        opens_again: true,
        retry: Duration::from_millis(500),
        offers: Offers::small(false),
        talks: Talks::NONE,
        sessions: Sessions::InMemory,
        path: "/mcp",
        token: None,
    }
}

/// What is known of 2.x in the modern era.
pub(crate) fn modern_about(title: String, answers: Answers) -> About {
    let offers = Offers { subscriptions: true, ..Offers::small(false) };
    // There is no place for progress in an answer of plain JSON.
    let reports = if answers == Answers::Json { Reports::None } else { Reports::All };
    About { offers, talks: Talks { reports, ..Talks::ALL }, retry: Duration::ZERO, ..about(title, Answers::Streams) }
}
