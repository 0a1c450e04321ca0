//! What a client wants to be told in the modern era, and whether the server has agreed to tell it.
//!
//! The stream of `subscriptions/listen` has one filter from its beginning to its end. To change it, the stream is issued anew; whoever
//! changes it waits until the server has acknowledged a filter that is no older than the change.

use std::sync::PoisonError;

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::restore::SharedRestorable;

/// What the server said of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledgement {
    /// It tells what was asked for.
    Given,
    /// It does not.
    Refused,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    generation: u64,
    /// The change of the filter that it speaks of.
    change: u64,
    acknowledgement: Option<Acknowledgement>,
}

/// The wishes of a client's subscribers.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    restorable: SharedRestorable,
    /// Counts the changes of the filter.
    changes: watch::Sender<u64>,
    heard: watch::Sender<Heard>,
}

impl Subscriptions {
    pub(crate) fn new(restorable: SharedRestorable) -> Self {
        Self { restorable, changes: watch::Sender::new(0), heard: watch::Sender::new(Heard::default()) }
    }

    /// The filter changed: waits until the server has said something of it, or of a later one, in this generation.
    pub(crate) fn renew(&self, generation: u64) -> impl Future<Output = Acknowledgement> + use<> {
        let mut heard = self.heard.subscribe();
        self.changes.send_modify(|change| *change += 1);
        let change = *self.changes.borrow();
        async move {
            let spoken = heard
                .wait_for(|heard| {
                    heard.generation >= generation && heard.change >= change && heard.acknowledgement.is_some()
                })
                .await;
            // Gone with the client, which ends its calls by itself.
            spoken.ok().and_then(|heard| heard.acknowledgement).unwrap_or(Acknowledgement::Refused)
        }
    }

    /// The changes of the filter, from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The server has said something of the filter as it was at this change.
    pub(super) fn hear(&self, generation: u64, change: u64, acknowledgement: Acknowledgement) {
        self.heard.send_replace(Heard { generation, change, acknowledgement: Some(acknowledgement) });
    }

    /// The filter of the stream (MCP 2026-07-28, schema, SubscriptionFilter): list changes that the server announces, where the host wants
    /// to hear unasked, and the resources that were subscribed to. `None` if there is nothing to listen to.
    pub(super) fn filter(&self, capabilities: &Value, unasked: bool) -> Option<Value> {
        let mut filter = Map::new();
        for (capability, member) in
            [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")]
        {
            let announced = capabilities.get(capability).and_then(|offer| offer.get("listChanged"));
            if unasked && announced == Some(&Value::Bool(true)) {
                filter.insert(member.to_owned(), Value::Bool(true));
            }
        }
        let subscriptions = self.restorable.lock().unwrap_or_else(PoisonError::into_inner).subscriptions.clone();
        if !subscriptions.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), subscriptions.into_iter().collect());
        }
        (!filter.is_empty()).then_some(Value::Object(filter))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_filter_holds_what_is_offered_and_what_was_asked_for() {
        let restorable = SharedRestorable::default();
        let subscriptions = Subscriptions::new(Arc::clone(&restorable));
        let capabilities =
            json!({ "tools": { "listChanged": true }, "prompts": { "listChanged": false }, "resources": {} });
        assert_eq!(subscriptions.filter(&capabilities, true), Some(json!({ "toolsListChanged": true })));
        assert_eq!(subscriptions.filter(&capabilities, false), None);
        restorable.lock().unwrap().subscriptions.insert("mem://a".to_owned());
        assert_eq!(subscriptions.filter(&Value::Null, true), Some(json!({ "resourceSubscriptions": ["mem://a"] })));
    }

    #[tokio::test]
    async fn a_change_waits_for_a_word_on_it_or_on_a_later_one() {
        let subscriptions = Subscriptions::new(Arc::default());
        let mut first = tokio_test(subscriptions.renew(1));
        assert!(first.is_waiting());
        subscriptions.hear(1, 0, Acknowledgement::Given);
        assert!(first.is_waiting());
        let mut second = tokio_test(subscriptions.renew(1));
        subscriptions.hear(1, 2, Acknowledgement::Refused);
        assert_eq!((first.now(), second.now()), (Acknowledgement::Refused, Acknowledgement::Refused));
    }

    struct Polled<F>(std::pin::Pin<Box<F>>);

    fn tokio_test<F: Future>(future: F) -> Polled<F> {
        Polled(Box::pin(future))
    }

    impl<F: Future> Polled<F> {
        fn is_waiting(&mut self) -> bool {
            futures_util::FutureExt::now_or_never(self.0.as_mut()).is_none()
        }

        fn now(&mut self) -> F::Output {
            futures_util::FutureExt::now_or_never(self.0.as_mut()).unwrap()
        }
    }
}
