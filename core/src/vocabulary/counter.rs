//! A count of what is under way, which can be waited on.

use tokio::sync::watch;

/// Counts those who hold it. Its clones count the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(watch::Sender<usize>);

/// Counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Held(Counter);

impl Counter {
    /// One more, for as long as what this gives is held.
    pub(crate) fn hold(&self) -> Held {
        self.0.send_modify(|count| *count += 1);
        Held(self.clone())
    }

    /// Does nobody hold it?
    pub(crate) fn is_zero(&self) -> bool {
        *self.0.borrow() == 0
    }

    /// Waits until nobody holds it.
    pub(crate) async fn zero(&self) {
        // The sender lives as long as self.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
