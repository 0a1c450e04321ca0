//! The real binary as `oncewire serve -- COMMAND`, before a small server on standard input and output, asked by the library and by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod access;
mod bridge;
mod sessions;
mod shared;
mod streams;
