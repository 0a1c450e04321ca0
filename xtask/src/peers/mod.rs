//! Real MCP servers, installed from their package registries and run on this machine alone: every one listens on a loopback address and
//! ends with us.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `install.rs`, `debian.rs` | packages at pinned versions, into a folder of our own |
//! | `process.rs` | one server process: start, kill, start again on the same port |
//! | `relay.rs`, `exchange.rs` | the wire between client and server, which can be cut or frozen, and what went past on it |
//! | `ledger.rs` | what the server wrote down of the tools that ran |
//! | `everything.rs`, `python_mcp.rs`, `python_fastmcp.rs`, `typescript_sdk.rs`, `server_package.rs`, `rmcp.rs` | one server each: how it is installed, started and what its tools are called |
//! | `frameworks.rs`, `sessions.rs` | servers on what others publish, and what can befall their sessions |
//! | `bridges.rs`, `middleboxes.rs` | what stands before a server |
//! | `recipe.rs`, `place.rs` | all of these by one name each, and where one of them lives |
//! | `offers.rs` | what a server offers besides tools, and one call of each method |
//! | `trial.rs`, `situations.rs` | one client on one server, in every situation of the handshake era |
//! | `modern/` | the same in the modern era |
//! | `stdio.rs` | servers on stdio |
//! | `change.rs` | a server whose place is taken by one of another era |
//! | `hosts/` | clients that others publish, before `oncewire proxy` |
//! | `proxies/` | proxies before a backend that fails by a script |
//! | `doctor.rs` | what `oncewire doctor` says of these servers |
//! | `rows.rs`, `command.rs`, `table.rs` | `cargo xtask peers`: the rows of the tables, all of them run, and the page |

mod bridges;
mod change;
mod command;
mod debian;
mod doctor;
pub(crate) mod everything;
mod exchange;
mod frameworks;
pub(crate) mod hosts;
pub(crate) mod install;
pub(crate) mod ledger;
mod middleboxes;
mod modern;
mod offers;
mod place;
pub(crate) mod process;
mod proxies;
mod python_fastmcp;
pub(crate) mod python_mcp;
mod recipe;
pub(crate) mod relay;
mod rmcp;
mod rows;
mod server_package;
mod sessions;
mod situations;
mod stdio;
mod table;
mod trial;
pub(crate) mod typescript_sdk;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) use self::command::{Options, run};
use self::ledger::Ledger;
use self::offers::Offers;
use self::process::Process;
use self::recipe::Launches;
use self::relay::Relay;
use crate::workspace;

/// A tool of a server, with arguments that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
}

impl Tool {
    /// Of the small servers that come with this crate: answers at once.
    pub(crate) fn quick() -> Self {
        Self { name: "quick", arguments: json!({}) }
    }

    /// The same: takes [`Peer::SLOW`].
    pub(crate) fn slow() -> Self {
        Self { name: "slow", arguments: json!({ "seconds": Peer::SLOW }) }
    }
}

/// How a server of the modern era tells that its list of tools has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// On the stream of `subscriptions/listen`.
    Listen,
    /// On the stream of the call that changed it, to nobody else.
    OnTheCall,
    /// It says that it does, and nobody hears of it.
    Unheard,
}

/// What of the progress of a tool arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reports {
    All,
    /// As much as a bridge passes on, which may be different each time.
    Some,
    None,
}

/// What a server of the modern era says while a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Talks {
    /// What arrives of the progress of the tool `report`.
    pub(crate) reports: Reports,
    /// What becomes of the change that the tool `grow` makes.
    pub(crate) changes: Changes,
    /// The tool `ask` asks its caller.
    pub(crate) asks: bool,
}

impl Talks {
    pub(crate) const ALL: Self = Self { reports: Reports::All, changes: Changes::Listen, asks: true };
    /// Of what does not speak the modern era.
    pub(crate) const NONE: Self = Self { reports: Reports::None, changes: Changes::Unheard, asks: false };
}

