//! The open event streams: those of a GET, and those of `subscriptions/listen`.

use std::sync::Mutex;

use serde_json::Value;
use tokio::sync::mpsc;

use super::modern::Subscription;

#[derive(Debug)]
struct Listener {
    sender: mpsc::UnboundedSender<Value>,
    /// Absent for a GET.
    subscription: Option<Subscription>,
}

/// All of one server.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    open: Mutex<Vec<Listener>>,
}

impl Listeners {
    fn with<T>(&self, act: impl FnOnce(&mut Vec<Listener>) -> T) -> T {
        act(&mut self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// A new stream. It is to end when there is nothing more to receive.
    pub(crate) fn open(&self, subscription: Option<Subscription>) -> mpsc::UnboundedReceiver<Value> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.with(|open| open.push(Listener { sender, subscription }));
        receiver
    }

    /// Sends a message on every stream that takes it; how many there were.
    pub(crate) fn push(&self, message: &Value) -> usize {
        let mut sent = 0;
        self.with(|open| {
            open.retain(|listener| {
                let message = match &listener.subscription {
                    None => Some(message.clone()),
                    Some(subscription) => subscription.passes(message),
                };
                let Some(message) = message else { return !listener.sender.is_closed() };
                let alive = listener.sender.send(message).is_ok();
                sent += usize::from(alive);
                alive
            });
        });
        sent
    }

    /// Ends the streams of `subscriptions/listen` properly; how many there were.
    pub(crate) fn end_subscriptions(&self) -> usize {
        self.with(|open| {
            let before = open.len();
            open.retain(|listener| listener.subscription.is_none() && !listener.sender.is_closed());
            before - open.len()
        })
    }
}
