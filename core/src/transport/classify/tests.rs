//! Tables: a row for each line of the list, for each failure that a client can see, and for each answer that real servers give.

mod eras;
mod failures;
mod handshake;
mod lines;
mod peers;
mod redirects;
mod repairs;
mod streams;
mod twins;
mod wordings;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use url::Url;

use super::{AnswerId, BodyFacts, Class, Conclusion, EndFacts, Evidence, Login, call};
use crate::protocol::era::Lifecycle;
use crate::vocabulary::outcome::{Execution, Kind, Proof, ProofBasis};

/// No body at all.
const EMPTY: BodyFacts<'_> = BodyFacts::NoAnswer { excerpt: "" };

/// A JSON-RPC error that bears our id.
fn ours(code: i64, message: &str) -> BodyFacts<'_> {
    BodyFacts::Error { code, message, id: AnswerId::Ours, well_formed: true }
}

/// What a gateway makes up: no envelope, or no code that JSON-RPC knows. It answers nothing.
fn malformed(message: &str) -> BodyFacts<'_> {
    BodyFacts::Error { code: 0, message, id: AnswerId::Foreign, well_formed: false }
}

/// A JSON-RPC error that bears no id, or one that is nobody's.
fn foreign(code: i64, message: &str) -> BodyFacts<'_> {
    BodyFacts::Error { code, message, id: AnswerId::Foreign, well_formed: true }
}

fn text(excerpt: &str) -> BodyFacts<'_> {
    BodyFacts::NoAnswer { excerpt }
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

/// Where the requests of the tests go.
const HERE: &str = "https://mcp.example/mcp";

/// A challenge that names the metadata of [`HERE`].
const OWN_CHALLENGE: &str = "Bearer resource_metadata=\"https://mcp.example/.well-known/oauth-protected-resource/mcp\"";

/// Judges an answer whose head arrived, to a request that carried a token that may have been good.
fn answer(sent: Sent, code: u16, body: BodyFacts<'_>) -> Conclusion {
    judge(sent, true, EndFacts::Head { status: status(code), headers: &HeaderMap::new(), body })
}

/// The same, with this challenge, to a request that carried this; `seen` tells that something of the attempt was.
fn challenged(login: Login, seen: bool, code: u16, challenge: &str, body: BodyFacts<'_>) -> Conclusion {
    let headers = headers(&[(header::WWW_AUTHENTICATE, challenge)]);
    let end = EndFacts::Head { status: status(code), headers: &headers, body };
    consistent(Evidence { login, seen, ..evidence(Sent::Session, true, &Url::parse(HERE).unwrap(), end) })
}

fn judge(sent: Sent, body_taken: bool, end: EndFacts<'_>) -> Conclusion {
    consistent(evidence(sent, body_taken, &Url::parse(HERE).unwrap(), end))
}

fn evidence<'a>(sent: Sent, body_taken: bool, url: &'a Url, end: EndFacts<'a>) -> Evidence<'a> {
    let lifecycle = if sent == Sent::Modern { Lifecycle::Modern } else { Lifecycle::Legacy };
    let carried_session = sent == Sent::Session;
    Evidence { carried_session, lifecycle, body_taken, url, login: Login::Sent, seen: false, end }
}

/// The conclusion, having looked whether it is one that can be.
fn consistent(evidence: Evidence<'_>) -> Conclusion {
    let conclusion = call(&evidence);
    assert_is_consistent(conclusion);
    assert_is_consistent(conclusion.confirmed());
    assert_eq!(conclusion.confirmed().confirmed(), conclusion.confirmed(), "confirmed once is confirmed");
    if let EndFacts::Head { body, .. } = evidence.end
        && matches!(body, BodyFacts::Stopped { .. } | BodyFacts::TooLarge | BodyFacts::Unread)
    {
        assert_eq!((conclusion.claim, conclusion.proof), (None, None), "what was not read whole proves nothing");
        assert_eq!(conclusion.execution, Execution::MayHaveExecuted, "{conclusion:?}");
    }
    if evidence.seen {
        assert_ne!(conclusion.basis, Some(ProofBasis::Protocol), "it was running: {conclusion:?}");
    }
    conclusion
}

/// What holds for every conclusion: a proof exactly where the verdict is `not_executed`, with a basis, and the proof or claim that belongs
/// to the class.
fn assert_is_consistent(conclusion: Conclusion) {
    let Conclusion { class, kind, execution, proof, basis, claim, unconfirmed, repair: _ } = conclusion;
    assert_eq!(proof.is_some(), execution == Execution::NotExecuted, "{conclusion:?}");
    assert_eq!(basis.is_some(), proof.is_some(), "{conclusion:?}");
    assert!(proof.is_none() || claim.is_none(), "what is proven claims nothing: {conclusion:?}");
    assert!(claim.is_none() || unconfirmed.is_some(), "{conclusion:?}");
    assert!(kind.is_some() || class == Class::Answered, "only a result goes without a kind: {conclusion:?}");
    // What the class says, be it proven or claimed.
    let says = proof.or(claim);
    match class {
        Class::NeverSent { .. } => assert_eq!((proof, basis), (Some(Proof::NeverSent), Some(ProofBasis::Certain))),
        Class::RefusedStream => assert_eq!((proof, basis), (Some(Proof::RefusedStream), Some(ProofBasis::Certain))),
        Class::SessionRejected => {
            assert_eq!((says, kind), (Some(Proof::SessionRejected), Some(Kind::SessionLost)), "{conclusion:?}");
        }
        Class::Unauthorized => {
            assert_eq!((says, kind), (Some(Proof::Unauthorized), Some(Kind::Auth)), "{conclusion:?}");
        }
        Class::ScopeMissing => {
            assert_eq!((proof, basis), (Some(Proof::Unauthorized), Some(ProofBasis::Protocol)), "{conclusion:?}");
        }
        Class::RateLimited => {
            assert_eq!((says, kind), (Some(Proof::RateLimited), Some(Kind::RateLimited)), "{conclusion:?}");
        }
        Class::Rejected if basis == Some(ProofBasis::Protocol) => assert_eq!(says, Some(Proof::Unauthorized)),
        // What a redirect to another method says can be the result.
        Class::Rejected if kind == Some(Kind::Redirect) => assert!(matches!(says, None | Some(Proof::Rejected))),
        Class::Rejected => assert_eq!(says, Some(Proof::Rejected), "{conclusion:?}"),
        Class::Resumable | Class::Ambiguous => {
            assert_eq!((execution, says), (Execution::MayHaveExecuted, None), "{conclusion:?}");
        }
        Class::Answered | Class::TermsRefused | Class::SessionSuspect => {
            assert_eq!((execution, says), (Execution::Answered, None), "{conclusion:?}");
        }
    }
    if let (Some(_), Some(unconfirmed)) = (claim, unconfirmed) {
        let expected = if unconfirmed == Kind::Rpc { Execution::Answered } else { Execution::MayHaveExecuted };
        assert_eq!(execution, expected, "an error answers, and nothing else does: {conclusion:?}");
    }
}