/// What comes of reading on with `Last-Event-ID` after the stream of a call was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumption {
    /// The server gives no event ids: there is nothing to read on from.
    NotOffered,
    /// The answer is read on, from where it was cut.
    Works,
    /// It is, if the tool still runs when the client is back: an answer that is ready before is thrown away.
    OnlyWhileItRuns,
    /// The server opens the stream again, and never delivers the answer on it.
    Silent,
}

/// What a server makes of the sessions that it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sessions {
    /// They end with the process, and with their `DELETE`.
    InMemory,
    /// They end with their `DELETE`, and every process knows them.
    OutliveTheProcess,
    /// It gives them, and takes every request without looking.
    NotLookedAt,
    /// It gives none.
    None,
}

/// How a session may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Restart,
    Delete,
    /// It is not lost: another process is asked.
    OtherReplica,
}

impl Sessions {
    /// Are they refused afterwards?
    pub(crate) fn lost_by(self, loss: Loss) -> bool {
        match self {
            Self::InMemory => true,
            Self::OutliveTheProcess => loss == Loss::Delete,
            Self::NotLookedAt | Self::None => false,
        }
    }
}

/// How a server is called, what it holds, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// What it is called in the output: package and version.
    pub(crate) title: String,
    /// A tool that answers at once.
    pub(crate) quick: Tool,
    /// A tool that takes [`Peer::SLOW`], long enough to be in the middle of it.
    pub(crate) slow: Tool,
    /// The slow tool says of itself that it only reads.
    pub(crate) slow_reads: bool,
    pub(crate) resumption: Resumption,
    /// After its session was ended, the same process takes another.
    pub(crate) opens_again: bool,
    /// How long it asks to wait before reading on, at most.
    pub(crate) retry: Duration,
    pub(crate) offers: Offers,
    /// In the modern era.
    pub(crate) talks: Talks,
    pub(crate) sessions: Sessions,
    /// Where its endpoint is.
    pub(crate) path: &'static str,
    /// What it must be told to be let in.
    pub(crate) token: Option<&'static str>,
}

/// A server that runs, with the wire to it and its ledger.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) about: About,
    pub(crate) process: Process,
    /// What stands before it; never restarted.
    front: Option<Process>,
    pub(crate) relay: Relay,
    pub(crate) ledger: Ledger,
}

impl Peer {
    /// How long the slow tool of each server is asked to run, in seconds.
    pub(crate) const SLOW: f64 = 1.5;

    /// Starts a server that is installed, and what stands in front of it.
    pub(crate) async fn start(about: About, launches: Launches, ledger: Ledger) -> Result<Self> {
        let upstream = launches.front.as_ref().unwrap_or(&launches.server).address();
        let process = Process::start(launches.server).await?;
        let front = match launches.front {
            Some(front) => Some(Process::start(front).await?),
            None => None,
        };
        let relay = Relay::start(upstream).await?;
        Ok(Self { about, process, front, relay, ledger })
    }

    /// Ends it, and what stands before it, and waits until both are gone.
    pub(crate) async fn end(mut self) -> Result<()> {
        self.process.kill().await?;
        match &mut self.front {
            Some(front) => front.kill().await,
            None => Ok(()),
        }
    }

    /// Where a client finds it, past the relay.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.relay.address(), self.about.path)
    }

    /// Where it listens itself.
    pub(crate) fn direct_url(&self) -> String {
        format!("http://{}/mcp", self.process.address())
    }

    /// Ends the client's session behind its back, past the relay, as another process with the same session id could.
    pub(crate) async fn end_session(&self) -> Result<()> {
        let session = self.relay.session().context("the client has named no session yet")?;
        let (address, path) = (self.process.address(), self.about.path);
        let token = self.about.token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!(
            "DELETE {path} HTTP/1.1\r\nHost: {address}\r\nMcp-Session-Id: {session}\r\n{token}Connection: close\r\n\r\n"
        );
        let mut stream = TcpStream::connect(address).await.context("cannot reach the server")?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        if !answer.starts_with(b"HTTP/1.1 2") {
            bail!("the server does not end the session: {}", String::from_utf8_lossy(&answer));
        }
        Ok(())
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
