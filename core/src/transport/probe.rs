//! Was the body of a request ever taken?
//!
//! The one uniform proof that a request was never sent: hyper asks the body for its first frame only when it writes the
//! request to a connection. A body that was never polled never left this process: not on a refused connection, not on a
//! failed TLS handshake, not while waiting for a stream slot. The other way round it proves nothing: a polled body may or
//! may not have arrived.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Shared between the body of one request and whoever judges the request afterwards.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<AtomicBool>);

impl Probe {
    /// A probe of a request that was not sent yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Did the connection ask for the body?
    #[must_use]
    pub fn body_taken(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// The body is being handed over.
    pub fn mark_taken(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// A new hop of the same request begins: the hop before it was refused by a redirect that preserves the method.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A request body that marks its [`Probe`] when it is first polled. It cannot be cloned, so nothing below can send it twice.
#[derive(Debug)]
pub struct ProbedBody {
    bytes: Option<Bytes>,
    probe: Probe,
}

impl ProbedBody {
    /// A body of these bytes.
    #[must_use]
    pub fn new(bytes: Bytes, probe: Probe) -> Self {
        Self { bytes: Some(bytes), probe }
    }
}

impl Body for ProbedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.probe.mark_taken();
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    // Never true before the first poll: hyper skips polling a body that says it has ended, and the probe would lie.
    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
