//! The part that certifies the fault server: a ledger is worth something only if the server that keeps it is correct when no rule makes it fail.

use anyhow::{Context as _, Result};
use oncewire_tests::server::FaultServer;

use super::judge::judge;
use super::suite::Suite;

/// Initialised, deleted, and then unknown.
pub(crate) const SCENARIO: &str = "server-session-lifecycle";

/// How many checks succeeded, or what is wrong.
pub(crate) async fn session_lifecycle(suite: &Suite) -> Result<Result<usize, String>> {
    let server = FaultServer::healthy().await.context("cannot start the fault server")?;
    let arguments = ["server", "--url", server.url(), "--scenario", SCENARIO];
    let ran = suite.run("server", &arguments, &[]).await?;
    let judged = judge(&ran).and_then(|succeeded| match ran.checks.len() {
        all if all == succeeded => Ok(all),
        all => Err(format!("only {succeeded} of {all} checks were made")),
    });
    Ok(judged.map_err(|problem| format!("{problem}\n{}", ran.said)))
}
