//! `cargo xtask demo`: one client, three servers (the embedded fault server and two real ones), and the faults that make other
//! clients run a tool twice, hang, or lose their session for good.
//!
//! Each step prints what the client saw and what the server's own ledger says, and holds the one against the other. What is not
//! as it must be is printed as WRONG, and the command fails.

mod fault_server;
mod real_server;
mod report;
mod watched;

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum;

use self::report::Report;
use crate::peers::{everything, python_mcp};

/// The longest that one server's part may take; each takes about ten seconds.
const PART_LIMIT: Duration = Duration::from_secs(180);

/// A server of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Server {
    /// The embedded fault server
    #[value(name = "fault-server")]
    Embedded,
    /// PyPI mcp
    PythonMcp,
    /// npm @modelcontextprotocol/server-everything
    Everything,
}

impl Server {
    const ALL: [Self; 3] = [Self::Embedded, Self::PythonMcp, Self::Everything];
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which servers to show; all without one
    servers: Vec<Server>,
}

/// Runs the demo. `Ok(false)` means that something was seen that is not right.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        // When a signal comes first, the servers are dropped with the future that holds them, which kills them.
        tokio::select! {
            shown = show(options) => shown,
            signal = told_to_stop() => Err(signal.map_or_else(Into::into, |()| anyhow::anyhow!("stopped by a signal"))),
        }
    })
}

async fn show(options: &Options) -> Result<bool> {
    let mut report = Report::default();
    for server in Server::ALL {
        if !options.servers.is_empty() && !options.servers.contains(&server) {
            continue;
        }
        let (title, peer) = match server {
            Server::Embedded => {
                in_time("the fault server", fault_server::show(&mut report)).await?;
                continue;
            }
            Server::PythonMcp => (python_mcp::title(), python_mcp::start().await?),
            Server::Everything => (everything::title(), everything::start().await?),
        };
        match peer {
            Ok(peer) => in_time(&title, real_server::show(peer, &mut report)).await?,
            Err(problem) => report.left_out(&title, &problem),
        }
    }
    Ok(report.close())
}

/// A demo of a client that never hangs must not hang itself.
async fn in_time(title: &str, part: impl Future<Output = Result<()>>) -> Result<()> {
    let ended = tokio::time::timeout(PART_LIMIT, part).await;
    ended
        .with_context(|| format!("the part of {title} did not end in {} s", PART_LIMIT.as_secs()))?
        .with_context(|| format!("the part of {title} broke off"))
}

#[cfg(unix)]
pub(crate) async fn told_to_stop() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    tokio::select! {
        interrupt = tokio::signal::ctrl_c() => interrupt,
        _ = terminate.recv() => Ok(()),
        _ = hang_up.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
pub(crate) async fn told_to_stop() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
