//! A stream that stays open while it is read bit by bit.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, timeout_at};

use super::heard::{Chunk, Heard};
use crate::transport::exchange::WireFailure;

/// An open stream of events. Dropping it closes the stream.
pub struct OpenStream {
    pub(super) body: BoxStream<'static, Result<Bytes, WireFailure>>,
    pub(super) heard: Heard,
}

impl std::fmt::Debug for OpenStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OpenStream").finish_non_exhaustive()
    }
}

impl OpenStream {
    /// Reads for so long at most, or until `enough` is true of all that came. Gives all that came so far.
    pub async fn read(&mut self, patience: Duration, enough: impl Fn(&[Chunk]) -> bool) -> Vec<Chunk> {
        let deadline = Instant::now() + patience;
        while !enough(&self.heard.chunks()) {
            match timeout_at(deadline, self.body.next()).await {
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(_)) | None) | Err(_) => break,
            }
        }
        self.heard.chunks()
    }

    /// When it ended, in whatever way, counted from the request.
    #[must_use]
    pub fn ended(&self) -> Option<Duration> {
        self.heard.ended()
    }
}
