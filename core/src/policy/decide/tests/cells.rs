//! One test for each row of the table, over all columns.

use super::{callers, resend, situation};
use crate::policy::decide::{
    Ambiguity, Charge, Decision::*, Hints, ProofStanding, SessionStanding, Situation, TokenStanding, Wait, decide,
};
use crate::transport::classify::Class;
use crate::vocabulary::config::{Recovery, Resend};

/// Every caller, its first attempt having ended like this, proven not to have run. Who says never has only what was never sent repeated.
fn check_proven(class: Class, change: impl Fn(Situation) -> Situation, expected: crate::policy::Decision) {
    for (name, _, caller) in callers() {
        let situation = change(Situation { class, ambiguity: Ambiguity::None, proof: ProofStanding::Proven, ..caller });
        let never = caller.resend == Resend::Never && !matches!(class, Class::NeverSent { .. });
        assert_eq!(decide(&situation), if never { Surface } else { expected }, "{class:?}: {name}");
    }
}

#[test]
fn never_sent_is_sent_again_with_patience() {
    check_proven(Class::NeverSent { transient: true }, |s| s, resend(Wait::Backoff, Charge::Free));
    check_proven(Class::NeverSent { transient: false }, |s| s, Surface);
}

#[test]
fn never_sent_waits_for_a_session_to_go_to() {
    let class = Class::NeverSent { transient: true };
    let on = |session| move |s| Situation { session, ..s };
    check_proven(class, on(SessionStanding::Lost), Recover);
    check_proven(class, on(SessionStanding::Suspect), Verify);
    check_proven(class, on(SessionStanding::Replaced), resend(Wait::Backoff, Charge::Free));
    let verified = |s| Situation { session: SessionStanding::Suspect, verified: true, ..s };
    check_proven(class, verified, resend(Wait::Backoff, Charge::Free));
}

#[test]
fn a_rejected_session_is_recovered_and_the_call_sent_again() {
    for session in [SessionStanding::Lost, SessionStanding::Current, SessionStanding::Suspect] {
        check_proven(Class::SessionRejected, |s| Situation { session, ..s }, Recover);
    }
    let replaced = |s| Situation { session: SessionStanding::Replaced, ..s };
    check_proven(Class::SessionRejected, replaced, resend(Wait::None, Charge::Free));
}

#[test]
fn a_suspect_session_is_verified_for_a_call_that_has_leave() {
    use SessionStanding::{Current, Lost, Replaced, Suspect};
    for (name, leave, caller) in callers() {
        let on = |session, verified| decide(&Situation { class: Class::SessionSuspect, session, verified, ..caller });
        let again = resend(Wait::Backoff, Charge::Ambiguous);
        let expected = if leave { [Verify, again, again] } else { [Surface; 3] };
        assert_eq!([on(Suspect, false), on(Suspect, true), on(Current, true)], expected, "{name}");
        // The idempotent tool has leave only on the session that carried it.
        let moves = leave && name != "an idempotent tool";
        let expected = if moves { [Recover, again] } else { [Surface; 2] };
        assert_eq!([on(Lost, true), on(Replaced, true)], expected, "{name}");
    }
}

#[test]
fn a_401_refreshes_the_token_and_the_call_is_sent_again() {
    check_proven(Class::Unauthorized, |s| s, Refresh);
    let token = |token| move |s| Situation { token, ..s };
    check_proven(Class::Unauthorized, token(TokenStanding::Fresh), resend(Wait::None, Charge::Refresh));
    check_proven(Class::Unauthorized, token(TokenStanding::NoProvider), Surface);
}

#[test]
fn a_rate_limit_is_waited_out() {
    check_proven(Class::RateLimited, |s| s, resend(Wait::Backoff, Charge::RateLimit));
    let seconds = std::time::Duration::from_secs;
    let told = |s| Situation { retry_after: Some(seconds(7)), ..s };
    check_proven(Class::RateLimited, told, resend(Wait::Exactly(seconds(7)), Charge::RateLimit));
}

#[test]
fn a_refused_stream_is_sent_again_at_once() {
    check_proven(Class::RefusedStream, |s| s, resend(Wait::None, Charge::RefusedStream));
}

#[test]
fn a_rejected_request_surfaces() {
    check_proven(Class::Rejected, |s| s, Surface);
}

#[test]
fn a_resumable_stream_is_resumed_by_every_caller() {
    for (name, _, caller) in callers() {
        let situation = Situation { class: Class::Resumable, ..caller };
        assert_eq!(decide(&situation), Resume { wait: Wait::None }, "{name}");
    }
}

#[test]
fn an_ambiguous_loss_is_sent_again_only_with_leave() {
    for (name, leave, caller) in callers() {
        let expected = if leave { resend(Wait::Backoff, Charge::Ambiguous) } else { Surface };
        assert_eq!(decide(&caller), expected, "{name}");
    }
}

