//! The two steps of the handshake.

use http::HeaderMap;

use super::{EMPTY, foreign, ours, status, text};
use crate::transport::classify::{
    BodyFacts, EndFacts, HandshakeConclusion, HandshakeNext, HandshakeStep, HandshakeStep::Initialize,
    HandshakeStep::Initialized, handshake,
};
use crate::transport::exchange::Cause;
use crate::vocabulary::outcome::Kind;
use HandshakeNext::*;

fn answered(step: HandshakeStep, code: u16, body: BodyFacts<'_>) -> (HandshakeNext, Option<Kind>) {
    let headers = HeaderMap::new();
    let HandshakeConclusion { next, kind } =
        handshake(step, true, EndFacts::Head { status: status(code), headers: &headers, body });
    (next, kind)
}

#[test]
fn initialize_proceeds_on_a_result_only() {
    assert_eq!(answered(Initialize, 200, BodyFacts::Result), (Proceed, None));
    for (name, body, kind) in [
        ("a web page", text("<html>"), Kind::Protocol),
        ("nothing", EMPTY, Kind::Protocol),
        ("clean end", BodyFacts::Stopped { orderly: true, resumable: false }, Kind::StreamEnded),
        ("cut after an event id", BodyFacts::Stopped { orderly: false, resumable: true }, Kind::StreamEnded),
        ("an error of no id", foreign(-32603, "boom"), Kind::Rpc),
    ] {
        assert_eq!(answered(Initialize, 200, body), (TryAgain, Some(kind)), "{name}");
    }
    assert_eq!(answered(Initialize, 202, EMPTY), (TryAgain, Some(Kind::Protocol)));
}

#[test]
fn initialized_proceeds_on_any_2xx_whatever_the_body() {
    let cut = BodyFacts::Stopped { orderly: false, resumable: false };
    for code in [200, 202, 204] {
        for body in [EMPTY, text("ok"), cut, ours(-32603, "boom"), BodyFacts::TooLarge, BodyFacts::Result] {
            assert_eq!(answered(Initialized, code, body), (Proceed, None), "{code} {body:?}");
        }
    }
    assert_eq!(answered(Initialized, 404, EMPTY), (TryAgain, Some(Kind::HttpStatus)));
    assert_eq!(answered(Initialized, 500, BodyFacts::Result), (TryAgain, Some(Kind::HttpStatus)));
}

#[test]
fn what_may_pass_is_tried_again() {
    for step in [Initialize, Initialized] {
        for (code, kind) in [
            (400, Kind::HttpStatus),
            (404, Kind::HttpStatus),
            (405, Kind::HttpStatus),
            (408, Kind::HttpStatus),
            (409, Kind::HttpStatus),
            (410, Kind::HttpStatus),
            (500, Kind::HttpStatus),
        ] {
            for body in [EMPTY, text("<html>"), foreign(-32000, "no")] {
                assert_eq!(answered(step, code, body), (TryAgain, Some(kind)), "{step:?} {code} {body:?}");
            }
        }
    }
}

#[test]
fn a_server_that_is_not_up_yet_is_waited_for() {
    let down = ours(-32000, "Server is shutting down");
    for step in [Initialize, Initialized] {
        for (code, kind) in [(429, Kind::RateLimited), (502, Kind::Gateway), (503, Kind::Gateway), (504, Kind::Gateway)]
        {
            for body in [EMPTY, text("<html>"), foreign(-32000, "no"), down] {
                assert_eq!(answered(step, code, body), (Wait, Some(kind)), "{step:?} {code} {body:?}");
            }
        }
    }
}

#[test]
fn a_refusal_that_would_come_again_ends_it() {
    for (name, code, body, kind) in [
        ("the server's own error", 200, ours(-32602, "no"), Kind::Rpc),
        ("no such method", 404, ours(-32601, "Method not found"), Kind::Rpc),
        ("forbidden", 403, text("no"), Kind::Auth),
        ("forbidden, with our id", 403, ours(-32000, "no"), Kind::Auth),
        ("a redirect that is not followed", 307, EMPTY, Kind::Redirect),
        ("any other redirect", 302, EMPTY, Kind::Redirect),
        ("too large", 200, BodyFacts::TooLarge, Kind::TooLarge),
    ] {
        assert_eq!(answered(Initialize, code, body), (GiveUp, Some(kind)), "{name}");
    }
}

#[test]
fn a_401_asks_for_a_new_token_whatever_the_body() {
    for step in [Initialize, Initialized] {
        for body in [EMPTY, text("no"), ours(-32000, "no")] {
            assert_eq!(answered(step, 401, body), (Refresh, Some(Kind::Auth)));
        }
    }
}

#[test]
fn without_a_head_the_probe_tells_patience_from_a_second_try() {
    let next = |taken, cause| {
        let HandshakeConclusion { next, kind } = handshake(Initialize, taken, EndFacts::NoHead(cause));
        (next, kind.unwrap())
    };
    for cause in [Cause::Refused, Cause::Unreachable, Cause::ConnectTimeout, Cause::DnsTemporary, Cause::Closed] {
        assert_eq!(next(false, cause), (Patience, Kind::Connect), "{cause:?}");
        assert_eq!(next(true, cause), (TryAgain, Kind::ConnectionClosed), "{cause:?}");
    }
    for cause in [Cause::Tls, Cause::DnsUnknownHost, Cause::Proxy] {
        assert_eq!(next(false, cause), (GiveUp, Kind::Connect), "{cause:?}");
    }
    assert_eq!(next(false, Cause::BadRequest), (GiveUp, Kind::Config));
    for cause in [Cause::RefusedStream, Cause::GoneAway] {
        for taken in [false, true] {
            assert_eq!(next(taken, cause), (TryAgain, Kind::ConnectionClosed), "{cause:?}");
        }
    }
}

#[test]
fn only_a_time_out_leaves_somebody_who_wants_the_session() {
    for head_arrived in [false, true] {
        let next = |kind| handshake(Initialize, true, EndFacts::Interrupted { kind, head_arrived }).next;
        assert_eq!(next(Kind::Timeout), TryAgain);
        assert_eq!(next(Kind::Cancelled), GiveUp);
        assert_eq!(next(Kind::Closed), GiveUp);
    }
}
