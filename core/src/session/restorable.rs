//! What a new session gets back from the one before, and what the calls that asked for it keep.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the next session gets back from the one before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restorable {
    pub(crate) log_level: Option<String>,
    pub(crate) subscriptions: BTreeSet<String>,
}

/// What the sessions keep, and the requests of the modern era read.
pub(crate) type SharedRestorable = Arc<Mutex<Restorable>>;

/// Something that a call asked for, and that is restored from the moment that it is asked for: a session that is replaced while the call is
/// under way must not cost it. It is taken back if the call fails or is given up.
pub(crate) struct Kept(Option<Box<dyn FnOnce() + Send>>);

impl Kept {
    pub(crate) fn unless_granted(take_back: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(take_back)))
    }

    /// The server did it.
    pub(crate) fn granted(mut self) {
        self.0 = None;
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(take_back) = self.0.take() {
            take_back();
        }
    }
}

/// Keeps this log level.
pub(crate) fn keep_log_level(restorable: &SharedRestorable, level: &str) -> Kept {
    let before = lock(restorable).log_level.replace(level.to_owned());
    let (restorable, level) = (Arc::clone(restorable), level.to_owned());
    Kept::unless_granted(move || {
        let mut kept = lock(&restorable);
        // Another call may have asked for another one since.
        if kept.log_level == Some(level) {
            kept.log_level = before;
        }
    })
}

pub(super) fn lock(restorable: &SharedRestorable) -> MutexGuard<'_, Restorable> {
    restorable.lock().unwrap_or_else(PoisonError::into_inner)
}
