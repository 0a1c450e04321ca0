//! Sessions: one at a time, counted by generations, each ended exactly once.

pub(crate) mod cache;
pub(crate) mod discover;
mod handle;
pub(crate) mod handshake;
mod hear;
pub(crate) mod listener;
mod listening;
mod opens;
pub(crate) mod recovery;
pub(crate) mod restorable;
pub(crate) mod restore;
pub(crate) mod router;
pub(crate) mod sessions;
pub mod state;
pub(crate) mod subscriptions;
pub(crate) mod terms;
pub(crate) mod tools;
pub(crate) mod twin;
pub(crate) mod verify;

pub(crate) use handle::Session;

/// The locks of [`sessions::Sessions`]. Named here, so that `core/tests/interleavings` builds the same code on locks that it can schedule.
mod locks {
    pub(super) use std::sync::{Mutex, MutexGuard};
}
