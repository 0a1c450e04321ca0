//! The sessions of one client under many orders of their threads: no waiter misses a wake-up, whoever calls, closes or gives up when.
//!
//! `session/sessions.rs`, `recovery.rs` and `state.rs` and `background.rs` are built here once more, from the files that ship, on the locks and
//! channels of shuttle: it runs every task as a thread of its own, may stop it at every lock, wait and wake-up, and draws which one goes
//! on. What lies beyond (the handshake, the ping, the events' way out) is played by `session.rs`.
//!
//! A waiter that nobody wakes is a deadlock, and shuttle tells it with the schedule that leads there. Random schedules find what many
//! switches bring about, PCT what few switches at the worst moment do. `ONCEWIRE_INTERLEAVINGS=20` runs twenty times as many.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

extern crate shuttle_tokio as tokio;
extern crate shuttle_tokio_util as tokio_util;

mod around;
#[path = "../../src/background.rs"]
#[allow(dead_code, unreachable_pub, reason = "what ships has more uses than the sessions")]
mod background;
mod record;
mod scenarios;
mod schedules;
mod session;

// The names under which the included files know the rest of the library.
use around::{config, era, event, outcome, policy, results};
