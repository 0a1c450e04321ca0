//! Cases under paused time, over the scripted exchange: what a clock, a bound or a race decides, one concern a file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clocks;
mod close;
mod dropped;
mod handlers;
mod handshake;
mod hints;
mod limits;
mod listener;
mod paging;
mod recovery;
mod resume;
mod retries;
mod support;
mod threads;
mod tokens;
mod verify;
