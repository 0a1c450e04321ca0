//! Real MCP servers, installed from their package registries and run on this machine alone: every one listens on a loopback address and
//! ends with us.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `install.rs` | packages at pinned versions, into a folder of our own |
//! | `process.rs` | one server process: start, kill, start again on the same port |
//! | `relay.rs` | the wire between client and server, which can be cut or frozen |
//! | `ledger.rs` | what the server wrote down of the tools that ran |
//! | `everything.rs`, `python_mcp.rs` | one server each: how it is installed, started and what its tools are called |

pub(crate) mod everything;
pub(crate) mod install;
pub(crate) mod ledger;
pub(crate) mod process;
pub(crate) mod python_mcp;
pub(crate) mod relay;

use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

use self::ledger::Ledger;
use self::process::{Launch, Process};
use self::relay::Relay;
use crate::workspace;

/// A tool of a server, with arguments that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
}

/// A server that runs, with the wire to it and its ledger.
#[derive(Debug)]
pub(crate) struct Peer {
    /// What it is called in the output: package and version.
    pub(crate) title: String,
    pub(crate) process: Process,
    pub(crate) relay: Relay,
    pub(crate) ledger: Ledger,
    /// A tool that answers at once.
    pub(crate) quick: Tool,
    /// A tool that takes [`SLOW`](Self::SLOW), long enough to be in the middle of it.
    pub(crate) slow: Tool,
}

impl Peer {
    /// How long the slow tool of each server is asked to run, in seconds.
    pub(crate) const SLOW: f64 = 1.5;

    /// Starts a server that is installed.
    pub(crate) async fn start(title: String, launch: Launch, ledger: Ledger, quick: Tool, slow: Tool) -> Result<Self> {
        let upstream = launch.address();
        let process = Process::start(launch).await?;
        let relay = Relay::start(upstream).await?;
        Ok(Self { title, process, relay, ledger, quick, slow })
    }

    /// Where a client finds it, past the relay.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.relay.address())
    }
}

/// The folder for what is installed and what the servers write.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("peers"))
}

/// The folder of the scripts that come with this crate.
pub(crate) fn scripts() -> Result<PathBuf> {
    Ok(workspace::root()?.join("xtask").join("peers"))
}
