//! How long to wait before a repeat.
//!
//! The bound doubles from `first` to `max`; the delay is drawn evenly from nothing to the bound ("full jitter"), so that callers who
//! failed together do not come back together. backon makes the bounds; its own jitter adds to a bound and keeps half of the herd.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::vocabulary::config::OptionError;

/// The first bound, by default.
pub(crate) const FIRST: Duration = Duration::from_millis(100);
/// The largest bound, by default.
pub(crate) const MAX: Duration = Duration::from_secs(5);

/// The largest bound between attempts that were never sent: knocking at a closed door costs next to nothing, and sleeping past the
/// moment at which it opens costs the call its deadline.
pub(crate) const NEVER_SENT_MAX: Duration = Duration::from_secs(1);

/// The bounds of a back-off, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackoffBounds {
    first: Duration,
    max: Duration,
}

impl BackoffBounds {
    /// From `first`, doubling, to `max`.
    ///
    /// # Errors
    /// `first` is zero, which would repeat without a pause, or above `max`.
    pub(crate) fn new(first: Duration, max: Duration) -> Result<Self, OptionError> {
        if first.is_zero() {
            return Err(OptionError::new("backoff", "the first delay has to be above zero"));
        }
        if first > max {
            return Err(OptionError::new("backoff", "the first delay is above the largest"));
        }
        Ok(Self { first, max })
    }

    /// The same, with no bound above `max`.
    #[must_use]
    pub(crate) fn capped(self, max: Duration) -> Self {
        Self { first: self.first.min(max), max: self.max.min(max) }
    }
}

impl Default for BackoffBounds {
    fn default() -> Self {
        Self { first: FIRST, max: MAX }
    }
}

/// The delays of one call, one flight or one listener; each has its own.
#[derive(Debug)]
pub(crate) struct Backoff {
    bounds: BackoffBounds,
    doubling: ExponentialBackoff,
    random: fastrand::Rng,
}

impl Backoff {
    /// A back-off that has not waited yet.
    #[must_use]
    pub(crate) fn new(bounds: BackoffBounds) -> Self {
        Self::from_random(bounds, fastrand::Rng::new())
    }

    /// The same delays each time.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_seed(bounds: BackoffBounds, seed: u64) -> Self {
        Self::from_random(bounds, fastrand::Rng::with_seed(seed))
    }

    fn from_random(bounds: BackoffBounds, random: fastrand::Rng) -> Self {
        Self { bounds, doubling: doubling(bounds), random }
    }

    /// The next delay.
    pub(crate) fn next_delay(&mut self) -> Duration {
        // Without a count the delays never end; `max` is what they would end at.
        let bound = self.doubling.next().unwrap_or(self.bounds.max).min(self.bounds.max);
        let nanoseconds = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.random.u64(0..=nanoseconds))
    }

    /// Starts again from the first bound, after something went well.
    pub(crate) fn reset(&mut self) {
        self.doubling = doubling(self.bounds);
    }
}

fn doubling(bounds: BackoffBounds) -> ExponentialBackoff {
    ExponentialBuilder::new().with_min_delay(bounds.first).with_max_delay(bounds.max).without_max_times().build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(seed: u64, count: usize) -> Vec<Duration> {
        let mut backoff = Backoff::with_seed(BackoffBounds::default(), seed);
        (0..count).map(|_| backoff.next_delay()).collect()
    }

    #[test]
    fn no_delay_passes_its_bound() {
        for seed in 0..500 {
            let mut bound = FIRST;
            for (index, delay) in delays(seed, 12).into_iter().enumerate() {
                // backon doubles in single precision.
                let slack = Duration::from_micros(1);
                assert!(
                    delay <= (bound + slack).min(MAX),
                    "delay {index} of seed {seed} is {delay:?}, above {bound:?}"
                );
                bound = (bound * 2).min(MAX);
            }
        }
    }

    #[test]
    fn delays_are_spread_over_the_whole_of_their_bound() {
        let thirds = (0..600).map(|seed| delays(seed, 1)[0].as_millis() / 34).fold([0_u32; 3], |mut thirds, third| {
            thirds[third as usize] += 1;
            thirds
        });
        assert!(thirds.iter().all(|&count| (130..270).contains(&count)), "{thirds:?}");
    }

    #[test]
    fn bounds_grow_to_the_largest() {
        // The seventh bound is the first one at 5 s: 100 ms, 200, 400, 800, 1600, 3200, 5000.
        let longest = |index: usize| (0..500).map(|seed| delays(seed, 8)[index]).max().unwrap();
        assert!(longest(5) > Duration::from_millis(2_900));
        assert!(longest(6) > Duration::from_millis(4_500));
        assert!(longest(7) > Duration::from_millis(4_500));
    }

    #[test]
    fn the_same_seed_gives_the_same_delays() {
        assert_eq!(delays(7, 10), delays(7, 10));
        assert_ne!(delays(7, 10), delays(8, 10));
    }

    #[test]
    fn a_reset_starts_from_the_first_bound() {
        let mut backoff = Backoff::with_seed(BackoffBounds::default(), 3);
        for _ in 0..20 {
            backoff.next_delay();
        }
        backoff.reset();
        assert!(backoff.next_delay() <= FIRST);
    }

    #[test]
    fn a_pause_of_nothing_and_crossed_bounds_are_refused() {
        assert_eq!(BackoffBounds::new(Duration::ZERO, MAX).unwrap_err().field, "backoff");
        assert_eq!(BackoffBounds::new(MAX, FIRST).unwrap_err().field, "backoff");
        assert!(BackoffBounds::new(MAX, MAX).is_ok());
        assert!(BackoffBounds::new(FIRST, Duration::MAX).is_ok());
    }

    #[test]
    fn a_cap_lowers_what_is_above_it() {
        let second = Duration::from_secs(1);
        assert_eq!(BackoffBounds::default().capped(second), BackoffBounds { first: FIRST, max: second });
        assert_eq!(BackoffBounds::default().capped(2 * MAX), BackoffBounds::default());
        assert_eq!(
            BackoffBounds { first: 3 * second, max: MAX }.capped(second),
            BackoffBounds { first: second, max: second }
        );
    }

    #[test]
    fn a_back_off_without_end_does_not_overflow() {
        let mut backoff = Backoff::with_seed(BackoffBounds::new(FIRST, Duration::MAX).unwrap(), 1);
        assert!((0..200).map(|_| backoff.next_delay()).max().unwrap() > MAX);
    }
}
