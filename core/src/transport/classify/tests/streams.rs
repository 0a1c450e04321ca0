//! The GET streams, DELETE and notifications.

use http::{HeaderMap, header};

use super::{headers, status};
use crate::transport::classify::{
    ListenerConclusion, ResumeConclusion, accepted_notification, delete, listener, resume,
};
use crate::transport::exchange::Cause;

const CAUSES: [Cause; 10] = [
    Cause::Unreachable,
    Cause::ConnectReset,
    Cause::ConnectTimeout,
    Cause::DnsTemporary,
    Cause::Tls,
    Cause::RefusedStream,
    Cause::GoneAway,
    Cause::Closed,
    Cause::Reset,
    Cause::Other,
];

fn content_type(value: &str) -> HeaderMap {
    headers(&[(header::CONTENT_TYPE, value)])
}

#[test]
fn the_listener_says_next_to_nothing_of_the_session() {
    let (sse, plain) = (content_type("text/event-stream"), content_type("text/plain"));
    assert_eq!(listener(Ok((status(200), &sse, ""))), ListenerConclusion::Open);
    assert_eq!(listener(Ok((status(405), &plain, ""))), ListenerConclusion::NotOffered);
    assert_eq!(listener(Ok((status(401), &plain, ""))), ListenerConclusion::Unauthorized);
    assert_eq!(listener(Err(Cause::Refused)), ListenerConclusion::Suspect);
    for code in [200, 204, 301, 307, 400, 403, 406, 409, 429, 500, 501, 502, 503, 504] {
        assert_eq!(listener(Ok((status(code), &plain, "no"))), ListenerConclusion::OpenAgain, "{code}");
    }
    for cause in CAUSES {
        assert_eq!(listener(Err(cause)), ListenerConclusion::OpenAgain, "{cause:?}");
    }
}

#[test]
fn what_the_listener_hears_of_the_session_is_looked_into() {
    let (sse, plain) = (content_type("text/event-stream"), content_type("text/plain"));
    for (code, headers) in [(404, &plain), (404, &sse), (410, &plain)] {
        assert_eq!(listener(Ok((status(code), headers, ""))), ListenerConclusion::SessionMissing, "{code}");
    }
    for code in [400, 403, 422, 500] {
        let body = "{\"error\":{\"message\":\"Bad Request: No valid session ID provided\"}}";
        assert_eq!(listener(Ok((status(code), &plain, body))), ListenerConclusion::SessionMissing, "{code}");
    }
    assert_eq!(listener(Ok((status(200), &plain, "session not found"))), ListenerConclusion::OpenAgain);
}

#[test]
fn a_resume_is_open_refused_or_empty() {
    let (sse, json) = (content_type("text/event-stream; charset=utf-8"), content_type("application/json"));
    assert_eq!(resume(Ok((status(200), &sse))), ResumeConclusion::Open);
    for code in [200, 202, 204, 302, 307, 400, 403, 404, 405, 410, 422, 501] {
        assert_eq!(resume(Ok((status(code), &json))), ResumeConclusion::Refused, "{code}");
    }
    for code in [408, 409, 425, 429, 500, 502, 503, 504] {
        assert_eq!(resume(Ok((status(code), &json))), ResumeConclusion::Empty, "{code}");
    }
    assert_eq!(resume(Ok((status(401), &json))), ResumeConclusion::Unauthorized);
    assert_eq!(resume(Ok((status(404), &sse))), ResumeConclusion::Refused);
    for cause in CAUSES.into_iter().chain([Cause::Refused]) {
        assert_eq!(resume(Err(cause)), ResumeConclusion::Empty, "{cause:?}");
    }
}

#[test]
fn a_delete_tells_whether_the_session_is_gone_for_sure() {
    for (code, gone) in [(200, true), (202, true), (204, true), (404, true), (410, true), (400, false), (405, false)] {
        assert_eq!(delete(Ok(status(code))), gone, "{code}");
    }
    assert!(!delete(Ok(status(500))));
    assert!(!delete(Err(Cause::Refused)));
}

#[test]
fn any_2xx_takes_a_notification() {
    for (code, taken) in [(200, true), (202, true), (204, true), (302, false), (400, false), (404, false), (503, false)]
    {
        assert_eq!(accepted_notification(status(code)), taken, "{code}");
    }
}
