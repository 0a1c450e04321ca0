//! What the end of one attempt of a call proves.
//!
//! Before a head the body probe decides. Once a head has arrived the probe says nothing, and the first line that matches wins: an
//! answer, a challenge that only our own login can have caused, any other refusal, a stream to read on, then everything else, which may
//! have run. A refusal proves nothing by itself: it carries a claim that its twin confirms, or does not.

use http::{HeaderMap, StatusCode};

use super::codes::{HEADER_MISMATCH, METHOD_NOT_FOUND, UNSUPPORTED_VERSION};
use super::conclusions::{Class, Conclusion, Doubt, Repair};
use super::facts::{AnswerId, BodyFacts, EndFacts, Evidence, Login};
use super::wording;
use crate::protocol::era::Lifecycle;
use crate::transport::challenge::{Challenge, own_challenge};
use crate::transport::exchange::Cause;
use crate::transport::headers;
use crate::vocabulary::outcome::{Execution, Kind, Proof, ProofBasis};

/// The conclusion from the evidence of one attempt.
#[must_use]
pub fn call(evidence: &Evidence<'_>) -> Conclusion {
    match evidence.end {
        EndFacts::NoHead(cause) if ends_the_session(cause) => session_over(cause, evidence.body_taken),
        EndFacts::NoHead(cause) => no_head(cause, evidence.body_taken),
        EndFacts::Message { body } => message(body, evidence.lifecycle),
        EndFacts::Interrupted { kind, head_arrived } => interrupted(kind, head_arrived || evidence.body_taken),
        EndFacts::Head { status, headers, body } => {
            let repair = repair(evidence, status, headers, body);
            Conclusion { repair, ..after_head(evidence, status, headers, body) }
        }
    }
}

/// The caller's clock, the caller or `close()` ended an attempt. `begun` tells that its body was taken, or that the head of an answer had
/// arrived.
#[must_use]
pub fn interrupted(kind: Kind, begun: bool) -> Conclusion {
    if begun { ambiguous(kind) } else { certain(Class::NeverSent { transient: false }, kind, Proof::NeverSent) }
}

/// No head arrived: was it below a GOAWAY, and if not, was the body ever taken?
fn no_head(cause: Cause, body_taken: bool) -> Conclusion {
    if cause == Cause::GoneAway {
        return certain(Class::RefusedStream, Kind::ConnectionClosed, Proof::RefusedStream);
    }
    if body_taken {
        return ambiguous(Kind::ConnectionClosed);
    }
    let kind = if cause == Cause::BadRequest { Kind::Config } else { Kind::Connect };
    certain(Class::NeverSent { transient: is_transient(cause) }, kind, Proof::NeverSent)
}

/// Did the connection end that a session was?
pub(super) fn ends_the_session(cause: Cause) -> bool {
    matches!(cause, Cause::ProcessEnded | Cause::PipeClosed | Cause::NoMessages | Cause::LineTooLong)
}

/// The process that the session was is over, or as good as that. What was never handed to its pipe did not run, nor did what lies in that pipe
/// with nobody left to read it: the probe says so of both. Of anything else it is not known whether the process ran it before it ended.
fn session_over(cause: Cause, body_taken: bool) -> Conclusion {
    let kind = kind_of_end(cause);
    let conclusion = if body_taken {
        ambiguous(kind)
    } else {
        certain(Class::NeverSent { transient: true }, kind, Proof::NeverSent)
    };
    Conclusion { repair: OVER, ..conclusion }
}

/// What is to be looked after once the session is over.
const OVER: Repair = Repair { token: false, session: Doubt::Over, counts: false };

/// What the end of a connection is called that a session was.
pub(super) fn kind_of_end(cause: Cause) -> Kind {
    match cause {
        Cause::NoMessages => Kind::Protocol,
        Cause::LineTooLong => Kind::TooLarge,
        _ => Kind::ConnectionClosed,
    }
}

