//! The loop of a call: attempt, judge, do the next step, until the answer or an error.
//!
//! Nothing is decided here: `classify` says what an end proves, `decide` says what to do, this file does it and counts.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::end::{Facts, Outcome};
use super::input_required::Reading;
use super::record::CallRecord;
use super::stand_in::StandIn;
use super::verdict::{self, Circumstances};
use super::{Answered, Spec, hints};
use crate::client::Core;
use crate::exchange::answer::Answer;
use crate::exchange::attempt::Ended;
use crate::exchange::caller::Caller;
use crate::exchange::text;
use crate::exchange::wire::Unready;
use crate::policy::backoff::{Backoff, NEVER_SENT_MAX};
use crate::policy::decide::{
    Ambiguity, Charge, Counts, Decision, Hints, ProofStanding, SESSION_LOSSES, SessionStanding, Situation,
    TokenStanding, Wait, decide,
};
use crate::protocol::era::Lifecycle;
use crate::session::Session;
use crate::session::sessions::NoSession;
use crate::session::subscriptions::Wish;
use crate::transport::classify::{Class, Doubt};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::{Execution, Kind, Phase, Proof};

/// Drives one call.
pub(crate) struct Driver {
    pub(super) core: Arc<Core>,
    pub(super) spec: Spec,
    pub(super) record: Arc<CallRecord>,
    pub(crate) counts: Counts,
    backoff: Backoff,
    /// Between attempts that were never sent.
    knocking: Backoff,
    began: Instant,
    /// When the first of the never-sent attempts in a row began.
    never_sent_since: Option<Instant>,
    /// The generation in which the hints were looked up for this call.
    looked_up: Option<u64>,
    /// The subscription that the call waits for.
    pub(super) wish: Option<Wish>,
    /// Which leg of the call is under way, from 1.
    pub(super) legs: u32,
}

impl Driver {
    /// `counts` is what the call has used up in the pages before this one.
    pub(crate) fn new(core: Arc<Core>, spec: Spec, record: Arc<CallRecord>, counts: Counts) -> Self {
        let backoff = Backoff::new(core.settings.backoff);
        let knocking = Backoff::new(core.settings.backoff.capped(NEVER_SENT_MAX));
        let began = Instant::now();
        Self {
            core,
            spec,
            record,
            counts,
            backoff,
            knocking,
            began,
            never_sent_since: None,
            looked_up: None,
            wish: None,
            legs: 1,
        }
    }

