//! The table itself: for each class of the latest attempt, the next step.

use std::time::Duration;

use super::leave::{Leave, leave};
use super::{
    AMBIGUOUS_RESENDS, Charge, Decision, EMPTY_RESUMES, RATE_LIMIT_WAITS, RECOVERIES, REFRESHES, REFUSED_STREAMS,
    RESUME_WAIT_MAX, SESSION_LOSSES, SessionStanding, Situation, TERMS_REFUSALS, TokenStanding, Wait,
};
use crate::config::Recovery;
use crate::transport::classify::Class;

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
    match situation.class {
        Class::Answered => Decision::Deliver,
        Class::Rejected => Decision::Surface,
        Class::NeverSent { transient } => never_sent(situation, transient),
        Class::SessionRejected => session_rejected(situation),
        Class::SessionSuspect | Class::Ambiguous => ambiguous(situation),
        Class::Unauthorized => unauthorized(situation),
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
    // The server has said that the session is gone: as long as there is no newer one, it stands lost.
    let session = match situation.session {
        SessionStanding::Replaced => SessionStanding::Replaced,
        SessionStanding::Current | SessionStanding::Suspect | SessionStanding::Lost => SessionStanding::Lost,
    };
    resend(&Situation { session, ..*situation }, Wait::None, Charge::Free)
}

/// A loss that may have run. A suspect session is verified, a lost one replaced, but only for a call that may go on there.
fn ambiguous(situation: &Situation) -> Decision {
    if situation.counts.ambiguous_resends < AMBIGUOUS_RESENDS && situation.budget {
        resend(situation, Wait::Backoff, Charge::Ambiguous)
    } else {
        Decision::Surface
    }
}

fn unauthorized(situation: &Situation) -> Decision {
    if situation.counts.refreshes >= REFRESHES || leave(situation) == Leave::Refused {
        return Decision::Surface;
    }
    match situation.token {
        TokenStanding::NoProvider => Decision::Surface,
        TokenStanding::Refused => Decision::Refresh,
        TokenStanding::Fresh => resend(situation, Wait::None, Charge::Refresh),
    }
}

fn rate_limited(situation: &Situation) -> Decision {
    let wait = match situation.retry_after {
        Some(wait) if wait > situation.retry_after_max || is_past_the_deadline(situation, wait) => {
            return Decision::Surface;
        }
        Some(wait) => Wait::Exactly(wait),
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
