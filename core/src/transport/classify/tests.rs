//! Tables: a row for each line of the list, for each failure that a client can see, and for each answer that real servers give.

mod eras;
mod failures;
mod handshake;
mod lines;
mod peers;
mod redirects;
mod streams;
mod wordings;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::{AnswerId, BodyEnd, Class, Conclusion, End, Evidence, call};
use crate::era::Lifecycle;
use crate::outcome::{Execution, Proof};

/// No body at all.
const EMPTY: BodyEnd<'_> = BodyEnd::NoAnswer { excerpt: "" };

/// A JSON-RPC error that bears our id.
fn ours(code: i64, message: &str) -> BodyEnd<'_> {
    BodyEnd::Error { code, message, id: AnswerId::Ours, well_formed: true }
}

/// A JSON-RPC error that bears no id, or one that is nobody's.
fn foreign(code: i64, message: &str) -> BodyEnd<'_> {
    BodyEnd::Error { code, message, id: AnswerId::Foreign, well_formed: true }
}

fn text(excerpt: &str) -> BodyEnd<'_> {
    BodyEnd::NoAnswer { excerpt }
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap()
}

fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
}

/// What the request was, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// Legacy era, with a session id.
    Session,
    /// Legacy era, no session id.
    NoSession,
    /// Modern era.
    Modern,
}

/// Judges an answer whose head arrived.
fn answer(sent: Sent, code: u16, challenge: bool, body: BodyEnd<'_>) -> Conclusion {
    let headers = if challenge { headers(&[(header::WWW_AUTHENTICATE, "Bearer")]) } else { HeaderMap::new() };
    judge(sent, true, End::Head { status: status(code), headers: &headers, body })
}

fn judge(sent: Sent, body_taken: bool, end: End<'_>) -> Conclusion {
    let lifecycle = if sent == Sent::Modern { Lifecycle::Modern } else { Lifecycle::Legacy };
    let conclusion = call(&Evidence { carried_session: sent == Sent::Session, lifecycle, body_taken, end });
    assert_is_consistent(conclusion);
    conclusion
}

/// What holds for every conclusion: a proof exactly where the verdict is `not_executed`, and the proof that belongs to the class.
fn assert_is_consistent(conclusion: Conclusion) {
    let Conclusion { class, kind, execution, proof } = conclusion;
    assert_eq!(proof.is_some(), execution == Execution::NotExecuted, "{conclusion:?}");
    let expected = match class {
        Class::NeverSent { .. } => (Execution::NotExecuted, Some(Proof::NeverSent)),
        Class::SessionRejected => (Execution::NotExecuted, Some(Proof::SessionRejected)),
        Class::Unauthorized => (Execution::NotExecuted, Some(Proof::Unauthorized)),
        Class::RateLimited => (Execution::NotExecuted, Some(Proof::RateLimited)),
        Class::RefusedStream => (Execution::NotExecuted, Some(Proof::RefusedStream)),
        Class::Rejected => (Execution::NotExecuted, Some(Proof::Rejected)),
        Class::Resumable | Class::Ambiguous => (Execution::MayHaveExecuted, None),
        Class::Answered | Class::TermsRefused => (Execution::Answered, None),
        Class::SessionSuspect => {
            assert_ne!(execution, Execution::NotExecuted, "{conclusion:?}");
            (execution, None)
        }
    };
    assert_eq!((execution, proof), expected, "{conclusion:?}");
    assert!(kind.is_some() || class == Class::Answered, "only a result goes without a kind: {conclusion:?}");
}
