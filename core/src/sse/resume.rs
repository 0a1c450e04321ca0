//! Reading on: GET with `Last-Event-ID`. It re-reads and never re-executes, so it is the one lossless way back for a call that must not
//! be repeated. The bounds stand in `policy::decide`.

use std::sync::Arc;

use crate::call::attempt::{Attempt, Ended};
use crate::transport::answer::{Activity, Position, Waiting};
use crate::transport::classify::{self, ResumeConclusion};
use crate::transport::headers;

/// How one resume ended.
pub(crate) enum Resumed {
    /// The stream was open; this is how it ended. Whether a new event id came is in the position.
    Read(Ended),
    /// No head came: counts as a resume without a new event.
    Empty,
    /// Refused: the answer is lost. In words.
    Refused(String),
}

/// One resume of the stream that carries the answer to this attempt. `opened` is called when the stream is open again.
pub(crate) async fn resume(attempt: &Attempt<'_>, position: &mut Position, opened: impl FnOnce() + Send) -> Resumed {
    let Some(session) = attempt.session else { return Resumed::Refused("there is no session to resume on".into()) };
    let id = position.last_event_id.as_deref().and_then(headers::last_event_id);
    let Some(id) = id else { return Resumed::Refused("the event id cannot be sent back".into()) };
    position.new_event_id = false;
    let ready = match attempt.wire.get(session.carried(), Some(id)).await {
        Ok(ready) => ready,
        Err(unready) => return Resumed::Refused(unready.to_string()),
    };
    let (activity, waiting) = (Arc::new(Activity::start()), Waiting::default());
    let response = tokio::select! {
        biased;
        response = attempt.wire.send(ready) => response,
        () = attempt.silence(&activity, true, &waiting) => return Resumed::Empty,
    };
    let head = match &response {
        Ok(response) => Ok((response.status, &response.headers)),
        Err(failure) => Err(failure.cause),
    };
    match (classify::resume(head), response) {
        (ResumeConclusion::Open, Ok(response)) => {
            opened();
            Resumed::Read(attempt.read(response, position, &activity, true).await)
        }
        (ResumeConclusion::Refused, Ok(response)) => {
            Resumed::Refused(format!("resuming it was answered HTTP {}", response.status.as_u16()))
        }
        (_, _) => Resumed::Empty,
    }
}
