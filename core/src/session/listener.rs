//! The GET stream on which a server of the handshake era may speak unasked. It is optional, and what becomes of it says next to nothing about the session.
//!
//! Bound: after [`OPENS`] opens in a row that delivered no JSON-RPC message it is off for this session. The gaps between opens grow,
//! with jitter; only a delivered message starts the count anew.

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::HeaderValue;
use tokio::time::sleep;

use super::Session;
use super::sessions::Sessions;
use super::subscriptions::Subscriptions;
use crate::event::{Event, EventName};
use crate::policy::backoff::{Backoff, BackoffBounds};
use crate::policy::decide::RESUME_WAIT_MAX;
use crate::rpc::message::parse;
use crate::rpc::router::{Origin, Router};
use crate::sse::stream::{EventStream, Item};
use crate::transport::answer::Limits;
use crate::transport::classify::{self, ListenerConclusion};
use crate::transport::exchange::WireResponse;
use crate::transport::headers;
use crate::transport::wire::Wire;

/// Opens in a row that may deliver no message.
pub(crate) const OPENS: u32 = 8;
/// The least time from the end of an open to the next; the bound of it doubles.
pub(crate) const GAP_MIN: Duration = Duration::from_millis(500);
/// The largest bound of the gap.
pub(crate) const GAP_MAX: Duration = Duration::from_secs(30);

/// Opens the stream again and again, within bounds.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(crate) wire: Arc<Wire>,
    pub(crate) router: Arc<Router>,
    pub(crate) limits: Limits,
    /// The host wants to hear what the server says unasked.
    pub(crate) unasked: bool,
    /// What it is to be told in the modern era.
    pub(crate) subscriptions: Arc<Subscriptions>,
}

/// How one open ended.
enum Open {
    /// It may be opened again.
    Ended,
    /// For good.
    Off(&'static str),
}

#[derive(Default)]
struct Course {
    last_event_id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// Opens in a row without a message.
    silent: u32,
    on: bool,
}

impl Sessions {
    pub(crate) fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.listener.subscriptions
    }
}

impl Listener {
    /// Begins to listen on a new session, by the stream of its era; nobody waits for it.
    pub(super) fn begin(&self, sessions: &Arc<Sessions>, session: &Arc<Session>) {
        let listener = self.clone();
        if session.is_modern() {
            let session = Arc::clone(session);
            drop(self.wire.background.spawn(async move { listener.subscribe(session).await }));
        } else if self.unasked {
            let (sessions, session) = (Arc::downgrade(sessions), Arc::downgrade(session));
            drop(self.wire.background.spawn(async move { listener.listen(&sessions, &session).await }));
        }
    }

    /// Listens on this session until it is retired, or the bound is reached. Holds neither the session nor the client while it waits.
    pub(crate) async fn listen(&self, sessions: &Weak<Sessions>, session: &Weak<Session>) {
        let known = session.upgrade().map(|session| (session.generation, session.retired().clone()));
        let Some((generation, retired)) = known else { return };
        let mut course = Course::default();
        let reason = tokio::select! {
            biased;
            () = retired.cancelled() => "the session is no longer the current one",
            reason = self.open_again_and_again(sessions, session, &mut course) => reason,
        };
        self.wire.events.emit(Event::of_generation(EventName::ListenerOff, generation).because(reason));
    }

    async fn open_again_and_again(
        &self,
        sessions: &Weak<Sessions>,
        session: &Weak<Session>,
        course: &mut Course,
    ) -> &'static str {
        let bounds = BackoffBounds::new(GAP_MIN, GAP_MAX).unwrap_or_default();
        let mut gaps = Backoff::new(bounds);
        loop {
            let silent_before = course.silent;
            match self.open(sessions, session, course).await {
                Open::Ended => {}
                Open::Off(reason) => return reason,
            }
            if course.silent <= silent_before {
                gaps.reset();
            }
            if course.silent >= OPENS {
                return "it was opened too often without a message";
            }
            // The server's `retry:` is the least to wait (HTML, server-sent events, reconnection time).
            let retry = course.retry.unwrap_or(Duration::ZERO);
            if retry > RESUME_WAIT_MAX {
                return "the server asks to wait too long";
            }
            sleep(retry.max(GAP_MIN) + gaps.next_delay()).await;
        }
    }

    async fn open(&self, sessions: &Weak<Sessions>, session: &Weak<Session>, course: &mut Course) -> Open {
        const GONE: Open = Open::Off("the session is over");
        course.silent += 1;
        let Some(carried) = session.upgrade().map(|session| session.carried()) else { return GONE };
        // A host that gives no token or no headers may give them next time.
        let Ok(ready) = self.wire.get(carried, course.last_event_id.clone()).await else { return Open::Ended };
        let response = self.wire.send(ready).await;
        let head = match &response {
            Ok(response) => Ok((response.status, &response.headers)),
            Err(failure) => Err(failure.cause),
        };
        match (classify::listener(head), response) {
            (ListenerConclusion::Open, Ok(response)) => {
                if !course.on {
                    course.on = true;
                    let Some(generation) = session.upgrade().map(|session| session.generation) else { return GONE };
                    self.wire.events.emit(Event::of_generation(EventName::ListenerOn, generation));
                }
                self.read(session, response, course).await;
                Open::Ended
            }
            (ListenerConclusion::NotOffered, _) => Open::Off("the server offers none"),
            (ListenerConclusion::Suspect, _) => {
                if let (Some(sessions), Some(session)) = (sessions.upgrade(), session.upgrade()) {
                    sessions.suspect(&session);
                }
                Open::Ended
            }
            (ListenerConclusion::OpenAgain | ListenerConclusion::Open, _) => Open::Ended,
        }
    }

    async fn read(&self, session: &Weak<Session>, response: WireResponse, course: &mut Course) {
        let mut events = EventStream::new(response.body, self.limits.max_event);
        loop {
            let event = match events.next().await {
                Item::Event(event) => event,
                // Half an event, as it may be: if it has an id, it comes again.
                Item::Unfinished(_) => continue,
                Item::Ended | Item::Broken(_) | Item::TooLarge => return,
            };
            if let Some(id) = event.id {
                course.last_event_id = headers::last_event_id(&id);
            }
            if event.retry.is_some() {
                course.retry = event.retry;
            }
            if event.name.as_deref().is_some_and(|name| name != "message") {
                continue;
            }
            let Some(messages) = event.data.and_then(|data| parse(data.as_bytes()).ok()) else { continue };
            let Some(session) = session.upgrade() else { return };
            for message in messages {
                course.silent = 0;
                self.router.route(message, Origin { session: Some(&session), call: None });
            }
        }
    }
}
