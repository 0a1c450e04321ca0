//! One session with the server, and its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::terms::{Terms, routing_headers};
use crate::exchange::carrier::{Carrier, Hearing};
use crate::exchange::line::Line;
use crate::exchange::request::Request;
use crate::exchange::wire::{Carried, Wire};
use crate::protocol::era::Lifecycle;
use crate::protocol::results::{FromRaw, InitializeResult};
use crate::rpc::params::Params;
use crate::transport::classify;
use crate::transport::headers::SessionId;
use crate::vocabulary::counter::{Counter, Held};

/// One session with the server, from its `initialize` on. Shared by the client and by every request that uses it; when the last of
/// them lets go, the session is ended with one DELETE, unless the server gave no id or declared it gone.
///
/// In the modern era there are no sessions on the wire. There this is the client's side alone: the generation, and the terms that
/// every request states anew.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) generation: u64,
    pub(crate) initialized: Arc<InitializeResult>,
    id: Option<SessionId>,
    /// Its own connection, where the binding gives each session one: then that is the session.
    line: Option<Arc<Line>>,
    /// `None` until it is agreed on.
    version: Option<HeaderValue>,
    /// In the modern era only.
    terms: Option<Arc<Terms>>,
    gone: CancellationToken,
    /// The server refuses it, in whatever words: whoever waits for an answer on it waits for no long silence.
    orphaned: CancellationToken,
    /// The session is no longer the current one: its listener stops, and so do the handlers of what came on it.
    retired: CancellationToken,
    /// A call was answered.
    answered: Notify,
    /// How its GET stream stands.
    hearing: watch::Sender<Hearing>,
    /// The server has said that it does not know the session, and has not shown otherwise since: no DELETE for it.
    disowned: AtomicBool,
    /// Refusals in a row that may mean the session, that ended their calls.
    refusals: AtomicU32,
    /// How many calls are in flight.
    calls: Counter,
    ended: AtomicBool,
    wire: Arc<Wire>,
    delete_timeout: Duration,
}

impl Session {
    /// The era that it is of.
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        if self.terms.is_some() { Lifecycle::Modern } else { Lifecycle::Legacy }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.lifecycle() == Lifecycle::Modern
    }

    /// The server does not know this session any more: its handlers end, whoever waits for an answer on it waits for no long silence, and
    /// there is no DELETE for it.
    pub(crate) fn declare_gone(&self) {
        self.disown();
        self.gone.cancel();
        self.orphan();
    }

    /// The server says that it does not know the session: no DELETE for it, unless it shows life afterwards.
    pub(crate) fn disown(&self) {
        self.disowned.store(true, Ordering::Release);
    }

    /// The server refuses everything on it. Nobody has said that it is gone, so it gets its DELETE.
    pub(crate) fn orphan(&self) {
        self.orphaned.cancel();
    }

    /// Cancelled when the server has declared the session gone.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// A call on it was answered.
    pub(crate) fn note_answer(&self) {
        self.note_life();
        self.refusals.store(0, Ordering::Release);
        self.answered.notify_waiters();
    }

    /// Something on it was answered, so the server knows it.
    pub(crate) fn note_life(&self) {
        self.disowned.store(false, Ordering::Release);
    }

    /// A call ended with a refusal that may mean the session. Returns how many there were in a row, this one included.
    pub(crate) fn note_refusal(&self) -> u32 {
        self.refusals.fetch_add(1, Ordering::AcqRel).saturating_add(1)
    }

    /// A call in flight, for as long as it is held.
    pub(crate) fn call_in_flight(&self) -> Held {
        self.calls.hold()
    }

    /// Waits until no call is in flight.
    pub(crate) async fn quiet(&self) {
        self.calls.zero().await;
    }

    /// Is a call in flight on it, or its GET stream open?
    pub(crate) fn shows_life(&self) -> bool {
        !self.calls.is_zero() || matches!(*self.hearing.borrow(), Hearing::Open(_))
    }

    /// Has it been ended by us?
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Waits until a call on it is answered, from now on.
    pub(crate) async fn answers(&self) {
        self.answered.notified().await;
    }

    /// To tell how its GET stream stands.
    pub(crate) fn tell_hearing(&self) -> &watch::Sender<Hearing> {
        &self.hearing
    }

    /// Its own connection, if it has one.
    pub(crate) fn line(&self) -> Option<&Arc<Line>> {
        self.line.as_ref()
    }

    /// How long its own connection has stood, if it has one.
    pub(crate) fn stood(&self) -> Option<Duration> {
        self.line.as_ref().map(|line| line.since().elapsed())
    }

    /// Is it a connection of its own, and that over?
    pub(crate) fn is_cut_off(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.is_over())
    }

    pub(crate) fn retire(&self) {
        self.retired.cancel();
    }

    /// Cancelled when the session is no longer the current one.
    pub(crate) fn retired(&self) -> &CancellationToken {
        &self.retired
    }
}

