//! Server-sent events, bounded.

mod lossy;
pub(crate) mod stream;
