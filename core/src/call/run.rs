//! One call from its beginning to its end: on one clock, under one guard, from memory where it is kept.

use std::sync::Arc;

use super::driver::Driver;
use super::engine::Engine;
use super::guard::Guard;
use super::record::CallRecord;
use super::spec::{Answered, Spec};
use super::verdict;
use crate::policy::decide::Counts;
use crate::protocol::era::Lifecycle;
use crate::session::cache::Question;
use crate::session::sessions::NoSession;
use crate::vocabulary::clock::{CallClock, Timeouts};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::handler::CallHooks;
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::{Execution, Kind, Phase};

/// Carries out one call on this clock.
pub(crate) async fn run(engine: Arc<Engine>, spec: Spec, clock: Arc<CallClock>) -> Result<Answered, Error> {
    let unbound = Spec { page: None, ..spec };
    let answered = run_page(Arc::clone(&engine), unbound.clone(), clock, &mut Counts::default()).await?;
    answered.ok_or_else(|| paging_failed(&engine, &unbound, "the session was replaced"))
}

/// Carries out one call, or one page of a list, on this clock. `None` if the session that the page belongs to is no longer the current
/// one: then it was not run. `counts` is what all pages together have used up: the bounds are those of the call.
pub(crate) async fn run_page(
    engine: Arc<Engine>,
    spec: Spec,
    clock: Arc<CallClock>,
    counts: &mut Counts,
) -> Result<Option<Answered>, Error> {
    let goes_on = spec.page.is_some();
    let key = spec.idempotency_key();
    let hooks = spec.extras.hooks.clone();
    let record = Arc::new(CallRecord::new(
        spec.method.clone(),
        spec.name.clone(),
        key,
        server(&engine),
        Arc::clone(&clock),
        hooks,
    ));
    engine.budget.deposit();
    // Closing waits for the verdict, and for what the server is told because of it.
    let _held = engine.wire.background.hold();
    let guard = Guard::new(&engine, &record);
    let question = engine.cache.question(&spec.method, spec.name.as_deref(), || spec.params.to_json());
    let mut driver = Driver::new(Arc::clone(&engine), spec, Arc::clone(&record), *counts);
    let driven = async {
        match &question {
            Some(question) => match kept(&engine, question).await {
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
        () = engine.sessions.closing().cancelled() => Err(guard.interrupt(Kind::Closed)),
    }
    .map_err(|error| error.without(engine.wire.secrets()));
    *counts = driver.counts;
    // What was answered from memory was asked by nobody, and stays as it is.
    if let (Some(question), Ok(Some(answered)), Some(asked_by)) = (&question, &outcome, record.identity())
        && answered.lifecycle == Lifecycle::Modern
        // MCP 2026-07-28, basic, multi round-trip requests: what came because of the host's input is not kept.
        && answered.legs == 1
    {
        engine.cache.keep(question, asked_by, &answered.raw, answered.generation);
    }
    guard.finish(outcome.as_ref().err(), goes_on);
    outcome
}

fn server(engine: &Engine) -> Arc<str> {
    Arc::clone(engine.wire.events.server())
}

/// The answer that was kept, for everybody or for whoever the next request would be of, unless the client is closed or its session is
/// another one by now.
async fn kept(engine: &Engine, question: &Question) -> Option<Answered> {
    if engine.sessions.closing().is_cancelled() {
        return None;
    }
    let (raw, generation) = match engine.cache.get(question, None) {
        Some(kept) => kept,
        // The host is asked for its headers only where something hangs on them. What it fails with, the call will meet anyway.
        None if engine.cache.has_private(question) => {
            let identity = engine.wire.identity().await.ok()?;
            engine.cache.get(question, Some(identity))?
        }
        None => return None,
    };
    (generation == engine.sessions.generation()).then_some(Answered {
        raw,
        generation,
        lifecycle: Lifecycle::Modern,
        legs: 1,
    })
}

/// All pages of a list have come.
pub(crate) fn list_finished(engine: &Engine, spec: &Spec) {
    engine.wire.events.emit(Event {
        method: Some(spec.method.to_string()),
        execution: Some(Execution::Answered),
        ..Event::new(EventName::CallFinished)
    });
}

/// A list whose pages do not end: a typed error of a call that was answered, but not with a list.
pub(crate) fn paging_failed(engine: &Engine, spec: &Spec, reason: &str) -> Error {
    let clock = Arc::new(CallClock::start(spec.options.timeouts()));
    let record =
        CallRecord::new(spec.method.clone(), spec.name.clone(), None, server(engine), clock, CallHooks::default());
    let error = verdict::paging_failed(&record, reason);
    engine.wire.events.emit(Event {
        kind: Some(error.kind()),
        execution: Some(error.execution()),
        ..record.event(EventName::CallFinished)
    });
    error
}

/// There is no session, and no call that wanted it.
pub(crate) fn handshake_failed(engine: &Engine, why: &NoSession) -> Error {
    let clock = Arc::new(CallClock::start(Timeouts::default()));
    let record = CallRecord::new(Method::raw("initialize"), None, None, server(engine), clock, CallHooks::default());
    verdict::without_session(&record, why).without(engine.wire.secrets())
}

/// The error of something that is no call, and for which nothing was sent to the server.
pub(crate) fn not_sent(engine: &Engine, what: &'static str, kind: Kind, reason: String) -> Error {
    let clock = Arc::new(CallClock::start(Timeouts::default()));
    let record = CallRecord::new(Method::raw(what), None, None, server(engine), clock, CallHooks::default());
    let circumstances = verdict::Circumstances { reason, ..verdict::Circumstances::default() };
    verdict::failed(&record, kind, Phase::Queued, circumstances).without(engine.wire.secrets())
}
