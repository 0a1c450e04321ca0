//! Taking a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock, also after somebody panicked who held it: what is behind it is whole between any two lines that hold it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
