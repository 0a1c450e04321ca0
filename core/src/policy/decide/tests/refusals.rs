//! The rows of refusals, each over all columns, as they stand with the proof: the twin was not asked yet, or confirms nothing.

use std::time::Duration;

use super::{REFUSALS, callers, resend, situation, unproven};
use crate::policy::decide::{
    Charge, Counts, Decision, Decision::*, Hints, ProofStanding, RATE_LIMIT_WAITS, REFRESHES, SESSION_LOSSES,
    SessionStanding, Situation, TokenStanding, Wait, decide,
};
use crate::transport::classify::Class;
use crate::vocabulary::config::{Recovery, Resend, TrustAnnotations};
use crate::vocabulary::method::Repeatability;

use ProofStanding::{None as Unproven, Unasked};
use SessionStanding::{Current, Lost, Replaced, Suspect};

/// Every caller, its attempt having been refused like this: with leave for a resend, the first; without, the second.
fn check(
    class: Class,
    proof: ProofStanding,
    change: impl Fn(Situation) -> Situation,
    with_leave: Decision,
    without: Decision,
) {
    for (name, leave, caller) in callers() {
        let situation = change(unproven(proof, Situation { class, ..caller }));
        let expected = if leave { with_leave } else { without };
        assert_eq!(decide(&situation), expected, "{class:?} {proof:?}: {name}");
    }
}

/// Does the leave of this caller hang on the hints of a tool?
fn by_hints(caller: &Situation) -> bool {
    caller.repeatability == Repeatability::ByTool && caller.resend == Resend::Default
}

#[test]
fn a_session_rejected_is_resent_at_once_with_leave_and_else_asks_its_twin() {
    for (session, proceeds) in [
        (Current, resend(Wait::None, Charge::Free)),
        (Suspect, Verify),
        (Lost, Recover),
        (Replaced, resend(Wait::None, Charge::Free)),
    ] {
        for (name, leave, caller) in callers() {
            let on = |proof| decide(&unproven(proof, Situation { class: Class::SessionRejected, session, ..caller }));
            // Hints are those of the session that it goes to, and of that one none are known yet.
            let expected = if leave && !by_hints(&caller) { proceeds } else { Confirm };
            assert_eq!(on(Unasked), expected, "{session:?}: {name}");
            let moves = leave && (matches!(session, Current | Suspect) || name != "an idempotent tool");
            assert_eq!(on(Unproven), if moves { proceeds } else { Surface }, "{session:?}: {name}");
        }
    }
}

#[test]
fn an_unproven_loss_goes_where_whoever_looked_after_the_session_says() {
    let read = Situation { repeatability: Repeatability::Read, ..situation(Class::SessionRejected) };
    for proof in [Unasked, Unproven] {
        let on = |session, verified| decide(&unproven(proof, Situation { session, verified, ..read }));
        assert_eq!(on(Suspect, false), Verify);
        assert_eq!(on(Suspect, true), resend(Wait::None, Charge::Free), "one ping an attempt");
        assert_eq!(on(Current, true), resend(Wait::None, Charge::Free), "one wrong replica costs nobody the session");
    }
    for session in [Current, Suspect, Lost] {
        assert_eq!(decide(&Situation { session, ..read }), Recover, "once it is proven it is gone");
    }
}

#[test]
fn a_refused_token_is_replaced_at_once_with_leave_and_else_asks_its_twin() {
    use TokenStanding::{Fresh, NoProvider, Refused};
    let token = |token| move |s| Situation { token, ..s };
    let again = resend(Wait::None, Charge::Refresh);
    check(Class::Unauthorized, Unasked, token(Refused), Refresh, Confirm);
    check(Class::Unauthorized, Unasked, token(Fresh), again, Confirm);
    check(Class::Unauthorized, Unasked, token(NoProvider), Confirm, Confirm);
    check(Class::Unauthorized, Unproven, token(Refused), Refresh, Surface);
    check(Class::Unauthorized, Unproven, token(Fresh), again, Surface);
    check(Class::Unauthorized, Unproven, token(NoProvider), Surface, Surface);
}

