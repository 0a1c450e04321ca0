//! Subscriptions in the modern era: what the client wants to be told ([`wishes`]), the stream of `subscriptions/listen` that tells it
//! ([`stream`]), and what the server agreed to ([`acknowledged`]).
//!
//! The stream has one filter from its beginning to its end: to change it, the stream is issued anew. A caller that subscribes leaves a
//! [`wishes::Wish`], the stream is issued with it, the server acknowledges, and the wish is settled. In the handshake era a subscription is
//! a request like any other; there the wishes serve only to restore it on the next session.

pub(crate) mod acknowledged;
mod stream;
pub(crate) mod wishes;
