//! A small server on the TypeScript SDK of the modern era, npm `@modelcontextprotocol/server` 2.x.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::install::{self, Installed};
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::{About, Resumption, Sessions, Talks, Tool};

/// The version.
pub(crate) const VERSION: &str = "2.4.0";

/// The eras that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eras {
    /// Both; without sessions in that of handshakes.
    Both,
    /// That of 2026-07-28 alone.
    Modern,
}

/// What it is called in the output.
pub(crate) fn title(eras: Eras) -> String {
    let how = if eras == Eras::Modern { ", modern era alone" } else { "" };
    format!("npm @modelcontextprotocol/server {VERSION}{how}")
}

/// Installs it if need be, and says how to start it.
pub(crate) async fn launch(place: &Place, eras: Eras) -> Result<Result<Launch, String>> {
    let folder = match folder().await? {
        Ok(folder) => folder,
        Err(problem) => return Ok(Err(problem)),
    };
    let word = if eras == Eras::Modern { "modern" } else { "both" };
    Ok(Ok(Launch::node(place, super::scripts()?.join("server_peer.mjs"), word, folder)))
}

/// The folder that it is installed in.
pub(crate) async fn folder() -> Result<Result<PathBuf, String>> {
    let package = format!("@modelcontextprotocol/server@{VERSION}");
    Ok(match install::npm_all(&[&package, "@modelcontextprotocol/node@2.1.2", "zod@4.6.7"]).await? {
        Installed::Here(folder) => Ok(folder),
        Installed::NoInstaller(problem) => Err(problem),
    })
}

/// What is known of it.
pub(crate) fn about(title: String) -> About {
    About {
        title,
        quick: Tool::quick(),
        slow: Tool::slow(),
        slow_reads: false,
        resumption: Resumption::NotOffered,
        opens_again: true,
        retry: Duration::ZERO,
        offers: Offers::small(true),
        talks: Talks::ALL,
        sessions: Sessions::InMemory,
        path: "/mcp",
        token: None,
    }
}
