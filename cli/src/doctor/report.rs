//! What the doctor says: facts, findings and a grade for each server. The shape of `--json`, which `cli/schema/doctor-report.json` describes.

use serde::Serialize;

use super::catalog::Check;
use super::facts::Facts;

/// Of all servers that were examined.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Of this shape; it grows with each change that could break a reader.
    pub(crate) schema_version: u32,
    /// Who says it.
    pub(crate) tool: Tool,
    /// In the order in which they were named.
    pub(crate) servers: Vec<ServerReport>,
}

/// Who says it.
#[derive(Debug, Serialize)]
pub(crate) struct Tool {
    /// `oncewire`
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
}

impl Report {
    /// Of these servers.
    #[must_use]
    pub(crate) fn new(servers: Vec<ServerReport>) -> Self {
        Self { schema_version: 1, tool: Tool { name: "oncewire", version: env!("CARGO_PKG_VERSION") }, servers }
    }
}

/// Of one server.
#[derive(Debug, Serialize)]
pub(crate) struct ServerReport {
    /// What the host's config calls it.
    pub(crate) name: Option<String>,
    /// The URL without secrets, or the program without its arguments.
    pub(crate) target: String,
    /// How it is spoken to.
    pub(crate) transport: Transport,
    /// Everything was examined that was to be. If not, a finding says why.
    pub(crate) complete: bool,
    /// How long it took.
    pub(crate) took_ms: u64,
    /// How safe retries are; none if there was too little to see.
    pub(crate) grade: Option<Grade>,
    /// What the server is made with, as far as its answers tell.
    pub(crate) family: Option<Family>,
    /// What was seen.
    pub(crate) facts: Facts,
    /// What is worth a word, the worst first.
    pub(crate) findings: Vec<Finding>,
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transport {
    /// Streamable HTTP.
    Http,
    /// A process, by its pipes.
    Stdio,
}

/// What a server is made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Family {
    /// The package, or several that answer alike.
    pub(crate) name: &'static str,
    /// By what it is known.
    pub(crate) evidence: &'static str,
}

/// One thing worth a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The check that found it, for example `session.lost_unseen`.
    pub(crate) check: &'static str,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// What it is, in general.
    pub(crate) title: &'static str,
    /// What was seen here.
    pub(crate) detail: String,
    /// What to do about it.
    pub(crate) fix: &'static str,
}

impl Finding {
    /// Of this check, with what was seen.
    pub(crate) fn new(check: &'static Check, detail: impl Into<String>) -> Self {
        Self { check: check.id, severity: check.severity, title: check.title, detail: detail.into(), fix: check.fix }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Severity {
    /// Good to know.
    Info,
    /// It will hurt some day.
    Warning,
    /// It hurts.
    Error,
}

impl Severity {
    /// The word of it.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// How safe retries are with a server, from A to F.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
pub(crate) enum Letter {
    /// Nearly every loss can be told, or made good.
    #[value(name = "A", alias = "a")]
    A,
    /// Most.
    #[value(name = "B", alias = "b")]
    B,
    /// More than half.
    #[value(name = "C", alias = "c")]
    C,
    /// Less than most.
    #[value(name = "D", alias = "d")]
    D,
    /// Few.
    #[value(name = "E", alias = "e")]
    E,
    /// Next to none.
    #[value(name = "F", alias = "f")]
    F,
}

/// A grade with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Grade {
    /// From A to F.
    pub(crate) letter: Letter,
    /// From 0 to 100: the weighted share of the ways to lose a call that can be told for sure, or made good.
    pub(crate) score: u32,
    /// The letter is no better than this, for a finding that says so.
    pub(crate) capped_by: Option<&'static str>,
    /// What the score is made of.
    pub(crate) parts: Vec<Part>,
}

/// One way to lose a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Part {
    /// Which.
    pub(crate) loss: &'static str,
    /// How much it counts.
    pub(crate) weight: u32,
    /// From 0 to 100: how well it is told, or made good.
    pub(crate) score: u32,
    /// Why.
    pub(crate) reason: String,
}
