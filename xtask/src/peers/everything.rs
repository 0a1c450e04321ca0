//! The reference server of the MCP project for trying out clients, npm `@modelcontextprotocol/server-everything`: sessions, an event store, and
//! 400 instead of 404 for a session that it does not know.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::install::{self, Installed};
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::recipe::Recipe;
use super::{About, Peer, Resumption, Sessions, Talks, Tool};

const PACKAGE: &str = "@modelcontextprotocol/server-everything";
/// The version.
pub(crate) const VERSION: &str = "2026.8.31";

/// What it is called in the output.
pub(crate) fn title() -> String {
    format!("server-everything {VERSION} (npm)")
}

/// Installs it if need be and starts it, for the demo; the text says why there is none.
pub(crate) async fn start() -> Result<Result<Peer, String>> {
    Recipe::Everything.start(about(title()), "everything").await
}

/// Installs it if need be; the file that Node is given. The text says why there is none.
pub(crate) async fn script() -> Result<Result<PathBuf, String>> {
    Ok(match install::npm(PACKAGE, VERSION).await? {
        Installed::Here(folder) => Ok(folder.join("node_modules").join(PACKAGE).join("dist").join("index.js")),
        Installed::NoInstaller(problem) => Err(problem),
    })
}

/// Installs it if need be, and says how to start it.
pub(crate) async fn launch(place: &Place) -> Result<Result<Launch, String>> {
    let server = match script().await? {
        Ok(server) => server,
        Err(problem) => return Ok(Err(problem)),
    };
    let scripts = super::scripts()?;
    Ok(Ok(Launch {
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
            ("PORT", place.port.to_string().into()),
            ("PEER_LEDGER", place.ledger.clone().into()),
            ("PEER_SERVER", server.into()),
        ],
        port: place.port,
        log: place.log.clone(),
    }))
}

/// What is known of it.
pub(crate) fn about(title: String) -> About {
    About {
        title,
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
        talks: Talks::NONE,
        sessions: Sessions::InMemory,
        path: "/mcp",
        token: None,
    }
}
