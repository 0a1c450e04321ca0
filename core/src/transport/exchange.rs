//! The seam between what is decided and what is sent: one attempt, one request, one answer.
//!
//! [`Exchange`] is implemented over HTTP (`http.rs`), over the pipes of a process (`stdio/`), and by a script for tests under paused time.
//! Nothing below this trait retries, follows a redirect or concludes anything; what it reports are facts. The words are those of HTTP. A binding
//! that has no statuses and no headers says so by its [`Framing`], and one whose sessions have each a connection of their own opens a [`Channel`]
//! for each.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::{HeaderMap, Method, StatusCode, Version};
use url::Url;

use super::probe::Probe;

/// One HTTP request.
#[derive(Clone)]
pub struct WireRequest {
    /// POST, GET or DELETE.
    pub method: Method,
    /// Where it goes.
    pub url: Url,
    /// All headers but those that the connection makes itself (host, content-length).
    pub headers: HeaderMap,
    /// The body of a POST; `None` for GET and DELETE.
    pub body: Option<Bytes>,
    /// Marked when the body is first asked for. For a request without a body: when the head is handed to a connection, as far
    /// as that can be told.
    pub probe: Probe,
    /// Never reuse a pooled connection for this request.
    pub fresh_connection: bool,
}

impl fmt::Debug for WireRequest {
    // Headers and bodies may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WireRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The head of an answer, and its body as it comes.
pub struct WireResponse {
    /// The status of the answer.
    pub status: StatusCode,
    /// The headers of the answer, but for what tells of the codings that were undone.
    pub headers: HeaderMap,
    /// The body, chunk by chunk; dropping it frees the connection. An orderly end is the end of the stream, anything else an
    /// error item, after which nothing follows.
    pub body: BoxStream<'static, Result<Bytes, WireFailure>>,
    /// What the pieces of the body are.
    pub framing: Framing,
    /// How it came, for whoever looks into that.
    pub spoken: Spoken,
}

/// How an answer came. Nothing is concluded of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spoken {
    /// The version of HTTP.
    pub version: Option<Version>,
    /// Who answered.
    pub remote: Option<SocketAddr>,
    /// The content codings that were undone.
    pub codings: Vec<String>,
}

/// What the pieces of a body are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Pieces of a body of HTTP, as they come: the headers say what they are together.
    #[default]
    Http,
    /// Each is one whole message. There was no head: status and headers say nothing.
    Messages,
}

impl fmt::Debug for WireResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WireResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Why no head arrived, or why a body stopped: the cause as far as the HTTP stack tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The connection was refused.
    Refused,
    /// No route to the host or the network.
    Unreachable,
    /// The connection was reset while it was being made.
    ConnectReset,
    /// The connection, its TLS or proxy handshake included, took longer than `connect_timeout`.
    ConnectTimeout,
    /// The name could not be looked up for now.
    DnsTemporary,
    /// The name does not exist.
    DnsUnknownHost,
    /// The TLS handshake failed: a bad certificate, no common version, no roots.
    Tls,
    /// The proxy refused the connection.
    Proxy,
    /// The request could not be made at all: bad URL, bad header.
    BadRequest,
    /// Any other failure of making the connection.
    ConnectOther,
    /// A remote HTTP/2 RST_STREAM with REFUSED_STREAM. By RFC 9113, section 8.7, the server did not process the request; proxies send it
    /// all the same for requests that they have forwarded.
    RefusedStream,
    /// A remote HTTP/2 GOAWAY below our stream: whoever sent it has not acted on the request (RFC 9113, section 6.8).
    GoneAway,
    /// The connection ended, in an orderly way or not, before the head, or in the middle of the body.
    Closed,
    /// The connection was reset.
    Reset,
    /// Something else broke the exchange.
    Other,
    /// The process of the server could not be started.
    NotStarted,
    /// The process of the server ended.
    ProcessEnded,
    /// The server closed its end of a pipe, and its process went on.
    PipeClosed,
    /// The server wrote what is no message where only messages may stand, again and again.
    NoMessages,
    /// The server wrote a line longer than the limit.
    LineTooLong,
}

/// A failed exchange: the facts, and the error of the HTTP stack as source.
#[derive(Debug)]
pub struct WireFailure {
    /// What happened.
    pub cause: Cause,
    /// The error that the HTTP stack gave; its text holds no header and no body.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl WireFailure {
    /// A failure without an underlying error.
    #[must_use]
    pub fn new(cause: Cause) -> Self {
        Self { cause, source: None }
    }
}

impl fmt::Display for WireFailure {
    /// The cause and the chain of the underlying errors, in one line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.cause {
            Cause::Refused => "connection refused",
            Cause::Unreachable => "host unreachable",
            Cause::ConnectReset => "connection reset while connecting",
            Cause::ConnectTimeout => "connecting timed out",
            Cause::DnsTemporary => "name lookup failed for now",
            Cause::DnsUnknownHost => "unknown host",
            Cause::Tls => "TLS handshake failed",
            Cause::Proxy => "the proxy refused the connection",
            Cause::BadRequest => "the request could not be built",
            Cause::ConnectOther => "connecting failed",
            Cause::RefusedStream => "the server refused the stream",
            Cause::GoneAway => "the server closed the connection before it took the request",
            Cause::Closed => "connection closed",
            Cause::Reset => "connection reset",
            Cause::Other => "the exchange failed",
            Cause::NotStarted => "the server process could not be started",
            Cause::ProcessEnded => "the server process ended",
            Cause::PipeClosed => "the server closed its end of the pipe",
            Cause::NoMessages => "the server writes what is no message on stdout",
            Cause::LineTooLong => "the server wrote a longer line than is allowed on stdout",
        };
        formatter.write_str(what)
    }
}

impl std::error::Error for WireFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// Carries out one attempt.
#[async_trait]
pub trait Exchange: Send + Sync + fmt::Debug + 'static {
    /// Sends the request and returns as soon as the head of the answer is there. Dropping the future drops the request.
    ///
    /// # Errors
    /// The facts of a failure before the head; `request.probe` tells whether the body was taken.
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireFailure>;

    /// Opens what the requests of one session go over, where each session has a connection of its own: then the connection is the session,
    /// and nothing goes over this exchange itself. `None` where all sessions share it.
    ///
    /// # Errors
    /// The facts of a connection that could not be made.
    async fn open(&self) -> Result<Option<Arc<dyn Channel>>, WireFailure> {
        Ok(None)
    }
}

/// The messages that a server sends on a channel and that belong to no request, each whole. It ends with the channel.
pub type Unasked = BoxStream<'static, Bytes>;

/// The connection of one session. [`Exchange::send`] carries POSTs over it.
#[async_trait]
pub trait Channel: Exchange {
    /// What the server says unasked; given once.
    fn unasked(&self) -> Option<Unasked>;

    /// How it ended, if it did: from then on nothing goes over it.
    fn end(&self) -> Option<WireFailure>;

    /// Ends it, in good order if that takes no longer. Returns when nothing is left of it.
    async fn close(&self, patience: Duration);
}
