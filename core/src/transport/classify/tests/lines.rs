//! The numbered list, line by line, with what each line must not catch.

use super::{EMPTY, HERE, OWN_CHALLENGE, Sent, answer, challenged, foreign, judge, malformed, ours, text};
use crate::transport::classify::{BodyFacts, Class, Conclusion, EndFacts, Login, interrupted};
use crate::transport::exchange::Cause;
use crate::vocabulary::outcome::{Execution, Kind, Proof, ProofBasis};
use Class::*;
use Sent::*;

const GONE: &str = "Session not found";
const CUT: BodyFacts<'_> = BodyFacts::Stopped { orderly: false, resumable: false };
const CLEAN: BodyFacts<'_> = BodyFacts::Stopped { orderly: true, resumable: false };
const CUT_WITH_ID: BodyFacts<'_> = BodyFacts::Stopped { orderly: false, resumable: true };
const CLEAN_WITH_ID: BodyFacts<'_> = BodyFacts::Stopped { orderly: true, resumable: true };

/// What is compared: the class, what the failure is called, what it is called if it is a refusal that nothing confirms, the verdict.
type Says = (Class, Option<Kind>, Option<Kind>, Execution);

fn says(conclusion: Conclusion) -> Says {
    (conclusion.class, conclusion.kind, conclusion.unconfirmed, conclusion.execution)
}

/// A result.
const RESULT: Says = (Answered, None, None, Execution::Answered);
/// An error that answers.
const ERROR: Says = (Answered, Some(Kind::Rpc), None, Execution::Answered);

fn may_have_run(kind: Kind) -> Says {
    (Ambiguous, Some(kind), None, Execution::MayHaveExecuted)
}

/// A refusal that is called this unless its twin confirms it.
fn refusal(class: Class, kind: Kind, unconfirmed: Kind) -> Says {
    let execution = if unconfirmed == Kind::Rpc { Execution::Answered } else { Execution::MayHaveExecuted };
    (class, Some(kind), Some(unconfirmed), execution)
}

fn lost(unconfirmed: Kind) -> Says {
    refusal(SessionRejected, Kind::SessionLost, unconfirmed)
}

fn rejected(kind: Kind, unconfirmed: Kind) -> Says {
    refusal(Rejected, kind, unconfirmed)
}

fn unauthorized(unconfirmed: Kind) -> Says {
    refusal(Unauthorized, Kind::Auth, unconfirmed)
}

fn limited(unconfirmed: Kind) -> Says {
    refusal(RateLimited, Kind::RateLimited, unconfirmed)
}

