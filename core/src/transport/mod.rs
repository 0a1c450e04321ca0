//! One exchange: how it is sent, over HTTP or over pipes, and what its failure proves.

pub(crate) mod challenge;
pub mod classify;
pub(crate) mod cookies;
pub mod exchange;
pub(crate) mod headers;
pub(crate) mod http;
pub(crate) mod leftovers;
pub(crate) mod limits;
pub mod probe;
#[cfg(feature = "testing")]
pub mod scripted;
pub(crate) mod stdio;
pub(crate) mod tls;
pub(crate) mod words;
