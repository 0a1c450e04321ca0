//! The error of a call, on two axes: the variant says what to do next, [`Failure::kind`] says what happened.
//!
//! | variant | meaning |
//! | --- | --- |
//! | [`Error::NotExecuted`] | proven: the server did not run it; calling again is safe |
//! | [`Error::MayHaveExecuted`] | no proof; verify before calling again |
//! | [`Error::Answered`] | the server answered with an error, which says nothing of effects |
//!
//! The text is written for a person and for a model: what happened, whether it ran, what to do.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::vocabulary::config::OptionError;
use crate::vocabulary::method::{Method, Repeatability};
use crate::vocabulary::outcome::{Attempt, Execution, Kind, Phase, Proof, ProofBasis};
use crate::vocabulary::redact::Secrets;

/// Why a call gave no result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Proven: the server did not run it. Calling again is safe.
    NotExecuted(Box<Failure>),
    /// It may have run. Verify before calling again.
    MayHaveExecuted(Box<Failure>),
    /// The server answered with an error. It may have been raised after an effect.
    Answered(Box<RpcFailure>),
}

/// A call that was not answered.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// What went wrong.
    pub kind: Kind,
    /// Whether the server ran it.
    pub execution: Execution,
    /// Why it is certain that it did not run; only with `not_executed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// What that rests on; there exactly if `proof` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof_basis: Option<ProofBasis>,
    /// The method of the call, for example `tools/call`.
    pub method: String,
    /// The tool, prompt or URI that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the call was when it failed.
    pub phase: Phase,
    /// The status of the last answer, if its head arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// How long the server asked to wait.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds", rename = "retry_after_seconds")]
    pub retry_after: Option<Duration>,
    /// The key under which the server saw all attempts of this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The generation of the session that carried the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Every attempt, in order.
    pub attempts: Vec<Attempt>,
    /// What happened, in words; where they would hold what the client sent as secret, `[redacted]` stands in its place.
    pub reason: String,
    /// The beginning of an answer that was none, for example a gateway's HTML page: at most 2,048 bytes, secrets cut out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// How repeatable the method is by its own definition; shapes the text.
    #[serde(skip)]
    pub(crate) repeatability: Repeatability,
    /// The error underneath.
    #[serde(skip)]
    pub(crate) source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// A call that the server answered with a JSON-RPC error, or with a result that is none: a string, an array, null, where the method gives an
/// object.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RpcFailure {
    /// The code of the JSON-RPC error; 0 if there is none that can be read, and for a result that is none.
    pub code: i64,
    /// Its message, as the server sent it, but for what the client itself had sent as secret: `[redacted]` stands in its place.
    pub message: String,
    /// Its data, as the server sent it, but for the same; of a result that is none, the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
    /// The status of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// [`Kind::Rpc`]; [`Kind::Protocol`] for a result that is none.
    pub kind: Kind,
    /// Always [`Execution::Answered`].
    pub execution: Execution,
    /// The method of the call.
    pub method: String,
    /// The tool, prompt or URI that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The key under which the server saw all attempts of this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Every attempt, in order.
    pub attempts: Vec<Attempt>,
}

impl Error {
    /// Is it proven that the server did not run the call?
    #[must_use]
    pub fn not_executed(&self) -> bool {
        matches!(self, Self::NotExecuted(_))
    }

    /// Must the caller verify before calling again?
    #[must_use]
    pub fn may_have_executed(&self) -> bool {
        matches!(self, Self::MayHaveExecuted(_))
    }

    /// Whether the server ran the call.
    #[must_use]
    pub fn execution(&self) -> Execution {
        match self {
            Self::NotExecuted(_) => Execution::NotExecuted,
            Self::MayHaveExecuted(_) => Execution::MayHaveExecuted,
            Self::Answered(_) => Execution::Answered,
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotExecuted(failure) | Self::MayHaveExecuted(failure) => failure.kind,
            Self::Answered(failure) => failure.kind,
        }
    }

    /// Why it is certain that the call did not run.
    #[must_use]
    pub fn proof(&self) -> Option<Proof> {
        self.failure().and_then(|failure| failure.proof)
    }

    /// What that rests on.
    #[must_use]
    pub fn proof_basis(&self) -> Option<ProofBasis> {
        self.failure().and_then(|failure| failure.proof_basis)
    }