    /// The result; `None` if the call belongs to a session that is no longer the current one.
    pub(crate) async fn drive(&mut self) -> Result<Option<Answered>, Error> {
        if self.spec.method == Method::SUBSCRIBE
            && !self.spec.method.is_raw()
            && let Some(uri) = &self.spec.name
        {
            self.wish = Some(self.core.sessions.subscriptions().wish(uri));
        }
        let mut session = self.core.sessions.acquire().await;
        loop {
            let outcome = match session {
                Ok(session) if self.spec.page.is_some_and(|page| page.belongs_elsewhere(session.generation)) => {
                    return match self.spec.page {
                        Some(page) if page.of_caller => Err(verdict::cursor_outlived(&self.record)),
                        _ => Ok(None),
                    };
                }
                Ok(current) => {
                    if let Some(page) = &mut self.spec.page {
                        page.bind(current.generation);
                    }
                    match Box::pin(self.stand_in(&current)).await? {
                        StandIn::Send => Box::pin(self.attempt(current)).await?,
                        StandIn::Done(answered) => return Ok(Some(answered)),
                        StandIn::Moved => {
                            session = self.core.sessions.acquire().await;
                            continue;
                        }
                    }
                }
                Err(why) => self.without_session(why)?,
            };
            session = match Box::pin(self.follow_up(outcome)).await? {
                Next::Delivered(answered) => match self.read(answered)? {
                    Reading::Whole(answered) => {
                        if let Some(wish) = self.wish.take() {
                            wish.granted();
                            // A stream that was given up for want of anybody who hears is opened again.
                            self.core.sessions.subscriptions().change();
                        }
                        return Ok(Some(answered));
                    }
                    Reading::Wanted(wanted) => {
                        Box::pin(self.next_leg(wanted)).await?;
                        self.core.sessions.acquire().await
                    }
                },
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
            // A call that was never sent at all has been patient since it began.
            Class::NeverSent { .. } if outcome.facts.session.is_none() => Some(self.began),
            Class::NeverSent { .. } => self.never_sent_since.or_else(|| Some(Instant::now())),
            _ => None,
        };
        self.repair(&outcome);
        let mut told = false;
        let mut waited = false;
        // How often the session was another one after all when the call was about to go out.
        let mut moves = 0;
        loop {
            let target = self.core.sessions.generation();
            let mut situation = self.situation(&outcome.facts, target);
            if waited {
                // The wait is over: it is not to be judged once more.
                situation.retry_after = None;
                situation.patience = situation.patience.max(Duration::from_nanos(1));
            }
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
                Decision::Resend { wait: Wait::None, .. } => {
                    waited = true;
                    Duration::ZERO
                }
                Decision::Resend { wait: Wait::Backoff, charge: Charge::Free } => self.knocking.next_delay(),
                Decision::Resend { wait, .. } => self.delay(wait),
                _ => Duration::ZERO,
            };
            // What the twin says is told with the attempt.
            if !told && !matches!(decision, Decision::Deliver | Decision::Confirm) {
                self.tell(&outcome, decision, delay);
                self.record.note_trouble(&outcome.circumstances.reason);
                told = true;
            }
            match decision {
                Decision::Deliver => return self.deliver(outcome).map(Next::Delivered),
                Decision::Surface => return Err(self.surface(outcome)),
                Decision::Confirm => self.confirm(&mut outcome).await,
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
                    if let Some(refusal) = &outcome.refusal {
                        self.core.twins.settle(&refusal.sent).await;
                    }
                    if let Some(refused) = outcome.facts.token
                        && let Err(error) = self.core.wire.tokens.refresh(refused).await
                    {
                        if outcome.facts.proof == ProofStanding::Unasked {
                            // The call ends here, and the verdict hangs on it.
                            self.confirm(&mut outcome).await;
                        }
                        outcome.circumstances.reason = error.to_string();
                        return Err(self.surface(outcome));
                    }
                }
                Decision::LookUpHints => {
                    let mut asked = target;
                    let looking_up = async {
                        if let Ok(session) = self.core.sessions.acquire().await {
                            asked = session.generation;
                            hints::look_up(&self.core, &session).await;
                        }
                    };
                    // A suspect session is verified first; the bound holds for both, so that no caller waits for a ping that hangs.
                    let _ = timeout(hints::LOOK_UP_PATIENCE, looking_up).await;
                    self.looked_up = Some(asked);
                }
                // Resumes end before an outcome is made; see `resumed`.
                Decision::Resume { .. } => return Err(self.surface(outcome)),
                // Much can change in a wait, the tool's hints for one: judged again when it is over.
                Decision::Resend { .. } if !waited => {
                    sleep(delay).await;
                    waited = true;
                }
                Decision::Resend { charge, .. } => {
                    let session = self.core.sessions.acquire().await;
                    // A resend is judged by the session that it goes to: if that is another one by now, it is judged again.
                    let moved = session.as_ref().is_ok_and(|session| session.generation != target);
                    if moved && situation.ambiguity != Ambiguity::None {
                        moves += 1;
                        if moves > SESSION_LOSSES {
                            return Err(self.surface(outcome));
                        }
                        continue;
                    }
                    self.charge(charge);
                    return Ok(Next::Send(session));
                }
            }
        }
    }

    /// Looks after what the answer says of token and session, whatever becomes of this call.
    fn repair(&self, outcome: &Outcome) {
        let (Some(conclusion), Some(session)) = (&outcome.conclusion, &outcome.facts.session) else { return };
        let sessions = &self.core.sessions;
        let repair = conclusion.repair;
        // A server that refuses the terms may speak others by now.
        if matches!(conclusion.class, Class::SessionSuspect | Class::TermsRefused) {
            sessions.suspect(session);
        }
        match repair.session {
            Doubt::None => {}
            Doubt::Era => sessions.doubt_era(session),
            Doubt::Session if conclusion.class != Class::SessionRejected => sessions.suspect(session),
            Doubt::Session => {
                // A call that hangs on its twin leaves it to that.
                let next = decide(&self.situation(&outcome.facts, sessions.generation()));
                if next == Decision::Confirm || next == Decision::Surface {
                    sessions.suspect(session);
                } else {
                    sessions.refused(session);
                }
            }
        }
    }

    /// Sends the twin of the refused attempt, or joins one that is about to go out, and takes down what it proves.
    async fn confirm(&self, outcome: &mut Outcome) {
        let core = &self.core;
        let confirmed = match &outcome.refusal {
            Some(refusal) => {
                let asking = core.twins.confirm(&core.budget, refusal);
                tokio::select! {
                    biased;
                    confirmed = asking => confirmed,
                    // What the server said is in hand, and is told as it is.
                    () = self.record.clock().expired() => false,
                }
            }
            None => false,
        };
        if !confirmed {
            outcome.stays_unconfirmed();
            return;
        }
        outcome.is_confirmed();
        if let Some(conclusion) = &outcome.conclusion {
            self.record.confirm(conclusion);
        }
        let Some(session) = &outcome.facts.session else { return };
        match outcome.facts.class {
            Class::SessionRejected => core.sessions.lost(session),
            // Everything on this session is refused, in words that nobody listed.
            Class::Rejected if outcome.conclusion.is_some_and(|conclusion| conclusion.repair.counts) => {
                core.sessions.suspect(session);
            }
            // The twin was the question which era the server is of: whatever was asked a moment ago, it is answered otherwise now.
            Class::Rejected if session.is_modern() && outcome.kind != Kind::Auth => core.sessions.suspect(session),
            _ => {}
        }
    }

    pub(super) fn situation(&self, facts: &Facts, target: u64) -> Situation {
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
            proof: facts.proof,
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

    pub(super) fn ambiguity(&self, target: u64) -> Ambiguity {
        let attempts = self.record.attempts_of_leg();
        let mut ambiguous = attempts.iter().filter(|attempt| attempt.execution != Execution::NotExecuted).peekable();
        if ambiguous.peek().is_none() {
            Ambiguity::None
        } else if ambiguous.all(|attempt| attempt.generation == Some(target)) {
            Ambiguity::OnThisSession
        } else {
            Ambiguity::OnEarlierSession
        }
    }

    pub(super) fn delay(&mut self, wait: Wait) -> Duration {
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
            Charge::Terms => &mut self.counts.terms_refusals,
            Charge::RateLimit => &mut self.counts.rate_limit_waits,
        };
        *count += 1;
    }

    /// There is no session to send on. The first handshake of a client may be repeated, as long as patience lasts.
    fn without_session(&self, why: NoSession) -> Result<Outcome, Error> {
        match &why {
            NoSession::Failed { failure, recovering: false } if failure.may_pass => {
                let Error::NotExecuted(text) = verdict::without_session(&self.record, &why) else {
                    return Err(verdict::without_session(&self.record, &why));
                };
                Ok(Outcome {
                    facts: Facts {
                        proof: ProofStanding::Proven,
                        ..Facts::unproven(Class::NeverSent { transient: true }, None, None)
                    },
                    conclusion: None,
                    refusal: None,
                    answer: None,
                    kind: failure.kind,
                    phase: Phase::Connecting,
                    circumstances: Circumstances {
                        reason: text.reason,
                        http_status: text.http_status,
                        retry_after: text.retry_after,
                        excerpt: text.excerpt,
                        source: None,
                    },
                })
            }
            _ => Err(verdict::without_session(&self.record, &why)),
        }
    }

    pub(super) fn unready(&self, ended: &Ended) -> Error {
        let kind = match ended {
            Ended::Unready(Unready::Headers(_)) => Kind::Config,
            _ => Kind::Auth,
        };
        let circumstances = Circumstances { reason: text::of_end(ended, None), ..Circumstances::default() };
        verdict::failed(&self.record, kind, Phase::Queued, circumstances)
    }

    fn deliver(&self, outcome: Outcome) -> Result<Answered, Error> {
        let session = outcome.facts.session.as_ref();
        let generation = session.map_or(0, |session| session.generation);
        let lifecycle = session.map_or(Lifecycle::Legacy, |session| session.lifecycle());
        match outcome.answer {
            Some(Answer::Result(raw)) => Ok(Answered { raw, generation, lifecycle, legs: self.legs }),
            _ => Err(self.surface(outcome)),
        }
    }

    fn surface(&self, mut outcome: Outcome) -> Error {
        if outcome.facts.proof == ProofStanding::Unasked {
            outcome.stays_unconfirmed();
        }
        // Not before the twin is back: with another token the server refuses this one whatever became of the call.
        if let (Some(conclusion), Some(token)) = (&outcome.conclusion, outcome.facts.token)
            && conclusion.repair.token
        {
            self.core.wire.tokens.doubt(token);
        }
        if let (Some(conclusion), Some(session)) = (&outcome.conclusion, &outcome.facts.session)
            && conclusion.repair.counts
        {
            self.core.sessions.ended_refused(session, conclusion.class == Class::Answered);
        }
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

enum Next {
    Delivered(Answered),
    Send(Result<Arc<Session>, NoSession>),
}