#[test]
fn an_ambiguous_loss_looks_after_the_session_only_with_leave() {
    for (name, leave, caller) in callers() {
        let on = |session| decide(&Situation { session, ..caller });
        let expected = if leave { Verify } else { Surface };
        assert_eq!(on(SessionStanding::Suspect), expected, "{name}");
        let moves = leave && name != "an idempotent tool";
        let expected = if moves { Recover } else { Surface };
        assert_eq!(on(SessionStanding::Lost), expected, "{name}");
    }
}

#[test]
fn an_answer_is_delivered_whatever_else_holds() {
    for (name, _, caller) in callers() {
        let answered = Situation { class: Class::Answered, ..caller };
        assert_eq!(decide(&answered), Deliver, "{name}");
        let late = Situation { cancelled: true, remaining: Some(std::time::Duration::ZERO), ..answered };
        assert_eq!(decide(&late), Deliver, "{name}");
    }
}

#[test]
fn a_proof_of_the_latest_attempt_does_not_excuse_an_earlier_one() {
    let classes = [
        Class::NeverSent { transient: true },
        Class::SessionRejected,
        Class::Unauthorized,
        Class::RateLimited,
        Class::RefusedStream,
    ];
    for class in classes {
        for session in [SessionStanding::Current, SessionStanding::Replaced, SessionStanding::Lost] {
            for (name, leave, caller) in callers() {
                let situation = Situation {
                    class,
                    session,
                    ambiguity: Ambiguity::OnEarlierSession,
                    proof: ProofStanding::Proven,
                    token: TokenStanding::Fresh,
                    ..caller
                };
                let goes_on = leave && name != "an idempotent tool";
                assert_eq!(decide(&situation) != Surface, goes_on, "{class:?} {session:?}: {name}");
            }
        }
    }
}

#[test]
fn a_refused_token_is_not_refreshed_for_a_call_that_may_not_go_on() {
    let situation = Situation { ambiguity: Ambiguity::OnThisSession, ..situation(Class::Unauthorized) };
    assert_eq!(decide(&situation), Surface);
}

#[test]
fn an_ambiguous_class_needs_leave_also_if_nobody_counted_it() {
    for class in [Class::Ambiguous, Class::SessionSuspect] {
        assert_eq!(decide(&Situation { ambiguity: Ambiguity::None, ..situation(class) }), Surface);
    }
}

#[test]
fn unknown_hints_are_looked_up_where_the_resend_will_go() {
    use SessionStanding::{Current, Lost, Replaced, Suspect};
    for class in [Class::Ambiguous, Class::SessionSuspect] {
        for (session, expected) in
            [(Current, LookUpHints), (Suspect, LookUpHints), (Replaced, LookUpHints), (Lost, Recover)]
        {
            let situation = Situation { hints: Hints::Unknown, session, ..situation(class) };
            assert_eq!(decide(&situation), expected, "{class:?} {session:?}");
        }
    }
    let earlier =
        Situation { hints: Hints::Unknown, ambiguity: Ambiguity::OnThisSession, ..situation(Class::RefusedStream) };
    assert_eq!(decide(&earlier), LookUpHints);
    assert_eq!(decide(&Situation { ambiguity: Ambiguity::None, ..earlier }), resend(Wait::None, Charge::RefusedStream));
}

#[test]
fn a_token_is_refreshed_before_hints_are_asked_for() {
    let situation =
        Situation { hints: Hints::Unknown, ambiguity: Ambiguity::OnThisSession, ..situation(Class::Unauthorized) };
    assert_eq!(decide(&situation), Refresh);
    assert_eq!(decide(&Situation { token: TokenStanding::Fresh, ..situation }), LookUpHints);
}

#[test]
fn recovery_only_if_it_is_automatic() {
    for recovery in [Recovery::Surface, Recovery::Off] {
        for session in [SessionStanding::Lost, SessionStanding::Replaced] {
            check_proven(Class::SessionRejected, |s| Situation { recovery, session, ..s }, Surface);
        }
        let lost = |s| Situation { recovery, session: SessionStanding::Lost, ..s };
        check_proven(Class::NeverSent { transient: true }, lost, Surface);
        for (name, _, caller) in callers() {
            for class in [Class::Ambiguous, Class::SessionSuspect] {
                assert_eq!(decide(&lost(Situation { class, ..caller })), Surface, "{name}");
            }
        }
    }
}

#[test]
fn a_suspect_session_is_not_pinged_when_recovery_is_off() {
    let suspect = |s| Situation { session: SessionStanding::Suspect, recovery: Recovery::Off, ..s };
    check_proven(Class::NeverSent { transient: true }, suspect, resend(Wait::Backoff, Charge::Free));
    let surface = |s| Situation { session: SessionStanding::Suspect, recovery: Recovery::Surface, ..s };
    check_proven(Class::NeverSent { transient: true }, surface, Verify);
}
