//! What the server says of the filter of the stream: the first message on it (MCP 2026-07-28, schema,
//! SubscriptionsAcknowledgedNotification).

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

/// The first message of the stream: it says what the server will tell.
pub(crate) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// What the server said of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledgement {
    /// It tells of what was asked for, as far as it agreed to.
    Given(Agreed),
    /// It offers no such stream.
    Refused,
    /// Nothing: the stream was lost again and again.
    Lost,
}

/// The resources that the server agreed to tell of (MCP 2026-07-28, schema, SubscriptionsAcknowledgedNotification: the subset of the
/// filter that it honours); all that were asked for, if it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed(Option<Arc<[String]>>);

impl Agreed {
    pub(super) fn of(params: Option<&RawValue>) -> Self {
        let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok()).unwrap_or_default();
        let told = params.get("notifications").and_then(Value::as_object);
        Self(told.map(|told| {
            let uris = told.get("resourceSubscriptions").and_then(Value::as_array);
            uris.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        }))
    }

    pub(super) fn includes(&self, uri: &str) -> bool {
        self.0.as_ref().is_none_or(|uris| uris.iter().any(|agreed| agreed == uri))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_agreed_to_is_what_the_server_says() {
        let of = |params: Value| Agreed::of(Some(&serde_json::value::to_raw_value(&params).unwrap()));
        let said = of(json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["mem://a"] } }));
        assert!(said.includes("mem://a") && !said.includes("mem://b"));
        assert!(!of(json!({ "notifications": {} })).includes("mem://a"));
        assert!(of(json!({})).includes("mem://a") && Agreed::of(None).includes("mem://a"));
    }
}
