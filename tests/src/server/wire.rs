//! What a response is made of, whatever carries it.
//!
//! The engine speaks to a [`Wire`]; there is one for HTTP/1.1 and one for HTTP/2. What an HTTP version has no words for it refuses, and
//! that ends the exchange.

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

/// An HTTP/2 error code (RFC 9113 section 7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum H2Error {
    /// `NO_ERROR`
    #[default]
    NoError,
    /// `PROTOCOL_ERROR`
    ProtocolError,
    /// `INTERNAL_ERROR`
    InternalError,
    /// `REFUSED_STREAM`
    RefusedStream,
    /// `CANCEL`
    Cancel,
    /// `ENHANCE_YOUR_CALM`
    EnhanceYourCalm,
}

/// The last stream that a GOAWAY says may have been processed (RFC 9113 section 6.8), seen from the stream of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastStream {
    /// The one before: this one was not processed. If newer ones are under way this one is refused alone.
    Below,
    /// The newest that the connection has.
    Newest,
    /// The highest that there can be: a server that is about to go, and does not know yet what it will still process.
    Max,
}

/// The writing side of one exchange.
pub(crate) trait Wire: Send {
    /// Whether other exchanges share the connection, so that the end of one is not the end of it.
    const SHARED: bool;
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
    /// RST_STREAM: the end of this exchange, and of nothing else.
    fn reset_stream(&mut self, error: H2Error) -> impl Future<Output = io::Result<()>> + Send;
    /// GOAWAY: the connection takes no more requests; those that it has go on, as far as they are not denied.
    fn go_away(&mut self, last: LastStream, error: H2Error) -> impl Future<Output = io::Result<()>> + Send;
    /// Resolves when the client has closed its side.
    fn client_gone(&mut self) -> impl Future<Output = ()> + Send;
}
