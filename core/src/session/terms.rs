//! What every request of the modern era carries, since there is no handshake that could have said it once (MCP 2026-07-28, basic,
//! "Request metadata"; transports, Streamable HTTP, "Standard headers").

use std::sync::PoisonError;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::restorable::SharedRestorable;
use crate::protocol::era::MODERN_VERSION;
use crate::protocol::parameter_headers::encode;
use crate::rpc::params::{Params, raw_string};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

pub(crate) const PROTOCOL_VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_INFO_IN_META: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES_IN_META: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_IN_META: &str = "io.modelcontextprotocol/logLevel";

/// Who the client is and what it can do, as both eras tell it.
#[derive(Clone, Debug)]
pub(crate) struct Introduction {
    pub(crate) client_info: Value,
    pub(crate) capabilities: Value,
}

impl Introduction {
    /// `extensions` go into the capabilities as the host gave them; none are advertised otherwise.
    pub(crate) fn new(
        name: &str,
        version: &str,
        mut capabilities: Map<String, Value>,
        extensions: &Map<String, Value>,
    ) -> Self {
        if !extensions.is_empty() {
            capabilities.insert("extensions".to_owned(), Value::Object(extensions.clone()));
        }
        Self { client_info: json!({ "name": name, "version": version }), capabilities: Value::Object(capabilities) }
    }
}

/// The metadata of a client's requests.
#[derive(Debug)]
pub(crate) struct Terms {
    client_info: Box<RawValue>,
    capabilities: Box<RawValue>,
    /// Holds the log level that the caller set.
    restorable: SharedRestorable,
}

impl Terms {
    pub(crate) fn new(introduction: &Introduction, restorable: SharedRestorable) -> Self {
        let raw = |value: &Value| serde_json::value::to_raw_value(value).unwrap_or_default();
        Self { client_info: raw(&introduction.client_info), capabilities: raw(&introduction.capabilities), restorable }
    }

    /// The version header of every request.
    pub(crate) fn version() -> HeaderValue {
        HeaderValue::from_static(MODERN_VERSION)
    }

    /// These params with the metadata in `_meta`.
    pub(crate) fn complete(&self, params: &Params) -> Params {
        let level = self.restorable.lock().unwrap_or_else(PoisonError::into_inner).log_level.clone();
        let keys = [
            (PROTOCOL_VERSION_IN_META, raw_string(MODERN_VERSION)),
            (CLIENT_INFO_IN_META, self.client_info.clone()),
            (CLIENT_CAPABILITIES_IN_META, self.capabilities.clone()),
        ];
        params.with_meta(keys.into_iter().chain(level.map(|level| (LOG_LEVEL_IN_META, raw_string(&level)))))
    }
}

/// The headers by which a request can be routed without reading its body: `Mcp-Method`, and `Mcp-Name` where the method has one.
pub(crate) fn routing_headers(method: &str, params: &Params) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(method) = encode(method) {
        headers.insert(METHOD, method);
    }
    let name = name_member(method)
        .and_then(|member| params.get(member))
        .and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    if let Some(name) = name.as_deref().and_then(encode) {
        headers.insert(NAME, name);
    }
    headers
}

/// The member of the params that names what the request is about.
fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        // The tasks extension.
        "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" => Some("taskId"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use std::sync::Arc;

    use super::*;

    fn params(value: &Value) -> Params {
        Params::from_value("params", value).unwrap()
    }

    #[test_case("tools/call", &json!({"name": "poke"}), Some("poke"))]
    #[test_case("prompts/get", &json!({"name": "hello"}), Some("hello"))]
    #[test_case("resources/read", &json!({"uri": "mem://a"}), Some("mem://a"))]
    #[test_case("tasks/get", &json!({"taskId": "t1"}), Some("t1"))]
    #[test_case("tools/call", &json!({"name": "größe"}), Some("=?base64?Z3LDtsOfZQ==?="))]
    #[test_case("tools/list", &json!({"name": "no"}), None)]
    #[test_case("tools/call", &json!({}), None; "no name")]
    fn a_request_can_be_routed_by_its_headers(method: &str, given: &Value, name: Option<&str>) {
        let headers = routing_headers(method, &params(given));
        assert_eq!(headers["mcp-method"], method);
        assert_eq!(headers.get("mcp-name").map(|name| name.to_str().unwrap()), name);
    }

    #[test]
    fn the_metadata_is_complete_and_the_callers_stays() {
        let restorable = SharedRestorable::default();
        let extensions = json!({ "org.example/x": { "a": 1 } });
        let introduction = Introduction::new("host", "1", Map::new(), extensions.as_object().unwrap());
        let terms = Terms::new(&introduction, Arc::clone(&restorable));
        restorable.lock().unwrap().log_level = Some("debug".to_owned());
        let sent =
            terms.complete(&params(&json!({ "_meta": { "traceparent": "00-1", PROTOCOL_VERSION_IN_META: "x" } })));
        let sent: Value = serde_json::from_str(&sent.to_json().unwrap()).unwrap();
        assert_eq!(
            sent,
            json!({ "_meta": {
                "traceparent": "00-1",
                PROTOCOL_VERSION_IN_META: "2026-07-28",
                CLIENT_INFO_IN_META: { "name": "host", "version": "1" },
                CLIENT_CAPABILITIES_IN_META: { "extensions": { "org.example/x": { "a": 1 } } },
                LOG_LEVEL_IN_META: "debug",
            } })
        );
    }
}
