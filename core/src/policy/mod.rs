//! What to do about a failure.

pub(crate) mod backoff;
pub(crate) mod budget;
pub mod decide;

pub use decide::{Decision, Situation, decide};
