//! What happens inside a client, as one stream of flat events.
//!
//! The same fields go out three ways: to the observer given to the builder, to every [`EventStream`], and as `tracing` fields. So one grep
//! separates `session_rejected` from `connection_closed`, days later. No event holds a secret.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use tokio::sync::broadcast;

use crate::vocabulary::outcome::{Execution, Kind, Proof};
use crate::vocabulary::redact::Secrets;

/// The events that one stream holds back for a slow reader; the oldest is dropped and counted.
pub const EVENT_QUEUE: usize = 1_024;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventName {
    /// The first handshake begins.
    Connecting,
    /// A handshake is done: calls go out.
    Ready,
    /// The server does not know the session any more.
    SessionLost,
    /// The session may be gone; it is verified before the next request.
    SessionSuspect,
    /// A handshake for a new session begins.
    Recovering,
    /// The first handshake failed.
    ConnectFailed,
    /// A new session took the place of the lost one; tools may differ.
    SessionReplaced,
    /// The handshake for a new session failed.
    RecoveryFailed,
    /// An attempt failed; `decision` says what is done about it.
    AttemptFailed,
    /// Reading on with `Last-Event-ID`.
    Resuming,
    /// The stream is open again.
    Resumed,
    /// The GET stream is open.
    ListenerOn,
    /// The GET stream is closed for good in this session.
    ListenerOff,
    /// Something of the old session could not be restored on the new one.
    RestoreFailed,
    /// A tool was left out of `list_tools`: its schema asks for headers in a way that cannot be followed.
    ToolDropped,
    /// A message of the server could not be handed on: it cannot be read. `reason` says more, and nothing of what was in it, unless it was a line
    /// of a process of ours: of that the beginning.
    MessageDropped,
    /// A server that is a process of ours wrote a line on stderr: `reason`. At most 256 at once and 64 a second; how many were left out is said.
    ServerStderr,
    /// A person has to log in, at `url`.
    LoginNeeded,
    /// Somebody, or something, has logged in: there is a new login.
    LoginDone,
    /// The login was refreshed: there is a new token.
    TokenRefreshed,
    /// The login is not honoured any more, or cannot be refreshed; `reason` says why.
    LoginLost,
    /// A call is over; `execution` is its verdict, cancelled calls included.
    CallFinished,
    /// The client is closed; the last event.
    Closed,
}

impl EventName {
    /// The word used in logs and in every language.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::SessionLost => "session_lost",
            Self::SessionSuspect => "session_suspect",
            Self::Recovering => "recovering",
            Self::ConnectFailed => "connect_failed",
            Self::SessionReplaced => "session_replaced",
            Self::RecoveryFailed => "recovery_failed",
            Self::AttemptFailed => "attempt_failed",
            Self::Resuming => "resuming",
            Self::Resumed => "resumed",
            Self::ListenerOn => "listener_on",
            Self::ListenerOff => "listener_off",
            Self::RestoreFailed => "restore_failed",
            Self::ToolDropped => "tool_dropped",
            Self::MessageDropped => "message_dropped",
            Self::ServerStderr => "server_stderr",
            Self::LoginNeeded => "login_needed",
            Self::LoginDone => "login_done",
            Self::TokenRefreshed => "token_refreshed",
            Self::LoginLost => "login_lost",
            Self::CallFinished => "call_finished",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One event. Fields that do not apply are `None`, and left out of the JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// What happened.
    pub event: EventName,
    /// When, in milliseconds since the Unix epoch where it is serialised.
    #[serde(rename = "at_ms", serialize_with = "unix_milliseconds")]
    pub at: SystemTime,
    /// Which server: the origin and path of its URL, where a part of the path that looks like a key is `[redacted]`, or the name of the program
    /// that was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The generation of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The method of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool, prompt or URI of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The key of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The JSON-RPC id of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<u64>,
    /// Which attempt of the call, from 1; in `call_finished`, how many there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Why it is certain that the attempt, or the call, did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The verdict on the attempt, or on the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// What is done about it: `resend`, `recover`, `verify`, `refresh`, `look_up_hints`, `resume`, `surface`, `deliver`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    /// How long the decision waits first.
    #[serde(rename = "delay_ms", skip_serializing_if = "Option::is_none", serialize_with = "milliseconds")]
    pub delay: Option<Duration>,
    /// The status of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// Where a person logs in, with `login_needed`. Whoever opens it logs in for this client: show it to that person alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// More, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Event {
    pub(crate) fn new(event: EventName) -> Self {
        Self {
            event,
            at: SystemTime::now(),
            server: None,
            generation: None,
            method: None,
            name: None,
            idempotency_key: None,
            request_id: None,
            attempt: None,
            kind: None,
            proof: None,
            execution: None,
            decision: None,
            delay: None,
            http_status: None,
            url: None,
            reason: None,
        }
    }

