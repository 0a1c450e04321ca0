//! What an attempt comes to: the result that is handed over, the error that is surfaced, the event that tells of it.

use std::time::Duration;

use super::driver::Driver;
use super::judged::JudgedAttempt;
use super::spec::Answered;
use super::verdict;
use crate::exchange::answer::Answer;
use crate::policy::decide::{Decision, ProofStanding};
use crate::protocol::era::Lifecycle;
use crate::transport::classify::Class;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::outcome::{Execution, Kind, Proof};

impl Driver {
    pub(super) fn deliver(&self, outcome: JudgedAttempt) -> Result<Answered, Error> {
        let session = outcome.facts.session.as_ref();
        let generation = session.map_or(0, |session| session.generation);
        let lifecycle = session.map_or(Lifecycle::Legacy, |session| session.lifecycle());
        match outcome.answer {
            Some(Answer::Result(raw)) => Ok(Answered { raw, generation, lifecycle, legs: self.legs }),
            _ => Err(self.surface(outcome)),
        }
    }

    pub(super) fn surface(&self, mut outcome: JudgedAttempt) -> Error {
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

    /// The event of a failed attempt.
    pub(super) fn tell(&self, outcome: &JudgedAttempt, decision: Decision, delay: Duration) {
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
