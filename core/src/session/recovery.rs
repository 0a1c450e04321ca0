//! Recovery, single flight: carrying out what the state machine says.
//!
//! A flight runs in a task of its own, so that no waiter's cancellation stops it; however it ends, its waiters are told.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::handshake::{FlightFailure, Handshake};
use super::sessions::{Sessions, Shared};
use super::state::{Action, Input, State};
use super::verify::verify;
use super::{Session, restore};
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::outcome::Kind;

/// A connection that stood for so long was no false start.
pub(super) const STOOD: Duration = Duration::from_secs(5);

impl Shared {
    /// A session is over whose own connection stood for so long. If it was a false start the next one waits as after a flight that failed: a
    /// process that ends again and again is not started again and again without a pause.
    fn space_out(&mut self, stood: Duration) {
        if stood >= STOOD {
            self.gaps.reset();
            return;
        }
        let gap = self.gaps.next_delay();
        self.not_before = Instant::now().checked_add(gap);
    }
}

impl Sessions {
    /// Takes one event of the machine and carries out what it says; `flown` is the session that a flight brought.
    pub(super) fn step_in_order(self: &Arc<Self>, input: Input, mut flown: Option<Session>) {
        let mut events = Vec::new();
        // Dropped after the lock: ending a session spawns its DELETE.
        let mut let_go = Vec::new();
        let moved = {
            let mut shared = self.shared();
            let before = shared.machine.state();
            let actions = shared.machine.step(input);
            let after = shared.machine.state();
            let in_use = matches!(before, State::Ready(_) | State::Suspect(_) | State::Verifying(_));
            match (input, before == after) {
                // Without recovery a loss changes nothing, and is told all the same; many calls see the same one.
                (Input::LossSeen(lost) | Input::VerificationFailed(lost), _)
                    if in_use && lost == before.generation() && lost > shared.lost =>
                {
                    shared.lost = lost;
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
                            if session.stood().is_none() {
                                shared.gaps.reset();
                            }
                            // Of what is there now nobody has asked yet.
                            shared.era_doubted = None;
                            shared.alive.retain(|session| session.strong_count() > 0);
                            shared.alive.push(Arc::downgrade(&session));
                            shared.current = Some(Arc::clone(&session));
                            shared.generation = generation;
                            shared.last = Some((Arc::clone(&session.initialized), session.lifecycle()));
                            if generation > 1 {
                                self.handshake.router.lists_may_have_changed();
                                events.push(Event::of_generation(EventName::SessionReplaced, generation));
                            }
                            events.push(Event::of_generation(EventName::Ready, generation));
                            self.begin_session(&session);
                        }
                    }
                    Action::Retire(_) => {
                        let retired = shared.current.take();
                        if let Some(stood) = retired.as_ref().and_then(|session| session.stood()) {
                            shared.space_out(stood);
                        }
                        let_go.extend(retired);
                    }
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

    /// The task that waiters wait for is no more. If it did not say how it ended, it was dropped, by a runtime that was shut down.
    pub(super) fn task_ended(self: &Arc<Self>) {
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
        let name = if generation > 1 { EventName::RecoveryFailed } else { EventName::ConnectFailed };
        let event = Event {
            kind: Some(failure.kind),
            http_status: failure.http_status,
            ..Event::of_generation(name, generation).because(failure.reason.clone())
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
            let Handshake { wire, router, limits, .. } = &sessions.handshake;
            let verifying = std::panic::AssertUnwindSafe(verify(wire, router, *limits, &session));
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
        self.listener.begin(Arc::<Self>::clone(self), session);
        if session.generation > 1 {
            restore::restore(&self.handshake, session, self.restorable());
        }
    }
}

fn aborted(reason: &str) -> FlightFailure {
    FlightFailure {
        kind: Kind::Closed,
        reason: reason.to_owned(),
        http_status: None,
        excerpt: None,
        retry_after: None,
        source: None,
        may_pass: false,
    }
}