#[test]
fn a_rate_limit_is_waited_out_with_leave_and_else_asks_its_twin() {
    let seconds = Duration::from_secs;
    let after = |wait| move |s| Situation { retry_after: Some(seconds(wait)), ..s };
    let backoff = resend(Wait::Backoff, Charge::RateLimit);
    let exactly = resend(Wait::Exactly(seconds(7)), Charge::RateLimit);
    check(Class::RateLimited, Unasked, |s| s, backoff, Confirm);
    check(Class::RateLimited, Unasked, after(7), exactly, Confirm);
    check(Class::RateLimited, Unasked, after(61), Confirm, Confirm);
    check(Class::RateLimited, Unproven, |s| s, backoff, Surface);
    check(Class::RateLimited, Unproven, after(7), exactly, Surface);
    check(Class::RateLimited, Unproven, after(61), Surface, Surface);
}

#[test]
fn any_other_refusal_ends_the_call_and_asks_its_twin_for_the_verdict() {
    check(Class::Rejected, Unasked, |s| s, Confirm, Confirm);
    check(Class::Rejected, Unproven, |s| s, Surface, Surface);
}

#[test]
fn a_call_that_ends_at_its_bounds_asks_for_its_verdict_first() {
    let counts = Counts {
        session_losses: SESSION_LOSSES + 1,
        refreshes: REFRESHES,
        rate_limit_waits: RATE_LIMIT_WAITS,
        ..Counts::default()
    };
    for class in REFUSALS {
        check(class, Unasked, |s| Situation { counts, ..s }, Confirm, Confirm);
        check(class, Unproven, |s| Situation { counts, ..s }, Surface, Surface);
    }
}

#[test]
fn surface_and_off_recover_nothing_and_confirm_all_the_same() {
    for recovery in [Recovery::Surface, Recovery::Off] {
        for session in [Current, Suspect, Lost, Replaced] {
            let on = |s| Situation { recovery, session, ..s };
            check(Class::SessionRejected, Unasked, on, Confirm, Confirm);
            check(Class::SessionRejected, Unproven, on, Surface, Surface);
        }
    }
}

#[test]
fn who_says_never_asks_the_twin_for_the_verdict_and_has_nothing_resent() {
    for class in REFUSALS {
        for repeatability in [Repeatability::Read, Repeatability::ByTool, Repeatability::Never] {
            let never = Situation { resend: Resend::Never, repeatability, ..situation(class) };
            assert_eq!(decide(&unproven(Unasked, never)), Confirm, "{class:?}");
            assert_eq!([decide(&unproven(Unproven, never)), decide(&never)], [Surface; 2], "{class:?}");
        }
    }
}

#[test]
fn the_twin_is_asked_before_the_hints() {
    for class in [Class::SessionRejected, Class::Unauthorized, Class::RateLimited] {
        let unknown = Situation { hints: Hints::Unknown, token: TokenStanding::Fresh, ..situation(class) };
        assert_eq!(decide(&unproven(Unasked, unknown)), Confirm, "{class:?}");
        assert_eq!(decide(&unproven(Unproven, unknown)), LookUpHints, "{class:?}");
        let untrusted = Situation { trust: TrustAnnotations::None, ..unknown };
        assert_eq!(decide(&unproven(Unproven, untrusted)), Surface, "{class:?}");
    }
    let lost = Situation { hints: Hints::Unknown, session: Lost, ..situation(Class::SessionRejected) };
    assert_eq!(decide(&unproven(Unproven, lost)), Recover, "there has to be a session to ask");
}

#[test]
fn nobody_is_asked_for_a_caller_who_is_gone_or_out_of_time() {
    for class in REFUSALS {
        for proof in [Unasked, Unproven] {
            check(class, proof, |s| Situation { cancelled: true, ..s }, Surface, Surface);
            check(class, proof, |s| Situation { remaining: Some(Duration::ZERO), ..s }, Surface, Surface);
        }
    }
}
