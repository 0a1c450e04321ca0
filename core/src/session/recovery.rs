//! Single flight: however many callers want a session, or see it lost, there is one handshake.
//!
//! The state machine decides; this file carries out its actions. A flight runs in a task of its own, so that no waiter's
//! cancellation stops it. Waiters watch a counter and look again at every change.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::handshake::{FlightFailure, Handshake};
use super::listener::Listener;
use super::state::{Action, Input, Machine, State};
use super::verify::verify;
use super::{Session, restore};
use crate::config::Recovery;
use crate::event::{Event, EventName};
use crate::outcome::Kind;
use crate::policy::backoff::Backoff;
use crate::policy::decide::SessionStanding;
use crate::results::InitializeResult;
use crate::tools::ToolHints;

/// The longest wait before a flight that follows a failed one.
const FLIGHT_GAP_MAX: Duration = Duration::from_secs(2);

/// Why there is no session for a call.
#[derive(Clone, Debug)]
pub(crate) enum NoSession {
    /// The client is closed.
    Closed,
    /// The session is lost, and only `recover()` brings a new one.
    Lost,
    /// The flight failed.
    Failed {
        /// Why.
        failure: Arc<FlightFailure>,
        /// Was it to replace a session, or to get the first one?
        recovering: bool,
    },
}

/// What the next session gets back from the one before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restorable {
    pub(crate) log_level: Option<String>,
    pub(crate) subscriptions: BTreeSet<String>,
}

/// The sessions of one client.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(crate) handshake: Handshake,
    listener: Option<Listener>,
    tools: Arc<ToolHints>,
    shared: Mutex<Shared>,
    /// Held over a step and the queueing of its events, so that events come in the order of the steps.
    order: Mutex<()>,
    changed: watch::Sender<u64>,
    restorable: Mutex<Restorable>,
}

#[derive(Debug)]
struct Shared {
    machine: Machine,
    current: Option<Arc<Session>>,
    /// What the server said of itself, last.
    last: Option<Arc<InitializeResult>>,
    /// The last generation that there was.
    generation: u64,
    /// How many flights were started.
    flights: u64,
    /// Every session that may still be in use.
    alive: Vec<Weak<Session>>,
    /// The last flight that failed, why, and whether it was to replace a session.
    failed: Option<(u64, Arc<FlightFailure>, bool)>,
    /// The gaps between flights that fail in a row.
    gaps: Backoff,
    not_before: Option<Instant>,
    /// Cancelled when the latest flight or verification has ended; there is one at a time.
    task: CancellationToken,
}

impl Sessions {
    pub(crate) fn new(
        handshake: Handshake,
        listener: Option<Listener>,
        tools: Arc<ToolHints>,
        recovery: Recovery,
    ) -> Self {
        let gaps = Backoff::new(handshake.backoff.capped(FLIGHT_GAP_MAX));
        Self {
            handshake,
            listener,
            tools,
            shared: Mutex::new(Shared {
                machine: Machine::new(recovery),
                current: None,
                last: None,
                generation: 0,
                alive: Vec::new(),
                flights: 0,
                failed: None,
                gaps,
                not_before: None,
                task: CancellationToken::new(),
            }),
            order: Mutex::default(),
            changed: watch::Sender::new(0),
            restorable: Mutex::default(),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn restorable(&self) -> MutexGuard<'_, Restorable> {
        self.restorable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        self.shared().machine.state()
    }

    /// The generation of the current session, or of the last one.
    pub(crate) fn generation(&self) -> u64 {
        self.shared().generation
    }

    /// What the server said of itself in its last answer to `initialize`.
    pub(crate) fn last(&self) -> Option<Arc<InitializeResult>> {
        self.shared().last.clone()
    }

    /// A session to send on; waits for a handshake or a verification that is needed or under way.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Result<Arc<Session>, NoSession> {
        self.acquire_after(Input::Wanted).await
    }

    /// A new session, asked for by the caller.
    pub(crate) async fn recover(self: &Arc<Self>) -> Result<Arc<Session>, NoSession> {
        self.acquire_after(Input::RecoveryAsked).await
    }

    async fn acquire_after(self: &Arc<Self>, first: Input) -> Result<Arc<Session>, NoSession> {
        let mut changed = self.changed.subscribe();
        let mut joined = None;
        let mut input = first;
        let outcome = loop {
            let task = {
                // In one go with what a flight does when it lands: a flight that was joined and failed fails its waiters, and they do not
                // start the next one.
                let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(failed) = self.failure_of(joined) {
                    break Err(failed);
                }
                self.step_in_order(input, None);
                input = Input::Wanted;
                let shared = self.shared();
                match shared.machine.state() {
                    State::Ready(_) => {
                        if let Some(session) = &shared.current {
                            break Ok(Arc::clone(session));
                        }
                    }
                    State::Closed => break Err(NoSession::Closed),
                    State::Lost(_) => break Err(NoSession::Lost),
                    State::Connecting | State::Recovering(_) => {
                        joined.get_or_insert(shared.flights);
                    }
                    State::Idle | State::Suspect(_) | State::Verifying(_) => {}
                }
                shared.task.clone()
            };
            self.handshake.wire.events.deliver();
            tokio::select! {
                // The sender lives as long as self.
                _ = changed.changed() => {}
                () = task.cancelled() => self.task_ended(),
            }
        };
        self.handshake.wire.events.deliver();
        outcome
    }

