//! What an answer says of token and session, whatever it proves of its own call.

use super::{EMPTY, OWN_CHALLENGE, Sent, answer, challenged, foreign, judge, malformed, ours, text};
use crate::transport::classify::{BodyFacts, Doubt, EndFacts, Login, Repair};
use crate::transport::exchange::Cause;
use Sent::*;

const GONE: &str = "Session not found";
const CUT: BodyFacts<'_> = BodyFacts::Stopped { orderly: false, resumable: false };

#[test]
fn every_401_makes_the_token_refused_and_nothing_else_does() {
    for code in 200..600 {
        for sent in [Session, NoSession, Modern] {
            for body in [EMPTY, text("no"), ours(-32001, "no"), foreign(-32001, "no"), CUT, BodyFacts::Unread] {
                assert_eq!(answer(sent, code, body).repair.token, code == 401, "{sent:?} {code} {body:?}");
            }
            assert_eq!(answer(sent, code, BodyFacts::Result).repair, Repair::default(), "a result mends all: {code}");
        }
    }
    assert!(challenged(Login::None, false, 401, OWN_CHALLENGE, EMPTY).repair.token, "a proof does not change that");
}

#[test]
fn words_of_a_lost_session_and_404_and_410_make_the_session_suspect() {
    for code in 200..600 {
        for body in [ours(-32000, GONE), foreign(-32000, GONE), malformed(GONE), text(GONE)] {
            for sent in [Session, NoSession] {
                assert_eq!(answer(sent, code, body).repair.session, Doubt::Session, "{sent:?} {code} {body:?}");
            }
        }
        for body in [EMPTY, text("<html>"), ours(-32603, "boom"), foreign(-32603, "boom"), CUT, BodyFacts::TooLarge] {
            let expected = if [404, 410].contains(&code) { Doubt::Session } else { Doubt::None };
            assert_eq!(answer(Session, code, body).repair.session, expected, "{code} {body:?}");
            assert_eq!(answer(NoSession, code, body).repair.session, Doubt::None, "{code} {body:?}");
        }
        for body in [ours(-32601, "Method not found"), foreign(-32601, "Method not found")] {
            assert_eq!(answer(Session, code, body).repair.session, Doubt::None, "an unknown method: {code}");
        }
    }
}

#[test]
fn in_the_modern_era_every_4xx_makes_the_era_doubtful() {
    for code in 200..600 {
        let expected = if (400..500).contains(&code) { Doubt::Era } else { Doubt::None };
        for body in [EMPTY, text(GONE), ours(-32601, "no"), foreign(-32000, GONE), malformed("no"), CUT] {
            let repair = answer(Modern, code, body).repair;
            assert_eq!((repair.session, repair.counts), (expected, false), "{code} {body:?}");
        }
    }
}

#[test]
fn these_refusals_count_towards_a_new_session() {
    let counting = |code: u16| match code {
        400 | 401 | 404 | 410 | 422 | 423 | 424 | 428 | 451 => Some(true),
        // Of the request, its size and form, of a payment, of what somebody may do, of the pace, or in the middle of it.
        402 | 403 | 405..=409 | 411..=417 | 421 | 425 | 426 | 429 | 431 => Some(false),
        200..=399 | 500..=599 => Some(false),
        // Statuses that mean nothing.
        _ => None,
    };
    for code in 200..600 {
        let Some(expected) = counting(code) else { continue };
        for sent in [Session, NoSession] {
            for body in [EMPTY, text("<html>"), ours(-32603, "boom"), foreign(-32603, "boom"), CUT] {
                assert_eq!(answer(sent, code, body).repair.counts, expected, "{sent:?} {code} {body:?}");
            }
            assert!(answer(sent, code, text(GONE)).repair.counts, "the words count under every status: {code}");
        }
    }
}

#[test]
fn a_401_with_a_challenge_speaks_of_the_login_and_does_not_count() {
    for challenge in ["Bearer", OWN_CHALLENGE] {
        for body in [EMPTY, ours(-32001, "no"), foreign(-32001, "no")] {
            assert!(!challenged(Login::Sent, false, 401, challenge, body).repair.counts, "{challenge} {body:?}");
        }
        assert!(challenged(Login::Sent, false, 401, challenge, text(GONE)).repair.counts, "the words do: {challenge}");
        assert!(
            challenged(Login::Sent, false, 400, challenge, EMPTY).repair.counts,
            "another status does: {challenge}"
        );
    }
}

#[test]
fn where_nothing_was_said_nothing_is_to_be_mended() {
    for cause in [Cause::GoneAway, Cause::RefusedStream, Cause::Refused, Cause::Reset] {
        for taken in [false, true] {
            assert_eq!(judge(Session, taken, EndFacts::NoHead(cause)).repair, Repair::default(), "{cause:?}");
        }
    }
}
