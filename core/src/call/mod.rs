//! A call's life: attempts, deadline, cancellation, and the guard that judges it when its future is dropped.

mod cancel;
pub(crate) mod cursors;
mod drive;
mod driver;
mod ending;
pub(crate) mod engine;
mod follow_up;
mod guard;
mod hints;
mod input_required;
mod judged;
pub(crate) mod options;
mod record;
mod repair;
pub(crate) mod run;
mod send;
pub(crate) mod settings;
pub(crate) mod spec;
mod stand_in;
mod verdict;
