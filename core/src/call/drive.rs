//! The loop of a call: attempt, judge, do the next step, until the answer or an error.
//!
//! Nothing is decided here: `classify` says what an end proves, `decide` says what to do, this file does it and counts.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::value::{RawValue, to_raw_value};
use tokio::time::{Instant, sleep};

use super::attempt::{Attempt, Ended, Patience};
use super::record::{CallRecord, InFlightToCancel};
use super::verdict::{self, Circumstances};
use super::{Answered, Spec, hints, tell_cancelled};
use crate::client::Core;
use crate::config::Resend;
use crate::era::Lifecycle;
use crate::error::Error;
use crate::event::{Event, EventName};
use crate::method::Repeatability;
use crate::outcome::{Execution, Kind, Phase, Proof};
use crate::policy::backoff::Backoff;
use crate::policy::decide::{
    Ambiguity, Charge, Counts, Decision, Hints, SessionStanding, Situation, TokenStanding, Wait, decide,
};
use crate::rpc::message::request_bytes;
use crate::rpc::params::{raw_number, raw_string};
use crate::session::Session;
use crate::session::recovery::NoSession;
use crate::sse::resume::{Resumed, resume};
use crate::text;
use crate::transport::answer::{Answer, Position};
use crate::transport::classify::{self, Class, Conclusion, Evidence};
use crate::transport::headers;
use crate::transport::probe::Probe;
use crate::transport::wire::Unready;

/// The member of `_meta` that is the same in all attempts of a call.
const KEY_IN_META: &str = "dev.oncewire/idempotency-key";
/// The member of `_meta` that counts the attempts of a call, from 1.
const ATTEMPT_IN_META: &str = "dev.oncewire/attempt";

/// Drives one call.
pub(crate) struct Driver {
    core: Arc<Core>,
    spec: Spec,
    record: Arc<CallRecord>,
    counts: Counts,
    backoff: Backoff,
    /// When the first of the never-sent attempts in a row began.
    never_sent_since: Option<Instant>,
    /// The generation in which the hints were looked up for this call.
    looked_up: Option<u64>,
}

/// How an attempt ended and what it proves.
struct Outcome {
    facts: Facts,
    answer: Option<Answer>,
    kind: Kind,
    phase: Phase,
    circumstances: Circumstances,
}

/// What a decision needs of it.
struct Facts {
    class: Class,
    /// The session that carried it; none where there was none to carry it.
    session: Option<Arc<Session>>,
    /// The serial of the token that it carried.
    token: Option<u64>,
    retry_after: Option<Duration>,
    /// The session was verified since.
    verified: bool,
}

impl Driver {
    pub(crate) fn new(core: Arc<Core>, spec: Spec, record: Arc<CallRecord>) -> Self {
        let backoff = Backoff::new(core.settings.backoff);
        Self { core, spec, record, counts: Counts::default(), backoff, never_sent_since: None, looked_up: None }
    }

    pub(crate) async fn drive(&mut self) -> Result<Answered, Error> {
        let mut session = self.core.sessions.acquire().await;
        loop {
            let outcome = match session {
                Ok(session) => Box::pin(self.attempt(session)).await?,
                Err(why) => self.without_session(why)?,
            };
            session = match Box::pin(self.follow_up(outcome)).await? {
                Next::Delivered(answered) => return Ok(answered),
                Next::Send(session) => session,
            };
        }
    }

