//! The numbered list, line by line, with what each line must not catch.

use super::{EMPTY, Sent, answer, foreign, judge, ours, text};
use crate::outcome::{Execution, Kind};
use crate::transport::classify::{BodyEnd, Class, End};
use crate::transport::exchange::Cause;
use Class::*;
use Sent::*;

const GONE: &str = "Session not found";
const CUT: BodyEnd<'_> = BodyEnd::Stopped { orderly: false, resumable: false };
const CLEAN: BodyEnd<'_> = BodyEnd::Stopped { orderly: true, resumable: false };
const CUT_WITH_ID: BodyEnd<'_> = BodyEnd::Stopped { orderly: false, resumable: true };
const CLEAN_WITH_ID: BodyEnd<'_> = BodyEnd::Stopped { orderly: true, resumable: true };

type Row<'a> = (&'a str, Sent, u16, bool, BodyEnd<'a>, Class, Option<Kind>);

fn check(rows: &[Row<'_>]) {
    for &(name, sent, code, challenge, body, class, kind) in rows {
        let conclusion = answer(sent, code, challenge, body);
        assert_eq!((conclusion.class, conclusion.kind), (class, kind), "{name}");
    }
}

#[test]
fn line_1_a_result_with_our_id_answers() {
    check(&[
        ("200", Session, 200, false, BodyEnd::Result, Answered, None),
        ("whatever the status", Session, 404, false, BodyEnd::Result, Answered, None),
        ("500 too", NoSession, 500, false, BodyEnd::Result, Answered, None),
        ("401 too", Modern, 401, true, BodyEnd::Result, Answered, None),
    ]);
}

#[test]
fn line_2_404_or_410_to_a_session_id_rejects_the_session() {
    let lost = Some(Kind::SessionLost);
    check(&[
        ("JSON-RPC error, id null", Session, 404, false, foreign(-32001, GONE), SessionRejected, lost),
        ("JSON-RPC error, our id", Session, 404, false, ours(-32001, GONE), SessionRejected, lost),
        ("text", Session, 404, false, text("Not Found: Session not found"), SessionRejected, lost),
        ("a text that says nothing of it", Session, 404, false, text("<h1>404</h1>"), SessionRejected, lost),
        ("empty", Session, 404, false, EMPTY, SessionRejected, lost),
        ("cut", Session, 404, false, CUT, SessionRejected, lost),
        ("a stream with event ids", Session, 404, false, CLEAN_WITH_ID, SessionRejected, lost),
        ("too large", Session, 404, false, BodyEnd::TooLarge, SessionRejected, lost),
        ("410", Session, 410, false, EMPTY, SessionRejected, lost),
        ("410 with an error", Session, 410, false, ours(-32000, "gone"), SessionRejected, lost),
        ("but an unknown method", Session, 404, false, ours(-32601, "Method not found"), Answered, Some(Kind::Rpc)),
        ("with any id", Session, 404, false, foreign(-32601, "Method not found"), Answered, Some(Kind::Rpc)),
        ("410 too", Session, 410, false, ours(-32601, "Method not found"), Answered, Some(Kind::Rpc)),
        ("not without a session id", NoSession, 404, false, text(GONE), Rejected, Some(Kind::HttpStatus)),
        ("nor in the modern era", Modern, 404, false, text(GONE), Rejected, Some(Kind::HttpStatus)),
        ("410 without one is no refusal", NoSession, 410, false, EMPTY, Ambiguous, Some(Kind::HttpStatus)),
    ]);
}

#[test]
fn line_3_400_with_the_explicit_wording_rejects_the_session() {
    let (lost, rpc, http) = (Some(Kind::SessionLost), Some(Kind::Rpc), Some(Kind::HttpStatus));
    check(&[
        ("id null or none", Session, 400, false, foreign(-32000, "Server not initialized"), SessionRejected, lost),
        ("text", Session, 400, false, text("Bad Request: no valid session ID provided"), SessionRejected, lost),
        ("but our id: it is suspect", Session, 400, false, ours(-32000, GONE), SessionSuspect, rpc),
        ("another text", Session, 400, false, text("Bad Request"), Rejected, http),
        ("another error", Session, 400, false, foreign(-32600, "Invalid Request"), Answered, rpc),
        ("the header is missing", Session, 400, false, foreign(-32600, "Missing session ID"), Answered, rpc),
        ("the same as text", Session, 400, false, text("Bad Request: Session ID is required"), Rejected, http),
        ("a parse error", Session, 400, false, foreign(-32700, GONE), Answered, rpc),
        ("a version error", Session, 400, false, foreign(-32022, "session expired"), SessionSuspect, rpc),
        ("cut: nothing was said", Session, 400, false, CUT, Rejected, http),
        ("without a session id", NoSession, 400, false, text(GONE), Rejected, http),
        ("nor with an error", NoSession, 400, false, foreign(-32000, GONE), Answered, rpc),
        ("modern", Modern, 400, false, foreign(-32000, GONE), Answered, rpc),
        ("another status is another line", Session, 403, false, text(GONE), Rejected, Some(Kind::Auth)),
        ("422 proves nothing", Session, 422, false, text(GONE), Ambiguous, http),
    ]);
}

#[test]
fn line_4_a_doubt_about_the_session_makes_it_suspect() {
    let (lost, rpc, auth) = (Some(Kind::SessionLost), Some(Kind::Rpc), Some(Kind::Auth));
    let gateway = Some(Kind::Gateway);
    check(&[
        ("401 without a challenge", Session, 401, false, EMPTY, SessionSuspect, auth),
        ("401 with one", Session, 401, true, EMPTY, Unauthorized, auth),
        ("401 without a session id", NoSession, 401, false, EMPTY, Unauthorized, auth),
        ("401 in the modern era", Modern, 401, false, EMPTY, Unauthorized, auth),
        ("503", Session, 503, false, text("<html>"), SessionSuspect, gateway),
        ("503 with our id", Session, 503, false, ours(-32001, "Service Unavailable"), SessionSuspect, rpc),
        ("503 without a session id", NoSession, 503, false, text("<html>"), Ambiguous, gateway),
        ("503 in the modern era", Modern, 503, false, EMPTY, Ambiguous, gateway),
        ("503 after an event id", Session, 503, false, CUT_WITH_ID, SessionSuspect, gateway),
        ("200 and our id", Session, 200, false, ours(-32000, "Session has expired"), SessionSuspect, rpc),
        ("200 and id null", Session, 200, false, foreign(-32000, "Session has expired"), SessionSuspect, lost),
        ("500 and our id", Session, 500, false, ours(-32603, GONE), SessionSuspect, rpc),
        ("403 and id null", Session, 403, false, foreign(-32603, GONE), SessionSuspect, lost),
        ("200 without a session id", NoSession, 200, false, ours(-32000, GONE), Answered, rpc),
        ("200 in the modern era", Modern, 200, false, ours(-32000, GONE), Answered, rpc),
        ("a text is no JSON-RPC error", Session, 200, false, text(GONE), Ambiguous, Some(Kind::Protocol)),
        ("502 and 504 are no doubt", Session, 502, false, EMPTY, Ambiguous, gateway),
    ]);
}

#[test]
fn a_suspect_answer_is_answered_exactly_if_it_bears_our_id() {
    for (code, body, execution) in [
        (200, ours(-32000, GONE), Execution::Answered),
        (200, foreign(-32000, GONE), Execution::MayHaveExecuted),
        (400, ours(-32000, GONE), Execution::Answered),
        (503, ours(-32000, "busy"), Execution::Answered),
        (503, foreign(-32000, "busy"), Execution::MayHaveExecuted),
        (503, EMPTY, Execution::MayHaveExecuted),
        (401, ours(-32000, "who are you"), Execution::Answered),
        (401, EMPTY, Execution::MayHaveExecuted),
    ] {
        let conclusion = answer(Session, code, false, body);
        assert_eq!((conclusion.class, conclusion.execution), (SessionSuspect, execution), "{code} {body:?}");
    }
}

#[test]
fn line_5_401_and_429_prove_that_nothing_ran() {
    let (auth, limited) = (Some(Kind::Auth), Some(Kind::RateLimited));
    check(&[
        ("401 with an error of our id", Session, 401, true, ours(-32001, "Unauthorized"), Unauthorized, auth),
        ("429", Session, 429, false, EMPTY, RateLimited, limited),
        ("429 with a text", NoSession, 429, false, text("slow down"), RateLimited, limited),
        ("429 with an error of no id", Session, 429, false, foreign(-32000, "slow down"), RateLimited, limited),
        ("429 with our id came from a handler", Session, 429, false, ours(-32000, "later"), Answered, Some(Kind::Rpc)),
        ("429, cut", Modern, 429, false, CUT, RateLimited, limited),
    ]);
}

#[test]
fn line_6_any_other_error_answers_whatever_its_status() {
    for code in [200, 202, 400, 402, 403, 404, 405, 406, 409, 413, 422, 500, 501, 502, 504] {
        for sent in [NoSession, Modern] {
            for body in [ours(-32603, "boom"), foreign(-32603, "boom")] {
                let conclusion = answer(sent, code, false, body);
                assert_eq!((conclusion.class, conclusion.kind), (Answered, Some(Kind::Rpc)), "{code} {body:?}");
            }
        }
    }
}

#[test]
fn line_7_holds_exactly_these_statuses() {
    let refusals = [307, 308, 400, 402, 403, 404, 405, 406, 407, 411, 413, 414, 415, 417, 421, 426, 431];
    for code in 200..600 {
        for body in [EMPTY, text("<html>"), CUT, CLEAN, BodyEnd::TooLarge] {
            let class = answer(NoSession, code, true, body).class;
            let expected = match code {
                401 => Unauthorized,
                429 => RateLimited,
                _ if refusals.contains(&code) => Rejected,
                _ => Ambiguous,
            };
            assert_eq!(class, expected, "{code} {body:?}");
        }
    }
}

#[test]
fn line_8_only_the_legacy_era_reads_on() {
    let ended = Some(Kind::StreamEnded);
    check(&[
        ("clean end after an id", Session, 200, false, CLEAN_WITH_ID, Resumable, ended),
        ("cut after an id", Session, 200, false, CUT_WITH_ID, Resumable, ended),
        ("without a session too", NoSession, 200, false, CUT_WITH_ID, Resumable, ended),
        ("no id", Session, 200, false, CLEAN, Ambiguous, ended),
        ("modern", Modern, 200, false, CLEAN_WITH_ID, Ambiguous, ended),
    ]);
}

#[test]
fn line_9_everything_else_may_have_run() {
    let (protocol, ended, gateway) = (Some(Kind::Protocol), Some(Kind::StreamEnded), Some(Kind::Gateway));
    let (http, redirect) = (Some(Kind::HttpStatus), Some(Kind::Redirect));
    check(&[
        ("202 to a request", Session, 202, false, EMPTY, Ambiguous, protocol),
        ("204", Session, 204, false, EMPTY, Ambiguous, protocol),
        ("a web page", Session, 200, false, text("<html>"), Ambiguous, protocol),
        ("clean end", Session, 200, false, CLEAN, Ambiguous, ended),
        ("half an answer", Session, 200, false, CUT, Ambiguous, ended),
        ("too large", Session, 200, false, BodyEnd::TooLarge, Ambiguous, Some(Kind::TooLarge)),
        ("301", Session, 301, false, EMPTY, Ambiguous, redirect),
        ("302", Session, 302, false, EMPTY, Ambiguous, redirect),
        ("303", Session, 303, false, EMPTY, Ambiguous, redirect),
        ("408", Session, 408, false, EMPTY, Ambiguous, http),
        ("409", Session, 409, false, EMPTY, Ambiguous, http),
        ("422", Session, 422, false, EMPTY, Ambiguous, http),
        ("425", Session, 425, false, EMPTY, Ambiguous, http),
        ("500", Session, 500, false, text("<html>"), Ambiguous, http),
        ("501", Session, 501, false, EMPTY, Ambiguous, http),
        ("502", Session, 502, false, EMPTY, Ambiguous, gateway),
        ("504", Session, 504, false, EMPTY, Ambiguous, gateway),
        ("505", Session, 505, false, EMPTY, Ambiguous, http),
        ("500, cut", Session, 500, false, CUT, Ambiguous, http),
    ]);
}

#[test]
fn once_a_head_arrived_the_probe_says_nothing() {
    let headers = http::HeaderMap::new();
    for taken in [false, true] {
        let end = End::Head { status: super::status(500), headers: &headers, body: EMPTY };
        assert_eq!(judge(Session, taken, end).class, Ambiguous);
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
        Cause::Closed,
        Cause::Reset,
        Cause::Other,
    ];
    let lasting = [Cause::DnsUnknownHost, Cause::Tls, Cause::Proxy, Cause::BadRequest];
    for cause in transient.into_iter().chain(lasting) {
        let untouched = judge(Session, false, End::NoHead(cause));
        assert_eq!(untouched.class, NeverSent { transient: transient.contains(&cause) }, "{cause:?}");
        let kind = if cause == Cause::BadRequest { Kind::Config } else { Kind::Connect };
        assert_eq!(untouched.kind, Some(kind), "{cause:?}");
        let taken = judge(Session, true, End::NoHead(cause));
        assert_eq!((taken.class, taken.kind), (Ambiguous, Some(Kind::ConnectionClosed)), "{cause:?}");
    }
}

#[test]
fn a_refused_stream_is_proof_also_after_the_body_was_taken() {
    for taken in [false, true] {
        for sent in [Session, NoSession, Modern] {
            let conclusion = judge(sent, taken, End::NoHead(Cause::RefusedStream));
            assert_eq!((conclusion.class, conclusion.kind), (RefusedStream, Some(Kind::ConnectionClosed)));
        }
    }
}

#[test]
fn an_interruption_proves_something_only_while_the_body_is_untouched() {
    for kind in [Kind::Timeout, Kind::Cancelled, Kind::Closed] {
        for (taken, head_arrived) in [(false, false), (true, false), (true, true), (false, true)] {
            let conclusion = judge(Session, taken, End::Interrupted { kind, head_arrived });
            let class = if taken || head_arrived { Ambiguous } else { NeverSent { transient: false } };
            assert_eq!((conclusion.class, conclusion.kind), (class, Some(kind)), "{taken} {head_arrived}");
        }
    }
}
