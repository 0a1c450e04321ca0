//! What the heads of the GET streams, of DELETE and of notifications say.

use http::{HeaderMap, StatusCode};

use super::{ListenerConclusion, ResumeConclusion};
use crate::transport::exchange::Cause;
use crate::transport::headers;

/// What the optional GET stream's head, or the failure to get one, says. It says next to nothing of the session: servers answer this
/// GET with 400, 404, 405, 409 and never, while POST works.
#[must_use]
pub fn listener(head: Result<(StatusCode, &HeaderMap), Cause>) -> ListenerConclusion {
    match head {
        Ok((status, headers)) if is_success(status) && headers::is_event_stream(headers) => ListenerConclusion::Open,
        Ok((StatusCode::METHOD_NOT_ALLOWED, _)) => ListenerConclusion::NotOffered,
        Err(Cause::Refused) => ListenerConclusion::Suspect,
        Ok(_) | Err(_) => ListenerConclusion::OpenAgain,
    }
}

/// What the answer to a resuming GET says.
#[must_use]
pub fn resume(head: Result<(StatusCode, &HeaderMap), Cause>) -> ResumeConclusion {
    match head {
        Ok((status, headers)) if is_success(status) && headers::is_event_stream(headers) => ResumeConclusion::Open,
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

/// Can the body be a stream of messages? The body of any other status is read as one message or as a text.
#[must_use]
pub fn is_success(status: StatusCode) -> bool {
    status.is_success()
}
