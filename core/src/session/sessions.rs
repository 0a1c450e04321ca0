//! The sessions of one client, as calls see them: one to send on, how one stands, that one is lost.
//!
//! The state machine decides; `recovery.rs` carries out its actions. Waiters watch a counter and look again at every change.

use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::handshake::{FlightFailure, Handshake};
use super::listener::Listener;
use super::locks::{Mutex, MutexGuard};
use super::restorable::SharedRestorable;
use super::state::{Input, Machine, State};
use crate::policy::backoff::Backoff;
use crate::policy::decide::SessionStanding;
use crate::protocol::era::Lifecycle;
use crate::protocol::results::InitializeResult;
use crate::vocabulary::config::Recovery;

/// The longest wait before a flight that follows a failed one.
const FLIGHT_GAP_MAX: Duration = Duration::from_secs(2);

/// The shortest time between two questions for the era that refusals give rise to.
const ERA_DOUBT_GAP: Duration = Duration::from_secs(10);

/// Refusals in a row that may mean the session, and that nothing confirmed.
const REFUSALS: u32 = 2;

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

/// The sessions of one client.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(crate) handshake: Handshake,
    pub(super) listener: Listener,
    pub(super) shared: Mutex<Shared>,
    /// Held over a step and the queueing of its events, so that events come in the order of the steps.
    pub(super) order: Mutex<()>,
    pub(super) changed: watch::Sender<u64>,
    pub(super) restorable: SharedRestorable,
    recovery: Recovery,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) machine: Machine,
    pub(super) current: Option<Arc<Session>>,
    /// What the server said of itself, last, and the era in which it said it.
    pub(super) last: Option<(Arc<InitializeResult>, Lifecycle)>,
    /// The last generation that there was.
    pub(super) generation: u64,
    /// The last generation that was told to be lost: each is told once.
    pub(super) lost: u64,
    /// How many flights were started.
    pub(super) flights: u64,
    /// Every session that may still be in use.
    pub(super) alive: Vec<Weak<Session>>,
    /// The last flight that failed, why, and whether it was to replace a session.
    pub(super) failed: Option<(u64, Arc<FlightFailure>, bool)>,
    /// The gaps between flights that fail in a row.
    pub(super) gaps: Backoff,
    pub(super) not_before: Option<Instant>,
    /// When an answer last made the era doubtful.
    pub(super) era_doubted: Option<Instant>,
    /// Cancelled when the latest flight or verification has ended; there is one at a time.
    pub(super) task: CancellationToken,
}

impl Sessions {
    pub(crate) fn new(
        handshake: Handshake,
        listener: Listener,
        restorable: SharedRestorable,
        recovery: Recovery,
    ) -> Self {
        let gaps = Backoff::new(handshake.backoff.capped(FLIGHT_GAP_MAX));
        Self {
            handshake,
            listener,
            shared: Mutex::new(Shared {
                machine: Machine::new(recovery),
                current: None,
                last: None,
                generation: 0,
                alive: Vec::new(),
                flights: 0,
                failed: None,
                gaps,
                lost: 0,
                not_before: None,
                era_doubted: None,
                task: CancellationToken::new(),
            }),
            order: Mutex::default(),
            changed: watch::channel(0).0,
            restorable,
            recovery,
        }
    }

    pub(super) fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        self.shared().machine.state()
    }

    /// What the next session gets back from this one.
    pub(crate) fn restorable(&self) -> &SharedRestorable {
        &self.restorable
    }

    /// The generation of the current session, or of the last one.
    pub(crate) fn generation(&self) -> u64 {
        self.shared().generation
    }

    /// What the server said of itself in its last answer to `initialize`, or to `server/discover`.
    pub(crate) fn last(&self) -> Option<Arc<InitializeResult>> {
        self.shared().last.as_ref().map(|(said, _)| Arc::clone(said))
    }

    /// The era of the current session, or of the last one.
    pub(crate) fn lifecycle(&self) -> Option<Lifecycle> {
        self.shared().last.as_ref().map(|(_, lifecycle)| *lifecycle)
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

    fn failure_of(&self, joined: Option<u64>) -> Option<NoSession> {
        let shared = self.shared();
        let (flight, failure, recovering) = shared.failed.as_ref()?;
        (*flight >= joined?).then(|| NoSession::Failed { failure: Arc::clone(failure), recovering: *recovering })
    }

    /// The server does not know this session: its words were confirmed, or a session without any sign of life was refused.
    pub(crate) fn lost(self: &Arc<Self>, session: &Session) {
        if self.recovery == Recovery::Off {
            // It stays in use, whatever becomes of it: only its DELETE would be in vain.
            session.disown();
        } else {
            session.declare_gone();
        }
        self.step(Input::LossSeen(session.generation));
    }

    /// The server refused this session to a request that will be sent again. One that shows no life is lost; one of which a stream is
    /// open or a call in flight is verified first, for one wrong replica must not cost its neighbours their session.
    pub(crate) fn refused(self: &Arc<Self>, session: &Session) {
        if session.shows_life() { self.suspect(session) } else { self.lost(session) }
    }

    /// Something says that this session may be gone.
    pub(crate) fn suspect(self: &Arc<Self>, session: &Session) {
        if self.recovery != Recovery::Off {
            self.step(Input::SuspicionSeen(session.generation));
        }
    }

    /// The server may be of another era by now: it is asked before the next request, but not for every refusal anew.
    pub(crate) fn doubt_era(self: &Arc<Self>, session: &Session) {
        {
            let mut shared = self.shared();
            let now = Instant::now();
            if shared.era_doubted.is_some_and(|last| now.duration_since(last) < ERA_DOUBT_GAP) {
                return;
            }
            shared.era_doubted = Some(now);
        }
        self.suspect(session);
    }

    /// A call ended with a refusal that may mean this session, and nothing confirmed it. After two in a row it is given up, or, if they
    /// were answers, verified: no sequence of answers makes a client useless for ever.
    pub(crate) fn ended_refused(self: &Arc<Self>, session: &Session, answered: bool) {
        if session.note_refusal() < REFUSALS {
            return;
        }
        if answered { self.suspect(session) } else { self.step(Input::Distrusted(session.generation)) }
    }

    /// As [`Self::suspect`], and it is verified now, not only when a call wants it: there may be calls that wait for an answer on it.
    pub(crate) fn verify_at_once(self: &Arc<Self>, session: &Session) {
        self.suspect(session);
        let sessions = Arc::clone(self);
        // Whatever comes of it, the state tells it.
        drop(self.handshake.wire.background.spawn(async move { drop(sessions.acquire().await) }));
    }

    /// How this session stands now.
    pub(crate) fn standing(&self, session: &Session) -> SessionStanding {
        let shared = self.shared();
        match shared.machine.state() {
            // Under `recovery = off` also one that the server refused.
            State::Ready(current) if current == session.generation => SessionStanding::Current,
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

    pub(super) fn step(self: &Arc<Self>, input: Input) {
        {
            let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
            self.step_in_order(input, None);
        }
        self.handshake.wire.events.deliver();
    }

    /// Cancelled when the client is closed.
    pub(crate) fn closing(&self) -> &CancellationToken {
        self.handshake.wire.background.closing()
    }
}
