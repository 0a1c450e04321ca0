//! Which scenarios there are: what each revision of the protocol requires of a client, frozen in files of the suite.

use anyhow::{Result, bail};

use super::suite::Suite;

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
}

/// A scenario that must pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) required: bool,
}

impl Scenario {
    /// Is it about a login?
    pub(crate) fn is_of_oauth(&self) -> bool {
        self.name.starts_with(AUTHORIZATION)
    }

    /// What the suite wants to be told before it runs it: extensions of the protocol are on no revision's list.
    pub(crate) fn force(&self) -> &'static [&'static str] {
        if self.required || !self.is_of_oauth() { &[] } else { &["--force"] }
    }
}

impl Requirements {
    /// Those of every revision.
    pub(crate) fn read(suite: &Suite) -> Result<Vec<Self>> {
        let of = |revision| Self::of(revision, &suite.read(&format!("requirements/{revision}.yaml"))?);
        REVISIONS.into_iter().map(of).collect()
    }

    fn of(revision: &'static str, frozen: &str) -> Result<Self> {
        let required = list(frozen, "client", "- ");
        if required.is_empty() {
            bail!("{revision} requires nothing of a client: its file is not as it was");
        }
        let required = required.into_iter().map(|name| Scenario { name, required: true });
        let unscored = legs_of_clients(frozen).into_iter().map(|name| Scenario { name, required: false });
        Ok(Self { revision, scenarios: required.chain(unscored).collect() })
    }
}

/// The lines of a top-level list of YAML that begin so, without that. The files of the suite are no more than that.
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
    fn what_is_required_and_what_is_not_scored_must_pass() {
        let read = Requirements::of("2025-11-25", FROZEN).unwrap();
        let scenario = |name: &str, required| Scenario { name: name.into(), required };
        let extension = scenario("auth/extension", false);
        assert_eq!(extension.force(), ["--force"]);
        assert_eq!(
            read.scenarios,
            [
                scenario("initialize", true),
                scenario("auth/basic", true),
                scenario("auth/new", true),
                extension,
                scenario("preservation", false)
            ]
        );
    }

    #[test]
    fn a_file_of_another_shape_is_an_error_and_not_an_empty_success() {
        assert!(Requirements::of("2025-11-25", "clients:\n  - initialize\n").is_err());
    }
}
