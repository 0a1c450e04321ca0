//! A small server on the official Python SDK, PyPI `mcp` 1.x: sessions, no event store, 404 for a session that it does not know.

use anyhow::Result;
use serde_json::json;

use super::install::{self, Installed};
use super::ledger::Ledger;
use super::process::{self, Launch};
use super::{About, Peer, Resumption, Tool};

const PACKAGE: &str = "mcp";
const VERSION: &str = "1.30.0";

/// What it is called in the output.
pub(crate) fn title() -> String {
    format!("mcp {VERSION} (PyPI)")
}

/// Installs it if need be and starts it; the text says why there is none.
pub(crate) async fn start() -> Result<Result<Peer, String>> {
    let folder = match install::pip(PACKAGE, VERSION).await? {
        Installed::Here(folder) => folder,
        Installed::NoInstaller(problem) => return Ok(Err(problem)),
    };
    let file = super::folder()?.join("python_mcp.ledger");
    let ledger = Ledger::create(file.clone())?;
    let port = process::free_port()?;
    let launch = Launch {
        program: install::python_of(&folder).into(),
        arguments: vec![
            super::scripts()?.join("mcp_peer.py").into(),
            "--port".into(),
            port.to_string().into(),
            "--ledger".into(),
            file.into(),
        ],
        environment: Vec::new(),
        port,
        log: super::folder()?.join("python_mcp.log"),
    };
    let about = About {
        title: title(),
        quick: Tool { name: "quick", arguments: json!({}) },
        slow: Tool { name: "slow", arguments: json!({ "seconds": Peer::SLOW }) },
        resumption: Resumption::NotOffered,
    };
    Peer::start(about, launch, ledger).await.map(Ok)
}
