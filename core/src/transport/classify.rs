//! What a failure proves. One pure function for each kind of exchange; the only place that reads a status code or an I/O error to
//! conclude anything.
//!
//! [`call`] judges an attempt of a call, `twin` the harmless request that confirms a refusal, `ping` whether a session is alive, [`handshake`] the two steps of the handshake, [`probe`] the question which era a server speaks,
//! [`listener`], [`listen`] and [`resume`] the streams that a server may speak on unasked, [`delete`] the end of a session, [`redirect`] a redirect before any of them. What they are told is in `facts`, what they say in `conclusions`.

mod call;
mod codes;
mod conclusions;
pub(super) mod facts;
mod handshake;
mod probe;
mod redirect;
mod streams;
mod twin;
mod wording;

#[cfg(test)]
mod tests;

pub(crate) use call::is_unknown_method;
pub use call::{call, interrupted};
pub use conclusions::{
    Class, Conclusion, Doubt, EraVerdict, HandshakeConclusion, HandshakeNext, HandshakeStep, ListenConclusion,
    ListenerConclusion, Redirect, Repair, ResumeConclusion,
};
pub use facts::{AnswerId, BodyFacts, EndFacts, Evidence, Login};
pub use handshake::handshake;
pub use probe::probe;
pub use redirect::redirect;
pub(crate) use streams::is_nothing_there;
pub use streams::{accepted_notification, delete, is_answered_elsewhere, is_success, listen, listener, resume};
pub use twin::Ping;
pub(crate) use twin::{Refused, may_mean_the_method, ping, twin};
