//! What is wrong with a tool, as the client sees it.

use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::protocol::parameter_headers::annotations;

/// Why the client would not offer a tool with this input schema in the modern era: a wrong `x-mcp-header`.
#[must_use]
pub fn parameter_header_fault(schema: &Value) -> Option<String> {
    let raw = to_raw_value(schema).ok()?;
    annotations(&raw).err()
}
