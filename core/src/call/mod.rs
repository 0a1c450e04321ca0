//! A call's life: attempts, deadline, cancellation, and the guard that judges it when its future is dropped.

pub(crate) mod cursors;
mod drive;
mod end;
mod hints;
mod input_required;
pub(crate) mod options;
pub(crate) mod record;
mod send;
mod stand_in;
mod verdict;

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use uuid::Uuid;

use self::drive::Driver;
pub use self::options::CallOptions;
use self::options::{CallExtras, IdempotencyKey};
use self::record::{CallRecord, InFlightToCancel};
use self::verdict::Connecting;
use crate::client::Core;
use crate::exchange::carrier::Carrier;
use crate::policy::decide::Counts;
use crate::protocol::era::Lifecycle;
use crate::rpc::message::notification_bytes;
use crate::rpc::params::Params;
use crate::session::cache::Question;
use crate::session::sessions::NoSession;
use crate::session::state::State;
use crate::vocabulary::clock::{CallClock, Timeouts};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::{Execution, Kind};

/// What the caller asked for.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) method: Method,
    /// The tool, prompt or URI.
    pub(crate) name: Option<String>,
    pub(crate) params: Params,
    /// Options of the call, the tool and the client, put together.
    pub(crate) options: CallOptions,
    pub(crate) extras: CallExtras,
    /// It is one page of a list.
    pub(crate) page: Option<PageOf>,
}

/// One page of a list: part of a call that goes on.
#[derive(Clone, Copy, Default)]
pub(crate) struct PageOf {
    /// The generation that its cursor was given in; cursors do not outlive their session (MCP 2025-11-25, server, utilities, pagination).
    /// None for the first page, and for a cursor of which that is not known.
    pub(crate) generation: Option<u64>,
    /// It bears a cursor of the caller's, which belongs, unless it is known better, to the session that it is first sent on. There is no
    /// first page to begin again at.
    pub(crate) of_caller: bool,
}

impl PageOf {
    fn bind(&mut self, generation: u64) {
        if self.of_caller {
            self.generation.get_or_insert(generation);
        }
    }

    fn belongs_elsewhere(self, generation: u64) -> bool {
        self.generation.is_some_and(|given_in| given_in != generation)
    }
}

impl Spec {
    fn is_tool_call(&self) -> bool {
        self.method.as_str() == Method::CALL_TOOL.as_str()
    }

    /// The key of a further leg: the server has answered the one before, so this one must not look like its repetition.
    fn key_of_leg(&self, leg: u32) -> Option<String> {
        match &self.extras.key {
            IdempotencyKey::Given(key) if self.is_tool_call() => Some(format!("{key}/{leg}")),
            _ => self.idempotency_key(),
        }
    }

    fn idempotency_key(&self) -> Option<String> {
        match &self.extras.key {
            _ if !self.is_tool_call() => None,
            IdempotencyKey::Made => Some(Uuid::now_v7().to_string()),
            IdempotencyKey::Given(key) => Some(key.clone()),
            IdempotencyKey::Off => None,
        }
    }
}

/// A result, and where it came from.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) raw: Box<RawValue>,
    /// Of the session that it came on.
    pub(crate) generation: u64,
    pub(crate) lifecycle: Lifecycle,
    /// How many legs it took; one unless the server asked for something first.
    pub(crate) legs: u32,
}

/// Carries out one call on this clock.
pub(crate) async fn run(core: Arc<Core>, spec: Spec, clock: Arc<CallClock>) -> Result<Answered, Error> {
    let unbound = Spec { page: None, ..spec };
    let answered = run_page(Arc::clone(&core), unbound.clone(), clock, &mut Counts::default()).await?;
    answered.ok_or_else(|| paging_failed(&core, &unbound, "the session was replaced"))
}

/// Carries out one call, or one page of a list, on this clock. `None` if the session that the page belongs to is no longer the current
/// one: then it was not run. `counts` is what all pages together have used up: the bounds are those of the call.
pub(crate) async fn run_page(
    core: Arc<Core>,
    spec: Spec,
    clock: Arc<CallClock>,
    counts: &mut Counts,
) -> Result<Option<Answered>, Error> {
    let goes_on = spec.page.is_some();
    let key = spec.idempotency_key();
    let on_progress = spec.extras.on_progress.clone();
    let record = Arc::new(CallRecord::new(
        spec.method.clone(),
        spec.name.clone(),
        key,
        server(&core),
        Arc::clone(&clock),
        on_progress,
    ));
    core.budget.deposit();
    // Closing waits for the verdict, and for what the server is told because of it.
    let _held = core.wire.background.hold();
    let guard = Guard { core: Arc::clone(&core), record: Arc::clone(&record), armed: true };
    let question = core.cache.question(&spec.method, spec.name.as_deref(), || spec.params.to_json());
    let mut driver = Driver::new(Arc::clone(&core), spec, Arc::clone(&record), *counts);
    let driven = async {
        match &question {
            Some(question) => match kept(&core, question).await {
                Some(answered) => Ok(Some(answered)),
                None => driver.drive().await,
            },
            None => driver.drive().await,
        }
    };
    let outcome = tokio::select! {
        biased;
        outcome = driven => outcome,
        () = clock.expired() => Err(guard.interrupt(Kind::Timeout)),
        () = core.sessions.closing().cancelled() => Err(guard.interrupt(Kind::Closed)),
    }
    .map_err(|error| error.without(core.wire.secrets()));
    *counts = driver.counts;
    // What was answered from memory was asked by nobody, and stays as it is.
    if let (Some(question), Ok(Some(answered)), Some(asked_by)) = (&question, &outcome, record.identity())
        && answered.lifecycle == Lifecycle::Modern
        // MCP 2026-07-28, basic, multi round-trip requests: what came because of the host's input is not kept.
        && answered.legs == 1
    {
        core.cache.keep(question, asked_by, &answered.raw, answered.generation);
    }
    guard.finish(outcome.as_ref().err(), goes_on);
    outcome
}