/// What a message says of the call that it answers, where there is no status that could say more. Its words say nothing of a session: that is
/// the connection, and it stands.
fn message(body: BodyFacts<'_>, lifecycle: Lifecycle) -> Conclusion {
    match (body, lifecycle) {
        (BodyFacts::Result, _) => Conclusion { class: Class::Answered, kind: None, ..answered_with_error() },
        (BodyFacts::Error { code: UNSUPPORTED_VERSION, .. }, Lifecycle::Legacy) => {
            Conclusion { class: Class::SessionSuspect, ..answered_with_error() }
        }
        (BodyFacts::Error { code: UNSUPPORTED_VERSION | HEADER_MISMATCH, .. }, Lifecycle::Modern) => {
            Conclusion { class: Class::TermsRefused, ..answered_with_error() }
        }
        (BodyFacts::Error { .. }, _) => answered_with_error(),
        // Only the end of the connection cuts it off.
        (BodyFacts::Stopped { orderly: false, .. }, _) => {
            Conclusion { repair: OVER, ..ambiguous(Kind::ConnectionClosed) }
        }
        (BodyFacts::Stopped { .. }, _) => ambiguous(Kind::StreamEnded),
        (BodyFacts::TooLarge, _) => ambiguous(Kind::TooLarge),
        (BodyFacts::NoAnswer { .. } | BodyFacts::Unread, _) => ambiguous(Kind::Protocol),
    }
}

/// Might connecting succeed in a moment?
pub(super) fn is_transient(cause: Cause) -> bool {
    match cause {
        Cause::Tls | Cause::DnsUnknownHost | Cause::Proxy | Cause::BadRequest | Cause::NotStarted => false,
        Cause::Refused
        | Cause::Unreachable
        | Cause::ConnectReset
        | Cause::ConnectTimeout
        | Cause::DnsTemporary
        | Cause::ConnectOther
        | Cause::RefusedStream
        | Cause::GoneAway
        | Cause::Closed
        | Cause::Reset
        | Cause::Other
        | Cause::ProcessEnded
        | Cause::PipeClosed
        | Cause::NoMessages
        | Cause::LineTooLong => true,
    }
}

fn after_head(evidence: &Evidence<'_>, status: StatusCode, headers: &HeaderMap, body: BodyFacts<'_>) -> Conclusion {
    let lifecycle = evidence.lifecycle;
    // 1. A result answers the call, whatever the status.
    if let BodyFacts::Result = body {
        return Conclusion { class: Class::Answered, kind: None, ..answered_with_error() };
    }
    let says_lost = says_lost(status, body, lifecycle);
    // The codes of the modern era for terms that it does not accept. Official servers choose the status by the code alone, also for an
    // error that a tool raised after its effect.
    match (lifecycle, code(body)) {
        // It was upgraded: whether to the modern era alone, verifying the session will tell.
        (Lifecycle::Legacy, Some(UNSUPPORTED_VERSION)) => {
            return Conclusion { class: Class::SessionSuspect, ..answered_with_error() };
        }
        (Lifecycle::Modern, Some(UNSUPPORTED_VERSION | HEADER_MISMATCH)) => {
            return Conclusion { class: Class::TermsRefused, ..answered_with_error() };
        }
        _ => {}
    }
    // 2. An error with our id answers, and says nothing of effects: a handler can raise it after its effect. The words of a lost session
    // are no handler's if the twin gets them too, and a token is looked at before any handler is asked.
    let ours = matches!(body, BodyFacts::Error { id: AnswerId::Ours, well_formed: true, .. });
    if ours && !says_lost && status != StatusCode::UNAUTHORIZED {
        return answered_with_error();
    }
    if body.is_whole() {
        // 3. A challenge that only our own login can have caused.
        if let Some(conclusion) = challenged(evidence, status, headers) {
            return conclusion;
        }
        // 4. Any other whole refusal.
        if says_lost || is_refusal(status) {
            return refused(evidence, status, body, says_lost);
        }
        // An error that is nobody's belongs to the POST that it answers.
        if code(body).is_some() {
            return answered_with_error();
        }
        // "See there" is what many servers say of a request that they have carried out: no twin can deny it, and asking again leads there again.
        if status.is_redirection() {
            return Conclusion { class: Class::Rejected, ..ambiguous(kind_of_status(status)) };
        }
    }
    match body {
        // 5. Only the legacy era can read on, and only what may still become an answer.
        BodyFacts::Stopped { resumable: true, .. } if lifecycle == Lifecycle::Legacy && is_still_open(status) => {
            Conclusion { class: Class::Resumable, ..ambiguous(Kind::StreamEnded) }
        }
        // 6. Everything else may have run.
        BodyFacts::TooLarge => ambiguous(Kind::TooLarge),
        _ if !status.is_success() => ambiguous(kind_of_status(status)),
        BodyFacts::Stopped { .. } => ambiguous(Kind::StreamEnded),
        _ => ambiguous(Kind::Protocol),
    }
}

