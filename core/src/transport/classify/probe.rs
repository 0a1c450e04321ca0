//! What the answer to the era probe, `server/discover`, says of the server.
//!
//! Only an answer that a server of the other era would give is a verdict. What says nothing of the era (a token that is refused, a
//! gateway without a server, silence) is a failure like any other of a handshake: a server is never taken for an older one because
//! something stood in the way (MCP 2026-07-28, basic, versioning, "Backward compatibility").

use http::StatusCode;

use super::codes::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use super::conclusions::{EraVerdict, HandshakeConclusion, HandshakeNext};
use super::facts::{BodyFacts, EndFacts};
use super::streams::is_success;
use super::{call, handshake};
use crate::vocabulary::outcome::Kind;

/// What the answer to `server/discover` says. `body_taken` is the body probe of the request.
#[must_use]
pub fn probe(body_taken: bool, end: EndFacts<'_>) -> EraVerdict {
    let (status, body) = match end {
        EndFacts::Head { status, body, .. } => (status, body),
        // What says nothing by its status says all by its body.
        EndFacts::Message { body } => (StatusCode::OK, body),
        EndFacts::NoHead(_) | EndFacts::Interrupted { .. } => {
            return EraVerdict::None(handshake::without_head(body_taken, end));
        }
    };
    if let BodyFacts::Result = body {
        return EraVerdict::Discovered;
    }
    match body {
        BodyFacts::Error { code: UNSUPPORTED_VERSION, .. } => return EraVerdict::OtherVersions,
        // Codes of the modern era: it is spoken, and something is wrong all the same.
        BodyFacts::Error { code: HEADER_MISMATCH | MISSING_CAPABILITY, .. } => {
            return none(HandshakeNext::GiveUp, Kind::Rpc);
        }
        _ => {}
    }
    let kind = call::kind_of_status(status);
    match (kind, body) {
        (Kind::Auth, _) if status == StatusCode::UNAUTHORIZED => none(HandshakeNext::Refresh, kind),
        (Kind::Auth | Kind::Redirect, _) => none(HandshakeNext::GiveUp, kind),
        (Kind::RateLimited | Kind::Gateway, _) => none(HandshakeNext::Wait, kind),
        (_, BodyFacts::TooLarge) => none(HandshakeNext::GiveUp, Kind::TooLarge),
        // Cut off: what the server was about to say is not known.
        (_, BodyFacts::Stopped { orderly: false, .. }) => none(HandshakeNext::TryAgain, Kind::ConnectionClosed),
        // In a coding that is not known: the status is all that was read.
        (_, BodyFacts::Unread) if is_success(status) => none(HandshakeNext::TryAgain, Kind::Protocol),
        // A proxy on the way wants to be logged in to.
        _ if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED => none(HandshakeNext::GiveUp, Kind::Auth),
        // A server that does not know the method, and says so in whatever way: an error, a page, nothing at all.
        _ if status.is_client_error() || is_success(status) => EraVerdict::Legacy,
        _ => none(HandshakeNext::TryAgain, kind),
    }
}

fn none(next: HandshakeNext, kind: Kind) -> EraVerdict {
    EraVerdict::None(HandshakeConclusion { next, kind: Some(kind) })
}
