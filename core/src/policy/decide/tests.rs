//! The table cell by cell, then its bounds.

mod bounds;
mod cells;
mod refusals;

use std::time::Duration;

use super::{
    Ambiguity, Charge, Counts, Decision, Hints, ProofStanding, SessionStanding, Situation, TokenStanding, Wait,
};
use crate::transport::classify::Class;
use crate::vocabulary::config::{Recovery, Resend, TrustAnnotations};
use crate::vocabulary::method::Repeatability;

/// What a server can refuse with: proven only if a twin says so, or the protocol.
const REFUSALS: [Class; 4] = [Class::SessionRejected, Class::Unauthorized, Class::RateLimited, Class::Rejected];

/// A first attempt of a tool without hints, on a session that stands, nothing used up, nobody in a hurry.
fn situation(class: Class) -> Situation {
    let (proof, ambiguity) = match class {
        Class::Ambiguous | Class::SessionSuspect | Class::TermsRefused | Class::Resumable => {
            (ProofStanding::None, Ambiguity::OnThisSession)
        }
        _ => (ProofStanding::Proven, Ambiguity::None),
    };
    Situation {
        repeatability: Repeatability::ByTool,
        resend: Resend::Default,
        trust: TrustAnnotations::Hinted,
        recovery: Recovery::Auto,
        hints: Hints::Known { read_only: false, idempotent: false },
        class,
        session: SessionStanding::Current,
        verified: false,
        proof,
        ambiguity,
        token: TokenStanding::Refused,
        retry_after: None,
        retry_after_max: Duration::from_secs(60),
        counts: Counts::default(),
        cancelled: false,
        remaining: None,
        patience: Duration::from_secs(10),
        budget: true,
    }
}

/// The same, a refusal that its twin did not confirm, or not yet: an attempt like any other that may have run.
fn unproven(proof: ProofStanding, situation: Situation) -> Situation {
    let ambiguity = match situation.ambiguity {
        Ambiguity::None => Ambiguity::OnThisSession,
        earlier => earlier,
    };
    Situation { proof, ambiguity, ..situation }
}

fn resend(wait: Wait, charge: Charge) -> Decision {
    Decision::Resend { wait, charge }
}

/// Who calls: the columns of the table, each with what makes it what it is.
fn callers() -> Vec<(&'static str, bool, Situation)> {
    let base = situation(Class::Ambiguous);
    let hints = |read_only, idempotent| Situation { hints: Hints::Known { read_only, idempotent }, ..base };
    let of = |repeatability| Situation { repeatability, ..base };
    let says = |resend, situation| Situation { resend, ..situation };
    let trusts = |trust, situation| Situation { trust, ..situation };
    vec![
        ("a read method", true, of(Repeatability::Read)),
        ("an idempotent method", true, of(Repeatability::Idempotent)),
        ("a tool of which the caller says always", true, says(Resend::Always, base)),
        ("a raw request of which the caller says always", true, says(Resend::Always, of(Repeatability::Never))),
        ("a read-only tool", true, hints(true, false)),
        ("a read-only tool under read_only", true, trusts(TrustAnnotations::ReadOnly, hints(true, false))),
        ("an idempotent tool", true, hints(false, true)),
        ("a tool without hints", false, base),
        ("a tool whose hints cannot be had", false, Situation { hints: Hints::Unavailable, ..base }),
        ("a raw request", false, of(Repeatability::Never)),
        ("an idempotent tool under read_only", false, trusts(TrustAnnotations::ReadOnly, hints(false, true))),
        ("a read-only tool under none", false, trusts(TrustAnnotations::None, hints(true, true))),
        (
            "a tool of unknown hints under none",
            false,
            Situation { hints: Hints::Unknown, ..trusts(TrustAnnotations::None, base) },
        ),
        ("a read method of which the caller says never", false, says(Resend::Never, of(Repeatability::Read))),
        ("a read-only tool of which the caller says never", false, says(Resend::Never, hints(true, true))),
    ]
}
