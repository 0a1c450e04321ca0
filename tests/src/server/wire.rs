//! What a response is made of, whatever carries it.
//!
//! The engine speaks to a [`Wire`]; HTTP/1.1 is the first implementation. Everything here can be said of any HTTP
//! version except [`Wire::raw`], which an implementation may refuse.

use std::io;

use serde::{Deserialize, Serialize};

/// How a connection is brought to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Orderly: what was written arrives, then FIN.
    Close,
    /// RST (`SO_LINGER` 0).
    Reset,
}

/// How the length of a body is told (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `Content-Length`. What is written need not match: that is a fault.
    Length(usize),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Neither: the body ends with the connection.
    UntilClose,
    /// A response that has no body by definition (204, 304).
    None,
}

/// Status line and headers.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
}

/// The writing side of one exchange.
pub(crate) trait Wire: Send {
    /// Status line and headers.
    fn head(&mut self, head: &Head) -> impl Future<Output = io::Result<()>> + Send;
    /// Body bytes, framed.
    fn data(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    /// The proper end of the body.
    fn end(&mut self) -> impl Future<Output = io::Result<()>> + Send;
    /// Bytes below the framing.
    fn raw(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    /// Every write from now on goes out in pieces of this size.
    fn pieces(&mut self, size: usize);
    /// No more bytes from us, while we go on reading.
    fn half_close(&mut self) -> impl Future<Output = io::Result<()>> + Send;
    /// Resolves when the client has closed its side.
    fn client_gone(&mut self) -> impl Future<Output = ()> + Send;
}
