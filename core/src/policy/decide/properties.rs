//! What holds for every situation, and for every chain of them under an engine and a server that do their worst.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;

use super::{
    AMBIGUOUS_RESENDS, Ambiguity, Charge, Counts, Decision, EMPTY_RESUMES, Hints, ProofStanding, RATE_LIMIT_WAITS,
    RECOVERIES, REFRESHES, REFUSED_STREAMS, SESSION_LOSSES, STEP_UPS, SessionStanding, Situation, TERMS_REFUSALS,
    TokenStanding, Wait, decide,
};
use crate::transport::classify::Class;
use crate::vocabulary::config::{Recovery, Resend, TrustAnnotations};
use crate::vocabulary::method::Repeatability;

const CLASSES: [Class; 13] = [
    Class::NeverSent { transient: true },
    Class::NeverSent { transient: false },
    Class::SessionRejected,
    Class::SessionSuspect,
    Class::Unauthorized,
    Class::ScopeMissing,
    Class::RateLimited,
    Class::RefusedStream,
    Class::Rejected,
    Class::TermsRefused,
    Class::Resumable,
    Class::Ambiguous,
    Class::Answered,
];
const REFUSALS: [Class; 4] = [Class::SessionRejected, Class::Unauthorized, Class::RateLimited, Class::Rejected];
const PROOFS: [ProofStanding; 3] = [ProofStanding::Proven, ProofStanding::Unasked, ProofStanding::None];
const HINTS: [Hints; 6] = [
    Hints::Unknown,
    Hints::Unavailable,
    Hints::Known { read_only: false, idempotent: false },
    Hints::Known { read_only: true, idempotent: false },
    Hints::Known { read_only: false, idempotent: true },
    Hints::Known { read_only: true, idempotent: true },
];
const SESSIONS: [SessionStanding; 4] =
    [SessionStanding::Current, SessionStanding::Suspect, SessionStanding::Lost, SessionStanding::Replaced];
const TOKENS: [TokenStanding; 3] = [TokenStanding::NoProvider, TokenStanding::Refused, TokenStanding::Fresh];

fn any_wait() -> impl Strategy<Value = Option<Duration>> {
    select(vec![None, Some(0), Some(1), Some(30), Some(60), Some(61), Some(100_000)])
        .prop_map(|seconds| seconds.map(Duration::from_secs))
}

fn any_counts() -> impl Strategy<Value = Counts> {
    (0..4_u32, 0..4_u32, 0..4_u32, 0..3_u32, 0..4_u32, 0..3_u32, 0..3_u32, 0..5_u32, 0..5_u32).prop_map(
        |(
            ambiguous_resends,
            session_losses,
            recoveries,
            refreshes,
            step_ups,
            refused_streams,
            terms_refusals,
            rate_limit_waits,
            empty_resumes,
        )| {
            Counts {
                ambiguous_resends,
                session_losses,
                recoveries,
                refreshes,
                step_ups,
                refused_streams,
                terms_refusals,
                rate_limit_waits,
                resumes: empty_resumes,
                empty_resumes,
            }
        },
    )
}

fn any_situation() -> impl Strategy<Value = Situation> {
    let caller = (
        select(vec![Repeatability::Read, Repeatability::Idempotent, Repeatability::ByTool, Repeatability::Never]),
        select(vec![Resend::Always, Resend::Default, Resend::Never]),
        select(vec![TrustAnnotations::None, TrustAnnotations::ReadOnly, TrustAnnotations::Hinted]),
        select(vec![Recovery::Auto, Recovery::Surface, Recovery::Off]),
    );
    let server = (
        select(CLASSES.to_vec()),
        select(HINTS.to_vec()),
        select(SESSIONS.to_vec()),
        select(vec![Ambiguity::None, Ambiguity::OnThisSession, Ambiguity::OnEarlierSession]),
        select(TOKENS.to_vec()),
        select(PROOFS.to_vec()),
    );
    let clocks = (any_wait(), any_wait(), select(vec![0, 1, 10]));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (caller, server, clocks, flags, any_counts()).prop_map(|(caller, server, clocks, flags, counts)| Situation {
        repeatability: caller.0,
        resend: caller.1,
        trust: caller.2,
        recovery: caller.3,
        class: server.0,
        hints: server.1,
        session: server.2,
        ambiguity: server.3,
        token: server.4,
        proof: proof_of(server.0, server.5),
        retry_after: clocks.0,
        retry_after_max: Duration::from_secs(60),
        remaining: clocks.1,
        patience: Duration::from_secs(clocks.2),
        verified: flags.0,
        cancelled: flags.1,
        budget: flags.2,
        counts,
    })
}