fn check(rows: &[(&str, Sent, u16, BodyFacts<'_>, Says)]) {
    for &(name, sent, code, body, expected) in rows {
        assert_eq!(says(answer(sent, code, body)), expected, "{name}: {sent:?} {code} {body:?}");
    }
}

#[test]
fn line_1_a_result_with_our_id_answers_whatever_the_status() {
    for code in 200..600 {
        for sent in [Session, NoSession, Modern] {
            assert_eq!(says(answer(sent, code, BodyFacts::Result)), RESULT, "{code}");
        }
    }
}

#[test]
fn line_2_an_error_with_our_id_answers_whatever_the_status() {
    for code in (200..600).filter(|code| *code != 401) {
        for sent in [Session, NoSession, Modern] {
            for error in [-32603, -32601, -32000, -32001, 7] {
                assert_eq!(says(answer(sent, code, ours(error, "boom"))), ERROR, "{code} {error}");
            }
        }
    }
    check(&[
        ("a token is looked at before a handler is asked", Session, 401, ours(-32001, "no"), unauthorized(Kind::Rpc)),
        ("in the modern era too", Modern, 401, ours(-32001, "no"), unauthorized(Kind::Rpc)),
        ("words of a lost session", Session, 200, ours(-32000, GONE), lost(Kind::Rpc)),
        ("with any status", Session, 500, ours(-32603, GONE), lost(Kind::Rpc)),
        ("but 401 is of the token", Session, 401, ours(-32001, GONE), unauthorized(Kind::Rpc)),
        ("a tool of the modern era knows no sessions", Modern, 404, ours(-32001, GONE), ERROR),
        ("a server of the other era does", Modern, 400, ours(-32000, "Server not initialized"), lost(Kind::Rpc)),
        ("but only with a 4xx", Modern, 200, ours(-32000, "Server not initialized"), ERROR),
        ("and", Modern, 500, ours(-32000, "Server not initialized"), ERROR),
        ("a parse error is about the request", Session, 400, ours(-32700, GONE), ERROR),
    ]);
}

#[test]
fn the_terms_of_the_modern_era_are_an_answer_and_a_hint_at_the_other_era() {
    let refused = (TermsRefused, Some(Kind::Rpc), None, Execution::Answered);
    let suspect = (SessionSuspect, Some(Kind::Rpc), None, Execution::Answered);
    for code in [200, 400, 401, 404, 500] {
        for body in [ours(-32022, GONE), foreign(-32022, GONE)] {
            check(&[("version", Modern, code, body, refused), ("upgraded", Session, code, body, suspect)]);
        }
        for body in [ours(-32020, "headers"), foreign(-32020, "headers")] {
            check(&[("headers", Modern, code, body, refused)]);
        }
    }
}

/// The rows of line 3: what the request carried, the status, the challenge, and the class if it is proven.
#[test]
fn line_3_a_challenge_that_only_our_own_login_can_have_caused_proves_it() {
    let with = |error: &str| format!("{OWN_CHALLENGE}, error=\"{error}\"");
    let other = "Bearer resource_metadata=\"https://upstream.example/.well-known/oauth-protected-resource/mcp\"";
    let scope = with("insufficient_scope");
    let nonce = with("use_dpop_nonce").replace("Bearer", "DPoP");
    let others_scope = format!("{other}, error=\"insufficient_scope\"");
    let others_nonce = format!("{other}, error=\"use_dpop_nonce\"");
    assert!(OWN_CHALLENGE.contains("mcp.example") && HERE.contains("mcp.example"));
    let rows: [(&str, Login, u16, &str, Option<Class>); 20] = [
        ("no token", Login::None, 401, OWN_CHALLENGE, Some(Unauthorized)),
        ("one that had expired", Login::Expired, 401, OWN_CHALLENGE, Some(Unauthorized)),
        ("one that may have been good", Login::Sent, 401, OWN_CHALLENGE, None),
        ("invalid_token is no proof of itself", Login::Sent, 401, &with("invalid_token"), None),
        ("a nonce is wanted", Login::Sent, 401, &nonce, Some(Unauthorized)),
        ("also of no token", Login::None, 401, &nonce, Some(Unauthorized)),
        ("more scopes are wanted", Login::Sent, 403, &scope, Some(ScopeMissing)),
        ("also with 401", Login::Sent, 401, &scope, Some(Unauthorized)),
        ("403 to no token", Login::None, 403, OWN_CHALLENGE, None),
        ("403 to one that had expired", Login::Expired, 403, OWN_CHALLENGE, None),
        ("another status", Login::None, 400, OWN_CHALLENGE, None),
        ("another status that wants scopes", Login::Sent, 404, &scope, None),
        ("a bare challenge", Login::None, 401, "Bearer", None),
        ("another scheme", Login::None, 401, "Basic realm=\"x\"", None),
        ("somebody else's resource", Login::None, 401, other, None),
        ("somebody else's resource, expired", Login::Expired, 401, other, None),
        ("somebody else's scopes", Login::Sent, 403, &others_scope, None),
        ("somebody else's nonce", Login::Sent, 401, &others_nonce, None),
        ("a server error", Login::None, 500, OWN_CHALLENGE, None),
        ("an answer", Login::None, 200, OWN_CHALLENGE, None),
    ];
    for (name, login, code, challenge, class) in rows {
        for body in [EMPTY, text("{\"error\":\"invalid_token\"}"), foreign(-32001, "no"), malformed("no")] {
            let conclusion = challenged(login, false, code, challenge, body);
            let proof = class.map(|class| (class, Proof::Unauthorized, ProofBasis::Protocol));
            let got = conclusion.proof.zip(conclusion.basis).map(|(proof, basis)| (conclusion.class, proof, basis));
            assert_eq!(got, proof, "{name}: {body:?}");
            assert!(proof.is_none() || conclusion.kind == Some(Kind::Auth), "{name}");
            // It was running.
            assert_eq!(challenged(login, true, code, challenge, body).proof, None, "{name}, seen: {body:?}");
        }
        // What was not read whole may be anything.
        for body in [CUT, CLEAN_WITH_ID, BodyFacts::TooLarge, BodyFacts::Unread] {
            assert_eq!(challenged(login, false, code, challenge, body).proof, None, "{name}: {body:?}");
        }
    }
    // An error with our id is a handler's, but for 401.
    assert_eq!(challenged(Login::None, false, 401, OWN_CHALLENGE, ours(-32001, "no")).proof, Some(Proof::Unauthorized));
    assert_eq!(says(challenged(Login::Sent, false, 403, &scope, ours(-32001, "no"))), ERROR);
}

#[test]
fn line_4_any_other_whole_refusal_claims_what_status_and_words_say() {
    use Kind::{Auth, HttpStatus, Redirect, Rpc};
    check(&[
        // 404 and 410 to a session id.
        ("text", Session, 404, text("Not Found: Session not found"), lost(HttpStatus)),
        ("a text that says nothing of it", Session, 404, text("<h1>404</h1>"), lost(HttpStatus)),
        ("empty", Session, 404, EMPTY, lost(HttpStatus)),
        ("an error that is nobody's", Session, 404, foreign(-32001, "gone"), lost(Rpc)),
        ("no envelope", Session, 404, malformed("gone"), lost(HttpStatus)),
        ("410", Session, 410, EMPTY, lost(HttpStatus)),
        ("an unknown method", Session, 404, foreign(-32601, "Method not found"), rejected(HttpStatus, Rpc)),
        ("without a session id", NoSession, 404, text("Not Found"), rejected(HttpStatus, HttpStatus)),
        ("410 without one", NoSession, 410, EMPTY, rejected(HttpStatus, HttpStatus)),
        ("in the modern era", Modern, 404, text(GONE), rejected(HttpStatus, HttpStatus)),
        // The words, under any status.
        ("400", Session, 400, foreign(-32000, "Server not initialized"), lost(Rpc)),
        ("400, text", Session, 400, text("Bad Request: no valid session ID provided"), lost(HttpStatus)),
        ("200, error", Session, 200, foreign(-32000, "Session has expired"), lost(Rpc)),
        ("200, text", Session, 200, text(GONE), lost(Kind::Protocol)),
        ("403", Session, 403, foreign(-32603, GONE), lost(Rpc)),
        ("401 is of the token", Session, 401, text(GONE), unauthorized(Auth)),
        ("409, else ambiguous", Session, 409, text(GONE), lost(HttpStatus)),
        ("429", Session, 429, text(GONE), lost(Kind::RateLimited)),
        ("500", Session, 500, malformed(GONE), lost(HttpStatus)),
        ("503", Session, 503, foreign(-32001, "MCP session is unknown here"), lost(Rpc)),
        ("no id was sent, and the server wants one", NoSession, 400, text("No valid session ID"), lost(HttpStatus)),
        ("a rollback", Modern, 400, foreign(-32600, "Bad Request: Missing session ID"), lost(Rpc)),
        ("a rollback, in a text", Modern, 400, text("Bad Request: Session ID is required"), lost(HttpStatus)),
        // Words that only look like it.
        ("the header is missing", Session, 400, foreign(-32600, "Missing session ID"), rejected(HttpStatus, Rpc)),
        ("as text", Session, 400, text("Session ID is required"), rejected(HttpStatus, HttpStatus)),
        ("a parse error", Session, 400, foreign(-32700, GONE), rejected(HttpStatus, Rpc)),
        ("another text", Session, 400, text("Bad Request"), rejected(HttpStatus, HttpStatus)),
        ("another error", Session, 400, foreign(-32600, "Invalid Request"), rejected(HttpStatus, Rpc)),
        // 401 and 429.
        ("401", Session, 401, EMPTY, unauthorized(Auth)),
        ("401, error", NoSession, 401, foreign(-32000, "who are you"), unauthorized(Rpc)),
        ("401, modern", Modern, 401, text("Unauthorized"), unauthorized(Auth)),
        ("429", Session, 429, EMPTY, limited(Kind::RateLimited)),
        ("429, error", NoSession, 429, foreign(-32000, "slow down"), limited(Rpc)),
        ("429, modern", Modern, 429, text("slow down"), limited(Kind::RateLimited)),
        ("429 with our id came from a handler", Session, 429, ours(-32000, "later"), ERROR),
        // The rest.
        ("403", Session, 403, text("Forbidden"), rejected(Auth, Auth)),
        ("403, error", Session, 403, foreign(-32000, "not you"), rejected(Auth, Rpc)),
        ("307 elsewhere", Session, 307, EMPTY, rejected(Redirect, Redirect)),
        ("308 elsewhere", Modern, 308, text("moved"), rejected(Redirect, Redirect)),
        ("the words, with a redirect", Session, 303, text(GONE), lost(Redirect)),
        ("413", Session, 413, malformed("too large"), rejected(HttpStatus, HttpStatus)),
    ]);
}

/// Of a session nothing is known without an id, so that the status alone says which refusal it is.
/// Whatever the server then says of everything: the target may be what came of the call (RFC 9110, section 15.4.4).
#[test]
fn a_redirect_to_another_method_claims_nothing() {
    for code in [300, 301, 302, 303, 304, 305, 306] {
        for sent in [Session, NoSession, Modern] {
            for body in [EMPTY, text("see there"), malformed("no")] {
                let conclusion = answer(sent, code, body);
                let (class, kind) = (conclusion.class, conclusion.kind);
                assert_eq!((class, kind, conclusion.claim), (Rejected, Some(Kind::Redirect), None), "{code} {body:?}");
            }
        }
    }
}

#[test]
fn line_4_holds_for_exactly_307_308_and_4xx_but_three() {
    for code in 200..600 {
        for sent in [NoSession, Modern] {
            for body in [EMPTY, text("<html>"), malformed("no")] {
                let expected = match code {
                    408 | 409 | 425 => None,
                    401 => Some(Unauthorized),
                    429 => Some(RateLimited),
                    307 | 308 | 400..=499 => Some(Rejected),
                    _ => None,
                };
                let conclusion = answer(sent, code, body);
                let otherwise = if (300..400).contains(&code) { Rejected } else { Ambiguous };
                assert_eq!(conclusion.class, expected.unwrap_or(otherwise), "{code} {body:?}");
                assert_eq!(conclusion.claim.is_some(), expected.is_some(), "{code} {body:?}");
            }
            let error = answer(sent, code, foreign(-32603, "boom"));
            assert_eq!(error.execution, Execution::Answered, "an error answers, whatever its status: {code}");
        }
    }
}

#[test]
fn no_status_has_a_proof_by_itself_whatever_the_body() {
    let bodies = [
        EMPTY,
        text("<html>"),
        text(GONE),
        ours(-32000, GONE),
        foreign(-32000, GONE),
        ours(-32601, "Method not found"),
        foreign(-32022, "Unsupported protocol version"),
        foreign(-32603, "boom"),
        malformed(GONE),
        BodyFacts::Result,
        CUT,
        CLEAN,
        CUT_WITH_ID,
        CLEAN_WITH_ID,
        BodyFacts::TooLarge,
        BodyFacts::Unread,
    ];
    for code in 200..600 {
        for sent in [Session, NoSession, Modern] {
            for body in bodies {
                let conclusion = answer(sent, code, body);
                assert_eq!((conclusion.proof, conclusion.basis), (None, None), "{code} {body:?}");
                let confirmed = conclusion.confirmed();
                assert_eq!(confirmed.proof, conclusion.claim, "{code} {body:?}");
                let basis = conclusion.claim.map(|_| ProofBasis::Confirmed);
                assert_eq!(confirmed.basis, basis, "{code} {body:?}");
                assert_eq!(confirmed.repair, conclusion.repair, "the twin says nothing of that: {code} {body:?}");
            }
        }
    }
}

#[test]
fn what_was_not_read_whole_claims_nothing() {
    for code in 200..600 {
        for sent in [Session, NoSession, Modern] {
            for body in [CUT, CLEAN, CUT_WITH_ID, CLEAN_WITH_ID, BodyFacts::TooLarge, BodyFacts::Unread] {
                let resumable = matches!(body, BodyFacts::Stopped { resumable: true, .. });
                let refusal = (300..500).contains(&code) && ![408, 409, 425].contains(&code);
                let expected = if resumable && sent != Modern && !refusal { Resumable } else { Ambiguous };
                assert_eq!(answer(sent, code, body).class, expected, "{code} {body:?}");
            }
        }
    }
}

#[test]
fn line_5_only_the_legacy_era_reads_on() {
    let resumable = (Resumable, Some(Kind::StreamEnded), None, Execution::MayHaveExecuted);
    let ended = may_have_run(Kind::StreamEnded);
    check(&[
        ("clean end after an id", Session, 200, CLEAN_WITH_ID, resumable),
        ("cut after an id", Session, 200, CUT_WITH_ID, resumable),
        ("without a session too", NoSession, 200, CUT_WITH_ID, resumable),
        ("a server error may still be answered", Session, 503, CUT_WITH_ID, resumable),
        ("a refusal may not", Session, 404, CUT_WITH_ID, may_have_run(Kind::HttpStatus)),
        ("no id", Session, 200, CLEAN, ended),
        ("modern", Modern, 200, CLEAN_WITH_ID, ended),
    ]);
}

#[test]
fn line_6_everything_else_may_have_run() {
    use Kind::{Gateway, HttpStatus, Protocol, StreamEnded};
    check(&[
        ("202 to a request", Session, 202, EMPTY, may_have_run(Protocol)),
        ("204", Session, 204, EMPTY, may_have_run(Protocol)),
        ("a web page", Session, 200, text("<html>"), may_have_run(Protocol)),
        ("no envelope", Session, 200, malformed("upstream timed out"), may_have_run(Protocol)),
        ("clean end", Session, 200, CLEAN, may_have_run(StreamEnded)),
        ("half an answer", Session, 200, CUT, may_have_run(StreamEnded)),
        ("unread", Session, 200, BodyFacts::Unread, may_have_run(Protocol)),
        ("too large", Session, 200, BodyFacts::TooLarge, may_have_run(Kind::TooLarge)),
        ("too large, refused", Session, 404, BodyFacts::TooLarge, may_have_run(Kind::TooLarge)),
        ("404, cut", Session, 404, CUT, may_have_run(HttpStatus)),
        ("401, cut", Session, 401, CUT, may_have_run(Kind::Auth)),
        ("401, unread", Session, 401, BodyFacts::Unread, may_have_run(Kind::Auth)),
        ("429, cut", Session, 429, CUT, may_have_run(Kind::RateLimited)),
        ("307, cut", Session, 307, CUT, may_have_run(Kind::Redirect)),
        ("408", Session, 408, EMPTY, may_have_run(HttpStatus)),
        ("409", Session, 409, text("Conflict"), may_have_run(HttpStatus)),
        ("425", Session, 425, EMPTY, may_have_run(HttpStatus)),
        ("500", Session, 500, text("<html>"), may_have_run(HttpStatus)),
        ("501", Session, 501, EMPTY, may_have_run(HttpStatus)),
        ("502", Session, 502, EMPTY, may_have_run(Gateway)),
        ("503 to a session", Session, 503, text("<html>"), may_have_run(Gateway)),
        ("503 in the modern era", Modern, 503, EMPTY, may_have_run(Gateway)),
        ("504", Session, 504, EMPTY, may_have_run(Gateway)),
        ("505", Session, 505, EMPTY, may_have_run(HttpStatus)),
        ("500, cut", Session, 500, CUT, may_have_run(HttpStatus)),
        ("an error that is nobody's answers all the same", Session, 500, foreign(-32603, "boom"), ERROR),
        ("also with 200", NoSession, 200, foreign(-32603, "boom"), ERROR),
        ("and with 409", Modern, 409, foreign(-32603, "boom"), ERROR),
    ]);
}

#[test]
fn once_a_head_arrived_the_probe_says_nothing() {
    let headers = http::HeaderMap::new();
    for code in [200, 404, 401, 500] {
        let end = EndFacts::Head { status: super::status(code), headers: &headers, body: EMPTY };
        assert_eq!(judge(Session, false, end), judge(Session, true, end), "{code}");
    }
}

#[test]
fn before_a_head_the_probe_decides() {
    let transient = [
        Cause::Refused,
        Cause::Unreachable,
        Cause::ConnectReset,
        Cause::ConnectTimeout,
        Cause::DnsTemporary,
        Cause::ConnectOther,
        Cause::RefusedStream,
        Cause::Closed,
        Cause::Reset,
        Cause::Other,
    ];
    let lasting = [Cause::DnsUnknownHost, Cause::Tls, Cause::Proxy, Cause::BadRequest];
    for cause in transient.into_iter().chain(lasting) {
        let untouched = judge(Session, false, EndFacts::NoHead(cause));
        assert_eq!(untouched.class, NeverSent { transient: transient.contains(&cause) }, "{cause:?}");
        let kind = if cause == Cause::BadRequest { Kind::Config } else { Kind::Connect };
        assert_eq!(untouched.kind, Some(kind), "{cause:?}");
        let taken = judge(Session, true, EndFacts::NoHead(cause));
        assert_eq!(says(taken), may_have_run(Kind::ConnectionClosed), "{cause:?}");
    }
}

#[test]
fn a_goaway_below_our_stream_is_proof_also_after_the_body_was_taken() {
    for taken in [false, true] {
        for sent in [Session, NoSession, Modern] {
            let conclusion = judge(sent, taken, EndFacts::NoHead(Cause::GoneAway));
            assert_eq!((conclusion.class, conclusion.kind), (RefusedStream, Some(Kind::ConnectionClosed)));
            assert_eq!((conclusion.proof, conclusion.basis), (Some(Proof::RefusedStream), Some(ProofBasis::Certain)));
        }
    }
}

#[test]
fn an_interruption_proves_something_only_while_the_body_is_untouched() {
    for kind in [Kind::Timeout, Kind::Cancelled, Kind::Closed] {
        for (taken, head_arrived) in [(false, false), (true, false), (true, true), (false, true)] {
            let conclusion = judge(Session, taken, EndFacts::Interrupted { kind, head_arrived });
            let begun = taken || head_arrived;
            assert_eq!(conclusion, interrupted(kind, begun), "{taken} {head_arrived}");
            let (class, proof) =
                if begun { (Ambiguous, None) } else { (NeverSent { transient: false }, Some(Proof::NeverSent)) };
            assert_eq!((conclusion.class, conclusion.kind, conclusion.proof), (class, Some(kind), proof));
            assert_eq!((conclusion.claim, conclusion.repair), (None, Default::default()), "nobody has said anything");
        }
    }
}
