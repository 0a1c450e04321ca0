//! Waiting for a lock that the operating system keeps.
//!
//! It is asked for again and again, not waited for in the system: a thread that waits there can be neither called back nor given a bound,
//! and would hold up the end of the runtime. So who gives up has left nothing behind, and the price is a gap of [`LONGEST_GAP`] at most
//! between the moment when a lock is free and the moment when it is taken.

use std::fs::File;
use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::oauth::store::{StoreError, StoreErrorKind};

/// The gap between the first two tries; each is twice the one before, up to the longest.
const FIRST_GAP: Duration = Duration::from_millis(2);
const LONGEST_GAP: Duration = Duration::from_millis(50);

/// The locked file, once a try gives it.
pub(super) async fn locked<F>(patience: Duration, attempt: impl Fn() -> F) -> Result<File, StoreError>
where
    F: Future<Output = Result<Option<File>, StoreError>>,
{
    let begin = Instant::now();
    let mut gap = FIRST_GAP;
    loop {
        if let Some(file) = attempt().await? {
            return Ok(file);
        }
        let left = patience.saturating_sub(begin.elapsed());
        if left.is_zero() {
            let text = format!("another process has held the lock of this login for {patience:?}");
            return Err(StoreError::new(StoreErrorKind::Busy, text));
        }
        // Many wait for one: they do not come at the same moment.
        sleep(gap.mul_f64(0.5 + fastrand::f64() / 2.0).min(left)).await;
        gap = (gap * 2).min(LONGEST_GAP);
    }
}