    /// Asks what to do about the outcome, and does it, step by step, until there is an answer, an error or the next attempt.
    async fn follow_up(&mut self, mut outcome: Outcome) -> Result<Next, Error> {
        if outcome.facts.class == Class::SessionRejected {
            self.counts.session_losses += 1;
        }
        self.never_sent_since = match outcome.facts.class {
            Class::NeverSent { .. } => self.never_sent_since.or_else(|| Some(Instant::now())),
            _ => None,
        };
        let mut told = false;
        let mut waited = false;
        loop {
            let target = self.core.sessions.state().generation();
            let mut situation = self.situation(&outcome.facts, target);
            let mut decision = decide(&situation);
            // The budget is drawn on only where it is what the resend hangs on.
            if let Decision::Resend { charge: Charge::Ambiguous, .. } = decision
                && !waited
                && !self.core.budget.withdraw()
            {
                situation.budget = false;
                decision = decide(&situation);
            }
            let delay = match decision {
                Decision::Resend { .. } if waited => Duration::ZERO,
                Decision::Resend { wait, .. } => self.delay(wait),
                _ => Duration::ZERO,
            };
            if !told && decision != Decision::Deliver {
                self.tell(&outcome, decision, delay);
                told = true;
            }
            match decision {
                Decision::Deliver => return self.deliver(outcome).map(Next::Delivered),
                Decision::Surface => return Err(self.surface(outcome)),
                Decision::Recover | Decision::Verify => {
                    if decision == Decision::Recover {
                        self.counts.recoveries += 1;
                    }
                    if let Err(why) = self.core.sessions.acquire().await {
                        return Err(verdict::without_session(&self.record, &why));
                    }
                    outcome.facts.verified = true;
                }
                Decision::Refresh => {
                    if let Some(refused) = outcome.facts.token
                        && let Err(error) = self.core.wire.tokens.refresh(refused).await
                    {
                        outcome.circumstances.reason = error.to_string();
                        return Err(self.surface(outcome));
                    }
                }
                Decision::LookUpHints => {
                    if let Ok(session) = self.core.sessions.acquire().await {
                        self.looked_up = Some(session.generation);
                        hints::look_up(&self.core, &session).await;
                    } else {
                        self.looked_up = Some(target);
                    }
                }
                // Resumes end before an outcome is made; see `resumed`.
                Decision::Resume { .. } => return Err(self.surface(outcome)),
                Decision::Resend { charge, .. } => {
                    sleep(delay).await;
                    let session = self.core.sessions.acquire().await;
                    // A resend is judged by the session that it goes to: if that is another one by now, it is judged again.
                    let moved = session.as_ref().is_ok_and(|session| session.generation != target);
                    if moved && situation.ambiguity != Ambiguity::None && !waited {
                        waited = true;
                        continue;
                    }
                    self.charge(charge);
                    return Ok(Next::Send(session));
                }
            }
        }
    }

    fn situation(&self, facts: &Facts, target: u64) -> Situation {
        let settings = &self.core.settings;
        let remaining = self.record.clock().remaining();
        let since = self.never_sent_since.map_or(Duration::ZERO, |since| since.elapsed());
        let patience = remaining.unwrap_or_else(|| settings.connect_patience.saturating_sub(since));
        let tokens = &self.core.wire.tokens;
        Situation {
            repeatability: self.spec.method.repeatability(),
            resend: self.spec.options.resend.unwrap_or_default(),
            trust: settings.trust_annotations,
            recovery: settings.recovery,
            hints: self.hints(target),
            class: facts.class,
            session: match &facts.session {
                Some(session) => self.core.sessions.standing(session),
                None => SessionStanding::Current,
            },
            ambiguity: self.ambiguity(target),
            token: match facts.token {
                _ if !tokens.has_provider() => TokenStanding::NoProvider,
                carried if carried == tokens.serial() => TokenStanding::Refused,
                _ => TokenStanding::Fresh,
            },
            retry_after: facts.retry_after,
            retry_after_max: settings.retry_after_max,
            counts: self.counts,
            cancelled: self.core.sessions.closing().is_cancelled(),
            remaining,
            verified: facts.verified,
            patience,
            budget: true,
        }
    }

    fn hints(&self, generation: u64) -> Hints {
        let Some(tool) = &self.spec.name else { return Hints::Unavailable };
        match self.core.tools.hints(generation, tool) {
            Hints::Unknown if self.looked_up == Some(generation) => Hints::Unavailable,
            hints => hints,
        }
    }

    fn ambiguity(&self, target: u64) -> Ambiguity {
        let attempts = self.record.attempts();
        let mut ambiguous = attempts.iter().filter(|attempt| attempt.execution != Execution::NotExecuted).peekable();
        if ambiguous.peek().is_none() {
            Ambiguity::None
        } else if ambiguous.all(|attempt| attempt.generation == Some(target)) {
            Ambiguity::OnThisSession
        } else {
            Ambiguity::OnEarlierSession
        }
    }

    fn delay(&mut self, wait: Wait) -> Duration {
        match wait {
            Wait::None => Duration::ZERO,
            Wait::Backoff => self.backoff.next_delay(),
            Wait::Exactly(duration) => duration,
        }
    }

