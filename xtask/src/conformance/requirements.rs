//! Which scenarios there are: what each revision of the protocol requires of a client, frozen in files of the suite, and which of those
//! must fail, in a file of ours in the suite's own form.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::suite::Suite;
use crate::workspace;

/// The revisions that the suite has requirements for.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// What the names of the scenarios of OAuth begin with.
const AUTHORIZATION: &str = "auth/";

/// What one revision requires of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirements {
    pub(crate) revision: &'static str,
    /// What must pass, required or not.
    pub(crate) scenarios: Vec<Scenario>,
    /// What is required and must fail.
    pub(crate) expected_failures: Vec<String>,
    /// What is not required and not run.
    pub(crate) left_out: Vec<String>,
}

/// A scenario that must pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) required: bool,
}

impl Requirements {
    /// Those of every revision. A scenario that is in none must not be expected to fail: nobody would ever see it pass.
    pub(crate) fn read(suite: &Suite) -> Result<Vec<Self>> {
        let file = expected_failures()?;
        let expected = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut all = Vec::new();
        for revision in REVISIONS {
            all.push(Self::of(revision, &suite.read(&format!("requirements/{revision}.yaml"))?, &expected)?);
        }
        for expected in list(&expected, "client", "- ") {
            if !all.iter().any(|requirements| requirements.expected_failures.contains(&expected)) {
                bail!("{expected} is expected to fail, and no revision requires it");
            }
        }
        Ok(all)
    }

    fn of(revision: &'static str, frozen: &str, expected: &str) -> Result<Self> {
        let expected = list(expected, "client", "- ");
        let (expected_failures, required): (Vec<_>, Vec<_>) =
            list(frozen, "client", "- ").into_iter().partition(|name| expected.contains(name));
        let (left_out, unscored): (Vec<_>, Vec<_>) =
            legs_of_clients(frozen).into_iter().partition(|name| name.starts_with(AUTHORIZATION));
        if required.is_empty() {
            bail!("{revision} requires nothing of a client: its file is not as it was");
        }
        let required = required.into_iter().map(|name| Scenario { name, required: true });
        let unscored = unscored.into_iter().map(|name| Scenario { name, required: false });
        Ok(Self { revision, scenarios: required.chain(unscored).collect(), expected_failures, left_out })
    }
}

/// The file of the scenarios that must fail.
pub(crate) fn expected_failures() -> Result<PathBuf> {
    Ok(workspace::root()?.join("xtask").join("conformance").join("expected-failures.yml"))
}

/// The lines of a top-level list of YAML that begin so, without that. The files of the suite, and ours, are no more than that.
fn list(text: &str, key: &str, begin: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| line.trim_end() != format!("{key}:")).skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '#']));
    lines.filter_map(|line| line.trim().strip_prefix(begin)).map(str::to_owned).collect()
}

/// The client's scenarios among those that are run and not scored: a name, and then the side that it is for.
fn legs_of_clients(text: &str) -> Vec<String> {
    let lines = list(text, "not_scored", "");
    let pairs = lines.iter().zip(lines.iter().skip(1));
    let clients = pairs.filter(|(_, leg)| *leg == "leg: client");
    clients.filter_map(|(name, _)| name.strip_prefix("- scenario: ")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROZEN: &str = "\
# client:
server:
  - ping

client:
  - initialize
  # a remark
  - auth/basic
  - auth/new

not_scored:
  - scenario: auth/extension
    leg: client
    reason: extension
  - scenario: lifecycle
    leg: server
    reason: added-after-release
  - scenario: preservation
    leg: client
    reason: added-after-release
    note: >-
      and more
";

    #[test]
    fn what_is_not_expected_to_fail_must_pass() {
        let read = Requirements::of("2025-11-25", FROZEN, "client:\n  - auth/basic\n").unwrap();
        let scenario = |name: &str, required| Scenario { name: name.into(), required };
        assert_eq!(
            read.scenarios,
            [scenario("initialize", true), scenario("auth/new", true), scenario("preservation", false)]
        );
        assert_eq!(read.expected_failures, ["auth/basic"]);
        assert_eq!(read.left_out, ["auth/extension"]);
    }

    #[test]
    fn a_file_of_another_shape_is_an_error_and_not_an_empty_success() {
        assert!(Requirements::of("2025-11-25", "clients:\n  - initialize\n", "").is_err());
    }
}