    /// Every attempt of the call, in order.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        match self {
            Self::NotExecuted(failure) | Self::MayHaveExecuted(failure) => &failure.attempts,
            Self::Answered(failure) => &failure.attempts,
        }
    }

    /// The failure, unless the server answered.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::NotExecuted(failure) | Self::MayHaveExecuted(failure) => Some(failure),
            Self::Answered(_) => None,
        }
    }

    /// One JSON object with every field, for logs and for other languages.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = match self {
            Self::NotExecuted(failure) | Self::MayHaveExecuted(failure) => serde_json::to_value(failure),
            Self::Answered(failure) => serde_json::to_value(failure),
        }
        .unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            let text = self.to_string();
            object.insert("text".into(), text.into());
        }
        value
    }

    /// An option or argument of this method that cannot be used, found before the core saw it, for example by a binding that reads
    /// options from JSON: nothing was sent.
    #[must_use]
    pub fn from_option(method: &str, name: Option<&str>, error: OptionError) -> Self {
        Self::config(&Method::raw(method), name, error)
    }

    /// The error without what the client sent as secret, which the server or the host may have put into their texts.
    pub(crate) fn without(mut self, secrets: &Secrets) -> Self {
        match &mut self {
            Self::NotExecuted(failure) | Self::MayHaveExecuted(failure) => {
                failure.reason = secrets.cut(&failure.reason).into_owned();
                failure.excerpt = failure.excerpt.take().map(|excerpt| secrets.cut(&excerpt).into_owned());
            }
            Self::Answered(failure) => {
                failure.message = secrets.cut(&failure.message).into_owned();
                failure.data = failure.data.take().map(|data| secrets.cut_json(data));
            }
        }
        self
    }

    /// A failure takes the variant that its execution names.
    pub(crate) fn from_failure(failure: Failure) -> Self {
        match failure.execution {
            Execution::NotExecuted => Self::NotExecuted(Box::new(failure)),
            Execution::MayHaveExecuted | Execution::Answered => Self::MayHaveExecuted(Box::new(failure)),
        }
    }

    /// An option or argument that cannot be used: nothing was sent.
    pub(crate) fn config(method: &Method, name: Option<&str>, error: OptionError) -> Self {
        Self::from_failure(Failure {
            kind: Kind::Config,
            execution: Execution::NotExecuted,
            proof: Some(Proof::NeverSent),
            proof_basis: Some(ProofBasis::Certain),
            method: method.to_string(),
            name: name.map(str::to_owned),
            phase: Phase::Queued,
            http_status: None,
            retry_after: None,
            idempotency_key: None,
            generation: None,
            attempts: Vec::new(),
            reason: error.to_string(),
            excerpt: None,
            repeatability: method.repeatability(),
            source: Some(Arc::new(error)),
        })
    }
}

/// The longest server message that the text repeats; the field has all of it.
const MESSAGE_IN_TEXT: usize = 500;

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotExecuted(failure) | Self::MayHaveExecuted(failure) => failure.fmt(formatter),
            Self::Answered(failure) => failure.fmt(formatter),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.failure()?.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.say(formatter)?;
        match self.retry_after {
            Some(wait) if !wait.is_zero() => {
                let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
                write!(formatter, "; the server asks to wait {seconds} s before another try")
            }
            _ => Ok(()),
        }
    }
}

impl Failure {
    fn say(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = Subject { method: &self.method, name: self.name.as_deref() };
        match (self.execution, self.kind) {
            (Execution::NotExecuted, Kind::Config) => {
                write!(formatter, "{}; {call} was not sent", self.reason)
            }
            (Execution::NotExecuted, Kind::Auth | Kind::Redirect | Kind::HttpStatus | Kind::Closed) => {
                write!(formatter, "{}; {call} was not executed", self.reason)
            }
            (Execution::NotExecuted, _) => {
                write!(formatter, "{}; {call} was not executed: it is safe to call it again", self.reason)
            }
            (_, _) => {
                let advice = match self.repeatability {
                    Repeatability::ByTool => "the tool may have run: check before running it again",
                    Repeatability::Read | Repeatability::Idempotent => {
                        "the server may have handled it; calling it again does no harm"
                    }
                    Repeatability::Never => "the server may have carried it out: check before sending it again",
                };
                write!(formatter, "{} after {call} was sent; {advice}", self.reason)
            }
        }
    }
}

impl fmt::Display for RpcFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = Subject { method: &self.method, name: self.name.as_deref() };
        if self.kind == Kind::Protocol {
            return write!(formatter, "the server answered {call}, but {}: what it did is not known", self.message);
        }
        write!(formatter, "the server answered {call} with error {}: ", self.code)?;
        let mut characters = self.message.chars();
        for character in characters.by_ref().take(MESSAGE_IN_TEXT) {
            write!(formatter, "{character}")?;
        }
        if characters.next().is_some() { formatter.write_str("…") } else { Ok(()) }
    }
}

/// A call as the text names it: `tools/call "poke"`. The handshake is what the host calls it.
struct Subject<'a> {
    method: &'a str,
    name: Option<&'a str>,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.method == "initialize" { "connect" } else { self.method })?;
        match self.name {
            Some(name) => write!(formatter, " {name:?}"),
            None => Ok(()),
        }
    }
}

#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn seconds<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(duration) => serializer.serialize_f64(duration.as_secs_f64()),
        None => serializer.serialize_none(),
    }
}