    /// The task that waiters wait for is no more. If it did not say how it ended, it was dropped, by a runtime that was shut down.
    fn task_ended(self: &Arc<Self>) {
        {
            let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
            let (state, number, ended) = {
                let shared = self.shared();
                (shared.machine.state(), shared.flights, shared.task.is_cancelled())
            };
            match state {
                State::Connecting if ended => self.fail_in_order(number, 1, aborted("its runtime was shut down")),
                State::Recovering(lost) if ended => {
                    self.fail_in_order(number, lost + 1, aborted("its runtime was shut down"));
                }
                // It says nothing: the next request finds out.
                State::Verifying(suspect) if ended => self.step_in_order(Input::VerificationPassed(suspect), None),
                _ => {}
            }
        }
        self.handshake.wire.events.deliver();
    }

    fn failure_of(&self, joined: Option<u64>) -> Option<NoSession> {
        let shared = self.shared();
        let (flight, failure, recovering) = shared.failed.as_ref()?;
        (*flight >= joined?).then(|| NoSession::Failed { failure: Arc::clone(failure), recovering: *recovering })
    }

    /// The server refused this session to one of our requests.
    pub(crate) fn lost(self: &Arc<Self>, session: &Session) {
        session.declare_gone();
        self.step(Input::LossSeen(session.generation));
    }

    /// Something says that this session may be gone.
    pub(crate) fn suspect(self: &Arc<Self>, session: &Session) {
        self.step(Input::SuspicionSeen(session.generation));
    }

    /// How this session stands now.
    pub(crate) fn standing(&self, session: &Session) -> SessionStanding {
        let shared = self.shared();
        match shared.machine.state() {
            State::Ready(current) if current == session.generation => {
                // Under `recovery = off` a session that the server refused stays current.
                if session.gone().is_cancelled() { SessionStanding::Lost } else { SessionStanding::Current }
            }
            State::Suspect(current) | State::Verifying(current) if current == session.generation => {
                SessionStanding::Suspect
            }
            State::Ready(_) | State::Suspect(_) | State::Verifying(_) => SessionStanding::Replaced,
            State::Idle | State::Connecting | State::Recovering(_) | State::Lost(_) | State::Closed => {
                SessionStanding::Lost
            }
        }
    }

    /// No further session; the current one is let go. Sessions end when the last of their calls does.
    pub(crate) fn close(self: &Arc<Self>) {
        self.step(Input::Close);
    }

    /// Ends every session that a call still holds on to: that call is not polled any more, or the client does not wait for it.
    pub(crate) fn end_all(&self) {
        let alive = std::mem::take(&mut self.shared().alive);
        for session in alive.iter().filter_map(Weak::upgrade) {
            session.end();
        }
    }

    fn step(self: &Arc<Self>, input: Input) {
        {
            let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
            self.step_in_order(input, None);
        }
        self.handshake.wire.events.deliver();
    }

    /// Takes one event of the machine and carries out what it says; `flown` is the session that a flight brought.
    fn step_in_order(self: &Arc<Self>, input: Input, mut flown: Option<Session>) {
        let mut events = Vec::new();
        // Dropped after the lock: ending a session spawns its DELETE.
        let mut let_go = Vec::new();
        let moved = {
            let mut shared = self.shared();
            let before = shared.machine.state();
            let actions = shared.machine.step(input);
            let after = shared.machine.state();
            match (input, before == after) {
                (Input::LossSeen(lost) | Input::VerificationFailed(lost), false) => {
                    events.push(Event::of_generation(EventName::SessionLost, lost));
                }
                (Input::SuspicionSeen(suspect), false) => {
                    events.push(Event::of_generation(EventName::SessionSuspect, suspect));
                }
                _ => {}
            }
            for action in actions {
                match action {
                    Action::StartFlight(generation) => {
                        shared.flights += 1;
                        let name = if generation == 1 { EventName::Connecting } else { EventName::Recovering };
                        events.push(Event::of_generation(name, generation));
                        shared.task = CancellationToken::new();
                        let not_before = shared.not_before.take();
                        self.start_flight(&shared.task, shared.flights, generation, not_before);
                    }
                    Action::StartVerification(_) => {
                        if let Some(session) = shared.current.clone() {
                            shared.task = CancellationToken::new();
                            self.start_verification(&shared.task, session);
                        }
                    }
                    Action::Adopt(generation) => {
                        if let Some(session) = flown.take() {
                            let session = Arc::new(session);
                            shared.gaps.reset();
                            shared.alive.retain(|session| session.strong_count() > 0);
                            shared.alive.push(Arc::downgrade(&session));
                            shared.current = Some(Arc::clone(&session));
                            shared.generation = generation;
                            shared.last = Some(Arc::clone(&session.initialized));
                            if generation > 1 {
                                self.tools.forget();
                                events.push(Event::of_generation(EventName::SessionReplaced, generation));
                            }
                            events.push(Event::of_generation(EventName::Ready, generation));
                            self.begin_session(&session);
                        }
                    }
                    Action::Retire(_) => let_go.extend(shared.current.take()),
                    // `flown` is dropped at the end, and so ended.
                    Action::Discard => {}
                }
            }
            before != after
        };
        for session in &let_go {
            session.retire();
        }
        for event in events {
            self.handshake.wire.events.push(event);
        }
        // A step that changes nothing wakes nobody: two waiters, each of whom looks again when woken, would keep each other awake.
        if moved {
            self.changed.send_modify(|count| *count += 1);
        }
    }

