//! The retry budget: resends after ambiguous losses never become a storm of their own.
//!
//! Each call deposits, each such resend withdraws. A client that resends a share of its calls and a few a second is well; one that
//! resends most of them makes an outage worse. The bucket is tower's; it reads tokio's clock, so paused time moves it in tests.

use std::time::Duration;

use tower::retry::budget::{Budget as _, TpsBudget};

use crate::vocabulary::config::OptionError;

/// How long a deposit counts; tower's default.
const WINDOW: Duration = Duration::from_secs(10);

/// The share of calls that may be resent, by default.
pub(crate) const PERCENT: f64 = 20.0;
/// The resends a second that are free of the share, by default.
pub(crate) const PER_SECOND: u32 = 10;

/// The size of a budget, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BudgetSize {
    percent: f64,
    per_second: u32,
}

impl BudgetSize {
    /// `percent` of the calls and `per_second` more. Nothing of both turns resends after ambiguous losses off. The bucket counts
    /// whole calls for one resend: a share between a half and all counts as all, one between a third and a half as a half.
    ///
    /// # Errors
    /// `percent` is not a number from 0 to 1,000, or so small that it is none at all; `per_second` is above 1,000,000.
    pub(crate) fn new(percent: f64, per_second: u32) -> Result<Self, OptionError> {
        // The bucket counts in whole tokens and panics or overflows past its own bounds; these are well within.
        if !(percent == 0.0 || (0.01..=1000.0).contains(&percent)) {
            return Err(OptionError::new("retry_budget", "the percentage has to be 0, or from 0.01 to 1000"));
        }
        if per_second > 1_000_000 {
            return Err(OptionError::new("retry_budget", "the resends a second have to be at most 1,000,000"));
        }
        Ok(Self { percent, per_second })
    }
}

impl Default for BudgetSize {
    fn default() -> Self {
        Self { percent: PERCENT, per_second: PER_SECOND }
    }
}

/// The budget of one client.
#[derive(Debug)]
pub(crate) struct Budget(TpsBudget);

impl Budget {
    /// A full budget.
    #[must_use]
    pub(crate) fn new(size: BudgetSize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a percentage of at most 1,000")]
        let share = (size.percent / 100.0) as f32;
        Self(TpsBudget::new(WINDOW, size.per_second, share))
    }

    /// A call was made.
    pub(crate) fn deposit(&self) {
        self.0.deposit();
    }

    /// Takes one resend out, if there is one. Asked when a resend is decided, not before: it cannot be given back.
    #[must_use]
    pub(crate) fn withdraw(&self) -> bool {
        self.0.withdraw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(percent: f64, per_second: u32) -> Budget {
        Budget::new(BudgetSize::new(percent, per_second).unwrap())
    }

    fn withdrawals(budget: &Budget) -> usize {
        (0..100_000).take_while(|_| budget.withdraw()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_share_of_the_calls_is_added_to_the_resends_a_second() {
        let budget = Budget::new(BudgetSize::default());
        assert_eq!(withdrawals(&budget), 100, "10 a second, over 10 s");
        for _ in 0..50 {
            budget.deposit();
        }
        assert_eq!(withdrawals(&budget), 10, "20 % of 50 calls");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_spent_comes_back_with_tokios_clock() {
        let budget = budget(0.0, 2);
        assert_eq!(withdrawals(&budget), 20);
        assert!(!budget.withdraw());
        tokio::time::advance(2 * WINDOW).await;
        // The bucket commits what was spent when it is next asked, and forgets it a window later.
        let _ = budget.withdraw();
        tokio::time::advance(2 * WINDOW).await;
        assert!(withdrawals(&budget) >= 19);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_of_both_allows_nothing() {
        let budget = budget(0.0, 0);
        for _ in 0..1000 {
            budget.deposit();
        }
        assert!(!budget.withdraw());
    }

    #[tokio::test(start_paused = true)]
    async fn the_smallest_and_the_largest_sizes_work() {
        let smallest = budget(0.01, 0);
        for _ in 0..20_000 {
            smallest.deposit();
        }
        // 1 / 0.0001 in single precision is 9,999 whole tokens.
        assert_eq!(withdrawals(&smallest), 2);
        let largest = budget(1000.0, 1_000_000);
        assert!(largest.withdraw());
    }

    #[test]
    fn sizes_that_are_none_are_refused() {
        for percent in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.000_1, 0.000_1, 1000.1, f64::MAX] {
            let error = BudgetSize::new(percent, 10).unwrap_err();
            assert_eq!(error.field, "retry_budget", "{percent}");
        }
        assert!(BudgetSize::new(0.0, 1_000_001).is_err());
        assert!(BudgetSize::new(-0.0, 0).is_ok());
    }
}
