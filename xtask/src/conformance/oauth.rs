//! The scenarios of OAuth, which the client leaves to whoever gives it tokens: each must still fail.

use anyhow::{Context as _, Result};

use super::clients::Client;
use super::requirements;
use super::suite::Suite;

/// How many checks failed, or what is wrong: the suite ends badly when something passes that stands in the file of what must fail.
pub(crate) async fn fails(
    suite: &Suite,
    client: &Client,
    revision: &str,
    scenario: &str,
) -> Result<Result<usize, String>> {
    let expected = requirements::expected_failures()?;
    let expected = expected.to_str().context("the folder of the workspace has a name that is not text")?;
    let ran = suite.play(client, revision, scenario, &["--expected-failures", expected]).await?;
    let failed = ran.checks.iter().filter(|check| check.status == "FAILURE" || check.status == "WARNING").count();
    if ran.status.success() && failed > 0 {
        return Ok(Ok(failed));
    }
    let file = "xtask/conformance/expected-failures.yml";
    Ok(Err(format!("it passes now, and has to be taken out of {file}\n{}", ran.said)))
}