    fn charge(&mut self, charge: Charge) {
        let count = match charge {
            Charge::Free => return,
            Charge::Ambiguous => &mut self.counts.ambiguous_resends,
            Charge::Refresh => &mut self.counts.refreshes,
            Charge::RefusedStream => &mut self.counts.refused_streams,
            Charge::RateLimit => &mut self.counts.rate_limit_waits,
        };
        *count += 1;
    }

    /// One attempt on this session, resumes included.
    async fn attempt(&mut self, session: Arc<Session>) -> Result<Outcome, Error> {
        let core = Arc::clone(&self.core);
        let record = Arc::clone(&self.record);
        let id = core.wire.ids.next();
        let probe = Probe::new();
        let number = self.record.begin(id, Arc::clone(&session), probe.clone());
        let progress = self.record.wants_progress().then(|| core.router.expect_progress(id, &self.record));
        let params =
            self.spec.params.with_meta(self.meta(id, number).iter().map(|(key, value)| (&**key, value.clone())));
        let body = request_bytes(id, self.spec.method.as_str(), &params);
        let attempt = Attempt {
            wire: &core.wire,
            router: &core.router,
            limits: core.settings.limits,
            session: Some(&session),
            call: Some(&record),
            id,
            fresh_connection: core.settings.fresh_connection && self.is_unrepeatable(&session),
            patience: Patience {
                idle: self.record.clock().timeouts().idle_timeout,
                orphan: Some(core.settings.orphan_timeout),
            },
        };
        self.counts.resumes = 0;
        self.counts.empty_resumes = 0;
        let mut position = Position::default();
        let (mut ended, token) = attempt.run(body, probe.clone(), &mut position).await;
        let mut refused = None;
        let conclusion = loop {
            let Some(end) = ended.end(&position) else {
                // Nothing was tried: the host gave no token or no headers.
                self.record.abandon();
                return Err(self.unready(&ended));
            };
            let conclusion = classify::call(&Evidence {
                carried_session: session.has_id(),
                lifecycle: Lifecycle::Legacy,
                body_taken: probe.body_taken(),
                end,
            });
            if conclusion.class != Class::Resumable {
                break conclusion;
            }
            match self.resume(&attempt, token, &mut position).await {
                Some(Ok(read)) => ended = read,
                // It can be read on no more: what was known before decides, without the event id.
                stopped => {
                    refused = stopped.and_then(Result::err);
                    position.last_event_id = None;
                }
            }
        };
        drop(progress);
        let phase = self.record.phase();
        self.record.conclude(&conclusion);
        match conclusion.class {
            Class::SessionRejected => core.sessions.lost(&session),
            Class::SessionSuspect => core.sessions.suspect(&session),
            _ => {}
        }
        if let Ended::Silent { .. } = ended
            && conclusion.execution != Execution::NotExecuted
        {
            tell_cancelled(&core, InFlightToCancel { id, session: Arc::clone(&session) });
        }
        Ok(outcome(conclusion, phase, session, token, ended, refused.as_deref()))
    }

