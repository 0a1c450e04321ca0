//! The GET stream on which a server of the handshake era may speak unasked. It is optional, and what becomes of it proves next to nothing
//! about the session; how often it is opened is in `opens.rs`.
//!
//! Where a stream was open, and the server then says that it does not know the session, the session is verified at once: a call whose answer
//! will never come may show it nowhere else. Once the ping was answered the same word says no more. A server that says it from the first
//! open on offers no such stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::HeaderValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::Session;
use super::opens::{Brought, Opens};
use super::subscriptions::wishes::Subscriptions;
use crate::exchange::answer::{Activity, Limits, REFUSAL_PATIENCE};
use crate::exchange::carrier::{Carrier, Hearing};
use crate::exchange::sse::stream::{Item, SseStream};
use crate::exchange::wire::Wire;
use crate::policy::decide::RESUME_WAIT_MAX;
use crate::rpc::message::{Message, parse, read_event};
use crate::session::router::{Origin, Router};
use crate::transport::classify::{self, ListenerConclusion};
use crate::transport::exchange::{WireFailure, WireResponse};
use crate::transport::headers;
use crate::transport::limits::collect;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::excerpt::{EXCERPT, excerpt};

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
    Ended(Brought),
    /// The token that it carried was refused.
    Unauthorized(Option<u64>),
    /// It is not opened again.
    Off(Off),
}

/// Why no stream is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Off {
    SessionOver,
    NotOffered,
    TooOften,
    WaitTooLong,
}

impl Off {
    fn reason(self) -> &'static str {
        match self {
            Self::SessionOver => "the session is over",
            Self::NotOffered => "the server offers none",
            Self::TooOften => "it was opened too often without a message",
            Self::WaitTooLong => "the server asks to wait too long",
        }
    }

    /// Does it hold for good?
    fn is_final(self) -> bool {
        matches!(self, Self::SessionOver | Self::NotOffered)
    }
}

#[derive(Default)]
struct Course {
    last_event_id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// The stream is open, as far as the host was told.
    on: bool,
    /// The stream was open, and the session was not verified since.
    opened: bool,
}

/// Who looks after the session that is listened on.
pub(crate) trait Doubts: Send + Sync {
    /// Something says that it may be gone.
    fn suspect(self: Arc<Self>, session: &Session);

    /// The same, and it is verified now.
    fn verify_at_once(self: Arc<Self>, session: &Session);
}

impl Listener {
    /// Begins to listen on a new session, by the stream of its era; nobody waits for it.
    pub(super) fn begin(&self, sessions: Arc<dyn Doubts>, session: &Arc<Session>) {
        if let Some(line) = session.line() {
            self.hear(Arc::clone(&sessions), session, line);
        }
        let listener = self.clone();
        if session.is_modern() {
            let session = Arc::clone(session);
            drop(self.wire.background.spawn(async move { listener.subscribe(session).await }));
        } else if self.unasked && session.line().is_none() {
            let (sessions, session) = (Arc::downgrade(&sessions), Arc::downgrade(session));
            drop(self.wire.background.spawn(async move { listener.listen(&sessions, &session).await }));
        }
    }

    /// Does somebody want to hear what the server says unasked?
    pub(super) fn is_wanted(&self) -> bool {
        self.router.listens() || self.subscriptions.any()
    }

    /// Listens on this session until it is retired, or the bound is reached. Holds neither the session nor the client while it waits.
    pub(crate) async fn listen(&self, sessions: &Weak<dyn Doubts>, session: &Weak<Session>) {
        let known = session.upgrade().map(|session| (session.generation, session.retired().clone()));
        let Some((generation, retired)) = known else { return };
        let tell_off = |reason: &str| {
            self.wire.events.emit(Event::of_generation(EventName::ListenerOff, generation).because(reason));
        };
        let mut changes = self.subscriptions.changes();
        let mut is_off = false;
        let listening = async {
            let mut opens = Opens::new();
            let mut course = Course::default();
            loop {
                let off = self.open_again_and_again(sessions, session, &mut course, &mut opens).await;
                (is_off, course.on) = (true, false);
                tell_off(off.reason());
                if off.is_final() {
                    return;
                }
                // It begins again when somebody wants to hear after all, or when there is a token that was not refused.
                loop {
                    tokio::select! {
                        changed = changes.changed() => match changed {
                            Ok(()) if self.is_wanted() => break,
                            Ok(()) => {}
                            Err(_) => return,
                        },
                        () = opens.token_came(&self.wire.tokens) => break,
                    }
                }
                opens.begin_anew();
                is_off = false;
            }
        };
        tokio::select! {
            biased;
            () = retired.cancelled() => {}
            () = listening => return,
        }
        if !is_off {
            tell_off("the session is no longer the current one");
        }
    }

    async fn open_again_and_again(
        &self,
        sessions: &Weak<dyn Doubts>,
        session: &Weak<Session>,
        course: &mut Course,
        opens: &mut Opens,
    ) -> Off {
        let tokens = &self.wire.tokens;
        loop {
            let open = self.open(sessions, session, course).await;
            let wanted = self.is_wanted();
            match open {
                Open::Ended(brought) => opens.ended(brought, wanted),
                Open::Unauthorized(refused) => {
                    opens.ended(Brought::default(), wanted);
                    if opens.renew(tokens, refused).await {
                        continue;
                    }
                }
                Open::Off(off) => return off,
            }
            if opens.are_in_vain() && !wanted {
                return Off::TooOften;
            }
            // The server's `retry:` is the least to wait (HTML, server-sent events, reconnection time).
            let retry = course.retry.unwrap_or(Duration::ZERO);
            if retry > RESUME_WAIT_MAX && !wanted {
                return Off::WaitTooLong;
            }
            let gap = sleep(opens.gap(retry));
            tokio::select! {
                () = gap => {}
                () = opens.token_came(tokens) => opens.begin_anew(),
            }
        }
    }

