//! Servers that speak the other era, now or since a moment ago.

use super::*;
use crate::transport::classify::{
    Doubt, EraVerdict, HandshakeConclusion, HandshakeNext, HandshakeStep, ListenConclusion, handshake, listen, probe,
};
use crate::transport::exchange::Cause;

fn probed(code: u16, body: BodyFacts<'_>) -> EraVerdict {
    let headers = HeaderMap::new();
    probe(true, EndFacts::Head { status: status(code), headers: &headers, body })
}

fn nothing(next: HandshakeNext, kind: Kind) -> EraVerdict {
    EraVerdict::None(HandshakeConclusion { next, kind: Some(kind) })
}

#[test]
fn a_server_that_does_not_know_the_probe_is_of_the_handshake_era() {
    for (name, code, body) in [
        ("no session", 400, foreign(-32000, "Bad Request: No valid session ID provided")),
        ("missing session", 400, foreign(-32600, "Bad Request: Missing session ID")),
        ("not initialized", 400, foreign(-32000, "Bad Request: Server not initialized")),
        ("another version", 400, foreign(-32000, "Unsupported protocol version: 2026-07-28")),
        ("text", 400, text("Bad Request: Session ID is required")),
        ("empty", 400, EMPTY),
        ("unknown path", 404, text("<html>404</html>")),
        ("unknown method with 404", 404, ours(-32601, "Method not found")),
        ("unknown method with 200", 200, ours(-32601, "Method not found")),
        ("bad parameters with 200", 200, ours(-32602, "Invalid request parameters")),
        ("no such method", 405, EMPTY),
        ("not acceptable", 406, EMPTY),
        ("unprocessable", 422, text("{}")),
        ("a web page", 200, text("<!doctype html>")),
        ("accepted", 202, EMPTY),
        ("unread", 400, BodyFacts::Unread),
        ("an id of nobody's", 400, foreign(-32000, "A new session can only be created by an initialize request")),
        ("our id", 400, ours(-32600, "Bad Request: Missing session ID")),
        ("another language", 400, ours(-32000, "Keine Sitzung")),
        ("unprocessable, in words", 422, text("Unexpected message, expect initialize request")),
        ("nothing at all", 404, EMPTY),
        ("a conflict", 409, text("{\"detail\": \"no session\"}")),
        ("a precondition", 428, EMPTY),
        ("an empty stream", 200, BodyFacts::Stopped { orderly: true, resumable: false }),
    ] {
        assert_eq!(probed(code, body), EraVerdict::Legacy, "{name}");
    }
}

#[test]
fn what_stands_in_the_way_is_no_verdict() {
    for (name, code, body, next, kind) in [
        ("401", 401, text("no"), HandshakeNext::Refresh, Kind::Auth),
        ("401 with an error", 401, foreign(-32000, "no"), HandshakeNext::Refresh, Kind::Auth),
        ("403", 403, EMPTY, HandshakeNext::GiveUp, Kind::Auth),
        ("407", 407, EMPTY, HandshakeNext::GiveUp, Kind::Auth),
        ("302", 302, EMPTY, HandshakeNext::GiveUp, Kind::Redirect),
        ("429", 429, EMPTY, HandshakeNext::Wait, Kind::RateLimited),
        ("500", 500, foreign(-32603, "boom"), HandshakeNext::TryAgain, Kind::HttpStatus),
        ("502", 502, text("<h1>502</h1>"), HandshakeNext::Wait, Kind::Gateway),
        ("503", 503, EMPTY, HandshakeNext::Wait, Kind::Gateway),
        ("504", 504, EMPTY, HandshakeNext::Wait, Kind::Gateway),
        ("too large", 200, BodyFacts::TooLarge, HandshakeNext::GiveUp, Kind::TooLarge),
        ("unread", 200, BodyFacts::Unread, HandshakeNext::TryAgain, Kind::Protocol),
        ("headers differ", 400, ours(-32020, "mismatch"), HandshakeNext::GiveUp, Kind::Rpc),
        ("a capability is missing", 400, ours(-32021, "missing"), HandshakeNext::GiveUp, Kind::Rpc),
        (
            "cut",
            200,
            BodyFacts::Stopped { orderly: false, resumable: false },
            HandshakeNext::TryAgain,
            Kind::ConnectionClosed,
        ),
    ] {
        assert_eq!(probed(code, body), nothing(next, kind), "{name}");
    }
    let silent = EndFacts::Interrupted { kind: Kind::Timeout, head_arrived: false };
    assert_eq!(probe(true, silent), nothing(HandshakeNext::TryAgain, Kind::Timeout));
    assert_eq!(probe(false, EndFacts::NoHead(Cause::Refused)), nothing(HandshakeNext::Patience, Kind::Connect));
    assert_eq!(probe(true, EndFacts::NoHead(Cause::Reset)), nothing(HandshakeNext::TryAgain, Kind::ConnectionClosed));
    assert_eq!(probe(false, EndFacts::NoHead(Cause::Tls)), nothing(HandshakeNext::GiveUp, Kind::Connect));
}

