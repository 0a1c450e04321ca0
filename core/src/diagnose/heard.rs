//! What came of a body, byte by byte, and when: a copy that is taken while the body is read.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::Instant;

use crate::transport::exchange::WireFailure;
use crate::vocabulary::lock::lock;

/// The most that is kept of one body, in bytes. What follows is counted and not kept.
const KEPT: usize = 256 * 1024;

/// A piece of a body.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Chunk {
    /// When it came, counted from the request.
    pub at: Duration,
    /// What came.
    pub bytes: Bytes,
}

/// What was heard so far. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    started: Instant,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: Vec<Chunk>,
    bytes: usize,
    ended: Option<Duration>,
}

type Body = BoxStream<'static, Result<Bytes, WireFailure>>;

impl Heard {
    pub(super) fn since(started: Instant) -> Self {
        Self { started, kept: Arc::default() }
    }

    /// The body, with a copy of it taken down as it is read.
    pub(super) fn copying(&self, body: Body) -> Body {
        let heard = self.clone();
        let end = self.clone();
        let copied = body.inspect(move |item| match item {
            Ok(bytes) => heard.note(bytes),
            Err(_) => heard.over(),
        });
        let marked = futures_util::stream::poll_fn(move |_| {
            end.over();
            std::task::Poll::Ready(None)
        });
        copied.chain(marked).boxed()
    }

    fn note(&self, bytes: &Bytes) {
        let mut kept = lock(&self.kept);
        if kept.bytes < KEPT {
            kept.chunks.push(Chunk { at: self.started.elapsed(), bytes: bytes.slice(..bytes.len().min(KEPT)) });
        }
        kept.bytes = kept.bytes.saturating_add(bytes.len());
    }

    fn over(&self) {
        let mut kept = lock(&self.kept);
        if kept.ended.is_none() {
            kept.ended = Some(self.started.elapsed());
        }
    }

    /// What came, in order.
    pub(super) fn chunks(&self) -> Vec<Chunk> {
        lock(&self.kept).chunks.clone()
    }

    /// How long it is since the request.
    pub(super) fn since_start(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the body ended, in whatever way.
    pub(super) fn ended(&self) -> Option<Duration> {
        lock(&self.kept).ended
    }
}
