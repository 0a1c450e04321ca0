//! The words that every layer speaks: methods, options, verdicts, errors, events, clocks. Knows no other layer.

pub(crate) mod background;
pub(crate) mod clock;
pub(crate) mod config;
pub(crate) mod counter;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod excerpt;
pub(crate) mod handler;
pub(crate) mod lock;
pub(crate) mod method;
pub(crate) mod outcome;
pub(crate) mod redact;
pub(crate) mod tracing_headers;
