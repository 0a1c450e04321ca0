//! Server-sent events, bounded.

mod lossy;
pub(crate) mod resume;
pub(crate) mod stream;
