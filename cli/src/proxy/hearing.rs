//! What the host hears unasked: notifications of the server, and that lists may have changed where the session was replaced.
//!
//! A host of the handshake era hears all there is. One of the modern era hears what it listens to, each stamped with its subscription, and
//! log messages once it has asked for a level.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use oncewire::ServerNotification;
use serde_json::{Map, Value, json};

use super::era::SUBSCRIPTION;
use super::host::Host;
use crate::rpc::message::Id;

/// Streams of `subscriptions/listen` that one host may have open.
pub(super) const LISTENS: usize = 64;

/// The lists that may change, by the capability of the server and the member of a filter that asks for them.
const LISTS: [(&str, &str); 3] =
    [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")];

/// What one host hears.
#[derive(Debug)]
pub(super) struct Hearing {
    host: Host,
    ears: Mutex<Ears>,
}

#[derive(Debug, Default)]
struct Ears {
    modern: bool,
    /// The host has asked for log messages.
    logs: bool,
    /// What the server offers, as the host was told.
    offers: BTreeSet<&'static str>,
    /// Resources that a host of the handshake era has subscribed to.
    subscribed: BTreeSet<String>,
    listens: Vec<Listen>,
}

/// One stream of `subscriptions/listen`.
#[derive(Debug)]
struct Listen {
    id: Id,
    lists: BTreeSet<&'static str>,
    uris: BTreeSet<String>,
}

impl Hearing {
    pub(super) fn new(host: Host) -> Self {
        Self { host, ears: Mutex::default() }
    }

    fn ears(&self) -> MutexGuard<'_, Ears> {
        self.ears.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another host speaks, or the same one anew: nothing is listened to yet.
    pub(super) fn begin(&self, modern: bool) {
        *self.ears() = Ears { modern, ..Ears::default() };
    }

    /// What the host is told that the server offers.
    pub(super) fn offer(&self, capabilities: &Value) {
        let offers = LISTS.iter().map(|(name, _)| *name).filter(|name| capabilities.get(name).is_some()).collect();
        self.ears().offers = offers;
    }

    /// Log messages are wanted.
    pub(super) fn wants_logs(&self) {
        self.ears().logs = true;
    }

    /// A host of the handshake era has subscribed to a resource, or does not want to hear of it any more.
    pub(super) fn subscribed(&self, uri: &str, wanted: bool) {
        let mut ears = self.ears();
        if wanted {
            ears.subscribed.insert(uri.to_owned());
        } else {
            ears.subscribed.remove(uri);
        }
    }

    /// The lists of a filter that can be listened to.
    pub(super) fn lists(&self, filter: &Map<String, Value>) -> BTreeSet<&'static str> {
        let ears = self.ears();
        let wanted = |member: &str| filter.get(member) == Some(&Value::Bool(true));
        LISTS
            .into_iter()
            .filter(|(name, member)| ears.offers.contains(name) && wanted(member))
            .map(|(name, _)| name)
            .collect()
    }

    /// Begins to listen, and tells the host so; false if there are too many.
    pub(super) fn listen(&self, id: &Id, lists: BTreeSet<&'static str>, uris: BTreeSet<String>) -> bool {
        let mut ears = self.ears();
        if ears.listens.len() >= LISTENS {
            return false;
        }
        let mut agreed = Map::new();
        for (_, member) in LISTS.iter().filter(|(name, _)| lists.contains(name)) {
            agreed.insert((*member).to_owned(), Value::Bool(true));
        }
        if !uris.is_empty() {
            agreed.insert("resourceSubscriptions".to_owned(), json!(uris));
        }
        let listen = Listen { id: id.clone(), lists, uris };
        // Under the lock: what is heard from now on comes after it.
        listen.tell(&self.host, "notifications/subscriptions/acknowledged", json!({ "notifications": agreed }));
        ears.listens.push(listen);
        true
    }

    /// The host does not listen any more; gives those of its resources that nobody listens to now.
    pub(super) fn end(&self, id: &Id, uris: BTreeSet<String>) -> Vec<String> {
        let mut ears = self.ears();
        ears.listens.retain(|listen| listen.id != *id);
        let wanted = |uri: &String| ears.listens.iter().any(|listen| listen.uris.contains(uri));
        uris.into_iter().filter(|uri| !wanted(uri)).collect()
    }

    /// A notification of the server.
    pub(super) fn heard(&self, notification: &ServerNotification) {
        self.tell(&notification.method, &notification.params);
    }

    fn tell(&self, method: &str, params: &Value) {
        let ears = self.ears();
        if !ears.modern {
            self.host.tell(method, params);
            return;
        }
        let list = |name: &str| {
            method.strip_prefix("notifications/").and_then(|rest| rest.strip_suffix("/list_changed")) == Some(name)
        };
        let uri = params.get("uri").and_then(Value::as_str).filter(|_| method == "notifications/resources/updated");
        match method {
            "notifications/message" if ears.logs => self.host.tell(method, params),
            _ => {
                for listen in &ears.listens {
                    if listen.lists.iter().any(|name| list(name)) || uri.is_some_and(|uri| listen.uris.contains(uri)) {
                        listen.tell(&self.host, method, params.clone());
                    }
                }
            }
        }
    }

    /// The session was replaced: lists may be others, and an update may have gone by.
    pub(super) fn replaced(&self) {
        let (offers, uris) = {
            let ears = self.ears();
            let listened = ears.listens.iter().flat_map(|listen| &listen.uris);
            (ears.offers.clone(), listened.chain(&ears.subscribed).cloned().collect::<BTreeSet<_>>())
        };
        for name in offers {
            self.tell(&format!("notifications/{name}/list_changed"), &Value::Null);
        }
        for uri in uris {
            self.tell("notifications/resources/updated", &json!({ "uri": uri }));
        }
    }
}

