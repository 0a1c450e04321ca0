//! JSON-RPC as a server reads it on its standard input: lines, messages, and the members of an object whose values stay raw.

pub(crate) mod error;
pub(crate) mod lines;
pub(crate) mod members;
pub(crate) mod message;
mod top_level_id;
