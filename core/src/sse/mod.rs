//! Server-sent events, bounded.

pub(crate) mod resume;
pub(crate) mod stream;
