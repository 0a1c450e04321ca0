//! Hosts the servers of many scenarios at once, and drives them.
//!
//! The Rust runner calls [`Scenario`] directly; the others reach the same over HTTP with JSON, see [`serve`].

mod api;
mod scenario;

pub use self::api::serve;
pub use self::scenario::{AwaitGate, Control, Scenario, ServerAddress};
