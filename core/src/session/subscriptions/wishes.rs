//! What a client wants to be told, and whether the server has agreed to tell it. Whoever changes the filter waits until the server has
//! acknowledged one that is no older than the change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::super::restorable::{Restorable, SharedRestorable};
use super::acknowledged::Acknowledgement;
use crate::vocabulary::outcome::Kind;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The callers that wait for a subscription, by its URI.
    waiting: Mutex<HashMap<String, Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    callers: usize,
    /// Nobody had subscribed before them, and the server has not agreed yet.
    fresh: bool,
}

/// A caller waits for a subscription, from before its request is sent: a session that is replaced meanwhile must not cost it. If it leaves before the server has agreed, and nobody else waits, the subscription is given up:
/// what the caller was told is so.
#[derive(Debug)]
pub(crate) struct Wish {
    subscriptions: Arc<Subscriptions>,
    uri: String,
    /// The server does not tell of it: there is no stream that would have to be issued anew.
    refused: bool,
}

impl Wish {
    /// What the server said of it. An error says why there is no subscription.
    pub(crate) fn settle(mut self, said: &Acknowledgement) -> Result<(), Denied> {
        let (kind, reason) = match said {
            Acknowledgement::Given(agreed) if agreed.includes(&self.uri) => {
                self.granted();
                return Ok(());
            }
            Acknowledgement::Given(_) => (Kind::Protocol, "the server does not tell of changes of this resource"),
            Acknowledgement::Refused => (Kind::Protocol, "the server offers no subscriptions"),
            Acknowledgement::Lost => {
                (Kind::StreamEnded, "the stream of subscriptions ended again and again before the server agreed")
            }
        };
        self.refused = true;
        Err(Denied { kind, reason })
    }

    /// The server agreed.
    pub(crate) fn granted(&self) {
        if let Some(waiting) = self.subscriptions.waiting().get_mut(&self.uri) {
            waiting.fresh = false;
        }
    }
}

/// Why a wish was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    pub(crate) kind: Kind,
    pub(crate) reason: &'static str,
}

impl Drop for Wish {
    fn drop(&mut self) {
        let given_up = {
            let mut all = self.subscriptions.waiting();
            let Some(waiting) = all.get_mut(&self.uri) else { return };
            waiting.callers -= 1;
            let (alone, fresh) = (waiting.callers == 0, waiting.fresh);
            if alone {
                all.remove(&self.uri);
            }
            alone && fresh
        };
        if given_up {
            self.subscriptions.restorable().subscriptions.remove(&self.uri);
            if !self.refused {
                self.subscriptions.change();
            }
        }
    }
}

impl Subscriptions {
    pub(crate) fn new(restorable: SharedRestorable) -> Self {
        let (changes, heard) = (watch::Sender::new(0), watch::Sender::new(Heard::default()));
        Self { restorable, changes, heard, waiting: Mutex::default() }
    }

    fn restorable(&self) -> MutexGuard<'_, Restorable> {
        self.restorable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A caller wants to be told of this resource. [`Self::renew`] asks the server of the modern era.
    pub(crate) fn wish(self: &Arc<Self>, uri: &str) -> Wish {
        let new = self.restorable().subscriptions.insert(uri.to_owned());
        let mut all = self.waiting();
        let waiting = all.entry(uri.to_owned()).or_default();
        waiting.callers += 1;
        waiting.fresh |= new;
        drop(all);
        Wish { subscriptions: Arc::clone(self), uri: uri.to_owned(), refused: false }
    }

    /// Nobody wants to be told of this resource any more. [`Self::change`] tells the stream of the modern era.
    pub(crate) fn give_up(&self, uri: &str) {
        self.restorable().subscriptions.remove(uri);
    }

    /// The filter changed: the stream is issued anew.
    pub(crate) fn change(&self) {
        self.changes.send_modify(|change| *change += 1);
    }

    /// The filter changed: waits until the server has said something of it, or of a later one, in this generation.
    pub(crate) fn renew(&self, generation: u64) -> impl Future<Output = Acknowledgement> + use<> {
        let mut heard = self.heard.subscribe();
        self.change();
        let change = *self.changes.borrow();
        async move {
            let spoken = heard
                .wait_for(|heard| {
                    heard.generation >= generation && heard.change >= change && heard.acknowledgement.is_some()
                })
                .await;
            // Gone with the client, which ends its calls by itself.
            spoken.ok().and_then(|heard| heard.acknowledgement.clone()).unwrap_or(Acknowledgement::Lost)
        }
    }

    /// Is there anything that was subscribed to?
    pub(in super::super) fn any(&self) -> bool {
        !self.restorable().subscriptions.is_empty()
    }

    /// The changes of the filter, from now on.
    pub(in super::super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The server has said something of the filter as it was at this change.
    pub(in super::super) fn hear(&self, generation: u64, change: u64, acknowledgement: Acknowledgement) {
        self.heard.send_replace(Heard { generation, change, acknowledgement: Some(acknowledgement) });
    }

    /// The filter of the stream (MCP 2026-07-28, schema, SubscriptionFilter): list changes that the server announces, where the host wants
    /// to hear unasked, and the resources that were subscribed to. `None` if there is nothing to listen to.
    pub(in super::super) fn filter(&self, capabilities: &Value, unasked: bool) -> Option<Value> {
        let mut filter = Map::new();
        for (capability, member) in
            [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")]
        {
            let announced = capabilities.get(capability).and_then(|offer| offer.get("listChanged"));
            if unasked && announced == Some(&Value::Bool(true)) {
                filter.insert(member.to_owned(), Value::Bool(true));
            }
        }
        let subscriptions = self.restorable().subscriptions.clone();
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

    use super::super::acknowledged::Agreed;
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
    async fn the_last_caller_that_leaves_takes_a_wish_along_that_was_not_granted() {
        let subscriptions = Arc::new(Subscriptions::new(Arc::default()));
        let wanted = || subscriptions.restorable().subscriptions.len();
        let (first, second) = (subscriptions.wish("mem://a"), subscriptions.wish("mem://a"));
        drop(first);
        assert_eq!((wanted(), *subscriptions.changes.borrow()), (1, 0));
        drop(second);
        assert_eq!((wanted(), *subscriptions.changes.borrow()), (0, 1));
        let (first, second) = (subscriptions.wish("mem://a"), subscriptions.wish("mem://a"));
        second.settle(&Acknowledgement::Given(Agreed::default())).unwrap();
        drop(first);
        drop(subscriptions.wish("mem://a"));
        assert_eq!(wanted(), 1, "it was granted");
        let denied = subscriptions.wish("mem://b").settle(&Acknowledgement::Refused).unwrap_err();
        assert_eq!(denied.kind, Kind::Protocol);
        assert_eq!((wanted(), *subscriptions.changes.borrow()), (1, 1));
        assert!(subscriptions.waiting().is_empty());
    }

    #[tokio::test]
    async fn a_change_waits_for_a_word_on_it_or_on_a_later_one() {
        let subscriptions = Subscriptions::new(Arc::default());
        let mut first = tokio_test(subscriptions.renew(1));
        assert!(first.is_waiting());
        subscriptions.hear(1, 0, Acknowledgement::Given(Agreed::default()));
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