    async fn open(&self, sessions: &Weak<dyn Doubts>, session: &Weak<Session>, course: &mut Course) -> Open {
        const NOTHING: Open = Open::Ended(Brought { since: None, carried: false, spoke: false });
        let known = session.upgrade().map(|session| (session.carried(), session.tell_hearing().clone()));
        let Some((carried, hearing)) = known else { return Open::Off(Off::SessionOver) };
        // A host that gives no token or no headers may give them next time.
        let Ok(ready) = self.wire.get(carried, course.last_event_id.clone()).await else { return NOTHING };
        let token = ready.token;
        let hearing = Heard::opening(hearing);
        let (head, body) = match self.wire.send(ready).await {
            Ok(WireResponse { status, headers, body, .. }) => (Ok((status, headers)), Some(body)),
            Err(failure) => (Err(failure.cause), None),
        };
        let (body, refusal) = match (&head, body) {
            (Ok((status, _)), Some(body)) if !classify::is_success(*status) => (None, text_of(body).await),
            (_, body) => (body, String::new()),
        };
        let head = head.as_ref().map(|(status, headers)| (*status, headers, refusal.as_str())).map_err(|cause| *cause);
        match (classify::listener(head), body) {
            (ListenerConclusion::Open, Some(body)) => {
                course.opened = true;
                if !std::mem::replace(&mut course.on, true) {
                    let Some(generation) = session.upgrade().map(|session| session.generation) else {
                        return Open::Off(Off::SessionOver);
                    };
                    self.wire.events.emit(Event::of_generation(EventName::ListenerOn, generation));
                }
                Open::Ended(self.read(session, body, course, &hearing).await)
            }
            (ListenerConclusion::NotOffered, _) => Open::Off(Off::NotOffered),
            (ListenerConclusion::Unauthorized, _) => Open::Unauthorized(token),
            (ListenerConclusion::Suspect, _) => {
                if let (Some(sessions), Some(session)) = (sessions.upgrade(), session.upgrade()) {
                    sessions.suspect(&session);
                }
                NOTHING
            }
            (ListenerConclusion::SessionMissing, _) => {
                if let (Some(sessions), Some(session)) = (sessions.upgrade(), session.upgrade())
                    && session.has_id()
                    && std::mem::take(&mut course.opened)
                {
                    sessions.verify_at_once(&session);
                }
                NOTHING
            }
            (ListenerConclusion::OpenAgain | ListenerConclusion::Open, _) => NOTHING,
        }
    }

    async fn read(&self, session: &Weak<Session>, body: Body, course: &mut Course, heard: &Heard) -> Brought {
        let mut brought = Brought { since: Some(Instant::now()), ..Brought::default() };
        let carried = Arc::new(AtomicBool::new(false));
        let (watched, activity) = (Arc::clone(&carried), heard.open());
        let body = body.inspect(move |chunk| {
            activity.touch();
            if chunk.as_ref().is_ok_and(|chunk| !chunk.is_empty()) {
                watched.store(true, Ordering::Relaxed);
            }
        });
        let mut events = SseStream::new(body.boxed(), self.limits.max_event);
        loop {
            let event = match events.next().await {
                Item::Event(event) => event,
                // Half an event, as it may be: if it has an id, it comes again. Only an answer in it counts.
                Item::Unfinished(data) => {
                    let is_answer =
                        |message: &Message| matches!(message, Message::Result { .. } | Message::Error { .. });
                    for message in parse(data.as_bytes()).unwrap_or_default().into_iter().filter(is_answer) {
                        self.router.route(message, Origin::default());
                    }
                    continue;
                }
                Item::Ended | Item::Broken(_) | Item::TooLarge => break,
            };
            if let Some(id) = event.id {
                course.last_event_id = headers::last_event_id(&id);
            }
            if event.retry.is_some() {
                course.retry = event.retry;
            }
            let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
            brought.spoke = true;
            let Some(session) = session.upgrade() else { break };
            match read_event(event.name.as_deref(), &data) {
                Ok(messages) => {
                    for message in messages {
                        self.router.route(message, Origin { session: Some(&session), call: None });
                    }
                }
                Err(error) => {
                    let dropped = Event::of_generation(EventName::MessageDropped, session.generation);
                    let reason = format!("a message of the server could not be read: {error}");
                    self.wire.events.emit(dropped.because(reason));
                }
            }
        }
        brought.carried = carried.load(Ordering::Relaxed);
        brought
    }
}

/// Tells those whose answer may come on the stream how it stands; closed when dropped.
struct Heard(watch::Sender<Hearing>);

impl Heard {
    fn opening(hearing: watch::Sender<Hearing>) -> Self {
        hearing.send_replace(Hearing::Opening);
        Self(hearing)
    }

    fn open(&self) -> Arc<Activity> {
        let activity = Arc::new(Activity::start());
        self.0.send_replace(Hearing::Open(Arc::clone(&activity)));
        activity
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.0.send_replace(Hearing::Closed);
    }
}

type Body = BoxStream<'static, Result<Bytes, WireFailure>>;

/// The start of a refusal.
async fn text_of(body: Body) -> String {
    let collected = timeout(REFUSAL_PATIENCE, collect(body, EXCERPT)).await;
    collected.ok().and_then(Result::ok).map(|bytes| excerpt(&bytes)).unwrap_or_default()
}
