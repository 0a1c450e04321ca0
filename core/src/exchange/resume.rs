//! Reading on: GET with `Last-Event-ID`. It re-reads and never re-executes, so it is the one lossless way back for a call that must not
//! be repeated. The bounds stand in `policy::decide`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::answer::{Activity, Position, Waiting};
use super::post::{ExchangeEnd, Post};
use crate::transport::classify::{self, ResumeConclusion};
use crate::transport::headers;

/// How one resume ended.
pub(crate) enum Resumed {
    /// The stream was open; this is how it ended. Whether a new event id came is in the position.
    Read(ExchangeEnd),
    /// There was nothing to read: counts as a resume without a new event.
    Empty(Nothing),
    /// Refused: the answer is lost. In words.
    Refused(String),
}

/// Why there was nothing to read.
#[derive(Default)]
pub(crate) struct Nothing {
    /// What the server answered, in words; none if it did not.
    pub(crate) reason: Option<String>,
    /// How long it asks to wait.
    pub(crate) retry_after: Option<Duration>,
    /// The serial of the token that it refused.
    pub(crate) refused_token: Option<u64>,
}

/// One resume of the stream that carries the answer to this attempt. `opened` is called when the stream is open again.
pub(crate) async fn resume(attempt: &Post<'_>, position: &mut Position, opened: impl FnOnce() + Send) -> Resumed {
    let Some(session) = attempt.session else { return Resumed::Refused("there is no session to resume on".into()) };
    let id = position.last_event_id.as_deref().and_then(headers::last_event_id);
    let Some(id) = id else { return Resumed::Refused("the event id cannot be sent back".into()) };
    position.new_event_id = false;
    let ready = match attempt.wire.get(session.carried(), Some(id)).await {
        Ok(ready) => ready,
        Err(unready) => return Resumed::Refused(unready.to_string()),
    };
    let token = ready.token;
    let (activity, waiting) = (Arc::new(Activity::start()), Waiting::default());
    let response = tokio::select! {
        biased;
        response = attempt.wire.send(ready) => response,
        () = attempt.silence(&activity, true, &waiting) => return Resumed::Empty(Nothing::default()),
    };
    let head = match &response {
        Ok(response) => Ok((response.status, &response.headers)),
        Err(failure) => Err(failure.cause),
    };
    let conclusion = classify::resume(head);
    let Ok(response) = response else { return Resumed::Empty(Nothing::default()) };
    let reason = format!("resuming it was answered HTTP {}", response.status.as_u16());
    match (conclusion, token) {
        (ResumeConclusion::Open, _) => {
            opened();
            Resumed::Read(attempt.or_elsewhere(attempt.read(response, position, &activity, true)).await)
        }
        (ResumeConclusion::Empty, _) => Resumed::Empty(Nothing {
            reason: Some(reason),
            retry_after: headers::retry_after(&response.headers, SystemTime::now()),
            refused_token: None,
        }),
        (ResumeConclusion::Unauthorized, Some(_)) => {
            Resumed::Empty(Nothing { reason: Some(reason), retry_after: None, refused_token: token })
        }
        (ResumeConclusion::Unauthorized | ResumeConclusion::Refused, _) => Resumed::Refused(reason),
    }
}
