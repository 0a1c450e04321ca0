//! What the answer to a twin says of the refusal that it was sent for.
//!
//! The twin is a harmless request on the same session, with the same identity, sent after the refusal was read whole. If it is refused in
//! the same words, the server refuses everything of ours, and the words are no tool's.

use std::time::Duration;

use http::StatusCode;

use super::call::{call, ends_the_session, says_lost};
use super::codes::METHOD_NOT_FOUND;
use super::conclusions::{Class, Doubt};
use super::facts::{BodyFacts, EndFacts, Evidence};
use crate::protocol::era::Lifecycle;
use crate::transport::words::Words;
use crate::vocabulary::outcome::Kind;

/// A refusal that took so many times as long as its twin was not made before the tool was asked.
const SLOWER: u32 = 10;
/// Differences in time below this say nothing.
const SLOW: Duration = Duration::from_secs(1);

/// A refusal, of the request that counts or of its twin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    /// What it says.
    pub(crate) words: Words,
    /// From the moment when the body was taken to the end of the answer.
    pub(crate) took: Duration,
}

/// Does the refusal of the twin confirm the other? A 5xx is trouble of the moment: the next request may find it gone.
pub(crate) fn twin(refused: &Refused, twin: &Refused) -> bool {
    refused.words == twin.words
        && !twin.words.status().is_server_error()
        && refused.took <= SLOW.max(twin.took.saturating_mul(SLOWER))
}

/// Might the refusal of a harmless request be said of its method alone? Not what speaks of the session, of who asks or of how often.
pub(crate) fn may_mean_the_method(status: StatusCode, body: BodyFacts<'_>, lifecycle: Lifecycle) -> bool {
    !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS) && !says_lost(status, body, lifecycle)
}

/// What a ping says of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ping {
    /// Answered: the server knows the session.
    Alive,
    /// The server does not know the session.
    Lost,
    /// Refused in another way: the session is of no more use. The server may be of another era by now.
    Refused,
    /// The token was refused.
    Unauthorized {
        /// In the words of a lost session: if there is no other token, that is what it means.
        says_lost: bool,
    },
    /// It says nothing.
    Nothing,
}

/// What the answer to a ping says. A ping that is not known is answered all the same; no server refuses one that it knows for what it
/// asks, so a refusal speaks of the session.
pub(crate) fn ping(evidence: &Evidence<'_>) -> Ping {
    let (status, body) = match evidence.end {
        EndFacts::Head { status, body, .. } => (status, body),
        EndFacts::Message { body: BodyFacts::Stopped { orderly: false, .. } } => return Ping::Lost,
        EndFacts::Message { body } => (StatusCode::OK, body),
        EndFacts::NoHead(cause) if ends_the_session(cause) => return Ping::Lost,
        EndFacts::NoHead(_) | EndFacts::Interrupted { .. } => return Ping::Nothing,
    };
    let conclusion = call(evidence);
    match (body, conclusion.class) {
        (BodyFacts::Result, _) => Ping::Alive,
        (_, Class::SessionRejected) => Ping::Lost,
        (_, Class::SessionSuspect) => Ping::Refused,
        (BodyFacts::Error { code: METHOD_NOT_FOUND, .. }, _) => Ping::Alive,
        _ if status == StatusCode::UNAUTHORIZED => {
            Ping::Unauthorized { says_lost: conclusion.repair.session == Doubt::Session }
        }
        _ if !matches!(body, BodyFacts::Error { .. } | BodyFacts::NoAnswer { .. }) => Ping::Nothing,
        _ if conclusion.repair.counts => Ping::Refused,
        (BodyFacts::Error { .. }, _) if conclusion.kind == Some(Kind::Rpc) && status.is_success() => Ping::Alive,
        _ => Ping::Nothing,
    }
}
