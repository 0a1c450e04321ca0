//! What is known of a call while it runs: its finished attempts, and the one in flight.
//!
//! Shared by the call's future, by the streams that bring its progress, and by whoever has to judge it when the future is dropped.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use http::StatusCode;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::exchange::caller::Caller;
use crate::exchange::wire::Identity;
use crate::session::Session;
use crate::transport::classify::{self, Conclusion};
use crate::transport::probe::Probe;
use crate::vocabulary::clock::CallClock;
use crate::vocabulary::counter::Held;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::handler::{CallHandler, CallHooks, Progress};
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::{Attempt, Kind, Phase, Proof};

/// One call, as far as it has come.
pub(crate) struct CallRecord {
    pub(crate) method: Method,
    pub(crate) name: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    /// Which server, in texts.
    pub(crate) server: Arc<str>,
    clock: Arc<CallClock>,
    hooks: CallHooks,
    course: Mutex<Course>,
}

#[derive(Default)]
struct Course {
    attempts: Vec<Attempt>,
    in_flight: Option<InFlight>,
    /// How many attempts were started.
    started: u32,
    /// What went wrong last, in words.
    trouble: Option<String>,
    /// Whose the latest attempt was.
    identity: Option<Identity>,
    /// The token of the latest attempt, until it is clear what its answer says of it.
    token: Option<Held>,
    leg: Leg,
}

/// The leg that is under way: a new one begins when the server has answered with a question.
#[derive(Default)]
struct Leg {
    /// The first of its attempts, among the finished ones.
    first: usize,
    /// Attempts that were started before it.
    started_before: u32,
    /// Its key; of the first leg, the key of the call.
    key: Option<Option<String>>,
}

/// Attempts that are remembered. Only never-sent ones can be so many: while a server is down and the deadline is far.
const ATTEMPTS: usize = 64;

impl Course {
    /// Of too many attempts the early never-sent ones are forgotten, but for the very first: they say what the others say.
    fn remember(&mut self, attempt: Attempt) {
        if self.attempts.len() >= ATTEMPTS {
            let forgotten = self.attempts.iter().skip(1).position(|attempt| attempt.proof == Some(Proof::NeverSent));
            let forgotten = forgotten.map_or(1, |position| position + 1);
            self.attempts.remove(forgotten);
            if forgotten < self.leg.first {
                self.leg.first -= 1;
            }
        }
        self.attempts.push(attempt);
    }
}

/// An attempt that was started and not concluded.
pub(crate) struct InFlight {
    pub(crate) id: u64,
    pub(crate) session: Arc<Session>,
    pub(crate) probe: Probe,
    started: SystemTime,
    started_at: Instant,
    /// Its answer began.
    answering: bool,
    /// With this head, where the binding has heads.
    head: Option<StatusCode>,
    progress_seen: bool,
    resuming: bool,
    /// Cancelled when the attempt is over: the handlers of its requests end, and so do their pauses of the clock.
    over: CancellationToken,
}

impl InFlight {
    fn phase(&self) -> Phase {
        match (self.resuming, self.answering, self.probe.body_taken()) {
            (true, ..) => Phase::Resuming,
            (false, true, _) => Phase::Streaming,
            (false, false, true) => Phase::AwaitingHeaders,
            (false, false, false) => Phase::Connecting,
        }
    }

    /// The server may be at work on it: it must be told if nobody waits any more.
    pub(crate) fn may_be_running(&self) -> bool {
        self.answering || self.probe.body_taken()
    }

    fn conclude(self, conclusion: &Conclusion) -> Attempt {
        self.over.cancel();
        Attempt {
            id: self.id,
            generation: Some(self.session.generation),
            kind: conclusion.kind,
            execution: conclusion.execution,
            proof: conclusion.proof,
            proof_basis: conclusion.basis,
            phase: self.phase(),
            http_status: self.head.map(|status| status.as_u16()),
            started: self.started,
            elapsed: self.started_at.elapsed(),
            response_started: self.answering,
            progress_seen: self.progress_seen,
        }
    }
}

impl Caller for CallRecord {
    fn clock(&self) -> &Arc<CallClock> {
        &self.clock
    }

    fn goes_out_as(&self, identity: Identity, token: Option<Held>) {
        let mut course = self.course();
        course.identity = Some(identity);
        course.token = token;
    }

    fn saw_head(&self, status: Option<StatusCode>) {
        if let Some(in_flight) = &mut self.course().in_flight {
            in_flight.answering = true;
            in_flight.head = status;
        }
    }

    fn over(&self) -> CancellationToken {
        self.course().in_flight.as_ref().map_or_else(cancelled, |in_flight| in_flight.over.clone())
    }

    fn on_request(&self) -> Option<CallHandler> {
        self.hooks.on_request.clone()
    }

    fn saw_execution(&self) {
        if let Some(in_flight) = &mut self.course().in_flight {
            in_flight.progress_seen = true;
        }
    }

    fn progress(&self, progress: &Progress) {
        self.saw_execution();
        self.clock.progress();
        if let Some(on_progress) = &self.hooks.on_progress {
            let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| on_progress(progress)));
            if called.is_err() {
                tracing::error!(target: "oncewire", "the progress handler panicked");
            }
        }
    }
}

