//! The twin of a refusal, and the ping that verifies a session.

use std::time::Duration;

use http::HeaderMap;

use super::{EMPTY, Sent, evidence, foreign, malformed, ours, status, text};
use crate::transport::classify::{BodyFacts, EndFacts, Ping, Refused, ping, twin};
use crate::transport::exchange::Cause;
use crate::transport::words::{Words, digest};
use Sent::*;
use url::Url;

const GONE: &str = "Session not found";

fn refused(code: u16, says: &str, millis: u64) -> Refused {
    let words = Words::of_body(status(code), &HeaderMap::new(), digest(says));
    Refused { words, took: Duration::from_millis(millis) }
}

#[test]
fn a_twin_confirms_with_the_same_status_and_words() {
    for (name, call, other, confirms) in [
        ("the same", (404, GONE), (404, GONE), true),
        ("but for a number", (404, "no session 17"), (404, "no session 18"), true),
        ("empty", (404, ""), (404, ""), true),
        ("another status", (404, GONE), (400, GONE), false),
        ("other words", (404, GONE), (404, "Not Found"), false),
        ("nothing said", (404, GONE), (404, ""), false),
        ("it is answered", (404, GONE), (200, "{}"), false),
    ] {
        let [call, other] = [call, other].map(|(code, says)| refused(code, says, 3));
        assert_eq!(twin(&call, &other), confirms, "{name}");
    }
}

#[test]
fn a_twin_that_meets_a_server_error_confirms_nothing() {
    for code in 200..600 {
        let confirms = !(500..600).contains(&code);
        assert_eq!(twin(&refused(code, GONE, 1), &refused(code, GONE, 1)), confirms, "{code}");
    }
}

#[test]
fn a_refusal_that_took_much_longer_than_its_twin_is_not_confirmed() {
    for (call, other, confirms) in [
        (0, 0, true),
        // A second or less says nothing.
        (1_000, 0, true),
        (1_001, 0, false),
        (1_001, 100, false),
        // Ten times as long.
        (1_500, 150, true),
        (1_501, 150, false),
        (20_000, 2_000, true),
        (20_001, 2_000, false),
        // A slow twin says nothing against it.
        (1, 60_000, true),
    ] {
        assert_eq!(twin(&refused(404, GONE, call), &refused(404, GONE, other)), confirms, "{call} ms, {other} ms");
    }
}

fn pinged(sent: Sent, code: u16, body: BodyFacts<'_>) -> Ping {
    pinged_with(sent, EndFacts::Head { status: status(code), headers: &HeaderMap::new(), body })
}

fn pinged_with(sent: Sent, end: EndFacts<'_>) -> Ping {
    ping(&evidence(sent, true, &Url::parse(super::HERE).unwrap(), end))
}

#[test]
fn what_a_ping_says_of_its_session() {
    use Ping::{Alive, Lost, Nothing, Refused, Unauthorized};
    let cut = BodyFacts::Stopped { orderly: false, resumable: false };
    for (name, sent, code, body, expected) in [
        ("a result", Session, 200, BodyFacts::Result, Alive),
        ("a result with any status", Session, 404, BodyFacts::Result, Alive),
        ("ping is unknown", Session, 200, ours(-32601, "Method not found"), Alive),
        ("with 404", Session, 404, ours(-32601, "Method not found"), Alive),
        ("ping is unknown to a gate that knows the session", Session, 404, foreign(-32601, "no"), Alive),
        ("an error with 200", Session, 200, ours(-32603, "boom"), Alive),
        ("an error that is nobody's with 200", Session, 200, foreign(-32603, "boom"), Alive),
        ("404", Session, 404, EMPTY, Lost),
        ("410", Session, 410, text("Gone"), Lost),
        ("404 with our id and no words", Session, 404, ours(-32000, "gone"), Refused),
        ("400, in words that nobody listed", Session, 400, text("what?"), Refused),
        ("400 with our id, likewise", Session, 400, ours(-32000, "what?"), Refused),
        ("words with 200", Session, 200, ours(-32000, GONE), Lost),
        ("words with 500", Session, 500, foreign(-32603, GONE), Lost),
        ("words with 503", Session, 503, text("unknown session"), Lost),
        ("words with 401", Session, 401, text(GONE), Unauthorized { says_lost: true }),
        ("no id was sent, and the server wants one", NoSession, 400, text("No valid session ID"), Lost),
        ("the server was upgraded", Session, 400, ours(-32022, "Unsupported protocol version"), Refused),
        ("401", Session, 401, EMPTY, Unauthorized { says_lost: false }),
        ("401 with our id", Session, 401, ours(-32001, "no"), Unauthorized { says_lost: false }),
        ("401, cut", Session, 401, cut, Unauthorized { says_lost: false }),
        ("403", Session, 403, text("Forbidden"), Nothing),
        ("429", Session, 429, EMPTY, Nothing),
        ("302", Session, 302, EMPTY, Nothing),
        ("413", Session, 413, malformed("too large"), Nothing),
        ("500", Session, 500, text("<html>"), Nothing),
        ("500 with our id", Session, 500, ours(-32603, "boom"), Nothing),
        ("502", Session, 502, EMPTY, Nothing),
        ("503", Session, 503, EMPTY, Nothing),
        ("a web page", Session, 200, text("<html>"), Nothing),
        ("202", Session, 202, EMPTY, Nothing),
        ("404, cut", Session, 404, cut, Nothing),
        ("400, too large", Session, 400, BodyFacts::TooLarge, Nothing),
        ("404, unread", Session, 404, BodyFacts::Unread, Nothing),
        ("200, cut", Session, 200, cut, Nothing),
    ] {
        assert_eq!(pinged(sent, code, body), expected, "{name}");
    }
    for end in [
        EndFacts::NoHead(Cause::Refused),
        EndFacts::NoHead(Cause::Reset),
        EndFacts::NoHead(Cause::GoneAway),
        EndFacts::Interrupted { kind: crate::vocabulary::outcome::Kind::Timeout, head_arrived: true },
    ] {
        assert_eq!(pinged_with(Session, end), Nothing, "{end:?}");
    }
}
