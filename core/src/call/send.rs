//! One attempt of a call on a session, with the resumes of its stream.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use tokio::time::sleep;

use super::cancel::tell_cancelled;
use super::driver::Driver;
use super::judged::{Facts, JudgedAttempt, Pieces};
use super::record::{CallRecord, InFlightToCancel};
use crate::exchange::answer::Position;
use crate::exchange::caller::Caller;
use crate::exchange::post::{ExchangeEnd, Patience, Post};
use crate::exchange::request::Request;
use crate::exchange::resume::{Nothing, Resumed, resume};
use crate::policy::decide::{Ambiguity, Decision, decide};
use crate::rpc::params::{raw_number, raw_string};
use crate::session::Session;
use crate::transport::classify::{self, Class};
use crate::transport::probe::Probe;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::outcome::Execution;

/// The member of `_meta` that is the same in all attempts of a call.
const KEY_IN_META: &str = "dev.oncewire/idempotency-key";
/// The member of `_meta` that counts the attempts of a call, from 1.
const ATTEMPT_IN_META: &str = "dev.oncewire/attempt";

impl Driver {
    /// One attempt on this session, resumes included.
    pub(super) async fn attempt(&mut self, session: Arc<Session>) -> Result<JudgedAttempt, Error> {
        let engine = Arc::clone(&self.engine);
        let record = Arc::clone(&self.record);
        let id = engine.wire.ids.next();
        let probe = Probe::new();
        let number = self.record.begin(id, Arc::clone(&session), probe.clone());
        let caller: Arc<dyn Caller> = Arc::<CallRecord>::clone(&record);
        let progress = self.record.wants_progress().then(|| engine.router.expect_progress(id, &caller));
        let params =
            self.spec.params.with_meta(self.meta(id, number).iter().map(|(key, value)| (&**key, value.clone())));
        let method = self.method_on(&session);
        let request = Request { method: method.as_str(), params, parameter_headers: self.parameter_headers(&session) };
        let inbox = engine.router.of_call(&session, &*record);
        let attempt = Post {
            wire: &engine.wire,
            inbox: &inbox,
            limits: engine.settings.limits,
            session: Some(&*session),
            line: None,
            call: Some(&*record),
            id,
            fresh_connection: engine.settings.fresh_connection && self.is_unrepeatable(&session),
            patience: Patience {
                idle: self.record.clock().timeouts().idle_timeout,
                orphan: Some(engine.settings.orphan_timeout),
            },
            on_head: None,
            on_message: None,
            elsewhere: engine.wire.unanswered.expect(id),
        };
        self.counts.resumes = 0;
        self.counts.empty_resumes = 0;
        let earlier_may_have_run = self.ambiguity(session.generation) != Ambiguity::None;
        let in_flight = session.call_in_flight();
        let mut position = Position::default();
        let (mut ended, sent) = attempt.run_as(request, None, probe.clone(), &mut position).await;
        let mut unresumed = None;
        let mut read_on = false;
        let (conclusion, sent) = loop {
            let (Some(end), Some(sent)) = (ended.end(&position), &sent) else {
                // Nothing was tried: the host gave no token or no headers.
                self.record.abandon();
                return Err(self.unready(&ended));
            };
            // A stream that was read on was opened for this request, and what is said on it may be said to the GET.
            let seen = read_on || self.record.saw_something();
            let conclusion = classify::call(&sent.evidence(&engine.wire, &*session, probe.seal(), seen, end));
            if conclusion.class != Class::Resumable {
                break (conclusion, sent.clone());
            }
            match self.resume(&attempt, &session, sent.token, &mut position).await {
                Some(Ok(read)) => (ended, read_on) = (read, true),
                // It can be read on no more: what was known before decides, without the event id.
                stopped => {
                    unresumed = stopped.and_then(Result::err);
                    position.last_event_id = None;
                }
            }
        };
        drop((progress, in_flight, attempt));
        let pieces = Pieces {
            conclusion,
            phase: self.record.phase(),
            session: Arc::clone(&session),
            took: probe.taken_since(),
            beyond_proof: earlier_may_have_run || read_on || self.record.saw_something(),
            again: earlier_may_have_run,
            sent,
            ended,
            unresumed: unresumed.as_deref(),
        };
        self.record.conclude(&conclusion);
        if conclusion.class == Class::Answered && !conclusion.repair.counts {
            session.note_answer();
        }
        if conclusion.class == Class::TermsRefused {
            // The tools may be others by now, with other headers.
            engine.tools.forget();
        }
        if let ExchangeEnd::Silent { .. } = pieces.ended
            && conclusion.execution != Execution::NotExecuted
        {
            tell_cancelled(&engine, InFlightToCancel { id, session });
        }
        Ok(JudgedAttempt::new(pieces))
    }

