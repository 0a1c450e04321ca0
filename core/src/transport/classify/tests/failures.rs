//! Each failure that a client can see, by what it looks like on the wire.

use super::{EMPTY, Sent, answer, foreign, judge, ours, text};
use crate::transport::classify::{BodyFacts, Class, EndFacts};
use crate::transport::exchange::Cause;
use Class::*;
use Sent::*;

#[test]
fn a_failure_before_the_head_is_judged_by_the_probe_and_by_what_http_2_says() {
    let rows = [
        ("the URL or a header cannot be sent", false, Cause::BadRequest, NeverSent { transient: false }),
        ("the name is unknown", false, Cause::DnsUnknownHost, NeverSent { transient: false }),
        ("the name cannot be looked up now", false, Cause::DnsTemporary, NeverSent { transient: true }),
        ("connection refused", false, Cause::Refused, NeverSent { transient: true }),
        ("host unreachable", false, Cause::Unreachable, NeverSent { transient: true }),
        ("connecting takes too long", false, Cause::ConnectTimeout, NeverSent { transient: true }),
        ("bad certificate", false, Cause::Tls, NeverSent { transient: false }),
        ("the proxy's CONNECT is refused", false, Cause::Proxy, NeverSent { transient: false }),
        ("a pooled connection was dead at check-out", false, Cause::Closed, NeverSent { transient: true }),
        ("a write error before any byte, known by the probe", false, Cause::Other, NeverSent { transient: true }),
        ("a write error in the middle of the body", true, Cause::Other, Ambiguous),
        ("a reset after the body", true, Cause::Reset, Ambiguous),
        ("the end before a status line", true, Cause::Closed, Ambiguous),
        ("the idle connection was closed while we wrote", true, Cause::Closed, Ambiguous),
        ("half a header section", true, Cause::Closed, Ambiguous),
        (
            "HTTP/2 REFUSED_STREAM, the body taken: proxies send it for what they forwarded",
            true,
            Cause::RefusedStream,
            Ambiguous,
        ),
        ("HTTP/2 REFUSED_STREAM before the body", false, Cause::RefusedStream, NeverSent { transient: true }),
        ("HTTP/2 GOAWAY below our stream", true, Cause::GoneAway, RefusedStream),
        ("the same before the body", false, Cause::GoneAway, RefusedStream),
        ("HTTP/2 GOAWAY above our stream, then the end", true, Cause::Closed, Ambiguous),
        ("HTTP/2 CANCEL, INTERNAL_ERROR, PROTOCOL_ERROR, NO_ERROR", true, Cause::Reset, Ambiguous),
    ];
    for (name, taken, cause, class) in rows {
        for sent in [Session, NoSession, Modern] {
            assert_eq!(judge(sent, taken, EndFacts::NoHead(cause)).class, class, "{name}");
        }
    }
}

#[test]
fn a_head_says_which_refusal_it_is() {
    let cut = BodyFacts::Stopped { orderly: false, resumable: false };
    let rows = [
        ("400 legacy: missing session", NoSession, 400, foreign(-32600, "Missing session ID"), Rejected),
        ("400 parse error", NoSession, 400, foreign(-32700, "Parse error"), Rejected),
        ("400 modern: version", Modern, 400, ours(-32022, "Unsupported protocol version"), TermsRefused),
        ("400 modern: headers", Modern, 400, ours(-32020, "header mismatch"), TermsRefused),
        ("400 modern: parameters", Modern, 400, ours(-32602, "Invalid params"), Answered),
        ("401", Session, 401, text("Unauthorized"), Unauthorized),
        ("403", Session, 403, text("Forbidden"), Rejected),
        ("404 with a session", Session, 404, text("Not Found"), SessionRejected),
        ("404 without one", NoSession, 404, text("Not Found"), Rejected),
        ("404 modern, unknown method", Modern, 404, ours(-32601, "Method not found"), Answered),
        ("405", Session, 405, EMPTY, Rejected),
        ("407", Session, 407, EMPTY, Rejected),
        ("408", Session, 408, EMPTY, Ambiguous),
        ("409", Session, 409, EMPTY, Ambiguous),
        ("410 with a session", Session, 410, EMPTY, SessionRejected),
        ("421", Session, 421, EMPTY, Rejected),
        ("422", Session, 422, EMPTY, Rejected),
        ("425", Session, 425, EMPTY, Ambiguous),
        ("429", Session, 429, EMPTY, RateLimited),
        ("500", Session, 500, text("Internal Server Error"), Ambiguous),
        ("302", Session, 302, EMPTY, Rejected),
        ("503 with a session", Session, 503, EMPTY, Ambiguous),
        ("501", Session, 501, EMPTY, Ambiguous),
        ("502", Session, 502, text("<h1>502 Bad Gateway</h1>"), Ambiguous),
        ("503 without a session", NoSession, 503, EMPTY, Ambiguous),
        ("504", Session, 504, EMPTY, Ambiguous),
        ("505", Session, 505, EMPTY, Ambiguous),
        ("202 to a request", Session, 202, EMPTY, Ambiguous),
        ("204 to a request", Session, 204, EMPTY, Ambiguous),
        ("a web page with 200", Session, 200, text("<!doctype html>"), Ambiguous),
        ("cut JSON with 200", Session, 200, cut, Ambiguous),
        ("broken JSON with 200", Session, 200, text("{\"jsonrpc\":"), Ambiguous),
        ("a message past the limit", Session, 200, BodyFacts::TooLarge, Ambiguous),
        ("a JSON-RPC error in 200", Session, 200, ours(-32603, "boom"), Answered),
        ("a JSON-RPC error in 500", Session, 500, foreign(-32603, "boom"), Answered),
    ];
    for (name, sent, code, body, class) in rows {
        assert_eq!(answer(sent, code, body).class, class, "{name}");
    }
}

#[test]
fn a_loss_in_the_body_is_a_loss_whether_it_was_orderly_or_not() {
    for orderly in [false, true] {
        for (sent, resumable, class) in [
            (Session, false, Ambiguous),
            (Session, true, Resumable),
            (NoSession, true, Resumable),
            (Modern, false, Ambiguous),
            (Modern, true, Ambiguous),
        ] {
            let conclusion = answer(sent, 200, BodyFacts::Stopped { orderly, resumable });
            assert_eq!(conclusion.class, class, "{sent:?} {orderly} {resumable}");
        }
    }
}
