//! What a runner tells the judge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that a runner saw.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The outcome of each call by its name.
    pub calls: BTreeMap<String, Outcome>,
    /// The client's events in order, as JSON.
    #[serde(default)]
    pub events: Vec<Value>,
    /// Every text that a host could log: errors and their representations, the representation of the client, log lines.
    #[serde(default)]
    pub texts: Vec<String>,
    /// How often the token provider was asked.
    #[serde(default)]
    pub tokens_asked: u64,
}

/// How one call ended. Exactly one of `ok`, `error` and `cancelled` is there.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Outcome {
    /// From the call to its end.
    pub elapsed_ms: u64,
    /// The result with the names of the wire; null where there is none to speak of.
    #[serde(with = "present", skip_serializing_if = "Option::is_none")]
    pub ok: Option<Value>,
    /// The error as its own JSON, plus `class` (the word for the class that was thrown) and `text` (what it prints).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// The host language's own cancellation.
    pub cancelled: bool,
    /// Progress notifications that the callback got.
    pub progress: Vec<Value>,
}

/// `"ok": null` is a success without a result, and no `ok` is none.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
    pub(super) fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}
