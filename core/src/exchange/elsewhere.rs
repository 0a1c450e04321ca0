//! Answers that come on another stream than that of their request. There are servers that take a POST with 202 and answer on the GET stream
//! (MCP 2025-11-25, transports, has a server answer on the stream of the request); an answer is an answer wherever it comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::rpc::message::Message;
use crate::vocabulary::lock::lock;

/// The requests of ours that have no answer yet, by id: as many as are under way.
#[derive(Debug, Default)]
pub(crate) struct Unanswered(Mutex<HashMap<u64, Arc<Slot>>>);

#[derive(Debug, Default)]
struct Slot {
    answer: Mutex<Option<Message>>,
    came: Notify,
}

impl Unanswered {
    /// From now on until this is dropped the answer to this request is taken wherever it comes.
    pub(crate) fn expect(&self, id: u64) -> Elsewhere<'_> {
        let slot = Arc::<Slot>::default();
        lock(&self.0).insert(id, Arc::clone(&slot));
        Elsewhere { unanswered: self, id, slot }
    }

    /// Hands a result or an error to the request that waits for it; the first alone. Gives it back if there is none.
    pub(crate) fn take(&self, message: Message) -> Option<Message> {
        let id = match &message {
            Message::Result { id, .. } | Message::Error { id: Some(id), .. } => id.as_ours(),
            _ => None,
        };
        let Some(slot) = id.and_then(|id| lock(&self.0).remove(&id)) else { return Some(message) };
        *lock(&slot.answer) = Some(message);
        slot.came.notify_one();
        None
    }
}

/// Where the answer to a request is put that comes on another stream.
#[derive(Debug)]
pub(crate) struct Elsewhere<'a> {
    unanswered: &'a Unanswered,
    id: u64,
    slot: Arc<Slot>,
}

impl Elsewhere<'_> {
    /// Completes with the answer, once. Cancel-safe.
    pub(crate) async fn came(&self) -> Message {
        loop {
            if let Some(message) = lock(&self.slot.answer).take() {
                return message;
            }
            self.slot.came.notified().await;
        }
    }
}

impl Drop for Elsewhere<'_> {
    fn drop(&mut self) {
        lock(&self.unanswered.0).remove(&self.id);
    }
}
