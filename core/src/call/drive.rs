//! The loop of a call: attempt, judge, do the next step, until the answer or an error.
//!
//! Nothing is decided here: `classify` says what an end proves, `decide` says what to do, this file does it and counts.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::driver::Driver;
use super::end::{Facts, Outcome};
use super::hints;
use super::input_required::Reading;
use super::spec::Answered;
use super::stand_in::StandIn;
use super::verdict::{self, Circumstances};
use crate::exchange::answer::Answer;
use crate::exchange::caller::Caller;
use crate::policy::decide::{Ambiguity, Charge, Decision, ProofStanding, SESSION_LOSSES, Wait, decide};
use crate::protocol::era::Lifecycle;
use crate::session::Session;
use crate::session::sessions::NoSession;
use crate::session::twin::Said;
use crate::transport::classify::{Class, Doubt};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::{Execution, Kind, Phase, Proof};

impl Driver {
    /// The result; `None` if the call belongs to a session that is no longer the current one.
    pub(crate) async fn drive(&mut self) -> Result<Option<Answered>, Error> {
        if self.spec.method == Method::SUBSCRIBE
            && !self.spec.method.is_raw()
            && let Some(uri) = &self.spec.name
        {
            self.wish = Some(self.engine.sessions.subscriptions().wish(uri));
        }
        let mut session = self.engine.sessions.acquire().await;
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
                            session = self.engine.sessions.acquire().await;
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
                            self.engine.sessions.subscriptions().change();
                        }
                        return Ok(Some(answered));
                    }
                    Reading::Wanted(wanted) => {
                        Box::pin(self.next_leg(wanted)).await?;
                        self.engine.sessions.acquire().await
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
            let target = self.engine.sessions.generation();
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
                && !self.engine.budget.withdraw()
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
            if decision != Decision::Confirm {
                self.record.lets_go_of_its_token();
            }
            match decision {
                Decision::Deliver => return self.deliver(outcome).map(Next::Delivered),
                Decision::Surface => return Err(self.surface(outcome)),
                Decision::Confirm => self.confirm(&mut outcome).await,
                Decision::Recover | Decision::Verify => {
                    if decision == Decision::Recover {
                        self.counts.recoveries += 1;
                    }
                    if let Err(why) = self.engine.sessions.acquire().await {
                        return Err(verdict::without_session(&self.record, &why));
                    }
                    outcome.facts.verified = true;
                }
                Decision::Refresh => {
                    if let Some(refused) = outcome.facts.token
                        && let Err(error) = self.engine.wire.tokens.refresh(refused).await
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
                        if let Ok(session) = self.engine.sessions.acquire().await {
                            asked = session.generation;
                            hints::look_up(&self.engine, &session).await;
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
                    let session = self.engine.sessions.acquire().await;
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
        let sessions = &self.engine.sessions;
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
        let engine = &self.engine;
        let said = match &outcome.refusal {
            Some(refusal) => {
                let asking = engine.twins.confirm(&engine.budget, refusal);
                // What goes out from now on carries another token, which is asked for when the twin is back.
                self.record.lets_go_of_its_token();
                self.doubt_token(outcome);
                tokio::select! {
                    biased;
                    said = asking => said,
                    // What the server said is in hand, and is told as it is.
                    () = self.record.clock().expired() => Said::default(),
                }
            }
            None => Said::default(),
        };
        if let (true, Some(session)) = (said.lost, &outcome.facts.session) {
            // What it was refused with is another matter.
            engine.sessions.lost(session);
        }
        if !said.confirms {
            outcome.stays_unconfirmed();
            return;
        }
        outcome.is_confirmed();
        if let Some(conclusion) = &outcome.conclusion {
            self.record.confirm(conclusion);
        }
        let Some(session) = &outcome.facts.session else { return };
        match outcome.facts.class {
            Class::SessionRejected => engine.sessions.lost(session),
            // Everything on this session is refused, in words that nobody listed.
            Class::Rejected if outcome.conclusion.is_some_and(|conclusion| conclusion.repair.counts) => {
                engine.sessions.suspect(session);
            }
            // The twin was the question which era the server is of: whatever was asked a moment ago, it is answered otherwise now.
            Class::Rejected if session.is_modern() && outcome.kind != Kind::Auth => engine.sessions.suspect(session),
            _ => {}
        }
    }

    fn charge(&mut self, charge: Charge) {
        let count = match charge {
            Charge::Free => return,
            Charge::Ambiguous => &mut self.counts.ambiguous_resends,
            Charge::Refresh => &mut self.counts.refreshes,
            Charge::StepUp => &mut self.counts.step_ups,
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
        self.doubt_token(&outcome);
        if let (Some(conclusion), Some(session)) = (&outcome.conclusion, &outcome.facts.session)
            && conclusion.repair.counts
            && outcome.facts.proof != ProofStanding::Proven
        {
            self.engine.sessions.ended_refused(session, conclusion.class == Class::Answered);
        }
        match outcome.answer {
            Some(Answer::Error { error, .. }) if outcome.kind == Kind::Rpc => verdict::answered(&self.record, error),
            _ => verdict::failed(&self.record, outcome.kind, outcome.phase, outcome.circumstances),
        }
    }

    /// If its token was refused, the next request asks for another one.
    fn doubt_token(&self, outcome: &Outcome) {
        if let (Some(conclusion), Some(token)) = (&outcome.conclusion, outcome.facts.token)
            && conclusion.repair.token
        {
            self.engine.wire.tokens.doubt(token);
        }
    }

    /// The event of a failed attempt.
    fn tell(&self, outcome: &Outcome, decision: Decision, delay: Duration) {
        let attempts = self.record.attempts();
        let attempt = attempts.last().filter(|_| outcome.facts.session.is_some());
        self.engine.wire.events.emit(Event {
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
