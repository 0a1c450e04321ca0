//! What a person types after `oncewire doctor`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::report::{Letter, Severity};
use crate::connection::ConnectionOptions;
use crate::connection::value::duration;
use crate::failure::BadInput;

/// How long one server may take, where nobody says it.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest that anybody can say, `--slow` included: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Say what a client can rely on with a server: its way, era, sessions, streams, limits, logins and tools, and how safe retries are.
///
/// Nothing is changed: no tool is called unless --call names one, one session is opened and ended, and every wait has its end: one answer 10 s,
/// all of a server what --timeout says [default: 60s].
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The server's URL
    #[arg(value_name = "URL", required_unless_present_any = ["config", "command"], conflicts_with_all = ["config", "command"])]
    pub(crate) url: Option<String>,

    /// A server on stdio: the program and its arguments, behind --
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "config")]
    pub(crate) command: Vec<String>,

    /// All servers of a host's config file (mcpServers), one after the other
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Watch silence, too: when idle connections and streams are cut. Takes as long as it says [default: 70 s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "70s", value_parser = bounded)]
    pub(crate) slow: Option<Duration>,

    /// Open a second session beside the first. A server that holds only one throws somebody out for it
    #[arg(long)]
    pub(crate) intrusive: bool,

    /// Call this tool once, without arguments. It runs
    #[arg(long, value_name = "TOOL")]
    pub(crate) call: Option<String>,

    /// Use the login of OAuth as well, up to its refresh; without this a stored login is left alone
    #[arg(long)]
    pub(crate) login: bool,

    /// Print the findings as SARIF 2.1.0
    #[arg(long)]
    pub(crate) sarif: bool,

    /// Exit with 1 for a grade as bad as this (A to F), or for a finding as bad as this (info, warning, error). Can be given twice
    #[arg(long, value_name = "GRADE|SEVERITY")]
    pub(crate) fail_on: Vec<FailOn>,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

impl Options {
    /// How long one server may take, what `--slow` takes included.
    pub(crate) fn whole(&self) -> Result<Duration, BadInput> {
        let whole = bounded_of(self.connection.timeout().unwrap_or(TIMEOUT));
        whole.map(|whole| whole + self.slow.unwrap_or_default()).map_err(|problem| BadInput::new("--timeout", problem))
    }
}

/// What makes the command fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailOn {
    /// A grade as bad as this.
    Grade(Letter),
    /// A finding as bad as this.
    Severity(Severity),
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        use clap::ValueEnum as _;
        let grade = Letter::from_str(text, true).map(Self::Grade);
        let severity = Severity::from_str(text, true).map(Self::Severity);
        grade.or(severity).map_err(|_| "a grade from A to F, or info, warning or error".to_owned())
    }
}

fn bounded(text: &str) -> Result<Duration, String> {
    duration(text).and_then(bounded_of)
}

fn bounded_of(duration: Duration) -> Result<Duration, String> {
    match duration {
        Duration::ZERO => Err("it must be above zero".to_owned()),
        duration if duration > LONGEST => Err("it must be a day at most".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("C", Some(FailOn::Grade(Letter::C)))]
    #[test_case("f", Some(FailOn::Grade(Letter::F)))]
    #[test_case("warning", Some(FailOn::Severity(Severity::Warning)))]
    #[test_case("G", None)]
    fn what_makes_it_fail(text: &str, expected: Option<FailOn>) {
        assert_eq!(text.parse().ok(), expected);
    }

    #[test_case("0.5", true)]
    #[test_case("70s", true)]
    #[test_case("0", false)]
    #[test_case("2d", false)]
    fn a_wait_has_an_end(text: &str, good: bool) {
        assert_eq!(bounded(text).is_ok(), good);
    }
}
