//! What ends a call's resends: its own counts, the budget, patience, the deadline and the caller.

use std::time::Duration;

use super::{callers, resend, situation};
use crate::policy::decide::{
    AMBIGUOUS_RESENDS, Charge, Counts, Decision::*, EMPTY_RESUMES, RATE_LIMIT_WAITS, RECOVERIES, REFRESHES,
    REFUSED_STREAMS, RESUME_WAIT_MAX, SESSION_LOSSES, SessionStanding, Situation, TokenStanding, Wait, decide,
};
use crate::transport::classify::Class;
use crate::vocabulary::method::Repeatability;

const SECOND: Duration = Duration::from_secs(1);

/// A read method: it has leave for everything, so that only the bound can stop it.
fn read(class: Class, counts: Counts) -> Situation {
    Situation { repeatability: Repeatability::Read, counts, ..situation(class) }
}

#[test]
fn two_resends_after_ambiguous_losses() {
    for class in [Class::Ambiguous, Class::SessionSuspect] {
        for ambiguous_resends in 0..5 {
            let expected =
                if ambiguous_resends < AMBIGUOUS_RESENDS { resend(Wait::Backoff, Charge::Ambiguous) } else { Surface };
            let counts = Counts { ambiguous_resends, ..Counts::default() };
            assert_eq!(decide(&read(class, counts)), expected, "{class:?} {ambiguous_resends}");
        }
        for session in [SessionStanding::Suspect, SessionStanding::Lost] {
            let counts = Counts { ambiguous_resends: AMBIGUOUS_RESENDS, ..Counts::default() };
            let used_up = Situation { session, ..read(class, counts) };
            assert_eq!(decide(&used_up), Surface, "no ping and no handshake for a call that ends here");
        }
    }
}

#[test]
fn two_losses_of_a_session_and_a_third_surfaces() {
    for (session_losses, expected) in [(1, Recover), (SESSION_LOSSES, Recover), (SESSION_LOSSES + 1, Surface)] {
        let lost = Situation {
            session: SessionStanding::Lost,
            ..read(Class::SessionRejected, Counts { session_losses, ..Counts::default() })
        };
        assert_eq!(decide(&lost), expected, "{session_losses}");
    }
    let counts = Counts { session_losses: SESSION_LOSSES + 1, ..Counts::default() };
    let replaced = Situation { session: SessionStanding::Replaced, ..read(Class::SessionRejected, counts) };
    assert_eq!(decide(&replaced), Surface, "also if others have replaced it");
}

#[test]
fn two_recoveries_whatever_asked_for_them() {
    for class in [Class::SessionRejected, Class::Ambiguous, Class::SessionSuspect, Class::NeverSent { transient: true }]
    {
        for (recoveries, expected) in [(0, Recover), (RECOVERIES - 1, Recover), (RECOVERIES, Surface)] {
            let counts = Counts { recoveries, ..Counts::default() };
            let lost = Situation { session: SessionStanding::Lost, ..read(class, counts) };
            assert_eq!(decide(&lost), expected, "{class:?} {recoveries}");
        }
    }
}

#[test]
fn one_resend_after_a_401() {
    let counts = Counts { refreshes: REFRESHES, ..Counts::default() };
    for token in [TokenStanding::Refused, TokenStanding::Fresh, TokenStanding::NoProvider] {
        assert_eq!(decide(&Situation { token, ..read(Class::Unauthorized, counts) }), Surface, "{token:?}");
    }
}

#[test]
fn one_resend_after_a_refused_stream() {
    let counts = Counts { refused_streams: REFUSED_STREAMS, ..Counts::default() };
    assert_eq!(decide(&read(Class::RefusedStream, counts)), Surface);
}

#[test]
fn three_waits_after_a_429() {
    for rate_limit_waits in 0..5 {
        let counts = Counts { rate_limit_waits, ..Counts::default() };
        let expected =
            if rate_limit_waits < RATE_LIMIT_WAITS { resend(Wait::Backoff, Charge::RateLimit) } else { Surface };
        assert_eq!(decide(&read(Class::RateLimited, counts)), expected, "{rate_limit_waits}");
    }
}

#[test]
fn a_retry_after_is_kept_exactly_or_not_at_all() {
    let limited = |retry_after, remaining| {
        decide(&Situation { retry_after: Some(retry_after), remaining, ..read(Class::RateLimited, Counts::default()) })
    };
    let waits = |wait| resend(Wait::Exactly(wait), Charge::RateLimit);
    assert_eq!(limited(Duration::ZERO, None), waits(Duration::ZERO));
    assert_eq!(limited(60 * SECOND, None), waits(60 * SECOND));
    assert_eq!(limited(61 * SECOND, None), Surface, "past retry_after_max");
    assert_eq!(limited(9 * SECOND, Some(10 * SECOND)), waits(9 * SECOND));
    assert_eq!(limited(10 * SECOND, Some(10 * SECOND)), Surface, "the deadline would have passed");
    assert_eq!(limited(11 * SECOND, Some(10 * SECOND)), Surface);
}

