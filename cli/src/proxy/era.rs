//! Which era a host speaks, and what it says of itself: once, in `initialize`, or in `_meta` of every request.

use oncewire::ClientBuilder;
use serde_json::{Map, Value};

use crate::rpc::members::Members;

/// The version of the modern era.
pub(super) const MODERN: &str = "2026-07-28";
/// The versions with a handshake, oldest first.
pub(super) const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The members of `_meta` by which a modern host introduces itself: they are for the proxy, which has its own to say to the server.
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(super) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What a host says of itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Introduction {
    pub(super) modern: bool,
    info: Value,
    capabilities: Map<String, Value>,
}

impl Introduction {
    /// In the params of `initialize`.
    pub(super) fn of_handshake(params: &Members) -> Self {
        Self {
            modern: false,
            info: params.read("clientInfo").unwrap_or_default(),
            capabilities: params.read("capabilities").unwrap_or_default(),
        }
    }

    /// In `_meta` of a request of the modern era.
    pub(super) fn of_meta(meta: &Members) -> Self {
        Self {
            modern: true,
            info: meta.read(CLIENT_INFO).unwrap_or_default(),
            capabilities: meta.read(CLIENT_CAPABILITIES).unwrap_or_default(),
        }
    }

    /// Can the host do this?
    pub(super) fn declares(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(Value::is_object)
    }

    /// The client says the same of itself. Tasks that a host would carry out for the server are left out: the server would ask for them by
    /// requests that no client of ours answers.
    pub(super) fn declare(&self, builder: ClientBuilder) -> ClientBuilder {
        let mut declared: Map<String, Value> = Map::new();
        let mut extensions = Map::new();
        for (name, value) in &self.capabilities {
            match (name.as_str(), value) {
                ("tasks", _) => {}
                ("extensions", Value::Object(all)) => {
                    let objects = all.iter().filter(|(_, settings)| settings.is_object());
                    extensions.extend(objects.map(|(id, settings)| (id.clone(), settings.clone())));
                }
                (_, Value::Object(_)) => drop(declared.insert(name.clone(), value.clone())),
                _ => {}
            }
        }
        let said = |member: &str| self.info.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        let builder = builder.capabilities(declared).extensions(extensions);
        match said("name") {
            name if name.is_empty() => builder,
            name => builder.client_info(name, said("version")),
        }
    }
}

/// The version of the handshake era that the host is told: the one that it asked for, if there is such, else the newest. All of them say
/// the same of what passes through here, so the server may speak another one, of another era even.
pub(super) fn agreed(asked: Option<&str>) -> &'static str {
    let newest = HANDSHAKE[HANDSHAKE.len() - 1];
    HANDSHAKE.into_iter().find(|version| Some(*version) == asked).unwrap_or(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_the_version_that_it_asked_for_or_the_newest() {
        assert_eq!(agreed(Some("2025-03-26")), "2025-03-26");
        assert_eq!(agreed(Some("2031-01-01")), "2025-11-25");
        assert_eq!(agreed(None), "2025-11-25");
    }

    #[test]
    fn what_is_no_object_is_not_declared() {
        let params = serde_json::from_str::<Members>(r#"{"capabilities":{"roots":true,"sampling":{}}}"#).unwrap();
        let introduction = Introduction::of_handshake(&params);
        assert!(introduction.declares("sampling"));
        assert!(!introduction.declares("roots"));
    }
}
