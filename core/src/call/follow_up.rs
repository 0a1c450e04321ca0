//! What follows an attempt, step by step: `decide` says the next step, it is told and taken, and then the question is put anew, until
//! there is an answer, an error, or a session for the next attempt.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::driver::Driver;
use super::hints;
use super::judged::JudgedAttempt;
use super::spec::Answered;
use super::verdict;
use crate::policy::decide::{Ambiguity, Charge, Decision, ProofStanding, SESSION_LOSSES, Wait, decide};
use crate::session::Session;
use crate::session::sessions::NoSession;
use crate::transport::classify::Class;
use crate::vocabulary::error::Error;

/// What comes after an attempt and all that followed it.
pub(super) enum Next {
    /// The answer.
    Delivered(Answered),
    /// Another attempt, on this session if there is one.
    Send(Result<Arc<Session>, NoSession>),
}

/// An attempt that is over, and what was done about it so far.
struct Aftermath {
    outcome: JudgedAttempt,
    /// It was told.
    told: bool,
    /// The wait before the resend is over. Neither the wait nor the budget is asked for once more.
    waited: bool,
    /// How often the session was another one after all when the call was about to go out.
    moves: u32,
}

/// The next step, and what it was decided by.
struct Step {
    decision: Decision,
    /// How long to wait first.
    delay: Duration,
    /// The generation that a resend would go to.
    target: u64,
    ambiguity: Ambiguity,
}

impl Driver {
    /// Asks what to do about the outcome, and does it, step by step, until there is an answer, an error or the next attempt.
    pub(super) async fn follow_up(&mut self, outcome: JudgedAttempt) -> Result<Next, Error> {
        self.take_stock(&outcome);
        self.repair(&outcome);
        let mut aftermath = Aftermath { outcome, told: false, waited: false, moves: 0 };
        loop {
            let step = self.next_step(&mut aftermath);
            self.tell_once(&step, &mut aftermath);
            if step.decision != Decision::Confirm {
                self.record.lets_go_of_its_token();
            }
            match self.take(step, aftermath).await? {
                ControlFlow::Continue(again) => aftermath = again,
                ControlFlow::Break(next) => return Ok(next),
            }
        }
    }

    /// Counts what the end of the attempt counts for.
    fn take_stock(&mut self, outcome: &JudgedAttempt) {
        if outcome.facts.class == Class::SessionRejected {
            self.counts.session_losses += 1;
        }
        self.never_sent_since = match outcome.facts.class {
            // A call that was never sent at all has been patient since it began.
            Class::NeverSent { .. } if outcome.facts.session.is_none() => Some(self.began),
            Class::NeverSent { .. } => self.never_sent_since.or_else(|| Some(Instant::now())),
            _ => None,
        };
    }

    /// The next step, as things stand now.
    fn next_step(&mut self, aftermath: &mut Aftermath) -> Step {
        let target = self.engine.sessions.generation();
        let mut situation = self.situation(&aftermath.outcome.facts, target);
        if aftermath.waited {
            // The wait is over: it is not to be judged once more.
            situation.retry_after = None;
            situation.patience = situation.patience.max(Duration::from_nanos(1));
        }
        let mut decision = decide(&situation);
        // The budget is drawn on only where it is what the resend hangs on.
        if let Decision::Resend { charge: Charge::Ambiguous, .. } = decision
            && !aftermath.waited
            && !self.engine.budget.withdraw()
        {
            situation.budget = false;
            decision = decide(&situation);
        }
        let delay = match decision {
            Decision::Resend { .. } if aftermath.waited => Duration::ZERO,
            Decision::Resend { wait: Wait::None, .. } => {
                aftermath.waited = true;
                Duration::ZERO
            }
            Decision::Resend { wait: Wait::Backoff, charge: Charge::Free } => self.knocking.next_delay(),
            Decision::Resend { wait, .. } => self.delay(wait),
            _ => Duration::ZERO,
        };
        Step { decision, delay, target, ambiguity: situation.ambiguity }
    }

