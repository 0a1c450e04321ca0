//! What results of the modern era have besides what the method says.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::SERVER_INFO;
use crate::server::catalog;
use crate::server::request::Rpc;
use crate::server::script::Options;

/// How long a result may be kept, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// `ttlMs`
    pub ttl_ms: u64,
    /// `cacheScope`: `public` or `private`.
    #[serde(default = "private")]
    pub scope: String,
}

fn private() -> String {
    "private".to_owned()
}

/// The answer to `server/discover`.
pub(in crate::server) fn discovered(options: &Options) -> Value {
    json!({
        "supportedVersions": options.modern_versions,
        "capabilities": catalog::capabilities(options),
        "instructions": "Fails on purpose.",
    })
}

/// Adds what every result of this era has; what is there stays.
pub(in crate::server) fn dress(options: &Options, rpc: &Rpc, result: &mut Value) {
    let mut add = |name: &str, value: Value| {
        if result.get(name).is_none() {
            result[name] = value;
        }
    };
    add("resultType", Value::from("complete"));
    let method = rpc.method.as_deref().unwrap_or_default();
    let cacheable = method.ends_with("/list") || matches!(method, "server/discover" | "resources/read");
    if cacheable {
        let keep = options.keep.get(method);
        add("ttlMs", Value::from(keep.map_or(0, |keep| keep.ttl_ms)));
        add("cacheScope", Value::from(keep.map_or("private", |keep| keep.scope.as_str())));
    }
    result["_meta"][SERVER_INFO] = catalog::server_info();
}
