//! shuttle's lock, with one more point at which the task may be stopped: right after the unlocking. shuttle stops it before that only,
//! and what follows an unlocking without a lock of its own would always be done in one go with it.

use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError};

use shuttle::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    lock: shuttle::sync::Mutex<T>,
    unlocked: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    /// There until it is dropped.
    guard: Option<shuttle::sync::MutexGuard<'a, T>>,
    unlocked: &'a AtomicBool,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { lock: shuttle::sync::Mutex::new(value), unlocked: AtomicBool::new(false) }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let held = |guard| MutexGuard { guard: Some(guard), unlocked: &self.unlocked };
        self.lock.lock().map(held).map_err(|poisoned| PoisonError::new(held(poisoned.into_inner())))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().unwrap()
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.guard = None;
        if !std::thread::panicking() {
            // What it says is of no interest: shuttle may stop a task at every atomic.
            let _ = self.unlocked.load(Ordering::SeqCst);
        }
    }
}
