//! The table itself: for each class of the latest attempt, the next step.

use std::time::Duration;

use super::bounds::{
    AMBIGUOUS_RESENDS, EMPTY_RESUMES, RATE_LIMIT_WAITS, RECOVERIES, REFRESHES, REFUSED_STREAMS, RESUME_WAIT_MAX,
    SESSION_LOSSES, STEP_UPS, TERMS_REFUSALS,
};
use super::decision::{Charge, Decision, Wait};
use super::leave::{Leave, leave};
use super::situation::{ProofStanding, SessionStanding, Situation, TokenStanding};
use crate::transport::classify::Class;
use crate::vocabulary::config::{Recovery, Resend};
use crate::vocabulary::method::Repeatability;

/// The next step for a call, from all that is known of it.
#[must_use]
pub fn decide(situation: &Situation) -> Decision {
    if situation.class == Class::Answered {
        return Decision::Deliver;
    }
    // Nobody waits any more: whatever the failure proves, nothing is sent again.
    if situation.cancelled || situation.remaining == Some(Duration::ZERO) {
        return Decision::Surface;
    }
    match step(situation) {
        // Where a refused call would end, its twin decides whether it may go on, and what the verdict is.
        Decision::Surface if situation.proof == ProofStanding::Unasked => Decision::Confirm,
        step => step,
    }
}

fn step(situation: &Situation) -> Decision {
    match situation.class {
        Class::Answered => Decision::Deliver,
        Class::Rejected => Decision::Surface,
        Class::NeverSent { transient } => never_sent(situation, transient),
        Class::SessionRejected => session_rejected(situation),
        Class::SessionSuspect | Class::Ambiguous => ambiguous(situation),
        Class::Unauthorized if situation.counts.refreshes < REFRESHES => unauthorized(situation, Charge::Refresh),
        Class::ScopeMissing if situation.counts.step_ups < STEP_UPS => unauthorized(situation, Charge::StepUp),
        Class::Unauthorized | Class::ScopeMissing => Decision::Surface,
        Class::RateLimited => rate_limited(situation),
        Class::RefusedStream if situation.counts.refused_streams < REFUSED_STREAMS => {
            resend(situation, Wait::None, Charge::RefusedStream)
        }
        Class::RefusedStream => Decision::Surface,
        // An answer all the same: only a call that may run twice is sent once more.
        Class::TermsRefused if situation.counts.terms_refusals < TERMS_REFUSALS => {
            resend(situation, Wait::None, Charge::Terms)
        }
        Class::TermsRefused => Decision::Surface,
        Class::Resumable => resumable(situation),
    }
}

fn never_sent(situation: &Situation, transient: bool) -> Decision {
    if transient && !situation.patience.is_zero() {
        resend(situation, Wait::Backoff, Charge::Free)
    } else {
        Decision::Surface
    }
}

fn session_rejected(situation: &Situation) -> Decision {
    if situation.counts.session_losses > SESSION_LOSSES || situation.recovery != Recovery::Auto {
        return Decision::Surface;
    }
    if situation.proof == ProofStanding::Unasked && goes_by_hints(situation) {
        // Of the session that it would go to no hints are known yet.
        return Decision::Confirm;
    }
    // Once it is proven that the session is gone, it stands lost as long as there is no newer one. Without proof it stands as whoever
    // looked after it says.
    let session = match (situation.proof, situation.session) {
        (_, SessionStanding::Replaced) => SessionStanding::Replaced,
        (ProofStanding::Proven, _) => SessionStanding::Lost,
        (_, standing) => standing,
    };
    resend(&Situation { session, ..*situation }, Wait::None, Charge::Free)
}

/// Does leave to send it again depend on the hints of the tool?
fn goes_by_hints(situation: &Situation) -> bool {
    situation.repeatability == Repeatability::ByTool && situation.resend == Resend::Default
}

