//! The native half of the oncewire package for Node. It is private to the package: the public, typed half is in `ts/`.
//!
//! It decides nothing. A call comes in as text and goes to the core; what comes of it goes back as text through one mailbox for each
//! client, in the order in which it happened. Errors are data here: JavaScript makes the classes, so that their stacks show the caller.

// The macros of napi write unsafe code; nothing here does.
#![deny(unsafe_op_in_unsafe_fn)]

mod call;
mod client;
// Public, so that a build for tests, which exports nothing to Node, does not take its function for an unused one.
pub mod command;
mod hooks;
mod mailbox;
mod options;
mod runtime;