fn server(core: &Core) -> Arc<str> {
    Arc::clone(core.wire.events.server())
}

/// The answer that was kept, for everybody or for whoever the next request would be of, unless the client is closed or its session is
/// another one by now.
async fn kept(core: &Core, question: &Question) -> Option<Answered> {
    if core.sessions.closing().is_cancelled() {
        return None;
    }
    let (raw, generation) = match core.cache.get(question, None) {
        Some(kept) => kept,
        // The host is asked for its headers only where something hangs on them. What it fails with, the call will meet anyway.
        None if core.cache.has_private(question) => {
            let identity = core.wire.identity().await.ok()?;
            core.cache.get(question, Some(identity))?
        }
        None => return None,
    };
    (generation == core.sessions.generation()).then_some(Answered {
        raw,
        generation,
        lifecycle: Lifecycle::Modern,
        legs: 1,
    })
}

/// All pages of a list have come.
pub(crate) fn list_finished(core: &Core, spec: &Spec) {
    core.wire.events.emit(Event {
        method: Some(spec.method.to_string()),
        execution: Some(Execution::Answered),
        ..Event::new(EventName::CallFinished)
    });
}

/// A list whose pages do not end: a typed error of a call that was answered, but not with a list.
pub(crate) fn paging_failed(core: &Core, spec: &Spec, reason: &str) -> Error {
    let clock = Arc::new(CallClock::start(spec.options.timeouts()));
    let record = CallRecord::new(spec.method.clone(), spec.name.clone(), None, server(core), clock, None);
    let error = verdict::paging_failed(&record, reason);
    core.wire.events.emit(Event {
        kind: Some(error.kind()),
        execution: Some(error.execution()),
        ..record.event(EventName::CallFinished)
    });
    error
}

/// There is no session, and no call that wanted it.
pub(crate) fn handshake_failed(core: &Core, why: &NoSession) -> Error {
    let clock = Arc::new(CallClock::start(Timeouts::default()));
    let record = CallRecord::new(Method::raw("initialize"), None, None, server(core), clock, None);
    verdict::without_session(&record, why).without(core.wire.secrets())
}

/// Judges a call whose future is dropped, tells the server that nobody waits, and sends nothing else.
struct Guard {
    core: Arc<Core>,
    record: Arc<CallRecord>,
    armed: bool,
}

impl Guard {
    fn interrupt(&self, kind: Kind) -> Error {
        let phase = self.record.phase();
        self.end(kind);
        verdict::interrupted(&self.record, kind, phase, self.connecting().as_ref())
    }

    /// What the call waits for, if it is a session.
    fn connecting(&self) -> Option<Connecting> {
        let connects = matches!(self.core.sessions.state(), State::Connecting | State::Recovering(_));
        connects.then(|| Connecting { trouble: self.core.sessions.handshake.trouble() })
    }

    fn end(&self, kind: Kind) {
        if let Some(in_flight) = self.record.interrupt(kind) {
            tell_cancelled(&self.core, in_flight);
        }
    }

    /// The call is over; one that was answered and goes on with the next page is not.
    fn finish(mut self, error: Option<&Error>, goes_on: bool) {
        self.armed = false;
        if goes_on && error.is_none() {
            return;
        }
        let execution = error.map_or(Execution::Answered, Error::execution);
        self.emit(execution, error.map(Error::kind), error.and_then(Error::proof));
    }

    fn emit(&self, execution: Execution, kind: Option<Kind>, proof: Option<crate::Proof>) {
        self.core.wire.events.emit(Event {
            execution: Some(execution),
            kind,
            proof,
            attempt: Some(self.record.started()),
            ..self.record.event(EventName::CallFinished)
        });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.armed {
            self.end(Kind::Cancelled);
            let verdict = verdict::without_answer(&self.record.attempts());
            self.emit(verdict.execution, Some(Kind::Cancelled), verdict.proof);
        }
    }
}

/// `notifications/cancelled` for a request that may be running (MCP 2025-11-25, basic, utilities, cancellation), on the session that
/// carried it. One attempt, nobody waits for it.
pub(crate) fn tell_cancelled(core: &Arc<Core>, in_flight: InFlightToCancel) {
    let InFlightToCancel { id, session } = in_flight;
    // In the modern era the end of the stream is the cancellation (MCP 2026-07-28, basic, cancellation).
    if session.is_modern() || session.gone().is_cancelled() {
        return;
    }
    let wire = Arc::clone(&core.wire);
    drop(core.wire.background.spawn(async move {
        let params = json!({ "requestId": id, "reason": "the caller no longer waits" });
        let params = Params::from_value("params", &params).unwrap_or_default();
        let body = notification_bytes("notifications/cancelled", &params);
        // Whatever the answer, there is nothing more to do.
        let _ = wire.notify(session.carried(), body).await;
    }));
}