/// A loss that may have run. A suspect session is verified, a lost one replaced, but only for a call that may go on there.
fn ambiguous(situation: &Situation) -> Decision {
    let wait = match situation.retry_after {
        // RFC 9110, section 10.2.3: with 503 it says how long the server expects to be unavailable.
        Some(wait) if situation.class == Class::Ambiguous => match bounded(situation, wait) {
            Some(wait) => wait,
            None => return Decision::Surface,
        },
        _ => Wait::Backoff,
    };
    if situation.counts.ambiguous_resends < AMBIGUOUS_RESENDS && situation.budget {
        resend(situation, wait, Charge::Ambiguous)
    } else {
        Decision::Surface
    }
}

/// The wait that the server asks for, unless it is longer than may be waited.
fn bounded(situation: &Situation, wait: Duration) -> Option<Wait> {
    let too_long = wait > situation.retry_after_max || is_past_the_deadline(situation, wait);
    (!too_long).then_some(Wait::Exactly(wait))
}

fn unauthorized(situation: &Situation, charge: Charge) -> Decision {
    if leave(situation) == Leave::Refused {
        return Decision::Surface;
    }
    if leave(situation) == Leave::AskTheServer && situation.proof == ProofStanding::Unasked {
        return Decision::Confirm;
    }
    match situation.token {
        TokenStanding::NoProvider => Decision::Surface,
        TokenStanding::Refused => Decision::Refresh,
        TokenStanding::Fresh => resend(situation, Wait::None, charge),
    }
}

fn rate_limited(situation: &Situation) -> Decision {
    let wait = match situation.retry_after.map(|wait| bounded(situation, wait)) {
        Some(Some(wait)) => wait,
        Some(None) => return Decision::Surface,
        None => Wait::Backoff,
    };
    if situation.counts.rate_limit_waits < RATE_LIMIT_WAITS {
        resend(situation, wait, Charge::RateLimit)
    } else {
        Decision::Surface
    }
}

fn resumable(situation: &Situation) -> Decision {
    let too_long = |wait| wait > RESUME_WAIT_MAX || is_past_the_deadline(situation, wait);
    if situation.counts.empty_resumes >= EMPTY_RESUMES || situation.retry_after.is_some_and(too_long) {
        return ambiguous(situation);
    }
    let wait = match situation.retry_after {
        Some(wait) => Wait::Exactly(wait),
        // A server that closes each stream at once must not be asked again and again without a pause.
        None if situation.counts.resumes == 0 => Wait::None,
        None => Wait::Backoff,
    };
    Decision::Resume { wait }
}

/// A wait that ends at the deadline is as useless as a longer one.
fn is_past_the_deadline(situation: &Situation, wait: Duration) -> bool {
    situation.remaining.is_some_and(|remaining| wait >= remaining)
}

/// The only way to a resend: first the leave, then a session to send it on.
fn resend(situation: &Situation, wait: Wait, charge: Charge) -> Decision {
    let lost = situation.session == SessionStanding::Lost;
    match leave(situation) {
        Leave::Refused => Decision::Surface,
        // A twin costs the same one request as the hints, and proves more.
        Leave::AskTheServer if situation.proof == ProofStanding::Unasked => Decision::Confirm,
        // The hints that count are those of the session that the call would go to: there has to be one. A suspect session is asked as
        // it is; no answer within the look-up's bound means no hints, and the caller is not kept waiting for a ping on top.
        Leave::AskTheServer if lost => recover(situation),
        Leave::AskTheServer => Decision::LookUpHints,
        Leave::Given if lost => recover(situation),
        Leave::Given
            if situation.session == SessionStanding::Suspect
                && !situation.verified
                && situation.recovery != Recovery::Off =>
        {
            Decision::Verify
        }
        Leave::Given => Decision::Resend { wait, charge },
    }
}

fn recover(situation: &Situation) -> Decision {
    if situation.recovery == Recovery::Auto && situation.counts.recoveries < RECOVERIES {
        Decision::Recover
    } else {
        Decision::Surface
    }
}
