//! The time that is left for one server.

use std::time::{Duration, Instant};

/// No single answer is waited for longer than this.
const ONE_ANSWER: Duration = Duration::from_secs(10);
/// What is kept for the DELETEs at the end.
const FOR_THE_END: Duration = Duration::from_secs(2);

/// Until when one server may be examined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    deadline: Instant,
}

impl Budget {
    pub(super) fn of(whole: Duration) -> Self {
        Self { deadline: Instant::now() + whole }
    }

    /// How long the next answer may take; none if the time is over.
    pub(super) fn next(&self) -> Option<Duration> {
        self.up_to(ONE_ANSWER)
    }

    /// As long as that, or what is left.
    pub(super) fn up_to(&self, most: Duration) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now()).saturating_sub(FOR_THE_END);
        (left > Duration::ZERO).then_some(left.min(most))
    }

    /// For what has to be done at the end in any case.
    pub(super) fn for_the_end(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).clamp(FOR_THE_END / 2, ONE_ANSWER)
    }
}
