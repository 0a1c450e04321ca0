//! JSON-RPC 2.0, as thin as it can be: what is not acted upon stays raw.

pub(crate) mod id;
pub(crate) mod message;
pub(crate) mod params;
