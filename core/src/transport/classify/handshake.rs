//! What the answer to `initialize` or `notifications/initialized` means.
//!
//! Nothing here is terminal that may pass: while a server is being replaced, a proxy answers 404 or 502 to everything for a moment,
//! `initialize` included. Repeating `initialize` executes nothing.

use super::call;
use super::codes::UNSUPPORTED_VERSION;
use super::conclusions::{HandshakeConclusion, HandshakeNext, HandshakeStep};
use super::facts::{AnswerId, BodyFacts, EndFacts};
use super::streams::is_success;
use crate::transport::exchange::Cause;
use crate::vocabulary::outcome::Kind;
use http::StatusCode;

/// What the handshake does next. `body_taken` is the body probe of the request.
#[must_use]
pub fn handshake(step: HandshakeStep, body_taken: bool, end: EndFacts<'_>) -> HandshakeConclusion {
    let (status, body) = match end {
        EndFacts::NoHead(_) | EndFacts::Interrupted { .. } => return without_head(body_taken, end),
        EndFacts::Head { status, body, .. } => (status, body),
        // What says nothing by its status says all by its body.
        EndFacts::Message { body } => (StatusCode::OK, body),
    };
    let accepted = match step {
        HandshakeStep::Initialize => matches!(body, BodyFacts::Result),
        HandshakeStep::Initialized => is_success(status),
    };
    if accepted { HandshakeConclusion { next: HandshakeNext::Proceed, kind: None } } else { refused(status, body) }
}

/// What to do where no head arrived, or where the wait for one was ended.
pub(super) fn without_head(body_taken: bool, end: EndFacts<'_>) -> HandshakeConclusion {
    match end {
        EndFacts::NoHead(cause) => no_head(cause, body_taken),
        // Only a time-out leaves somebody who wants the session.
        EndFacts::Interrupted { kind: Kind::Timeout, .. } => failed(HandshakeNext::TryAgain, Kind::Timeout),
        EndFacts::Interrupted { kind, .. } => failed(HandshakeNext::GiveUp, kind),
        EndFacts::Head { .. } | EndFacts::Message { .. } => failed(HandshakeNext::TryAgain, Kind::Protocol),
    }
}

fn no_head(cause: Cause, body_taken: bool) -> HandshakeConclusion {
    if call::ends_the_session(cause) {
        // The next process would write as long a line.
        let next = if cause == Cause::LineTooLong { HandshakeNext::GiveUp } else { HandshakeNext::TryAgain };
        return failed(next, call::kind_of_end(cause));
    }
    if body_taken || matches!(cause, Cause::RefusedStream | Cause::GoneAway) {
        return failed(HandshakeNext::TryAgain, Kind::ConnectionClosed);
    }
    let kind = if cause == Cause::BadRequest { Kind::Config } else { Kind::Connect };
    failed(if call::is_transient(cause) { HandshakeNext::Patience } else { HandshakeNext::GiveUp }, kind)
}

fn refused(status: StatusCode, body: BodyFacts<'_>) -> HandshakeConclusion {
    let kind = call::kind_of_status(status);
    // The statuses that say what to do whatever the body, a JSON-RPC error of the server's shutting down included.
    match kind {
        Kind::Auth if status == StatusCode::UNAUTHORIZED => return failed(HandshakeNext::Refresh, kind),
        Kind::Auth | Kind::Redirect => return failed(HandshakeNext::GiveUp, kind),
        Kind::RateLimited | Kind::Gateway => return failed(HandshakeNext::Wait, kind),
        _ => {}
    }
    match body {
        // It was upgraded since: only the modern era has this code.
        BodyFacts::Error { code: UNSUPPORTED_VERSION, .. } => failed(HandshakeNext::AskForTheEra, Kind::Rpc),
        // The server itself has said no.
        BodyFacts::Error { id: AnswerId::Ours, .. } => failed(HandshakeNext::GiveUp, Kind::Rpc),
        // The next answer would be as large.
        BodyFacts::TooLarge => failed(HandshakeNext::GiveUp, Kind::TooLarge),
        _ if !is_success(status) => failed(HandshakeNext::TryAgain, kind),
        BodyFacts::Error { id: AnswerId::Foreign, .. } => failed(HandshakeNext::TryAgain, Kind::Rpc),
        BodyFacts::Stopped { .. } | BodyFacts::Unread => failed(HandshakeNext::TryAgain, Kind::StreamEnded),
        BodyFacts::Result | BodyFacts::NoAnswer { .. } => failed(HandshakeNext::TryAgain, Kind::Protocol),
    }
}

fn failed(next: HandshakeNext, kind: Kind) -> HandshakeConclusion {
    HandshakeConclusion { next, kind: Some(kind) }
}