    /// `task` is cancelled when the task ends, however it ends.
    fn start_flight(
        self: &Arc<Self>,
        task: &CancellationToken,
        number: u64,
        generation: u64,
        not_before: Option<Instant>,
    ) {
        let sessions = Arc::clone(self);
        let ends = task.clone().drop_guard();
        drop(self.handshake.wire.background.spawn(async move {
            let _ends = ends;
            let flying = async {
                if let Some(not_before) = not_before {
                    tokio::select! {
                        () = sleep_until(not_before) => {}
                        () = sessions.closing().cancelled() => {}
                    }
                }
                if sessions.closing().is_cancelled() {
                    return Err(aborted("the client was closed"));
                }
                sessions.handshake.fly(generation).await
            };
            // Waiters must never wait for a flight that is no more.
            let flown = std::panic::AssertUnwindSafe(flying).catch_unwind().await;
            sessions.land(number, generation, flown.unwrap_or_else(|_| Err(aborted("the handshake panicked"))));
        }));
    }

    fn land(self: &Arc<Self>, number: u64, generation: u64, flown: Result<Session, FlightFailure>) {
        {
            let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
            match flown {
                Ok(session) => self.step_in_order(Input::FlightSucceeded, Some(session)),
                Err(failure) => self.fail_in_order(number, generation, failure),
            }
        }
        self.handshake.wire.events.deliver();
    }

    fn fail_in_order(self: &Arc<Self>, number: u64, generation: u64, failure: FlightFailure) {
        let event = Event {
            kind: Some(failure.kind),
            http_status: failure.http_status,
            ..Event::of_generation(EventName::RecoveryFailed, generation).because(failure.reason.clone())
        };
        {
            let mut shared = self.shared();
            shared.failed = Some((number, Arc::new(failure), generation > 1));
            let gap = shared.gaps.next_delay();
            shared.not_before = Instant::now().checked_add(gap);
        }
        self.handshake.wire.events.push(event);
        self.step_in_order(Input::FlightFailed, None);
    }

    fn start_verification(self: &Arc<Self>, task: &CancellationToken, session: Arc<Session>) {
        let sessions = Arc::clone(self);
        let ends = task.clone().drop_guard();
        drop(self.handshake.wire.background.spawn(async move {
            let _ends = ends;
            let Handshake { wire, router, limits, timeout, .. } = &sessions.handshake;
            let verifying = std::panic::AssertUnwindSafe(verify(wire, router, *limits, &session, *timeout));
            let alive = tokio::select! {
                alive = verifying.catch_unwind() => alive.unwrap_or(true),
                () = session.retired().cancelled() => return,
            };
            let generation = session.generation;
            sessions.step(if alive {
                Input::VerificationPassed(generation)
            } else {
                Input::VerificationFailed(generation)
            });
        }));
    }

    /// The listener and what is to be restored start with the session; nobody waits for them.
    fn begin_session(self: &Arc<Self>, session: &Arc<Session>) {
        let background = &self.handshake.wire.background;
        if let Some(listener) = &self.listener {
            let listener = listener.clone();
            let (sessions, session) = (Arc::downgrade(self), Arc::downgrade(session));
            drop(background.spawn(async move { listener.listen(&sessions, &session).await }));
        }
        if session.generation > 1 {
            let restorable = self.restorable().clone();
            restore::restore(&self.handshake, session, restorable);
        }
    }

    /// Cancelled when the client is closed.
    pub(crate) fn closing(&self) -> &CancellationToken {
        self.handshake.wire.background.closing()
    }
}

fn aborted(reason: &str) -> FlightFailure {
    FlightFailure {
        kind: Kind::Closed,
        reason: reason.to_owned(),
        http_status: None,
        excerpt: None,
        retry_after: None,
        never_sent: false,
    }
}