/// Only of a refusal it is open whether there is a proof.
fn proof_of(class: Class, drawn: ProofStanding) -> ProofStanding {
    match class {
        Class::NeverSent { .. } | Class::RefusedStream | Class::ScopeMissing => ProofStanding::Proven,
        _ if REFUSALS.contains(&class) => drawn,
        _ => ProofStanding::None,
    }
}

/// May the call run twice, in the words of the design and not in those of the code?
fn may_run_twice(s: &Situation) -> bool {
    let known = |wanted: fn(bool, bool) -> bool| matches!(s.hints, Hints::Known { read_only, idempotent } if wanted(read_only, idempotent));
    let tool = s.repeatability == Repeatability::ByTool;
    let session_stays = matches!(s.session, SessionStanding::Current | SessionStanding::Suspect)
        && s.ambiguity != Ambiguity::OnEarlierSession;
    let by_hint = tool
        && (s.trust != TrustAnnotations::None && known(|read_only, _| read_only)
            || s.trust == TrustAnnotations::Hinted && known(|_, idempotent| idempotent) && session_stays);
    let by_method = matches!(s.repeatability, Repeatability::Read | Repeatability::Idempotent);
    s.resend == Resend::Always || s.resend == Resend::Default && (by_method || by_hint)
}

/// Has any attempt perhaps run?
fn may_have_run(s: &Situation) -> bool {
    s.ambiguity != Ambiguity::None || s.proof != ProofStanding::Proven
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn nothing_that_may_have_run_is_sent_again_without_leave(s in any_situation()) {
        if may_have_run(&s) && !may_run_twice(&s) {
            prop_assert!(!matches!(decide(&s), Decision::Resend { .. }), "{:?}", decide(&s));
        }
    }

    #[test]
    fn nothing_is_started_for_a_caller_who_is_gone_or_out_of_time(s in any_situation()) {
        if s.cancelled || s.remaining == Some(Duration::ZERO) {
            let over = matches!(decide(&s), Decision::Surface | Decision::Deliver);
            prop_assert!(over, "{:?}", decide(&s));
        }
    }

    #[test]
    fn only_an_answer_is_delivered(s in any_situation()) {
        prop_assert_eq!(decide(&s) == Decision::Deliver, s.class == Class::Answered);
    }

    #[test]
    fn a_resend_goes_to_a_session_that_is_not_known_to_be_lost(s in any_situation()) {
        if matches!(decide(&s), Decision::Resend { .. }) {
            prop_assert_ne!(s.session, SessionStanding::Lost);
            let rejected = s.class == Class::SessionRejected;
            let gone = rejected && s.proof == ProofStanding::Proven;
            prop_assert!(!gone || s.session == SessionStanding::Replaced);
        }
    }

    #[test]
    fn a_session_is_replaced_only_if_it_is_gone_and_the_caller_wants_it(s in any_situation()) {
        if decide(&s) == Decision::Recover {
            prop_assert_eq!(s.recovery, Recovery::Auto);
            let gone = s.class == Class::SessionRejected && s.proof == ProofStanding::Proven;
            prop_assert!(s.session == SessionStanding::Lost || gone);
        }
    }

    #[test]
    fn hints_are_asked_for_only_where_they_can_matter(s in any_situation()) {
        if decide(&s) == Decision::LookUpHints {
            prop_assert!(may_have_run(&s) && s.hints == Hints::Unknown && s.repeatability == Repeatability::ByTool);
            prop_assert!(s.trust != TrustAnnotations::None && s.resend == Resend::Default);
            prop_assert_ne!(s.proof, ProofStanding::Unasked, "a twin costs the same and proves more");
        }
    }

    #[test]
    fn a_twin_is_asked_exactly_where_a_refused_call_would_end_or_needs_leave(s in any_situation()) {
        let waited_for = !s.cancelled && s.remaining != Some(Duration::ZERO);
        if decide(&s) == Decision::Confirm {
            prop_assert_eq!(s.proof, ProofStanding::Unasked);
            prop_assert!(waited_for && REFUSALS.contains(&s.class));
            // And nothing is learnt that needs it again.
            for proof in [ProofStanding::Proven, ProofStanding::None] {
                prop_assert_ne!(decide(&Situation { proof, ..s }), Decision::Confirm);
            }
        }
        if s.proof == ProofStanding::Unasked && waited_for {
            prop_assert_ne!(decide(&s), Decision::Surface, "its verdict is not known");
        }
    }

    #[test]
    fn who_says_never_has_only_repeated_what_was_never_sent(s in any_situation()) {
        let s = Situation { resend: Resend::Never, ..s };
        if matches!(decide(&s), Decision::Resend { .. }) {
            let never_sent = matches!(s.class, Class::NeverSent { .. });
            prop_assert!(never_sent && s.ambiguity == Ambiguity::None);
        }
    }

    #[test]
    fn surface_and_off_recover_nothing_and_off_pings_nothing(s in any_situation()) {
        for recovery in [Recovery::Surface, Recovery::Off] {
            let decision = decide(&Situation { recovery, ..s });
            prop_assert_ne!(decision, Decision::Recover);
            prop_assert!(recovery != Recovery::Off || decision != Decision::Verify);
        }
    }

    #[test]
    fn a_wait_that_the_server_asks_for_is_kept_within_bounds(s in any_situation()) {
        if let Decision::Resend { wait, .. } = decide(&s) {
            let told = matches!(s.class, Class::RateLimited | Class::Ambiguous);
            if let (true, Some(asked)) = (told, s.retry_after) {
                prop_assert_eq!(wait, Wait::Exactly(asked));
            }
            if let Wait::Exactly(wait) = wait {
                prop_assert!(wait <= s.retry_after_max && s.remaining.is_none_or(|remaining| wait < remaining));
            }
        }
    }

    #[test]
    fn every_call_ends_whatever_the_server_does(start in any_situation(), script in prop::collection::vec(any::<u8>(), 0..300)) {
        Call::new(start, script).run();
    }
}