    /// Reads on, as often as the decision says. `None` if it says no more, `Some(Err)` if the server refuses.
    async fn resume(
        &mut self,
        attempt: &Post<'_>,
        session: &Arc<Session>,
        token: Option<u64>,
        position: &mut Position,
    ) -> Option<Result<ExchangeEnd, String>> {
        self.record.resuming();
        self.record.lets_go_of_its_token();
        let generation = session.generation;
        let mut nothing = Nothing::default();
        loop {
            let facts = Facts {
                // What was asked for in `retry:` holds for each resume, `Retry-After` for the next one.
                retry_after: position.retry.max(nothing.retry_after),
                ..Facts::unproven(Class::Resumable, Some(Arc::clone(session)), token)
            };
            let situation = self.situation(&facts, generation);
            let Decision::Resume { wait } = decide(&situation) else { return nothing.reason.map(Err) };
            let delay = self.delay(wait);
            let event = |name| Event {
                request_id: Some(attempt.id),
                generation: Some(generation),
                delay: (name == EventName::Resuming).then_some(delay),
                ..self.record.event(name)
            };
            let events = &attempt.wire.events;
            events.emit(event(EventName::Resuming));
            sleep(delay).await;
            let resumed = resume(attempt, position, || events.emit(event(EventName::Resumed))).await;
            self.counts.resumes += 1;
            self.counts.empty_resumes = if position.new_event_id { 0 } else { self.counts.empty_resumes + 1 };
            match resumed {
                Resumed::Read(ended) => return Some(Ok(ended)),
                Resumed::Refused(reason) => return Some(Err(reason)),
                Resumed::Empty(because) => nothing = because,
            }
            if let Some(refused) = nothing.refused_token
                && let Err(error) = attempt.wire.tokens.refresh(refused).await
            {
                return Some(Err(error.to_string()));
            }
        }
    }

    /// What goes into `_meta` of this attempt.
    fn meta(&self, id: u64, number: u32) -> Vec<(String, Box<RawValue>)> {
        let mut meta: Vec<_> = self
            .spec
            .extras
            .meta
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), to_raw_value(value).ok()?)))
            .collect();
        let mut set = |key: &str, value| meta.push((key.to_owned(), value));
        if self.record.wants_progress() {
            // MCP 2025-11-25, basic, utilities, progress: unique across active requests, as the id is.
            set("progressToken", raw_number(id));
        }
        if let Some(key) = self.record.key_of_leg() {
            set(KEY_IN_META, raw_string(&key));
            set(ATTEMPT_IN_META, raw_number(number.into()));
        }
        meta
    }

    /// No leave to repeat it is known: a stale pooled connection must not cost it.
    fn is_unrepeatable(&self, session: &Arc<Session>) -> bool {
        let facts = Facts { verified: true, ..Facts::unproven(Class::Ambiguous, Some(Arc::clone(session)), None) };
        !matches!(decide(&self.situation(&facts, session.generation)), Decision::Resend { .. })
    }
}