#[test]
fn a_server_that_says_when_it_is_back_is_waited_for_exactly_or_not_at_all() {
    let unavailable = |retry_after, remaining| {
        decide(&Situation { retry_after: Some(retry_after), remaining, ..read(Class::Ambiguous, Counts::default()) })
    };
    let waits = |wait| resend(Wait::Exactly(wait), Charge::Ambiguous);
    assert_eq!(unavailable(Duration::ZERO, None), waits(Duration::ZERO));
    assert_eq!(unavailable(60 * SECOND, None), waits(60 * SECOND));
    assert_eq!(unavailable(61 * SECOND, None), Surface, "past retry_after_max");
    assert_eq!(unavailable(9 * SECOND, Some(10 * SECOND)), waits(9 * SECOND));
    assert_eq!(unavailable(10 * SECOND, Some(10 * SECOND)), Surface, "the deadline would have passed");
    for (name, leave, caller) in callers() {
        let told = Situation { retry_after: Some(SECOND), ..caller };
        assert_eq!(decide(&told), if leave { waits(SECOND) } else { Surface }, "{name}");
    }
    let counts = Counts { ambiguous_resends: AMBIGUOUS_RESENDS, ..Counts::default() };
    let used_up = Situation { retry_after: Some(SECOND), ..read(Class::Ambiguous, counts) };
    assert_eq!(decide(&used_up), Surface, "it gives no resend of its own");
    let poor = Situation { budget: false, counts: Counts::default(), ..used_up };
    assert_eq!(decide(&poor), Surface);
}

#[test]
fn three_empty_resumes_and_a_long_wait_make_the_loss_ambiguous() {
    let resumable = |empty_resumes, retry_after, remaining| {
        let counts = Counts { resumes: empty_resumes, empty_resumes, ..Counts::default() };
        Situation { retry_after, remaining, ..read(Class::Resumable, counts) }
    };
    // A server that gives a new id and closes each time is not asked again without a pause.
    let polled = Counts { resumes: 5, ..Counts::default() };
    assert_eq!(decide(&read(Class::Resumable, polled)), Resume { wait: Wait::Backoff });
    let resumes = |wait| Resume { wait };
    assert_eq!(decide(&resumable(0, None, None)), resumes(Wait::None));
    assert_eq!(decide(&resumable(1, None, None)), resumes(Wait::Backoff));
    assert_eq!(decide(&resumable(2, Some(SECOND), None)), resumes(Wait::Exactly(SECOND)));
    assert_eq!(decide(&resumable(0, Some(RESUME_WAIT_MAX), None)), resumes(Wait::Exactly(RESUME_WAIT_MAX)));
    let over = [
        resumable(EMPTY_RESUMES, None, None),
        resumable(0, Some(RESUME_WAIT_MAX + SECOND), None),
        resumable(0, Some(2 * SECOND), Some(2 * SECOND)),
    ];
    for situation in over {
        assert_eq!(decide(&situation), resend(Wait::Backoff, Charge::Ambiguous), "{situation:?}");
        let poke = Situation { repeatability: Repeatability::ByTool, ..situation };
        assert_eq!(decide(&poke), Surface, "{poke:?}");
    }
}

#[test]
fn patience_ends_the_repeats_of_what_was_never_sent() {
    let never_sent = read(Class::NeverSent { transient: true }, Counts::default());
    assert_eq!(decide(&Situation { patience: Duration::ZERO, ..never_sent }), Surface);
    // Nothing else ends them.
    let counts = Counts {
        ambiguous_resends: 9,
        session_losses: 9,
        refreshes: 9,
        refused_streams: 9,
        rate_limit_waits: 9,
        ..Counts::default()
    };
    let patient = Situation { counts, budget: false, ..never_sent };
    assert_eq!(decide(&patient), resend(Wait::Backoff, Charge::Free));
}

#[test]
fn the_budget_bounds_resends_after_ambiguous_losses_only() {
    let poor = |class| decide(&Situation { budget: false, ..read(class, Counts::default()) });
    assert_eq!(poor(Class::Ambiguous), Surface);
    assert_eq!(poor(Class::SessionSuspect), Surface);
    assert_eq!(poor(Class::SessionRejected), Recover);
    assert_eq!(poor(Class::RateLimited), resend(Wait::Backoff, Charge::RateLimit));
    assert_eq!(poor(Class::RefusedStream), resend(Wait::None, Charge::RefusedStream));
    assert_eq!(poor(Class::Resumable), Resume { wait: Wait::None });
}

#[test]
fn nothing_is_sent_for_a_caller_who_is_gone_or_out_of_time() {
    let classes = [
        Class::NeverSent { transient: true },
        Class::SessionRejected,
        Class::SessionSuspect,
        Class::Unauthorized,
        Class::RateLimited,
        Class::RefusedStream,
        Class::Rejected,
        Class::Resumable,
        Class::Ambiguous,
    ];
    for class in classes {
        for (name, _, caller) in callers() {
            let cancelled = Situation { class, cancelled: true, ..caller };
            let late = Situation { class, remaining: Some(Duration::ZERO), ..caller };
            assert_eq!([decide(&cancelled), decide(&late)], [Surface; 2], "{class:?}: {name}");
        }
    }
}
