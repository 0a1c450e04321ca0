//! Server-sent events, bounded.

pub(crate) mod stream;
