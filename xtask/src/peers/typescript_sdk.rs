//! Small servers on the official TypeScript SDK, npm `@modelcontextprotocol/sdk` 1.x: over HTTP, and behind the bridges over standard
//! input and output.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::install::{self, Installed};
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::{About, Resumption, Sessions, Talks, Tool};

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

/// What it is called in the output.
pub(crate) fn title(mode: Mode) -> String {
    let how = match mode {
        Mode::Sessions => "",
        Mode::Events => ", event store",
        Mode::Json => ", JSON answers",
        Mode::Bare => ", one transport for the process",
    };
    format!("npm {PACKAGE} {VERSION}{how}")
}

/// Installs it if need be, and says how to start it.
pub(crate) async fn launch(place: &Place, mode: Mode) -> Result<Result<Launch, String>> {
    let folder = match folder().await? {
        Ok(folder) => folder,
        Err(problem) => return Ok(Err(problem)),
    };
    let word = match mode {
        Mode::Sessions => "sessions",
        Mode::Events => "events",
        Mode::Json => "json",
        Mode::Bare => "bare",
    };
    Ok(Ok(Launch::node(place, super::scripts()?.join("sdk_peer.mjs"), word, folder)))
}

/// The folder that it is installed in.
pub(crate) async fn folder() -> Result<Result<PathBuf, String>> {
    Ok(match install::npm(PACKAGE, VERSION).await? {
        Installed::Here(folder) => Ok(folder),
        Installed::NoInstaller(problem) => Err(problem),
    })
}

/// What is known of it.
pub(crate) fn about(title: String, mode: Mode) -> About {
    let resumption = if mode == Mode::Events { Resumption::Works } else { Resumption::NotOffered };
    About { opens_again: mode != Mode::Bare, ..small(title, resumption) }
}

/// What is known of the small server, also behind a bridge.
pub(crate) fn small(title: String, resumption: Resumption) -> About {
    About {
        title,
        quick: Tool::quick(),
        slow: Tool::slow(),
        slow_reads: false,
        resumption,
        opens_again: true,
        retry: Duration::from_millis(500),
        offers: Offers::small(true),
        talks: Talks::NONE,
        sessions: Sessions::InMemory,
        path: "/mcp",
        token: None,
    }
}