impl Carrier for Session {
    fn carried(&self) -> Carried {
        let (session, version, line) = (self.id.clone(), self.version.clone(), self.line.clone());
        Carried { session, version, line, ..Carried::default() }
    }

    fn dress(&self, request: Request<'_>) -> (Carried, Params) {
        let Request { method, params, parameter_headers } = request;
        let mut carried = self.carried();
        let Some(terms) = &self.terms else { return (carried, params) };
        carried.routing = routing_headers(method, &params);
        carried.routing.extend(parameter_headers);
        (carried, terms.complete(&params))
    }

    fn lifecycle(&self) -> Lifecycle {
        Self::lifecycle(self)
    }

    fn has_id(&self) -> bool {
        self.id.is_some()
    }

    fn orphaned(&self) -> &CancellationToken {
        &self.orphaned
    }

    fn hearing(&self) -> watch::Receiver<Hearing> {
        self.hearing.subscribe()
    }
}

impl Session {
    /// A session that the server has just given, under this id if it gave one.
    pub(super) fn new(generation: u64, id: Option<SessionId>, wire: &Arc<Wire>, delete_timeout: Duration) -> Self {
        Self {
            generation,
            id,
            line: None,
            version: None,
            initialized: Arc::new(InitializeResult::from_raw(Box::default())),
            terms: None,
            gone: CancellationToken::new(),
            orphaned: CancellationToken::new(),
            retired: CancellationToken::new(),
            answered: Notify::new(),
            disowned: AtomicBool::new(false),
            refusals: AtomicU32::new(0),
            calls: Counter::default(),
            hearing: watch::Sender::default(),
            ended: AtomicBool::new(false),
            wire: Arc::clone(wire),
            delete_timeout,
        }
    }

    /// The same, with the version that is agreed on and what the server said of itself.
    pub(super) fn agreed(self, version: HeaderValue, initialized: InitializeResult) -> Self {
        // Not by `..self`: what ends itself when dropped cannot be taken apart.
        let mut session = self;
        (session.version, session.initialized) = (Some(version), Arc::new(initialized));
        session
    }

    /// The same, over a connection of its own, if there is one.
    pub(super) fn over(self, line: Option<&Arc<Line>>) -> Self {
        let mut session = self;
        session.line = line.map(Arc::clone);
        session
    }

    /// The same, of the modern era: every request states these terms.
    pub(super) fn on_terms(self, terms: &Arc<Terms>) -> Self {
        let mut session = self;
        session.terms = Some(Arc::clone(terms));
        session
    }

    /// Ends it with one DELETE, unless it was ended before, the server gave no id or declared it gone. One that is a connection of its own
    /// ends with that.
    pub(crate) fn end(&self) {
        if let Some(line) = &self.line {
            self.ended.store(true, Ordering::Release);
            line.end();
            return;
        }
        if self.id.is_none() || self.disowned.load(Ordering::Acquire) || self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        delete(&self.wire, self.carried(), Some(self.generation), self.delete_timeout);
    }
}

/// One DELETE, whatever comes of it, in a task of its own.
pub(super) fn delete(wire: &Arc<Wire>, carried: Carried, generation: Option<u64>, patience: Duration) {
    let sending = Arc::clone(wire);
    drop(wire.background.spawn(async move {
        let deleting = async {
            let ready = sending.delete(carried).await.ok()?;
            Some(sending.send(ready).await.map(|response| response.status).map_err(|failure| failure.cause))
        };
        let head = timeout(patience, deleting).await.ok().flatten();
        let gone = head.is_some_and(classify::delete);
        tracing::debug!(target: "oncewire", generation, gone, "session deleted");
    }));
}

impl Drop for Session {
    fn drop(&mut self) {
        // A line ends when the last who has it lets go: there may be others yet, while the handshake goes on.
        if self.line.is_none() {
            self.end();
        }
    }
}
