//! What the end of one attempt of a call proves.
//!
//! Before a head the body probe decides. Once a head has arrived the probe says nothing, and the first line that matches wins: an
//! answer, then what is said of the session, then the refusals that HTTP defines, then everything else, which may have run.

use http::{HeaderMap, StatusCode};

use super::probe::{HEADER_MISMATCH, UNSUPPORTED_VERSION};
use super::{AnswerId, BodyEnd, Class, Conclusion, End, Evidence, wording};
use crate::era::Lifecycle;
use crate::outcome::{Execution, Kind, Proof};
use crate::transport::exchange::Cause;
use crate::transport::headers;

/// The code for a method that the server does not know (JSON-RPC 2.0, section 5.1). MCP 2026-07-28 sends it with status 404.
const METHOD_NOT_FOUND: i64 = -32601;

/// The conclusion from the evidence of one attempt.
#[must_use]
pub fn call(evidence: &Evidence<'_>) -> Conclusion {
    match evidence.end {
        End::NoHead(cause) => no_head(cause, evidence.body_taken),
        End::Interrupted { kind, head_arrived } if head_arrived || evidence.body_taken => ambiguous(kind),
        End::Interrupted { kind, .. } => not_executed(Class::NeverSent { transient: false }, kind, Proof::NeverSent),
        End::Head { status, headers, body } => {
            // Only the legacy era has sessions, and only a request that carried one can learn anything of it.
            let session = evidence.carried_session && evidence.lifecycle == Lifecycle::Legacy;
            after_head(status, headers, body, session, evidence.lifecycle)
        }
    }
}

/// No head arrived: was the stream refused, and if not, was the body ever taken?
fn no_head(cause: Cause, body_taken: bool) -> Conclusion {
    if cause == Cause::RefusedStream {
        return not_executed(Class::RefusedStream, Kind::ConnectionClosed, Proof::RefusedStream);
    }
    if body_taken {
        return ambiguous(Kind::ConnectionClosed);
    }
    let kind = if cause == Cause::BadRequest { Kind::Config } else { Kind::Connect };
    not_executed(Class::NeverSent { transient: is_transient(cause) }, kind, Proof::NeverSent)
}

/// Might connecting succeed in a moment?
pub(super) fn is_transient(cause: Cause) -> bool {
    match cause {
        Cause::Tls | Cause::DnsUnknownHost | Cause::Proxy | Cause::BadRequest => false,
        Cause::Refused
        | Cause::Unreachable
        | Cause::ConnectReset
        | Cause::ConnectTimeout
        | Cause::DnsTemporary
        | Cause::ConnectOther
        | Cause::RefusedStream
        | Cause::Closed
        | Cause::Reset
        | Cause::Other => true,
    }
}

fn after_head(
    status: StatusCode,
    headers: &HeaderMap,
    body: BodyEnd<'_>,
    session: bool,
    lifecycle: Lifecycle,
) -> Conclusion {
    let ours = matches!(body, BodyEnd::Error { id: AnswerId::Ours, .. });
    // 1. A result answers the call, whatever the status.
    if let BodyEnd::Result = body {
        return Conclusion { class: Class::Answered, kind: None, execution: Execution::Answered, proof: None };
    }
    if session {
        // 2. "The server MUST then respond with 404" (MCP 2025-11-25, session management), before it runs anything.
        let unknown_method = matches!(body, BodyEnd::Error { code: METHOD_NOT_FOUND, .. });
        let gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) && !unknown_method;
        // 3. Some servers say the same with 400 and an explicit text.
        let explicit = status == StatusCode::BAD_REQUEST && !ours && body_says_gone(body);
        if gone || explicit {
            return not_executed(Class::SessionRejected, Kind::SessionLost, Proof::SessionRejected);
        }
        // 4. It may be gone. An error with our id has answered the call all the same.
        if let Some(kind) = suspicion(status, headers, body) {
            return if ours {
                Conclusion { class: Class::SessionSuspect, ..answered_with_error() }
            } else {
                Conclusion { class: Class::SessionSuspect, ..ambiguous(kind) }
            };
        }
    }
    if let Some(conclusion) = other_era(status, body, ours, lifecycle) {
        return conclusion;
    }
    // 5. Not applied (RFC 9110, section 15.5.2); turned away (RFC 6585, section 4).
    if status == StatusCode::UNAUTHORIZED {
        return not_executed(Class::Unauthorized, Kind::Auth, Proof::Unauthorized);
    }
    if status == StatusCode::TOO_MANY_REQUESTS && !ours {
        return not_executed(Class::RateLimited, Kind::RateLimited, Proof::RateLimited);
    }
    // 6. Any other error answers, and says nothing of effects: a handler can raise it after its effect.
    if let BodyEnd::Error { well_formed: true, .. } = body {
        return answered_with_error();
    }
    // 7. HTTP's own refusals to process.
    if is_refusal(status) {
        return not_executed(Class::Rejected, kind_of_status(status), Proof::Rejected);
    }
    match body {
        // 8. Only the legacy era can read on.
        BodyEnd::Stopped { resumable: true, .. } if lifecycle == Lifecycle::Legacy => {
            Conclusion { class: Class::Resumable, ..ambiguous(Kind::StreamEnded) }
        }
        // 9. Everything else may have run.
        BodyEnd::TooLarge => ambiguous(Kind::TooLarge),
        _ if !status.is_success() => ambiguous(kind_of_status(status)),
        BodyEnd::Stopped { .. } => ambiguous(Kind::StreamEnded),
        _ => ambiguous(Kind::Protocol),
    }
}

