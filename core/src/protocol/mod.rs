//! What MCP says, beyond JSON-RPC: the two eras and their versions, results, and the headers that repeat arguments.

pub(crate) mod annotations;
pub(crate) mod era;
pub(crate) mod parameter_headers;
pub(crate) mod results;
pub(crate) mod versions;
