//! A small server on crates.io `rmcp`, the official Rust SDK: sessions in memory, event ids without a store, 404 as plain text. It is
//! a cargo project of its own beside this crate, so that the workspace does not build it.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::install;
use super::ledger::Ledger;
use super::offers::Offers;
use super::process::{self, Launch};
use super::{About, Peer, Resumption, Tool};

/// What it is called in the output.
pub(crate) fn title() -> String {
    "crates.io rmcp 3.11.0".into()
}

/// Builds it if need be and starts it.
pub(crate) async fn start(name: &str) -> Result<Result<Peer, String>> {
    let program = install::cargo_project(&super::scripts()?.join("rmcp-server"), "rmcp-server").await?;
    let file = super::folder()?.join(format!("{name}.ledger"));
    let ledger = Ledger::create(file.clone())?;
    let port = process::free_port()?;
    let launch = Launch {
        program: program.into(),
        arguments: Vec::new(),
        environment: vec![("PORT", port.to_string().into()), ("PEER_LEDGER", file.into())],
        port,
        log: super::folder()?.join(format!("{name}.log")),
    };
    let about = About {
        title: title(),
        quick: Tool { name: "quick", arguments: json!({}) },
        slow: Tool { name: "slow", arguments: json!({ "seconds": Peer::SLOW }) },
        slow_reads: false,
        // The session drops what it kept of a request as soon as the answer is handed over, be there a reader or not.
        resumption: Resumption::OnlyWhileItRuns,
        opens_again: true,
        retry: Duration::from_secs(3),
        offers: Offers::small(false),
    };
    Peer::start(about, launch, ledger).await.map(Ok)
}
