//! The clocks of one call: the deadline, the total cap, and their pauses.
//!
//! Monotonic (tokio's clock, so tests can pause it). The clock stands still while a handler of this very call runs: a person who
//! answers an elicitation must not be timed out by it.

use std::future::pending;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The time-outs of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// The whole call.
    pub(crate) timeout: Option<Duration>,
    /// No byte of an answer for that long.
    pub(crate) idle_timeout: Option<Duration>,
    /// Progress starts `timeout` anew.
    pub(crate) reset_on_progress: bool,
    /// The cap that progress cannot move.
    pub(crate) max_total_timeout: Option<Duration>,
}

#[derive(Debug)]
struct Hands {
    deadline: Option<Instant>,
    cap: Option<Instant>,
    /// Handlers of this call that run now, and since when.
    pauses: u32,
    paused_at: Instant,
}

/// The running clock of one call.
#[derive(Debug)]
pub(crate) struct CallClock {
    timeouts: Timeouts,
    hands: Mutex<Hands>,
    moved: Notify,
}

impl CallClock {
    pub(crate) fn start(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        let after = |duration: Option<Duration>| duration.and_then(|duration| now.checked_add(duration));
        Self {
            timeouts,
            hands: Mutex::new(Hands {
                deadline: after(timeouts.timeout),
                cap: after(timeouts.max_total_timeout),
                pauses: 0,
                paused_at: now,
            }),
            moved: Notify::new(),
        }
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    fn hands(&self) -> std::sync::MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instant at which the call ends, as things stand; `None` without a deadline or while the clock stands still.
    fn end(&self) -> Option<Instant> {
        let hands = self.hands();
        if hands.pauses > 0 {
            return None;
        }
        match (hands.deadline, hands.cap) {
            (Some(deadline), Some(cap)) => Some(deadline.min(cap)),
            (deadline, cap) => deadline.or(cap),
        }
    }

    /// Time to the deadline; `None` without one.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.end().map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// A progress notification of this call arrived.
    pub(crate) fn progress(&self) {
        if !self.timeouts.reset_on_progress {
            return;
        }
        if let Some(timeout) = self.timeouts.timeout {
            {
                let mut hands = self.hands();
                // What the clock stood still is added when it goes on.
                let now = if hands.pauses > 0 { hands.paused_at } else { Instant::now() };
                hands.deadline = now.checked_add(timeout);
            }
            self.moved.notify_waiters();
        }
    }

    /// The clock stands still until the guard is dropped.
    pub(crate) fn pause(self: &std::sync::Arc<Self>) -> Pause {
        {
            let mut hands = self.hands();
            if hands.pauses == 0 {
                hands.paused_at = Instant::now();
            }
            hands.pauses += 1;
        }
        self.moved.notify_waiters();
        Pause(std::sync::Arc::clone(self))
    }

    /// Completes when no handler of the call runs; true if one did.
    pub(crate) async fn goes_on(&self) -> bool {
        let mut stood = false;
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if self.hands().pauses == 0 {
                return stood;
            }
            stood = true;
            moved.await;
        }
    }

    /// Completes when the deadline has passed; never, without one.
    pub(crate) async fn expired(&self) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            // Registered before the look at the hands, so that no move between the two is missed.
            moved.as_mut().enable();
            match self.end() {
                Some(end) => {
                    tokio::select! {
                        () = sleep_until(end) => {
                            if self.end().is_some_and(|end| end <= Instant::now()) { return; }
                        }
                        () = moved => {}
                    }
                }
                None if self.hands().pauses > 0 => moved.await,
                None => pending().await,
            }
        }
    }
}

/// While it lives, the clock of a call stands still.
#[derive(Debug)]
pub(crate) struct Pause(std::sync::Arc<CallClock>);

impl Drop for Pause {
    fn drop(&mut self) {
        {
            let mut hands = self.0.hands();
            hands.pauses -= 1;
            if hands.pauses == 0 {
                let stood = hands.paused_at.elapsed();
                hands.deadline = hands.deadline.and_then(|deadline| deadline.checked_add(stood));
                hands.cap = hands.cap.and_then(|cap| cap.checked_add(stood));
            }
        }
        self.0.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn clock(timeout: u64, reset: bool, cap: Option<u64>) -> Arc<CallClock> {
        Arc::new(CallClock::start(Timeouts {
            timeout: Some(Duration::from_millis(timeout)),
            idle_timeout: None,
            reset_on_progress: reset,
            max_total_timeout: cap.map(Duration::from_millis),
        }))
    }

    async fn elapsed_at_expiry(clock: &CallClock, started: Instant) -> u128 {
        clock.expired().await;
        started.elapsed().as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn progress_starts_the_timeout_anew_up_to_the_cap() {
        let started = Instant::now();
        let clock = clock(1_000, true, Some(2_000));
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            clock.progress();
        }
        assert_eq!(elapsed_at_expiry(&clock, started).await, 2_000);
    }

    #[tokio::test(start_paused = true)]
    async fn progress_moves_nothing_without_the_option() {
        let started = Instant::now();
        let clock = clock(1_000, false, None);
        tokio::time::sleep(Duration::from_millis(400)).await;
        clock.progress();
        assert_eq!(elapsed_at_expiry(&clock, started).await, 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn progress_during_a_pause_does_not_count_the_pause_twice() {
        let started = Instant::now();
        let clock = clock(2_000, true, None);
        let pause = clock.pause();
        tokio::time::sleep(Duration::from_secs(99)).await;
        clock.progress();
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(pause);
        assert_eq!(elapsed_at_expiry(&clock, started).await, 102_000);
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_stands_still_while_a_handler_runs() {
        let started = Instant::now();
        let clock = clock(1_000, false, Some(1_500));
        let pause = clock.pause();
        let waiting = tokio::spawn({
            let clock = Arc::clone(&clock);
            async move { elapsed_at_expiry(&clock, started).await }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(clock.remaining(), None);
        drop(pause);
        assert_eq!(waiting.await.unwrap(), 6_000);
    }
}