/// Is it the code for a method that the server does not know?
pub(crate) fn is_unknown_method(code: i64) -> bool {
    code == METHOD_NOT_FOUND
}

/// The code of a whole JSON-RPC error.
fn code(body: BodyFacts<'_>) -> Option<i64> {
    if let BodyFacts::Error { code, well_formed: true, .. } = body { Some(code) } else { None }
}

/// A token that was not there, or over by its own date, is refused before anything is run with it, and so is one without the scope or
/// the nonce that is asked for: but only if it is our own that the challenge speaks of, and nothing says that the call was under way.
fn challenged(evidence: &Evidence<'_>, status: StatusCode, headers: &HeaderMap) -> Option<Conclusion> {
    if evidence.seen || !(status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN) {
        return None;
    }
    let challenge = own_challenge(headers, evidence.url)?;
    let proves = match challenge {
        Challenge::Token => evidence.login != Login::Sent && status == StatusCode::UNAUTHORIZED,
        Challenge::Scope | Challenge::Nonce => true,
    };
    let class = match challenge {
        _ if status == StatusCode::UNAUTHORIZED => Class::Unauthorized,
        // A login of ours can be asked for more; what a host's own function gives is the host's business.
        Challenge::Scope => Class::ScopeMissing,
        Challenge::Token | Challenge::Nonce => Class::Rejected,
    };
    proves.then(|| Conclusion { basis: Some(ProofBasis::Protocol), ..certain(class, Kind::Auth, Proof::Unauthorized) })
}

/// A refusal, of the sort that status and words say. If nothing confirms it, an error has answered, and the rest may have run.
fn refused(evidence: &Evidence<'_>, status: StatusCode, body: BodyFacts<'_>, says_lost: bool) -> Conclusion {
    // Who asks is looked at before the session is, whatever the words.
    let (class, kind, claim) = if status == StatusCode::UNAUTHORIZED {
        (Class::Unauthorized, Kind::Auth, Proof::Unauthorized)
    } else if says_lost || session_unknown(evidence, status, body) {
        (Class::SessionRejected, Kind::SessionLost, Proof::SessionRejected)
    } else if status == StatusCode::TOO_MANY_REQUESTS {
        (Class::RateLimited, Kind::RateLimited, Proof::RateLimited)
    } else {
        (Class::Rejected, kind_of_status(status), Proof::Rejected)
    };
    let (unconfirmed, execution) = match code(body) {
        Some(_) => (Kind::Rpc, Execution::Answered),
        None if status.is_success() => (Kind::Protocol, Execution::MayHaveExecuted),
        None => (kind_of_status(status), Execution::MayHaveExecuted),
    };
    Conclusion { class, execution, claim: Some(claim), unconfirmed: Some(unconfirmed), ..ambiguous(kind) }
}

/// "The server MUST then respond with 404" to a session that it has ended (MCP 2025-11-25, transports, session management). A method
/// that it does not know is another matter.
fn session_unknown(evidence: &Evidence<'_>, status: StatusCode, body: BodyFacts<'_>) -> bool {
    evidence.carried_session
        && evidence.lifecycle == Lifecycle::Legacy
        && matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE)
        && code(body) != Some(METHOD_NOT_FOUND)
}

