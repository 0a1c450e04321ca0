//! What the heads of the GET streams, of DELETE and of notifications say.

use http::{HeaderMap, StatusCode};

use super::call::ends_the_session;
use super::conclusions::{ListenConclusion, ListenerConclusion, ResumeConclusion};
use super::facts::{BodyFacts, EndFacts};
use super::wording;
use crate::transport::exchange::Cause;
use crate::transport::headers;

/// Does this status say that there is nothing at the path of the request, or nothing that is spoken to like that?
pub(crate) fn is_nothing_there(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}

/// What the optional GET stream's head, with the start of the body where it is a refusal, or the failure to get one, says. It proves next to
/// nothing of the session: servers answer this GET with 400, 404, 405, 409 and never, while POST works. But a session that was ended while a
/// call waits may show itself nowhere else, so what is said of it is looked into.
#[must_use]
pub fn listener(head: Result<(StatusCode, &HeaderMap, &str), Cause>) -> ListenerConclusion {
    match head {
        Ok((status, headers, _)) if is_success(status) && headers::is_event_stream(headers) => ListenerConclusion::Open,
        Ok((StatusCode::METHOD_NOT_ALLOWED, ..)) => ListenerConclusion::NotOffered,
        Ok((StatusCode::UNAUTHORIZED, ..)) => ListenerConclusion::Unauthorized,
        Ok((StatusCode::NOT_FOUND | StatusCode::GONE, ..)) => ListenerConclusion::SessionMissing,
        Ok((status, _, body)) if !is_success(status) && wording::says_session_is_gone(body) => {
            ListenerConclusion::SessionMissing
        }
        Err(Cause::Refused) => ListenerConclusion::Suspect,
        Ok(_) | Err(_) => ListenerConclusion::OpenAgain,
    }
}

/// What the end of a `subscriptions/listen` stream says: the modern era's stream on which a server may speak unasked. Like the GET
/// stream it says nothing of the calls beside it.
#[must_use]
pub fn listen(end: EndFacts<'_>) -> ListenConclusion {
    match end {
        EndFacts::Head { status: StatusCode::UNAUTHORIZED, .. } => ListenConclusion::Unauthorized,
        // An error with a 5xx or a 429 is trouble of the moment; any other is a no to the request itself.
        EndFacts::Head { status, body: BodyFacts::Error { .. }, .. } if status.is_success() || is_refused(status) => {
            ListenConclusion::NotOffered
        }
        EndFacts::Head { status, .. } if is_refused(status) => ListenConclusion::NotOffered,
        EndFacts::Message { body: BodyFacts::Error { .. } } => ListenConclusion::NotOffered,
        EndFacts::Message { body: BodyFacts::Stopped { orderly: false, .. } } => ListenConclusion::SessionOver,
        EndFacts::NoHead(cause) if ends_the_session(cause) => ListenConclusion::SessionOver,
        EndFacts::Head { .. } | EndFacts::Message { .. } | EndFacts::NoHead(_) | EndFacts::Interrupted { .. } => {
            ListenConclusion::IssueAgain
        }
    }
}

fn is_refused(status: StatusCode) -> bool {
    status.is_client_error() && !is_momentary(status)
}

/// May the same request be answered otherwise in a moment? 409 is here since servers answer it while the stream before still counts as open.
fn is_momentary(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT
            | StatusCode::CONFLICT
            | StatusCode::TOO_EARLY
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// What the answer to a resuming GET says. It runs nothing, so what is trouble of the moment is tried again within the bounds.
#[must_use]
pub fn resume(head: Result<(StatusCode, &HeaderMap), Cause>) -> ResumeConclusion {
    match head {
        Ok((status, headers)) if is_success(status) && headers::is_event_stream(headers) => ResumeConclusion::Open,
        Ok((StatusCode::UNAUTHORIZED, _)) => ResumeConclusion::Unauthorized,
        Ok((status, _)) if is_momentary(status) => ResumeConclusion::Empty,
        Ok(_) => ResumeConclusion::Refused,
        Err(_) => ResumeConclusion::Empty,
    }
}

/// Is the session gone for sure after this answer to its DELETE? There is nothing more to do in any case: 405 means that the server
/// does not let clients end sessions (MCP 2025-11-25, session management), and a session that is not known is gone.
#[must_use]
pub fn delete(head: Result<StatusCode, Cause>) -> bool {
    head.is_ok_and(|status| is_success(status) || matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE))
}

/// Did the server take the notification? 202 is the rule, 200 and 204 are seen; the body is never looked at. It proves nothing of the
/// session: there are servers that answer 202 to a session that they do not know.
#[must_use]
pub fn accepted_notification(status: StatusCode) -> bool {
    is_success(status)
}

/// Was a request taken, to be answered on another stream? 202 is for notifications and replies (MCP 2025-11-25, transports, "Sending messages to
/// the server"), but there are servers that answer every POST so while the GET stream is open.
#[must_use]
pub fn is_answered_elsewhere(status: StatusCode, body: &BodyFacts<'_>) -> bool {
    status == StatusCode::ACCEPTED && matches!(body, BodyFacts::NoAnswer { excerpt } if excerpt.is_empty())
}

/// Can the body be a stream of messages? The body of any other status is read as one message or as a text.
#[must_use]
pub fn is_success(status: StatusCode) -> bool {
    status.is_success()
}