/// How many times the server of a [`Call`] sends a new event id, and how many never-sent attempts fit into its patience. Both are
/// bounds that the table does not set: a server that goes on sending is alive, and patience is a clock.
const NEW_EVENTS: u32 = 5;
const PATIENCE: u32 = 10;

/// A call in the hands of a server that does its worst within what the engine promises to the table.
struct Call {
    now: Situation,
    script: std::vec::IntoIter<u8>,
    /// How it stood before the latest attempt.
    before: Ambiguity,
    attempts: u32,
    /// Twins; one for each attempt at most.
    twins: u32,
    new_events: u32,
    unsent: u32,
}

impl Call {
    fn new(start: Situation, script: Vec<u8>) -> Self {
        let ambiguity = Ambiguity::None;
        let now = Situation { counts: Counts::default(), cancelled: false, remaining: None, ambiguity, ..start };
        let script = script.into_iter();
        let mut call = Self { now, script, before: ambiguity, attempts: 0, twins: 0, new_events: 0, unsent: 0 };
        call.attempt(start.class);
        call
    }

    /// The next of the server's choices; when its script is over it takes the first.
    fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.script.next().unwrap_or(0)) % choices.len()]
    }

    /// A new attempt ends like this.
    fn attempt(&mut self, class: Class) {
        self.attempts += 1;
        self.now.class = class;
        self.now.verified = false;
        self.now.counts.empty_resumes = 0;
        self.now.token = self.choose(&TOKENS);
        self.now.budget = self.choose(&[true, false]);
        self.before = self.now.ambiguity;
        let drawn = self.choose(&PROOFS);
        self.now.proof = proof_of(class, drawn);
        if self.now.proof != ProofStanding::Proven && self.now.ambiguity == Ambiguity::None {
            self.now.ambiguity = Ambiguity::OnThisSession;
        }
        if class == (Class::NeverSent { transient: true }) {
            self.unsent += 1;
        }
        self.now.patience = Duration::from_secs(u64::from(PATIENCE.saturating_sub(self.unsent)));
        self.now.session = self.choose(&SESSIONS);
        if class == Class::SessionRejected {
            self.now.counts.session_losses += 1;
        }
        if self.now.session == SessionStanding::Replaced {
            self.replaced();
        }
    }

    /// There is a newer session, of which no hints are known.
    fn replaced(&mut self) {
        self.now.session = SessionStanding::Replaced;
        self.now.hints = Hints::Unknown;
        for ambiguity in [&mut self.now.ambiguity, &mut self.before] {
            if *ambiguity == Ambiguity::OnThisSession {
                *ambiguity = Ambiguity::OnEarlierSession;
            }
        }
    }

    /// The twin is refused in the same words, or not.
    fn confirm(&mut self) {
        self.twins += 1;
        self.now.proof = self.choose(&[ProofStanding::None, ProofStanding::Proven]);
        if self.now.proof == ProofStanding::Proven {
            self.now.ambiguity = self.before;
        }
        // Whatever it says, others have looked after the session meanwhile.
        self.now.session = self.choose(&SESSIONS);
        if self.now.session == SessionStanding::Replaced {
            self.replaced();
        }
    }

    fn run(mut self) {
        for _ in 0..500 {
            match decide(&self.now) {
                Decision::Deliver | Decision::Surface => return self.check(),
                Decision::Confirm => self.confirm(),
                Decision::Recover => {
                    self.now.counts.recoveries += 1;
                    self.replaced();
                    // And is lost again, before this call has seen it.
                    self.now.session = self.choose(&[SessionStanding::Replaced, SessionStanding::Lost]);
                }
                Decision::Verify => {
                    self.now.verified = true;
                    self.now.session = self.choose(&SESSIONS);
                    if self.now.session == SessionStanding::Replaced {
                        self.replaced();
                    }
                }
                Decision::Refresh => self.now.token = TokenStanding::Fresh,
                Decision::LookUpHints => self.now.hints = self.choose(&HINTS[1..]),
                Decision::Resume { .. } => self.resume(),
                Decision::Resend { charge, .. } => {
                    let counts = &mut self.now.counts;
                    match charge {
                        Charge::Free => {}
                        Charge::Ambiguous => counts.ambiguous_resends += 1,
                        Charge::Refresh => counts.refreshes += 1,
                        Charge::StepUp => counts.step_ups += 1,
                        Charge::RefusedStream => counts.refused_streams += 1,
                        Charge::Terms => counts.terms_refusals += 1,
                        Charge::RateLimit => counts.rate_limit_waits += 1,
                    }
                    let class = self.choose(&CLASSES);
                    self.attempt(class);
                }
            }
        }
        panic!("the call never ends: {:?}", self.now);
    }

    fn resume(&mut self) {
        let (empty, refused, new) = (0, 1, 2);
        match self.choose(&[empty, refused, new]) {
            2 if self.new_events < NEW_EVENTS => {
                self.new_events += 1;
                self.now.counts.empty_resumes = 0;
            }
            1 => self.now.class = Class::Ambiguous,
            _ => self.now.counts.empty_resumes += 1,
        }
    }

    fn check(&self) {
        let counts = self.now.counts;
        assert!(counts.ambiguous_resends <= AMBIGUOUS_RESENDS, "{counts:?}");
        assert!(counts.recoveries <= RECOVERIES, "{counts:?}");
        assert!(counts.session_losses <= SESSION_LOSSES + 1, "{counts:?}");
        assert!(counts.refreshes <= REFRESHES && counts.step_ups <= STEP_UPS, "{counts:?}");
        assert!(counts.refused_streams <= REFUSED_STREAMS, "{counts:?}");
        assert!(counts.rate_limit_waits <= RATE_LIMIT_WAITS, "{counts:?}");
        assert!(counts.empty_resumes <= EMPTY_RESUMES, "{counts:?}");
        let charged = AMBIGUOUS_RESENDS + REFRESHES + STEP_UPS + REFUSED_STREAMS + TERMS_REFUSALS + RATE_LIMIT_WAITS;
        let bound = 1 + charged + SESSION_LOSSES + PATIENCE;
        assert!(self.attempts <= bound, "{} attempts", self.attempts);
        assert!(self.twins <= self.attempts, "{} twins of {} attempts", self.twins, self.attempts);
        let gone = self.now.class != Class::Answered && self.now.proof == ProofStanding::Unasked;
        assert!(!gone, "the call ends without its verdict");
    }
}
