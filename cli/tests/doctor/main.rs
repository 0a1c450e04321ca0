//! `oncewire doctor` on the fault server, as a person runs it: the command itself, in a process of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod command;
mod faults;
mod harmless;
mod said;
#[cfg(unix)]
mod stdio;
mod tls;
