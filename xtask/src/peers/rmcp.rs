//! A small server on crates.io `rmcp`, the official Rust SDK: sessions in memory, event ids without a store, 404 as plain text. It is
//! a cargo project of its own beside this crate, so that the workspace does not build it.

use std::time::Duration;

use anyhow::Result;

use super::install;
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::{About, Resumption, Sessions, Talks, Tool};

/// What it is called in the output.
pub(crate) fn title() -> String {
    "crates.io rmcp 3.11.0".into()
}

/// Builds it if need be, and says how to start it.
pub(crate) async fn launch(place: &Place) -> Result<Launch> {
    let program = install::cargo_project(&super::scripts()?.join("rmcp-server"), "rmcp-server").await?;
    Ok(Launch {
        program: program.into(),
        arguments: Vec::new(),
        environment: vec![("PORT", place.port.to_string().into()), ("PEER_LEDGER", place.ledger.clone().into())],
        port: place.port,
        log: place.log.clone(),
    })
}

/// What is known of it in the handshake era.
pub(crate) fn about() -> About {
    About {
        title: title(),
        quick: Tool::quick(),
        slow: Tool::slow(),
        slow_reads: false,
        // The session drops what it kept of a request as soon as the answer is handed over, be there a reader or not.
        resumption: Resumption::OnlyWhileItRuns,
        opens_again: true,
        retry: Duration::from_secs(3),
        offers: Offers::small(false),
        talks: Talks::NONE,
        sessions: Sessions::InMemory,
        path: "/mcp",
        token: None,
    }
}

/// What is known of it in the modern era.
pub(crate) fn modern_about() -> About {
    About { resumption: Resumption::NotOffered, retry: Duration::ZERO, talks: Talks::ALL, ..about() }
}
