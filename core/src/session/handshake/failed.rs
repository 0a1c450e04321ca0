//! Why a try of the handshake brought no session, and what that says of the next one.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderMap;

use crate::exchange::answer::Answer;
use crate::exchange::post::ExchangeEnd;
use crate::exchange::wire::Unready;
use crate::protocol::era::Lifecycle;
use crate::protocol::versions;
use crate::transport::classify::{self, HandshakeConclusion, HandshakeNext};
use crate::transport::headers;
use crate::vocabulary::outcome::Kind;

/// What to look at where a handshake is told that there is nothing of the kind.
const NOTHING_THERE: &str =
    " (is the path of the URL right? Servers with the two endpoints of 2024-11-05 are of another transport)";

/// Why a flight brought no session.
#[derive(Clone, Debug)]
pub(crate) struct FlightFailure {
    pub(crate) kind: Kind,
    /// In words; holds no secret.
    pub(crate) reason: String,
    pub(crate) http_status: Option<u16>,
    pub(crate) excerpt: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    /// The error underneath.
    pub(crate) source: Option<Arc<dyn Error + Send + Sync>>,
    /// The server was not there, or not yet: who has time may go on asking.
    pub(crate) may_pass: bool,
}

/// Why one try failed.
pub(super) struct Failed {
    pub(super) next: HandshakeNext,
    pub(super) failure: Box<FlightFailure>,
    /// The serial of the token that was refused.
    pub(super) token: Option<u64>,
    /// The versions that might be offered in place of the one that was, best first.
    pub(super) versions: Vec<&'static str>,
    /// What the next try takes the server for, of one that cannot be asked.
    pub(super) presumed: Option<Lifecycle>,
}

impl Failed {
    pub(super) fn new(conclusion: HandshakeConclusion, reason: String, token: Option<u64>) -> Self {
        Self {
            next: conclusion.next,
            failure: Box::new(FlightFailure {
                kind: conclusion.kind.unwrap_or(Kind::Protocol),
                reason,
                http_status: None,
                excerpt: None,
                retry_after: None,
                source: None,
                may_pass: matches!(conclusion.next, HandshakeNext::Patience | HandshakeNext::Wait),
            }),
            token,
            versions: Vec::new(),
            presumed: None,
        }
    }

    /// It failed for good, for this reason.
    pub(super) fn for_good(kind: Kind, reason: String) -> Self {
        Self::new(HandshakeConclusion { next: HandshakeNext::GiveUp, kind: Some(kind) }, reason, None)
    }

    /// It failed after the question for the era was not answered in time. A server that then says no to `initialize` may have been slow to
    /// start, and speak the other era: it is asked again.
    pub(super) fn after_silence(self) -> Self {
        let refused = self.next == HandshakeNext::GiveUp && self.failure.kind == Kind::Rpc;
        Self { next: if refused { HandshakeNext::AskForTheEra } else { self.next }, ..self }
    }

    /// The host gave no token or no headers.
    pub(super) fn of_host(unready: &Unready) -> Self {
        let kind = match unready {
            Unready::Token(_) => Kind::Auth,
            Unready::Headers(_) => Kind::Config,
        };
        Self::for_good(kind, unready.to_string())
    }

    /// What the end of an attempt comes to.
    pub(super) fn of_end(conclusion: HandshakeConclusion, ended: ExchangeEnd, token: Option<u64>) -> Self {
        let mut failed = Self::new(conclusion, crate::exchange::text::of_end(&ended, conclusion.kind), token);
        match ended {
            ExchangeEnd::Head { status, headers, answer } => {
                if classify::is_nothing_there(status) {
                    failed.failure.reason += NOTHING_THERE;
                }
                failed.answered(status.as_u16(), &headers);
                failed.read(&answer);
            }
            ExchangeEnd::Message { answer } => failed.read(&answer),
            ExchangeEnd::NoHead(failure) => failed.failure.source = Some(Arc::new(failure)),
            ExchangeEnd::Silent { .. } | ExchangeEnd::Unready(_) => {}
        }
        failed
    }

    /// It was answered with this head.
    pub(super) fn answered(&mut self, status: u16, headers: &HeaderMap) {
        self.failure.http_status = Some(status);
        self.failure.retry_after = headers::retry_after(headers, SystemTime::now());
    }

    /// This is what the body of that answer said.
    pub(super) fn read(&mut self, answer: &Answer) {
        match answer {
            Answer::Error { error, .. } => self.versions = versions::listed_in_error(error),
            Answer::Missing { excerpt, .. } => {
                self.versions = versions::listed_in_text(excerpt);
                self.failure.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
            }
            _ => self.versions = Vec::new(),
        }
    }

    /// The server asks for a longer wait than is waited for.
    pub(super) fn asks_for_too_long(&mut self) {
        self.next = HandshakeNext::GiveUp;
        self.failure.may_pass = false;
    }
}
