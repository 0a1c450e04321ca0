//! One trial.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use oncewire_tests::server::{FaultServer, Script};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::fault::{Fault, NAME};
use super::process::{Ended, Launch, Process};

/// How long the first token is good. It has to be told in whole seconds.
const FIRST_TOKEN_MS: u64 = 2_000;
/// How long those after it are.
const LATER_TOKENS_MS: u64 = 3_600_000;
/// Nobody takes that long to come to the token endpoint.
const PATIENCE: Duration = Duration::from_secs(120);

/// How oncewire tells of it.
const LOST_ANSWER: &str = "the answer to an earlier refresh was lost";

/// What came of a trial.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Whether a person has to log in again.
    pub(crate) lost: bool,
    /// How many processes would have asked for that, the last one aside.
    pub(crate) asked: usize,
    /// Whether somebody was told that an answer to a refresh had been lost.
    pub(crate) told: bool,
}

pub(crate) async fn run(launch: &Launch, fault: Fault, processes: usize) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let server = server(fault, FIRST_TOKEN_MS).await?;
    let first = one(launch, "login", &server, folder.path()).await?;
    if first != Ended::Called {
        bail!("the first login failed: {first:?}");
    }
    // From now on every process has to refresh, and the tokens that it gets last.
    sleep(Duration::from_millis(FIRST_TOKEN_MS)).await;
    server.change_options(|options| {
        if let Some(authorization) = &mut options.authorization {
            authorization.access_token_ms = LATER_TOKENS_MS;
        }
    });
    server.set_rules(fault.rules()?);
    let mut ends = together(launch, "use", &server, folder.path(), fault, processes).await?;
    server.set_rules(Vec::new());
    server.release(NAME);
    ends.extend(together(launch, "use", &server, folder.path(), Fault::None, processes).await?);
    let asked = ends.iter().filter(|end| matches!(end, Ended::AsksForLogin(_))).count();
    let last = one(launch, "use", &server, folder.path()).await?;
    let told =
        ends.iter().chain([&last]).any(|end| matches!(end, Ended::AsksForLogin(why) if why.contains(LOST_ANSWER)));
    Ok(Outcome { lost: last != Ended::Called, asked, told })
}

/// What came of processes that find no login, and log in at the same moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct First {
    /// How many browser tabs a person would have seen.
    pub(crate) tabs: usize,
    /// How many clients were registered.
    pub(crate) registrations: usize,
    /// How many processes did not get to call the tool.
    pub(crate) failed: usize,
}

pub(crate) async fn first(launch: &Launch, processes: usize) -> Result<First> {
    let folder = tempfile::tempdir()?;
    let server = server(Fault::None, LATER_TOKENS_MS).await?;
    let ends = together(launch, "login", &server, folder.path(), Fault::None, processes).await?;
    let ledger = server.ledger().authorization;
    Ok(First {
        tabs: ledger.authorizations.len(),
        registrations: ledger.registrations.len(),
        failed: ends.iter().filter(|end| **end != Ended::Called).count(),
    })
}

async fn server(fault: Fault, access_token_ms: u64) -> Result<FaultServer> {
    let authorization = json!({"access_token_ms": access_token_ms, "grace_ms": fault.grace_ms()});
    let script = json!({"options": {"authorization": authorization, "protected": {}}});
    Ok(FaultServer::start(serde_json::from_value::<Script>(script)?).await?)
}

async fn one(launch: &Launch, mode: &str, server: &FaultServer, folder: &Path) -> Result<Ended> {
    let mut process = Process::start(launch, mode, server.url(), folder, true).await?;
    process.begin().await?;
    process.ended().await
}

/// So many processes at the same moment.
async fn together(
    launch: &Launch,
    mode: &str,
    server: &FaultServer,
    folder: &Path,
    fault: Fault,
    processes: usize,
) -> Result<Vec<Ended>> {
    let mut ready = Vec::new();
    for _ in 0..processes {
        ready.push(Process::start(launch, mode, server.url(), folder, fault != Fault::Disk).await?);
    }
    for process in &mut ready {
        process.begin().await?;
    }
    if fault.kills() {
        timeout(PATIENCE, server.reached(NAME, 1)).await.context("nobody came to the token endpoint")?;
        ready.iter_mut().try_for_each(Process::kill)?;
    }
    let mut ends = Vec::new();
    for process in ready {
        ends.push(process.ended().await?);
    }
    Ok(ends)
}