impl Listen {
    /// Stamped with the subscription (MCP 2026-07-28, basic, subscriptions).
    fn tell(&self, host: &Host, method: &str, mut params: Value) {
        let id: Value = serde_json::from_str(self.id.to_json()).unwrap_or_default();
        if !params.is_object() {
            params = json!({});
        }
        if !params["_meta"].is_object() {
            params["_meta"] = json!({});
        }
        params["_meta"][SUBSCRIPTION] = id;
        host.tell(method, &params);
    }
}

#[cfg(test)]
mod tests {
    use super::super::host;
    use super::*;

    async fn heard(hear: impl FnOnce(&Hearing)) -> Vec<Value> {
        let (host, lines) = Host::new();
        let hearing = Hearing::new(host);
        hear(&hearing);
        drop(hearing);
        let mut written = Vec::new();
        host::write(lines, &mut written).await.unwrap();
        String::from_utf8(written).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn methods(messages: &[Value]) -> Vec<&str> {
        messages.iter().filter_map(|message| message["method"].as_str()).collect()
    }

    #[tokio::test]
    async fn a_replaced_session_is_told_as_lists_that_changed() {
        let told = heard(|hearing| {
            hearing.begin(false);
            hearing.offer(&json!({ "tools": {}, "resources": {}, "logging": {} }));
            hearing.subscribed("mem://a", true);
            hearing.subscribed("mem://b", true);
            hearing.subscribed("mem://b", false);
            hearing.replaced();
        });
        let told = told.await;
        let expected = [
            "notifications/resources/list_changed",
            "notifications/tools/list_changed",
            "notifications/resources/updated",
        ];
        assert_eq!(methods(&told), expected);
        assert_eq!(told[2]["params"]["uri"], "mem://a");
    }

    #[tokio::test]
    async fn a_modern_host_hears_what_it_listens_to() {
        let told = heard(|hearing| {
            hearing.begin(true);
            hearing.offer(&json!({ "tools": {} }));
            let filter = json!({ "toolsListChanged": true, "promptsListChanged": true });
            let lists = hearing.lists(filter.as_object().unwrap());
            assert!(hearing.listen(&Id::text("l"), lists, ["mem://a".to_owned()].into()));
            for (method, params) in [
                ("notifications/tools/list_changed", Value::Null),
                ("notifications/prompts/list_changed", Value::Null),
                ("notifications/resources/updated", json!({ "uri": "mem://b" })),
                ("notifications/resources/updated", json!({ "uri": "mem://a" })),
                ("notifications/message", json!({ "level": "info" })),
            ] {
                hearing.tell(method, &params);
            }
            assert_eq!(hearing.end(&Id::text("l"), ["mem://a".to_owned()].into()), ["mem://a"]);
            hearing.tell("notifications/tools/list_changed", &Value::Null);
            hearing.wants_logs();
            hearing.tell("notifications/message", &json!({ "level": "info" }));
        });
        let told = told.await;
        let expected = [
            "notifications/subscriptions/acknowledged",
            "notifications/tools/list_changed",
            "notifications/resources/updated",
            "notifications/message",
        ];
        assert_eq!(methods(&told), expected);
        assert_eq!(
            told[0]["params"]["notifications"],
            json!({ "toolsListChanged": true, "resourceSubscriptions": ["mem://a"] })
        );
        assert!(told[..3].iter().all(|message| message["params"]["_meta"][SUBSCRIPTION] == "l"));
    }
}
