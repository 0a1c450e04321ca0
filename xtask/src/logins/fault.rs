//! What goes wrong while a login is refreshed.

use clap::ValueEnum;
use oncewire_tests::server::Rule;
use serde_json::{Value, json};

/// The name of the rule, and of the gate at which a process is killed.
pub(crate) const NAME: &str = "fault";

/// For so long a server with grace takes a refresh token once more.
const GRACE_MS: u64 = 120_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Nothing: all refresh at the same moment
    None,
    /// All are killed when the first request has come, before it is carried out
    KillBefore,
    /// All are killed when the tokens were rotated and nothing was answered; the server has grace
    KillAfterGrace,
    /// The same, without grace
    KillAfter,
    /// All are killed as soon as the first answer was written; the server has grace
    KillAnsweredGrace,
    /// The first request is cut before it is carried out
    CutBefore,
    /// The first answer is cut after the rotation; the server has grace
    CutAfterGrace,
    /// The same, without grace
    CutAfter,
    /// The token endpoint answers 503 and a page, three times
    Unavailable,
    /// The token endpoint answers 429, three times
    Busy,
    /// No process can write to a file
    Disk,
}

impl Fault {
    pub(crate) const ALL: [Self; 11] = [
        Self::None,
        Self::KillBefore,
        Self::KillAfterGrace,
        Self::KillAnsweredGrace,
        Self::CutBefore,
        Self::CutAfterGrace,
        Self::Unavailable,
        Self::Busy,
        Self::Disk,
        Self::KillAfter,
        Self::CutAfter,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::KillBefore => "killed before the refresh is carried out",
            Self::KillAfterGrace => "killed after the rotation, server with grace",
            Self::KillAfter => "killed after the rotation, no grace",
            Self::KillAnsweredGrace => "killed when the answer was written, server with grace",
            Self::CutBefore => "cut before the refresh is carried out",
            Self::CutAfterGrace => "answer cut after the rotation, server with grace",
            Self::CutAfter => "answer cut after the rotation, no grace",
            Self::Unavailable => "503 with a page, three times",
            Self::Busy => "429, three times",
            Self::Disk => "nothing can be written",
        }
    }

    /// Whether any client can keep the login: none can where the only good refresh token was in an answer that nobody got.
    pub(crate) fn can_be_survived(self) -> bool {
        !matches!(self, Self::KillAfter | Self::CutAfter)
    }

    pub(crate) fn grace_ms(self) -> u64 {
        match self {
            Self::KillAfterGrace | Self::CutAfterGrace | Self::KillAnsweredGrace => GRACE_MS,
            _ => 0,
        }
    }

    /// Whether the processes are killed when the gate is reached.
    pub(crate) fn kills(self) -> bool {
        matches!(self, Self::KillBefore | Self::KillAfterGrace | Self::KillAfter | Self::KillAnsweredGrace)
    }

    pub(crate) fn rules(self) -> serde_json::Result<Vec<Rule>> {
        let page = json!({"Content-Type": "text/html"});
        let (times, actions) = match self {
            Self::None | Self::Disk => return Ok(Vec::new()),
            Self::KillBefore => (None, json!([{"gate": NAME}, "close"])),
            Self::KillAfter | Self::KillAfterGrace => (Some(1), json!(["execute", {"gate": NAME}, "close"])),
            Self::KillAnsweredGrace => (Some(1), json!(["answer", {"mark": NAME}])),
            Self::CutBefore => (Some(1), json!(["close"])),
            Self::CutAfter | Self::CutAfterGrace => (Some(1), json!(["execute", "close"])),
            Self::Unavailable => {
                (Some(3), json!([{"respond": {"status": 503, "headers": page, "text": "<html>try later</html>"}}]))
            }
            Self::Busy => (Some(3), json!([{"respond": {"status": 429, "json": {"error": "slow_down"}}}])),
        };
        let mut rule = json!({"name": NAME, "when": {"grant": "refresh_token"}, "do": actions});
        if let Some(times) = times {
            rule["times"] = Value::from(times);
        }
        Ok(vec![serde_json::from_value(rule)?])
    }
}
