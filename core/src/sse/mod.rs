//! Server-sent events, bounded.

pub(crate) mod stream;
pub(crate) mod resume;
