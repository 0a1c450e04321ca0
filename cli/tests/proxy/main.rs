//! The real binary as `oncewire proxy URL`, driven over its pipes like a host does, with the fault server behind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod eras;
mod faults;
mod host;
mod lines;
mod modern;
mod traffic;