    /// Reads on, as often as the decision says. `None` if it says no more, `Some(Err)` if the server refuses.
    async fn resume(
        &mut self,
        attempt: &Attempt<'_>,
        token: Option<u64>,
        position: &mut Position,
    ) -> Option<Result<Ended, String>> {
        self.record.resuming();
        let session = attempt.session.map(Arc::clone);
        let generation = session.as_ref().map(|session| session.generation);
        loop {
            let facts = Facts {
                class: Class::Resumable,
                session: session.clone(),
                token,
                retry_after: position.retry,
                verified: false,
            };
            let situation = self.situation(&facts, generation.unwrap_or_default());
            let Decision::Resume { wait } = decide(&situation) else { return None };
            let delay = self.delay(wait);
            let event = |name| Event {
                request_id: Some(attempt.id),
                generation,
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
                Resumed::Empty => {}
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
        if let Some(key) = &self.record.idempotency_key {
            set(KEY_IN_META, raw_string(key));
            set(ATTEMPT_IN_META, raw_number(number.into()));
        }
        meta
    }

    /// No leave to repeat is known: a call that a pooled connection must not cost.
    fn is_unrepeatable(&self, session: &Session) -> bool {
        let resend = self.spec.options.resend.unwrap_or_default();
        match (resend, self.spec.method.repeatability()) {
            (Resend::Always, _) | (Resend::Default, Repeatability::Read | Repeatability::Idempotent) => false,
            (Resend::Default, Repeatability::ByTool) => {
                !matches!(self.hints(session.generation), Hints::Known { read_only: true, .. })
            }
            (Resend::Never, _) | (Resend::Default, Repeatability::Never) => true,
        }
    }

    /// There is no session to send on. The first handshake of a client may be repeated, as long as patience lasts.
    fn without_session(&self, why: NoSession) -> Result<Outcome, Error> {
        match &why {
            NoSession::Failed { failure, recovering: false } if failure.never_sent => {
                let Error::NotExecuted(text) = verdict::without_session(&self.record, &why) else {
                    return Err(verdict::without_session(&self.record, &why));
                };
                Ok(Outcome {
                    facts: Facts {
                        class: Class::NeverSent { transient: true },
                        session: None,
                        token: None,
                        retry_after: None,
                        verified: false,
                    },
                    answer: None,
                    kind: failure.kind,
                    phase: Phase::Connecting,
                    circumstances: Circumstances { reason: text.reason, ..Circumstances::default() },
                })
            }
            _ => Err(verdict::without_session(&self.record, &why)),
        }
    }

    fn unready(&self, ended: &Ended) -> Error {
        let kind = match ended {
            Ended::Unready(Unready::Headers(_)) => Kind::Config,
            _ => Kind::Auth,
        };
        let circumstances = Circumstances { reason: text::of_end(ended, None), ..Circumstances::default() };
        verdict::failed(&self.record, kind, Phase::Queued, circumstances)
    }

    fn deliver(&self, outcome: Outcome) -> Result<Answered, Error> {
        let generation = outcome.facts.session.as_ref().map_or(0, |session| session.generation);
        match outcome.answer {
            Some(Answer::Result(raw)) => Ok((raw, generation)),
            _ => Err(self.surface(outcome)),
        }
    }

    fn surface(&self, outcome: Outcome) -> Error {
        match outcome.answer {
            Some(Answer::Error { error, .. }) if outcome.kind == Kind::Rpc => verdict::answered(&self.record, error),
            _ => verdict::failed(&self.record, outcome.kind, outcome.phase, outcome.circumstances),
        }
    }

    /// The event of a failed attempt.
    fn tell(&self, outcome: &Outcome, decision: Decision, delay: Duration) {
        let attempts = self.record.attempts();
        let attempt = attempts.last().filter(|_| outcome.facts.session.is_some());
        self.core.wire.events.emit(Event {
            generation: attempt.and_then(|attempt| attempt.generation),
            request_id: attempt.map(|attempt| attempt.id),
            attempt: Some(self.record.started()),
            kind: Some(outcome.kind),
            proof: attempt.map_or(Some(Proof::NeverSent), |attempt| attempt.proof),
            execution: Some(attempt.map_or(Execution::NotExecuted, |attempt| attempt.execution)),
            decision: Some(decision.as_str()),
            delay: Some(delay),
            http_status: outcome.circumstances.http_status,
            reason: Some(outcome.circumstances.reason.clone()),
            ..self.record.event(EventName::AttemptFailed)
        });
    }
}

fn outcome(
    conclusion: Conclusion,
    phase: Phase,
    session: Arc<Session>,
    token: Option<u64>,
    ended: Ended,
    refused: Option<&str>,
) -> Outcome {
    let mut circumstances = Circumstances { reason: text::of_end(&ended, conclusion.kind), ..Circumstances::default() };
    if let Some(refused) = refused {
        circumstances.reason = format!("{}, and {refused}", circumstances.reason);
    }
    let answer = match ended {
        Ended::Head { status, headers, answer } => {
            circumstances.http_status = Some(status.as_u16());
            circumstances.retry_after = headers::retry_after(&headers, SystemTime::now());
            if let Answer::NoAnswer { excerpt } = &answer {
                circumstances.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
            }
            Some(answer)
        }
        Ended::NoHead(failure) => {
            circumstances.source = Some(Arc::new(failure));
            None
        }
        Ended::Silent { .. } | Ended::Unready(_) => None,
    };
    Outcome {
        facts: Facts {
            class: conclusion.class,
            session: Some(session),
            token,
            retry_after: circumstances.retry_after,
            verified: false,
        },
        answer,
        kind: conclusion.kind.unwrap_or(Kind::Protocol),
        phase,
        circumstances,
    }
}

enum Next {
    Delivered(Answered),
    Send(Result<Arc<Session>, NoSession>),
}
