//! The reference server of the MCP project for trying out clients, npm `@modelcontextprotocol/server-everything`: sessions, an event store, and
//! 400 instead of 404 for a session that it does not know.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::install::{self, Installed};
use super::ledger::Ledger;
use super::offers::Offers;
use super::process::{self, Launch};
use super::{About, Peer, Resumption, Tool};

const PACKAGE: &str = "@modelcontextprotocol/server-everything";
/// The version.
pub(crate) const VERSION: &str = "2026.8.31";

/// What it is called in the output.
pub(crate) fn title() -> String {
    format!("server-everything {VERSION} (npm)")
}

/// Installs it if need be and starts it; the text says why there is none.
pub(crate) async fn start() -> Result<Result<Peer, String>> {
    let folder = match install::npm(PACKAGE, VERSION).await? {
        Installed::Here(folder) => folder,
        Installed::NoInstaller(problem) => return Ok(Err(problem)),
    };
    let server = folder.join("node_modules").join(PACKAGE).join("dist").join("index.js");
    let file = super::folder()?.join("everything.ledger");
    let ledger = Ledger::create(file.clone())?;
    let scripts = super::scripts()?;
    let port = process::free_port()?;
    let launch = Launch {
        program: "node".into(),
        // It has no option for the address: the first script binds it to 127.0.0.1, the second keeps the ledger.
        arguments: vec![
            "--import".into(),
            scripts.join("loopback.mjs").into(),
            "--import".into(),
            scripts.join("everything_ledger.mjs").into(),
            server.clone().into(),
            "streamableHttp".into(),
        ],
        environment: vec![
            ("PORT", port.to_string().into()),
            ("PEER_LEDGER", file.into()),
            ("PEER_SERVER", server.into()),
        ],
        port,
        log: super::folder()?.join("everything.log"),
    };
    let about = About {
        title: title(),
        quick: Tool { name: "echo", arguments: json!({ "message": "hello" }) },
        // It says of itself that it only reads: what may be done with that is for the caller to decide.
        slow: Tool { name: "trigger-long-running-operation", arguments: json!({ "duration": Peer::SLOW, "steps": 3 }) },
        slow_reads: true,
        // Its event store gives back an event's id where the SDK asks for the stream's.
        resumption: Resumption::Silent,
        opens_again: true,
        retry: Duration::ZERO,
        offers: Offers {
            resource: "demo://resource/static/document/features.md",
            prompt: ("args-prompt", json!({ "city": "Paris" })),
            completion: ("completable-prompt", "department", "S"),
            log_level: true,
            subscriptions: true,
        },
    };
    Peer::start(about, launch, ledger).await.map(Ok)
}
