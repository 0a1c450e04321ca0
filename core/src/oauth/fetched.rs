//! What a request of a login brought.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer. The texts hold no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfetched {
    /// The rule of addresses forbids it: nothing was sent.
    Forbidden(String),
    /// The request never left this process.
    NeverSent(String),
    /// It was sent, and what came of it is not known.
    Lost(String),
}

impl fmt::Display for Unfetched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(reason) | Self::NeverSent(reason) | Self::Lost(reason) => formatter.write_str(reason),
        }
    }
}
