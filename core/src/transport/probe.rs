//! Was the body of a request ever taken?
//!
//! The one uniform proof that a request was never sent: hyper asks the body for its first frame only when it writes the
//! request to a connection. A body that was never polled never left this process: not on a refused connection, not on a
//! failed TLS handshake, not while waiting for a stream slot. The other way round it proves nothing: a polled body may or
//! may not have arrived.

//!
//! Judging and taking exclude each other: whoever judges an attempt first [seals](Probe::seal) its probe, and a sealed body is handed
//! over no more, whatever a connection's own task still has in its hands. Without that, a request given up in the very moment in which
//! a connection picks it up would be called unsent and be sent.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

const UNTOUCHED: u8 = 0;
const TAKEN: u8 = 1;
const SEALED: u8 = 2;

/// Shared between the body of one request and whoever judges the request afterwards.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<Mark>);

#[derive(Debug, Default)]
struct Mark {
    state: AtomicU8,
    /// When the body was first taken.
    taken_at: OnceLock<Instant>,
}

impl Probe {
    /// A probe of a request that was not sent yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has a connection asked for the body so far? To conclude anything from it, [`Self::seal`] it.
    #[must_use]
    pub fn body_taken(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == TAKEN
    }

    /// The body is about to be handed over. False if the request was given up before: then it must not be.
    #[must_use]
    pub fn take(&self) -> bool {
        match self.0.state.compare_exchange(UNTOUCHED, TAKEN, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // One that is taken again, after a redirect, keeps its first moment.
                let _ = self.0.taken_at.set(Instant::now());
                true
            }
            Err(state) => state == TAKEN,
        }
    }

    /// How long ago the body was taken; nothing if it was not.
    #[must_use]
    pub fn taken_since(&self) -> Duration {
        self.0.taken_at.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    /// The request is over. A body that was not taken until now never will be; true if it was taken.
    #[must_use]
    pub fn seal(&self) -> bool {
        match self.0.state.compare_exchange(UNTOUCHED, SEALED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => false,
            Err(state) => state == TAKEN,
        }
    }

    /// A new hop of the same request begins: the hop before it was refused by a redirect that preserves the method. A request that was
    /// given up stays so.
    pub fn reset(&self) {
        // Not taken: there is nothing to take back.
        let _ = self.0.state.compare_exchange(TAKEN, UNTOUCHED, Ordering::AcqRel, Ordering::Acquire);
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
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.bytes.is_some() && !self.probe.take() {
            return Poll::Ready(Some(Err(io::Error::other("the request was given up before it was sent"))));
        }
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::poll_fn;

    use super::*;

    fn first_frame(body: &mut ProbedBody) -> Option<bool> {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).now_or_never()?;
        frame.map(|frame| frame.is_ok())
    }

    #[test]
    fn a_body_that_was_judged_unsent_is_handed_over_no_more() {
        let probe = Probe::new();
        let mut body = ProbedBody::new(Bytes::from_static(b"{}"), probe.clone());
        assert!(!probe.seal());
        assert_eq!(first_frame(&mut body), Some(false));
        assert!(!probe.body_taken());
        probe.reset();
        assert!(!probe.take());
    }

    #[test]
    fn a_body_that_was_taken_is_judged_taken() {
        let probe = Probe::new();
        let mut body = ProbedBody::new(Bytes::from_static(b"{}"), probe.clone());
        assert_eq!(first_frame(&mut body), Some(true));
        assert!(probe.seal());
        probe.reset();
        assert!(!probe.seal());
    }
}