/// Do the words say that the server does not know the session, or, of a server of the other era, that it wants one?
pub(super) fn says_lost(status: StatusCode, body: BodyFacts<'_>, lifecycle: Lifecycle) -> bool {
    match (lifecycle, body) {
        (Lifecycle::Legacy, BodyFacts::Error { code, message, .. }) => {
            wording::error_says_session_is_gone(code, message)
        }
        (Lifecycle::Legacy, BodyFacts::NoAnswer { excerpt }) => wording::says_session_is_gone(excerpt),
        (Lifecycle::Modern, _) if !status.is_client_error() => false,
        (Lifecycle::Modern, BodyFacts::Error { message, .. }) => wording::says_a_handshake_is_missing(message),
        (Lifecycle::Modern, BodyFacts::NoAnswer { excerpt }) => wording::says_a_handshake_is_missing(excerpt),
        (_, BodyFacts::Result | BodyFacts::Stopped { .. } | BodyFacts::TooLarge | BodyFacts::Unread) => false,
    }
}

/// What has to be looked after, whatever this call becomes.
fn repair(evidence: &Evidence<'_>, status: StatusCode, headers: &HeaderMap, body: BodyFacts<'_>) -> Repair {
    if let BodyFacts::Result = body {
        return Repair::default();
    }
    let lost = says_lost(status, body, evidence.lifecycle);
    let session = match evidence.lifecycle {
        _ if lost || session_unknown(evidence, status, body) => Doubt::Session,
        Lifecycle::Modern if status.is_client_error() => Doubt::Era,
        Lifecycle::Legacy | Lifecycle::Modern => Doubt::None,
    };
    // RFC 9110, section 15.5.2, demands a challenge: a 401 with one speaks of the login, one without may be said of a session.
    let of_the_login = status == StatusCode::UNAUTHORIZED && headers::has_challenge(headers);
    let counts = evidence.lifecycle == Lifecycle::Legacy && (lost || may_mean_the_session(status) && !of_the_login);
    Repair { token: status == StatusCode::UNAUTHORIZED, session, counts }
}

/// A refusal (RFC 9110, sections 15.4 and 15.5): a redirect that wants the same request elsewhere and was not followed, or a 4xx but for those
/// that middleboxes and handlers send in the middle of a request or after it: 408, 409 and 425. Any other redirect may lead to the result of
/// what was done: 303 does by its definition, 301 and 302 in practice.
fn is_refusal(status: StatusCode) -> bool {
    match status.as_u16() {
        307 | 308 => true,
        408 | 409 | 425 => false,
        _ => status.is_client_error(),
    }
}

/// May the stream under this status still bring an answer?
fn is_still_open(status: StatusCode) -> bool {
    !status.is_redirection() && !is_refusal(status)
}

/// Might a server say this of a session, in its own way? Not what speaks of the request, of its size and form, of a redirect, of a
/// payment or of what somebody may do.
fn may_mean_the_session(status: StatusCode) -> bool {
    status.is_client_error()
        && is_refusal(status)
        && !matches!(status.as_u16(), 402 | 403 | 405..=407 | 411..=417 | 421 | 426 | 429 | 431)
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
    Conclusion { class: Class::Answered, execution: Execution::Answered, ..ambiguous(Kind::Rpc) }
}

fn certain(class: Class, kind: Kind, proof: Proof) -> Conclusion {
    Conclusion {
        class,
        execution: Execution::NotExecuted,
        proof: Some(proof),
        basis: Some(ProofBasis::Certain),
        ..ambiguous(kind)
    }
}

fn ambiguous(kind: Kind) -> Conclusion {
    Conclusion {
        class: Class::Ambiguous,
        kind: Some(kind),
        execution: Execution::MayHaveExecuted,
        proof: None,
        basis: None,
        claim: None,
        unconfirmed: None,
        repair: Repair::default(),
    }
}
