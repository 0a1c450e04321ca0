//! The scenarios of OAuth, which the client leaves to whoever gives it tokens: each must still fail.

use anyhow::{Context as _, Result};

use super::clients::Client;
use super::requirements::{self, Requirements};
use super::suite::Suite;

/// How many failed that must, or what is wrong. The suite runs all that a revision requires, all at the same time.
pub(crate) async fn still_fails(
    suite: &Suite,
    client: &Client,
    requirements: &Requirements,
) -> Result<Result<usize, String>> {
    let revision = requirements.revision;
    let expected = requirements::expected_failures()?;
    let expected = expected.to_str().context("the folder of the workspace has a name that is not text")?;
    let options = ["--requirements", revision, "--expected-failures", expected];
    let arguments = [&["client", "--command", &client.command][..], &options].concat();
    let ran = suite.run(&format!("requirements-{revision}"), &arguments, &client.environment).await?;
    if !ran.status.success() {
        return Ok(Err(format!("something passed that must fail, or failed that must pass\n{}", ran.said)));
    }
    let silent: Vec<_> = requirements.expected_failures.iter().filter(|name| !failed(&ran.said, name)).collect();
    if !silent.is_empty() {
        return Ok(Err(format!("the suite does not say that these failed: {silent:?}\n{}", ran.said)));
    }
    Ok(Ok(requirements.expected_failures.len()))
}

/// Is it in the list of what failed as expected?
fn failed(said: &str, name: &str) -> bool {
    said.lines().any(|line| line.trim().strip_prefix("~ ") == Some(name))
}