impl CallRecord {
    pub(crate) fn new(
        method: Method,
        name: Option<String>,
        idempotency_key: Option<String>,
        server: Arc<str>,
        clock: Arc<CallClock>,
        hooks: CallHooks,
    ) -> Self {
        Self { method, name, idempotency_key, server, clock, hooks, course: Mutex::default() }
    }

    fn course(&self) -> std::sync::MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the server have to be asked for progress?
    pub(crate) fn wants_progress(&self) -> bool {
        self.hooks.on_progress.is_some() || self.clock.timeouts().reset_on_progress
    }

    /// The server has answered, and the call goes on with a request of its own, under this key.
    pub(crate) fn next_leg(&self, key: Option<String>) {
        let mut course = self.course();
        course.leg = Leg { first: course.attempts.len(), started_before: course.started, key: Some(key) };
    }

    /// The key that the attempts of this leg bear.
    pub(crate) fn key_of_leg(&self) -> Option<String> {
        self.course().leg.key.clone().unwrap_or_else(|| self.idempotency_key.clone())
    }

    /// An attempt begins; returns its number in its leg, from 1.
    pub(crate) fn begin(&self, id: u64, session: Arc<Session>, probe: Probe) -> u32 {
        let mut course = self.course();
        course.started += 1;
        course.in_flight = Some(InFlight {
            id,
            session,
            probe,
            started: SystemTime::now(),
            started_at: Instant::now(),
            answering: false,
            head: None,
            progress_seen: false,
            resuming: false,
            over: CancellationToken::new(),
        });
        course.started - course.leg.started_before
    }

    /// How many attempts were started.
    pub(crate) fn started(&self) -> u32 {
        self.course().started
    }

    /// What the answer says of the token has been looked after: it may be renewed.
    pub(crate) fn lets_go_of_its_token(&self) {
        self.course().token = None;
    }

    /// Whose the latest attempt was, if there was one.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.course().identity
    }

    /// The stream of the attempt in flight ended; it is read on with GET.
    pub(crate) fn resuming(&self) {
        if let Some(in_flight) = &mut self.course().in_flight {
            in_flight.resuming = true;
        }
    }

    /// Was there any evidence that the attempt in flight is being carried out?
    pub(crate) fn saw_something(&self) -> bool {
        self.course().in_flight.as_ref().is_some_and(|in_flight| in_flight.progress_seen)
    }

    /// The refusal of the latest attempt was confirmed: it did not run.
    pub(crate) fn confirm(&self, confirmed: &Conclusion) {
        if let Some(attempt) = self.course().attempts.last_mut() {
            attempt.execution = confirmed.execution;
            attempt.proof = confirmed.proof;
            attempt.proof_basis = confirmed.basis;
        }
    }

    /// The attempt in flight is over; this is what its end proves.
    pub(crate) fn conclude(&self, conclusion: &Conclusion) {
        let mut course = self.course();
        if let Some(in_flight) = course.in_flight.take() {
            course.remember(in_flight.conclude(conclusion));
        }
    }

    /// The caller's clock, the caller or `close()` ends the attempt in flight. Returns it if the server may be at work on it.
    pub(crate) fn interrupt(&self, kind: Kind) -> Option<InFlightToCancel> {
        let mut course = self.course();
        let in_flight = course.in_flight.take()?;
        let taken = in_flight.probe.seal();
        let conclusion = classify::interrupted(kind, taken || in_flight.answering);
        let to_cancel = in_flight
            .may_be_running()
            .then(|| InFlightToCancel { id: in_flight.id, session: Arc::clone(&in_flight.session) });
        course.remember(in_flight.conclude(&conclusion));
        to_cancel
    }

    /// The attempt that was begun was never made.
    pub(crate) fn abandon(&self) {
        self.course().in_flight = None;
    }

    /// Something went wrong that the call may still get over.
    pub(crate) fn note_trouble(&self, reason: &str) {
        self.course().trouble = Some(reason.to_owned());
    }

    /// What went wrong last, in words.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.course().trouble.clone()
    }

    /// Every finished attempt, in order; of more than 64 the early never-sent ones are left out.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.course().attempts.clone()
    }

    /// The finished attempts of this leg: what an earlier leg did is answered for.
    pub(crate) fn attempts_of_leg(&self) -> Vec<Attempt> {
        let course = self.course();
        course.attempts.get(course.leg.first..).unwrap_or_default().to_vec()
    }

    /// Where the call is.
    pub(crate) fn phase(&self) -> Phase {
        self.course().in_flight.as_ref().map_or(Phase::Queued, InFlight::phase)
    }

    /// An event of this call.
    pub(crate) fn event(&self, event: EventName) -> Event {
        Event {
            method: Some(self.method.to_string()),
            name: self.name.clone(),
            idempotency_key: self.idempotency_key.clone(),
            ..Event::new(event)
        }
    }
}

fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}

/// A request that the server must be told nobody waits for.
pub(crate) struct InFlightToCancel {
    pub(crate) id: u64,
    pub(crate) session: Arc<Session>,
}
