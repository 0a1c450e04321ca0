//! The sessions of one client under many orders of their threads: no waiter misses a wake-up, whoever calls, closes or gives up when.
//!
//! `sessions.rs`, `recovery.rs` and `state.rs` of `session`, and `background.rs`, are built here once more, from the files that ship, on
//! the locks and channels of shuttle: it runs every task as a thread of its own, may stop it at every lock, wait and wake-up, and draws
//! which one goes on. What lies beyond (the handshake, the ping, the events' way out) is played by `session.rs`.
//!
//! A waiter that nobody wakes is a deadlock, and shuttle tells it with the schedule that leads there. Random schedules find what many
//! switches bring about, PCT what few switches at the worst moment do. `ONCEWIRE_INTERLEAVINGS=20` runs twenty times as many.

//!
//! Not part of it: atomics weaker than sequentially consistent (the included code has none of its own), and tokio's own channels, for
//! which shuttle's copies stand. Time stands still: gaps between flights are over at once.
//!
//! What was broken on purpose, one at a time, and found, each within the schedules of a plain run:
//!
//! - the wake-up: subscribing after the look; no word when a state changed, when the client closed, when the task of a flight or of a
//!   ping was dropped; the word given when the task begins; a waiter that does not wait for the end of the task, or makes nothing of
//!   it, or takes any wake-up for it; one token for all tasks; a step that changes nothing and wakes all the same;
//! - the lock over the order: a look without it, the failure asked for before it, a landing without it;
//! - the flight: a waiter that does not ask how the flight it joined ended; a flight that ends with the call that started it; a second
//!   flight beside the first; a refusal of a session that was given up, held against the next one; `recover()` that asks anew at each look; a session kept that came after the close; a loss told each time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

extern crate shuttle_tokio as tokio;
extern crate shuttle_tokio_util as tokio_util;

mod around;
#[path = "../../src/vocabulary/background.rs"]
#[allow(dead_code, unreachable_pub, reason = "what ships has more uses than the sessions")]
mod background;
mod locks;
mod record;
mod scenarios;
mod schedules;
mod session;

// The names under which the included files know the rest of the library.
use around::{policy, protocol};

mod vocabulary {
    pub(crate) use super::around::{config, event, outcome};
    pub(crate) use super::background;
}
