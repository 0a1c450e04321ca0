//! What drives a call: what is known of it, what it has used up, and the situation that this is.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::engine::Engine;
use super::judged::Facts;
use super::record::CallRecord;
use super::spec::Spec;
use super::verdict::{self, Circumstances};
use crate::exchange::caller::Caller;
use crate::exchange::post::ExchangeEnd;
use crate::exchange::text;
use crate::exchange::wire::Unready;
use crate::policy::backoff::{Backoff, NEVER_SENT_MAX};
use crate::policy::decide::{Ambiguity, Counts, Hints, SessionStanding, Situation, TokenStanding, Wait};
use crate::session::subscriptions::wishes::Wish;
use crate::transport::classify::Class;
use crate::vocabulary::error::Error;
use crate::vocabulary::outcome::{Execution, Kind, Phase};

/// Drives one call.
pub(crate) struct Driver {
    pub(super) engine: Arc<Engine>,
    pub(super) spec: Spec,
    pub(super) record: Arc<CallRecord>,
    pub(crate) counts: Counts,
    pub(super) backoff: Backoff,
    /// Between attempts that were never sent.
    pub(super) knocking: Backoff,
    pub(super) began: Instant,
    /// When the first of the never-sent attempts in a row began.
    pub(super) never_sent_since: Option<Instant>,
    /// The generation in which the hints were looked up for this call.
    pub(super) looked_up: Option<u64>,
    /// The subscription that the call waits for.
    pub(super) wish: Option<Wish>,
    /// Which leg of the call is under way, from 1.
    pub(super) legs: u32,
}

impl Driver {
    /// `counts` is what the call has used up in the pages before this one.
    pub(crate) fn new(engine: Arc<Engine>, spec: Spec, record: Arc<CallRecord>, counts: Counts) -> Self {
        let backoff = Backoff::new(engine.settings.backoff);
        let knocking = Backoff::new(engine.settings.backoff.capped(NEVER_SENT_MAX));
        let began = Instant::now();
        Self {
            engine,
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

    pub(super) fn situation(&self, facts: &Facts, target: u64) -> Situation {
        let settings = &self.engine.settings;
        let remaining = self.record.clock().remaining();
        let since = self.never_sent_since.map_or(Duration::ZERO, |since| since.elapsed());
        let patience = remaining.unwrap_or_else(|| settings.connect_patience.saturating_sub(since));
        let tokens = &self.engine.wire.tokens;
        Situation {
            repeatability: self.spec.method.repeatability(),
            resend: self.spec.options.resend.unwrap_or_default(),
            trust: settings.trust_annotations,
            recovery: settings.recovery,
            hints: self.hints(target),
            class: facts.class,
            session: match &facts.session {
                Some(session) => self.engine.sessions.standing(session),
                None => SessionStanding::Current,
            },
            proof: facts.proof,
            ambiguity: self.ambiguity(target),
            token: match facts.token {
                _ if !tokens.has_source() => TokenStanding::NoProvider,
                _ if facts.class == Class::ScopeMissing && tokens.login().is_none() => TokenStanding::NoProvider,
                carried if carried == tokens.serial() => TokenStanding::Refused,
                _ => TokenStanding::Fresh,
            },
            retry_after: facts.retry_after,
            retry_after_max: settings.retry_after_max,
            counts: self.counts,
            cancelled: self.engine.sessions.closing().is_cancelled(),
            remaining,
            verified: facts.verified,
            patience,
            budget: true,
        }
    }

    fn hints(&self, generation: u64) -> Hints {
        let Some(tool) = &self.spec.name else { return Hints::Unavailable };
        match self.engine.tools.hints(generation, tool) {
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

    pub(super) fn unready(&self, ended: &ExchangeEnd) -> Error {
        let kind = match ended {
            ExchangeEnd::Unready(Unready::Headers(_)) => Kind::Config,
            _ => Kind::Auth,
        };
        let circumstances = Circumstances { reason: text::of_end(ended, None), ..Circumstances::default() };
        verdict::failed(&self.record, kind, Phase::Queued, circumstances)
    }
}
