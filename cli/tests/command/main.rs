//! The command as a process of its own, against the fault server: what it writes, how it ends, and what the server's ledger says of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod call;
mod interrupt;
mod list;
mod login;
mod others;
mod stdio;
mod support;
mod terminal;
mod usage;
mod watch;
