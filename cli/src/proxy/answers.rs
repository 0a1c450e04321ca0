//! Results as the host of each era has to find them.

use oncewire::InitializeResult;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::era::{MODERN, SERVER_INFO, agreed};
use crate::rpc::members::{Members, raw, text};

/// What is told of the server, whichever era it speaks, and what it offers.
fn of_server(initialized: &InitializeResult) -> (Members, Value) {
    let said = Members::of(&text(initialized.to_json())).unwrap_or_default();
    let mut capabilities = said.read::<Value>("capabilities").filter(Value::is_object).unwrap_or_else(|| json!({}));
    for list in ["tools", "prompts", "resources"] {
        // The proxy tells it itself whenever the session was replaced.
        if let Some(offered) = capabilities.get_mut(list).and_then(Value::as_object_mut) {
            offered.insert("listChanged".to_owned(), Value::Bool(true));
        }
    }
    (said, capabilities)
}

/// The answer to `initialize`, and what the server offers.
pub(super) fn initialize(initialized: &InitializeResult, asked: Option<&str>) -> (Box<RawValue>, Value) {
    let (mut said, capabilities) = of_server(initialized);
    for modern in ["resultType", "supportedVersions", "ttlMs", "cacheScope"] {
        said.remove(modern);
    }
    said.set("protocolVersion", raw(&json!(agreed(asked))));
    said.set("capabilities", raw(&capabilities));
    said.set_default("serverInfo", &json!({ "name": "unknown", "version": "" }));
    (said.to_raw(), capabilities)
}

/// The answer to `server/discover`, and what the server offers.
pub(super) fn discover(initialized: &InitializeResult) -> (Box<RawValue>, Value) {
    let (mut said, capabilities) = of_server(initialized);
    said.remove("protocolVersion");
    let info = said.remove("serverInfo");
    said.set("supportedVersions", raw(&json!([MODERN])));
    said.set("capabilities", raw(&capabilities));
    let mut meta = said.object("_meta").unwrap_or_default();
    if let Some(info) = info {
        meta.set(SERVER_INFO, info);
    }
    said.set("_meta", meta.to_raw());
    // What is told here may be another server's after the next restart.
    said.remove("ttlMs");
    said.remove("cacheScope");
    (dress("server/discover", said.to_raw()), capabilities)
}

/// A result with what every result of the modern era has. What the server said stays.
pub(super) fn dress(method: &str, result: Box<RawValue>) -> Box<RawValue> {
    let Some(mut members) = Members::of(&result) else { return result };
    members.set_default("resultType", &json!("complete"));
    if members.read::<String>("resultType").as_deref() != Some("complete") {
        return members.to_raw();
    }
    let lists = method.ends_with("/list") || method == "server/discover";
    if lists || method == "resources/read" {
        members.set_default("ttlMs", &json!(0));
        members.set_default("cacheScope", &json!("private"));
    }
    members.to_raw()
}