/// The answers of a server that speaks the other era by now, or another version of this one.
fn other_era(status: StatusCode, body: BodyEnd<'_>, ours: bool, lifecycle: Lifecycle) -> Option<Conclusion> {
    let code = if let BodyEnd::Error { code, well_formed: true, .. } = body { Some(code) } else { None };
    match (lifecycle, code) {
        // It was upgraded: whether to the modern era alone, verifying the session will tell.
        (Lifecycle::Legacy, Some(UNSUPPORTED_VERSION)) => {
            Some(Conclusion { class: Class::SessionSuspect, ..answered_with_error() })
        }
        // Official servers choose the status by the code alone, also for an error that a tool raised after its effect.
        (Lifecycle::Modern, Some(UNSUPPORTED_VERSION | HEADER_MISMATCH)) => {
            Some(Conclusion { class: Class::TermsRefused, ..answered_with_error() })
        }
        // It was rolled back: servers of the handshake era say before anything else that there is no session, or that they do not know
        // the version. As with a lost session, only the explicit text counts, and never with our id.
        (Lifecycle::Modern, _) if status == StatusCode::BAD_REQUEST && !ours && body_wants_a_handshake(body) => {
            Some(not_executed(Class::SessionRejected, Kind::SessionLost, Proof::SessionRejected))
        }
        _ => None,
    }
}

/// Does the body say explicitly that there has to be a handshake first?
fn body_wants_a_handshake(body: BodyEnd<'_>) -> bool {
    match body {
        BodyEnd::Error { message, .. } => wording::says_a_handshake_is_missing(message),
        BodyEnd::NoAnswer { excerpt } => wording::says_a_handshake_is_missing(excerpt),
        BodyEnd::Result | BodyEnd::Stopped { .. } | BodyEnd::TooLarge => false,
    }
}

/// Does the answer leave a doubt about the session, and what kind of failure is that?
fn suspicion(status: StatusCode, headers: &HeaderMap, body: BodyEnd<'_>) -> Option<Kind> {
    if let BodyEnd::Error { code, message, .. } = body
        && wording::error_says_session_is_gone(code, message)
    {
        return Some(Kind::SessionLost);
    }
    match status {
        // RFC 9110, section 15.5.2, demands a challenge; without one it may be a server that lost the session's login.
        StatusCode::UNAUTHORIZED if !headers::has_challenge(headers) => Some(Kind::Auth),
        StatusCode::SERVICE_UNAVAILABLE => Some(Kind::Gateway),
        _ => None,
    }
}

/// Does the body say explicitly that the session is gone? An error may be of any shape here, a text too.
fn body_says_gone(body: BodyEnd<'_>) -> bool {
    match body {
        BodyEnd::Error { code, message, .. } => wording::error_says_session_is_gone(code, message),
        BodyEnd::NoAnswer { excerpt } => wording::says_session_is_gone(excerpt),
        BodyEnd::Result | BodyEnd::Stopped { .. } | BodyEnd::TooLarge => false,
    }
}

/// The statuses by which a server or a proxy says that it did not process the request (RFC 9110, sections 15.4.8, 15.4.9 and 15.5;
/// RFC 6585, section 5). 408, 409, 422 and 425 are no such word: middleboxes and handlers send them late.
fn is_refusal(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        307 | 308 | 400 | 402 | 403 | 404 | 405 | 406 | 407 | 411 | 413 | 414 | 415 | 417 | 421 | 426 | 431
    )
}

/// What a status that is no answer is called.
pub(super) fn kind_of_status(status: StatusCode) -> Kind {
    match status.as_u16() {
        401 | 403 => Kind::Auth,
        429 => Kind::RateLimited,
        502..=504 => Kind::Gateway,
        300..=399 => Kind::Redirect,
        _ => Kind::HttpStatus,
    }
}

fn answered_with_error() -> Conclusion {
    Conclusion { class: Class::Answered, kind: Some(Kind::Rpc), execution: Execution::Answered, proof: None }
}

fn not_executed(class: Class, kind: Kind, proof: Proof) -> Conclusion {
    Conclusion { class, kind: Some(kind), execution: Execution::NotExecuted, proof: Some(proof) }
}

fn ambiguous(kind: Kind) -> Conclusion {
    Conclusion { class: Class::Ambiguous, kind: Some(kind), execution: Execution::MayHaveExecuted, proof: None }
}