    /// Tells of the attempt that failed, with the first step that is more than a question: what the twin says is told with the attempt.
    fn tell_once(&self, step: &Step, aftermath: &mut Aftermath) {
        if aftermath.told || matches!(step.decision, Decision::Deliver | Decision::Confirm) {
            return;
        }
        self.tell(&aftermath.outcome, step.decision, step.delay);
        self.record.note_trouble(&aftermath.outcome.circumstances.reason);
        aftermath.told = true;
    }

    /// Takes the step: it is the last, or the question has to be put anew.
    async fn take(&mut self, step: Step, mut aftermath: Aftermath) -> Result<ControlFlow<Next, Aftermath>, Error> {
        match step.decision {
            Decision::Deliver => return self.deliver(aftermath.outcome).map(Next::Delivered).map(ControlFlow::Break),
            // Resumes end before an outcome is made; see `send.rs`.
            Decision::Surface | Decision::Resume { .. } => return Err(self.surface(aftermath.outcome)),
            Decision::Confirm => self.confirm(&mut aftermath.outcome).await,
            Decision::Recover => {
                self.counts.recoveries += 1;
                self.await_session(&mut aftermath).await?;
            }
            Decision::Verify => self.await_session(&mut aftermath).await?,
            Decision::Refresh => aftermath = self.refresh(aftermath).await?,
            Decision::LookUpHints => self.look_up_hints(step.target).await,
            // Much can change in a wait, the tool's hints for one: judged again when it is over.
            Decision::Resend { .. } if !aftermath.waited => {
                sleep(step.delay).await;
                aftermath.waited = true;
            }
            Decision::Resend { charge, .. } => return self.resend(charge, &step, aftermath).await,
        }
        Ok(ControlFlow::Continue(aftermath))
    }

    /// Waits for the recovery or the verification that is needed or under way.
    async fn await_session(&self, aftermath: &mut Aftermath) -> Result<(), Error> {
        if let Err(why) = self.engine.sessions.acquire().await {
            return Err(verdict::without_session(&self.record, &why));
        }
        aftermath.outcome.facts.verified = true;
        Ok(())
    }

    /// Replaces the token that was refused.
    async fn refresh(&self, mut aftermath: Aftermath) -> Result<Aftermath, Error> {
        let outcome = &mut aftermath.outcome;
        if let Some(refused) = outcome.facts.token
            && let Err(error) = self.engine.wire.tokens.refresh(refused).await
        {
            if outcome.facts.proof == ProofStanding::Unasked {
                // The call ends here, and the verdict hangs on it.
                self.confirm(outcome).await;
            }
            outcome.circumstances.reason = error.to_string();
            return Err(self.surface(aftermath.outcome));
        }
        Ok(aftermath)
    }

    /// Asks the server for the tool's hints, once in a generation.
    async fn look_up_hints(&mut self, target: u64) {
        let mut asked = target;
        let engine = &self.engine;
        let looking_up = async {
            if let Ok(session) = engine.sessions.acquire().await {
                asked = session.generation;
                hints::look_up(engine, &session).await;
            }
        };
        // A suspect session is verified first; the bound holds for both, so that no caller waits for a ping that hangs.
        let _ = timeout(hints::LOOK_UP_PATIENCE, looking_up).await;
        self.looked_up = Some(asked);
    }

    /// Lets the call go out again, unless it would go to another session than the one that it was judged by.
    async fn resend(
        &mut self,
        charge: Charge,
        step: &Step,
        mut aftermath: Aftermath,
    ) -> Result<ControlFlow<Next, Aftermath>, Error> {
        let session = self.engine.sessions.acquire().await;
        let moved = session.as_ref().is_ok_and(|session| session.generation != step.target);
        if moved && step.ambiguity != Ambiguity::None {
            aftermath.moves += 1;
            if aftermath.moves > SESSION_LOSSES {
                return Err(self.surface(aftermath.outcome));
            }
            return Ok(ControlFlow::Continue(aftermath));
        }
        self.charge(charge);
        Ok(ControlFlow::Break(Next::Send(session)))
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
}