#[test]
fn a_server_of_the_modern_era_says_so() {
    assert_eq!(probed(200, BodyFacts::Result), EraVerdict::Discovered);
    for code in [200, 400] {
        assert_eq!(probed(code, ours(-32022, "Unsupported protocol version")), EraVerdict::OtherVersions);
        assert_eq!(probed(code, foreign(-32022, "Unsupported protocol version")), EraVerdict::OtherVersions);
    }
}

#[test]
fn initialize_that_is_refused_for_its_version_asks_for_the_era() {
    let headers = HeaderMap::new();
    let body = ours(-32022, "Unsupported protocol version");
    let end = EndFacts::Head { status: status(400), headers: &headers, body };
    let conclusion = handshake(HandshakeStep::Initialize, true, end);
    assert_eq!(conclusion, HandshakeConclusion { next: HandshakeNext::AskForTheEra, kind: Some(Kind::Rpc) });
}

#[test]
fn a_server_that_was_rolled_back_claims_to_have_run_nothing_where_it_says_so_explicitly() {
    for body in [
        foreign(-32000, "Bad Request: Mcp-Session-Id header is required"),
        foreign(-32000, "Bad Request: No valid session ID provided"),
        foreign(-32000, "Bad Request: Server not initialized"),
        foreign(-32600, "Bad Request: Missing session ID"),
        foreign(-32600, "Bad Request: Session not initialized"),
        foreign(-32000, "Bad Request: Unsupported protocol version: 2026-07-28 (supported versions: 2025-11-25)"),
        ours(-32000, "Bad Request: No valid session ID provided for non-initialize request"),
        text("Bad Request: Session ID is required"),
    ] {
        for code in [400, 404, 426] {
            let conclusion = answer(Sent::Modern, code, body);
            let says = (conclusion.class, conclusion.claim, conclusion.repair.session);
            assert_eq!(says, (Class::SessionRejected, Some(Proof::SessionRejected), Doubt::Session), "{code} {body:?}");
        }
        assert_ne!(answer(Sent::Modern, 500, body).class, Class::SessionRejected, "no refusal of a rollback: {body:?}");
    }
    for (name, code, body, class) in [
        ("another text with our id is an answer", 400, ours(-32600, "Invalid Request"), Class::Answered),
        ("another text is a refusal of its own", 400, foreign(-32600, "Invalid Request"), Class::Rejected),
        ("and so is this one", 404, text("Not Found"), Class::Rejected),
        ("and this", 400, text("Bad Request"), Class::Rejected),
        ("the modern era has no lost sessions", 404, foreign(-32001, "Session not found"), Class::Rejected),
        ("nor has a tool of it", 404, ours(-32001, "Session not found"), Class::Answered),
    ] {
        let conclusion = answer(Sent::Modern, code, body);
        assert_eq!((conclusion.class, conclusion.repair.session), (class, Doubt::Era), "{name}");
    }
}

#[test]
fn refused_terms_are_an_answer_whatever_the_status() {
    for code in [200, 400, 404] {
        for error in [-32020, -32022] {
            let conclusion = answer(Sent::Modern, code, ours(error, "no"));
            assert_eq!(conclusion.class, Class::TermsRefused);
            assert_eq!((conclusion.execution, conclusion.kind), (Execution::Answered, Some(Kind::Rpc)));
        }
    }
    assert_eq!(answer(Sent::Modern, 400, ours(-32021, "missing capability")).class, Class::Answered);
}

#[test]
fn a_session_whose_version_is_refused_is_suspect() {
    for sent in [Sent::Session, Sent::NoSession] {
        let conclusion = answer(sent, 400, ours(-32022, "Unsupported protocol version"));
        assert_eq!((conclusion.class, conclusion.execution), (Class::SessionSuspect, Execution::Answered));
    }
}

#[test]
fn a_stream_that_is_not_offered_is_not_issued_again() {
    let headers = HeaderMap::new();
    let heard = |code, body| listen(EndFacts::Head { status: status(code), headers: &headers, body });
    for (code, body) in [
        (404, ours(-32601, "Method not found")),
        (400, ours(-32602, "Invalid params")),
        (200, ours(-32601, "Method not found")),
        (405, EMPTY),
        (403, EMPTY),
    ] {
        assert_eq!(heard(code, body), ListenConclusion::NotOffered, "{code} {body:?}");
    }
    for (code, body) in [
        (200, BodyFacts::Result),
        (200, BodyFacts::Stopped { orderly: true, resumable: false }),
        (200, BodyFacts::Stopped { orderly: false, resumable: true }),
        (429, EMPTY),
        (429, ours(-32000, "too many")),
        (503, foreign(-32000, "shutting down")),
        (502, text("<h1>502</h1>")),
    ] {
        assert_eq!(heard(code, body), ListenConclusion::IssueAgain, "{code} {body:?}");
    }
    assert_eq!(heard(401, EMPTY), ListenConclusion::Unauthorized);
    assert_eq!(heard(401, ours(-32000, "no")), ListenConclusion::Unauthorized);
    assert_eq!(listen(EndFacts::NoHead(Cause::Refused)), ListenConclusion::IssueAgain);
}
