//! The stream of events, one reader.

use std::sync::Arc;

use oncewire::{Event, EventStream};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Events as they happen. The core bounds the queue, drops the oldest and counts them.
#[derive(uniffi::Object)]
pub struct EventFeed {
    stream: Mutex<EventStream>,
    stop: CancellationToken,
}

impl std::fmt::Debug for EventFeed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventFeed").finish_non_exhaustive()
    }
}

impl EventFeed {
    pub(crate) fn new(stream: EventStream) -> Arc<Self> {
        Arc::new(Self { stream: Mutex::new(stream), stop: CancellationToken::new() })
    }
}

#[uniffi::export]
impl EventFeed {
    /// The next event; none once the client is gone, or the reader stopped.
    pub async fn next(&self) -> Option<String> {
        let mut stream = tokio::select! {
            biased;
            () = self.stop.cancelled() => return None,
            stream = self.stream.lock() => stream,
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            event = stream.next() => event.map(|event| to_json(&event)),
        }
    }

    /// Ends the stream for its reader.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// An event serialises: it holds words and numbers only.
pub(crate) fn to_json(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_else(|_| "{}".to_owned())
}