    pub(crate) fn of_generation(event: EventName, generation: u64) -> Self {
        Self { generation: Some(generation), ..Self::new(event) }
    }

    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// Called for each event, in order, on the task where it happens: it must not block.
pub(crate) type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// Events as they happen, for one reader. A reader that is more than [`EVENT_QUEUE`] behind loses the oldest.
#[derive(Debug)]
pub struct EventStream {
    receiver: broadcast::Receiver<Event>,
    dropped: u64,
    closed: bool,
}

impl EventStream {
    /// The next event; `None` after [`EventName::Closed`].
    pub async fn next(&mut self) -> Option<Event> {
        while !self.closed {
            match self.receiver.recv().await {
                Ok(event) => {
                    self.closed = event.event == EventName::Closed;
                    return Some(event);
                }
                Err(broadcast::error::RecvError::Lagged(count)) => self.dropped = self.dropped.saturating_add(count),
                Err(broadcast::error::RecvError::Closed) => self.closed = true,
            }
        }
        None
    }

    /// How many events this reader lost by being slow.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// Where events go. They are queued in the order in which they happen, also under a lock, and delivered outside of all locks, by one
/// task at a time: an observer may call the client.
pub(crate) struct EventSink {
    observer: Option<Observer>,
    secrets: Arc<Secrets>,
    /// Which server.
    server: Arc<str>,
    queue: Mutex<Queue>,
    /// Made for the first reader: its ring is a quarter of a megabyte, and most clients have none.
    sender: OnceLock<broadcast::Sender<Event>>,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    /// Somebody is delivering.
    delivering: bool,
    /// The last event was queued: whatever happens later is told to nobody.
    closed: bool,
}

impl fmt::Debug for EventSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventSink").finish_non_exhaustive()
    }
}

impl EventSink {
    pub(crate) fn new(observer: Option<Observer>, secrets: Arc<Secrets>, server: Arc<str>) -> Self {
        Self { observer, secrets, server, queue: Mutex::default(), sender: OnceLock::new() }
    }

    pub(crate) fn subscribe(&self) -> EventStream {
        let sender = self.sender.get_or_init(|| broadcast::channel(EVENT_QUEUE).0);
        let closed = {
            let queue = self.queue();
            queue.closed && queue.events.is_empty()
        };
        EventStream { receiver: sender.subscribe(), dropped: 0, closed }
    }

    /// Which server, in texts.
    pub(crate) fn server(&self) -> &Arc<str> {
        &self.server
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues and delivers.
    pub(crate) fn emit(&self, event: Event) {
        self.push(event);
        self.deliver();
    }

    /// Queues; to be followed by [`Self::deliver`] as soon as no lock is held.
    pub(crate) fn push(&self, mut event: Event) {
        event.server = Some(self.server.to_string());
        event.reason = event.reason.map(|reason| self.secrets.cut(&reason).into_owned());
        let mut queue = self.queue();
        if queue.closed {
            return;
        }
        queue.closed = event.event == EventName::Closed;
        if queue.events.len() >= EVENT_QUEUE {
            // Only an observer that blocks lets it come so far.
            queue.events.pop_front();
        }
        queue.events.push_back(event);
    }

    /// Delivers what is queued, unless somebody does already.
    pub(crate) fn deliver(&self) {
        loop {
            let event = {
                let mut queue = self.queue();
                if queue.delivering {
                    return;
                }
                let Some(event) = queue.events.pop_front() else { return };
                queue.delivering = true;
                event
            };
            self.tell(event);
            self.queue().delivering = false;
        }
    }

    fn tell(&self, event: Event) {
        trace(&event);
        if let Some(observer) = &self.observer {
            // An observer that panics must not take a call or a recovery with it.
            let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| observer(&event)));
            if called.is_err() {
                tracing::error!(target: "oncewire", "the event observer panicked");
            }
        }
        if let Some(sender) = self.sender.get() {
            // No receiver is no fault.
            let _ = sender.send(event);
        }
    }
}

fn trace(event: &Event) {
    macro_rules! at {
        ($level:expr) => {
            tracing::event!(
                target: "oncewire",
                $level,
                event = event.event.as_str(),
                server = event.server.as_deref(),
                generation = event.generation,
                method = event.method.as_deref(),
                name = event.name.as_deref(),
                idempotency_key = event.idempotency_key.as_deref(),
                request_id = event.request_id,
                attempt = event.attempt,
                kind = event.kind.map(Kind::as_str),
                proof = event.proof.map(Proof::as_str),
                execution = event.execution.map(Execution::as_str),
                decision = event.decision,
                delay_ms = event.delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
                http_status = event.http_status,
                reason = event.reason.as_deref(),
            )
        };
    }
    match event.event {
        EventName::SessionLost
        | EventName::ConnectFailed
        | EventName::RecoveryFailed
        | EventName::RestoreFailed
        | EventName::ToolDropped
        | EventName::MessageDropped
        | EventName::LoginLost
        | EventName::AttemptFailed => {
            at!(tracing::Level::WARN);
        }
        EventName::CallFinished | EventName::Resumed | EventName::Resuming | EventName::ServerStderr => {
            at!(tracing::Level::DEBUG);
        }
        _ => at!(tracing::Level::INFO),
    }
}

fn unix_milliseconds<S: Serializer>(value: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = value.duration_since(UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn milliseconds<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(duration) => serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        None => serializer.serialize_none(),
    }
}
