//! May a call be sent again at all?
//!
//! This question stands before every resend, also where the latest attempt is proven not to have run: an attempt before it may have.

use super::situation::{Ambiguity, Hints, ProofStanding, SessionStanding, Situation};
use crate::transport::classify::Class;
use crate::vocabulary::config::{Resend, TrustAnnotations};
use crate::vocabulary::method::Repeatability;

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// It may: nothing has run, or running it twice is safe.
    Given,
    /// It may not.
    Refused,
    /// Nobody has asked the server for the tool's hints yet.
    AskTheServer,
}

/// Is there leave to send the call again?
pub(super) fn leave(situation: &Situation) -> Leave {
    let never_sent = matches!(situation.class, Class::NeverSent { .. });
    if situation.ambiguity == Ambiguity::None
        && situation.proof == ProofStanding::Proven
        // Who says never has what was never sent at all repeated, and nothing else.
        && (never_sent || situation.resend != Resend::Never)
    {
        return Leave::Given;
    }
    match (situation.resend, situation.repeatability) {
        (Resend::Always, _) => Leave::Given,
        (Resend::Never, _) => Leave::Refused,
        (Resend::Default, Repeatability::Read | Repeatability::Idempotent) => Leave::Given,
        (Resend::Default, Repeatability::Never) => Leave::Refused,
        (Resend::Default, Repeatability::ByTool) => by_hints(situation),
    }
}

fn by_hints(situation: &Situation) -> Leave {
    if situation.trust == TrustAnnotations::None {
        return Leave::Refused;
    }
    match situation.hints {
        Hints::Unknown => Leave::AskTheServer,
        Hints::Known { read_only: true, .. } => Leave::Given,
        // What a tool sets may have been moved by others since the server that ran it went away.
        Hints::Known { idempotent: true, .. }
            if situation.trust == TrustAnnotations::Hinted && stays_on_its_session(situation) =>
        {
            Leave::Given
        }
        Hints::Known { .. } | Hints::Unavailable => Leave::Refused,
    }
}

/// Would a resend go to the session that carried every ambiguous attempt?
fn stays_on_its_session(situation: &Situation) -> bool {
    situation.ambiguity != Ambiguity::OnEarlierSession
        && matches!(situation.session, SessionStanding::Current | SessionStanding::Suspect)
}
