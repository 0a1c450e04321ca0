//! The connection that is one session's alone, where the binding has such: a process. The last who needs it ends it by letting go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::transport::exchange::{Channel, Unasked, WireFailure, WireRequest, WireResponse};
use crate::vocabulary::background::Background;

/// A connection of one session.
#[derive(Debug)]
pub(crate) struct Line {
    channel: Arc<dyn Channel>,
    background: Background,
    /// How long its end may take.
    patience: Duration,
    since: Instant,
    ended: AtomicBool,
}

impl Line {
    pub(super) fn new(channel: Arc<dyn Channel>, background: Background, patience: Duration) -> Self {
        Self { channel, background, patience, since: Instant::now(), ended: AtomicBool::new(false) }
    }

    pub(super) async fn send(&self, request: WireRequest) -> Result<WireResponse, WireFailure> {
        self.channel.send(request).await
    }

    /// What the server says unasked; given once.
    pub(crate) fn unasked(&self) -> Option<Unasked> {
        self.channel.unasked()
    }

    /// Does nothing go over it any more?
    pub(crate) fn is_over(&self) -> bool {
        self.channel.end().is_some()
    }

    /// Since when it stands.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Ends it, once, in a task of its own.
    pub(crate) fn end(&self) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        let (channel, patience) = (Arc::clone(&self.channel), self.patience);
        drop(self.background.spawn(async move { channel.close(patience).await }));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.end();
    }
}
