//! The tools, resources and prompts of the healthy server, and its answers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::era::Lifecycle;
use super::modern::{self, Turn};
use super::request::Rpc;
use super::script::Options;

/// Protocol versions with the handshake, oldest first.
pub(crate) const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The JSON-RPC message that answers a request.
pub(crate) fn answer(options: &Options, lifecycle: Lifecycle, generation: u64, rpc: &Rpc) -> Value {
    let id = rpc.id.clone().unwrap_or_default();
    let answer = match lifecycle {
        Lifecycle::Legacy => result(options, generation, rpc),
        Lifecycle::Modern => match modern::turn(options, rpc) {
            Turn::Answer => modern_result(options, generation, rpc),
            Turn::Ask(question) => Ok(question),
            Turn::Wrong => Err((-32602, "Unknown request state or input responses".to_owned())),
            Turn::Lacks(capabilities) => {
                let wording = "Missing required client capabilities";
                let data = json!({"requiredCapabilities": capabilities});
                return error_with(&id, modern::MISSING_CAPABILITY, wording, data);
            }
        }
        .map(|mut result| {
            modern::dress(options, rpc, &mut result);
            result
        }),
    };
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => error(&id, code, &message),
    }
}

/// A JSON-RPC error message with `data`, unless that is null.
pub(crate) fn error_with(id: &Value, code: i64, message: &str, data: Value) -> Value {
    let mut error = error(id, code, message);
    if !data.is_null() {
        error["error"]["data"] = data;
    }
    error
}

/// What the server can, or says that it can.
pub(crate) fn capabilities(options: &Options) -> Value {
    options.capabilities.clone().unwrap_or_else(|| {
        json!({
            "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true}, "completions": {}, "logging": {},
        })
    })
}

/// Who the server is.
pub(crate) fn server_info() -> Value {
    json!({"name": "fault-server", "version": "1.0.0"})
}

/// The description of a tool.
pub(crate) fn tool(options: &Options, name: &str) -> Option<Value> {
    tools(&options.tools).into_iter().find(|tool| tool["name"] == name)
}

/// Some methods went with the handshake, and some codes changed.
fn modern_result(options: &Options, generation: u64, rpc: &Rpc) -> Result<Value, (i64, String)> {
    match rpc.method.as_deref().unwrap_or_default() {
        "server/discover" => Ok(modern::discovered(options)),
        "initialize" | "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            Err((-32601, "Method not found".to_owned()))
        }
        _ => result(options, generation, rpc).map_err(|(code, message)| match code {
            -32002 => (-32602, message),
            _ => (code, message),
        }),
    }
}

/// A JSON-RPC error message.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn result(options: &Options, generation: u64, rpc: &Rpc) -> Result<Value, (i64, String)> {
    let params = rpc.params();
    let name = rpc.name.as_deref().unwrap_or_default();
    let page = |key: &str, items: Vec<Value>| page(options.page_size, generation, params, key, items);
    match rpc.method.as_deref().unwrap_or_default() {
        "initialize" => Ok(json!({
            "protocolVersion": version(options, params["protocolVersion"].as_str()),
            "capabilities": capabilities(options),
            "serverInfo": server_info(),
            "instructions": "Fails on purpose.",
        })),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => Ok(json!({})),
        "tools/list" => page("tools", tools(&options.tools)),
        "tools/call" => call(options, name, params),
        "resources/list" => page("resources", ["mem://a", "mem://b", "mem://c"].map(resource).into()),
        "resources/templates/list" => page(
            "resourceTemplates",
            vec![json!({"uriTemplate": "mem://{name}", "name": "memory", "mimeType": "text/plain"})],
        ),
        "resources/read" if name.starts_with("mem://") => {
            Ok(json!({"contents": [{"uri": name, "mimeType": "text/plain", "text": format!("what {name} holds")}]}))
        }
        "resources/read" => Err((-32002, "Resource not found".to_owned())),
        "prompts/list" => page("prompts", vec![json!({"name": "hello"}), json!({"name": "bye"})]),
        "prompts/get" if matches!(name, "hello" | "bye") => {
            Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": format!("say {name}")}}]}))
        }
        "prompts/get" => Err((-32602, "Unknown prompt".to_owned())),
        "completion/complete" => Ok(json!({"completion": {"values": ["alpha", "beta"], "total": 2, "hasMore": false}})),
        "dev.oncewire.tests/custom" => Ok(json!({"custom": true, "params": params})),
        _ => Err((-32601, "Method not found".to_owned())),
    }
}

fn version<'a>(options: &'a Options, wanted: Option<&'a str>) -> &'a str {
    let newest = options.protocol_version.as_str();
    // The versions are dates: their order is that of their texts.
    wanted.filter(|wanted| VERSIONS.contains(wanted) && *wanted <= newest).unwrap_or(newest)
}

fn tools(overrides: &BTreeMap<String, Value>) -> Vec<Value> {
    let tool = |name: &str, annotations: Option<Value>| {
        let mut tool =
            json!({"name": name, "description": format!("The tool {name}"), "inputSchema": {"type": "object"}});
        if let Some(annotations) = annotations {
            tool["annotations"] = annotations;
        }
        if let Some(Value::Object(members)) = overrides.get(name) {
            for (key, value) in members {
                tool[key] = value.clone();
            }
        }
        tool
    };
    let mut tools = vec![
        tool("poke", None),
        tool("peek", Some(json!({"readOnlyHint": true}))),
        tool("nudge", Some(json!({"idempotentHint": true}))),
        tool("slow", None),
        tool("echo", Some(json!({"readOnlyHint": true}))),
    ];
    let more: Vec<_> = overrides.keys().filter(|name| tools.iter().all(|tool| tool["name"] != **name)).collect();
    tools.extend(more.into_iter().map(|name| tool(name, None)));
    tools
}

fn call(options: &Options, name: &str, params: &Value) -> Result<Value, (i64, String)> {
    match name {
        "poke" | "peek" | "nudge" | "slow" => Ok(tool_result(&format!("{name} done"))),
        "echo" => Ok(json!({
            "content": [{"type": "text", "text": params["arguments"].to_string()}],
            "structuredContent": params["arguments"],
            "isError": false,
        })),
        _ if options.tools.contains_key(name) => Ok(tool_result(&format!("{name} done"))),
        _ => Err((-32602, format!("Unknown tool: {name}"))),
    }
}

pub(crate) fn tool_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": false})
}

fn resource(uri: &str) -> Value {
    json!({"uri": uri, "name": uri, "mimeType": "text/plain"})
}

/// Cursors die with their session, as the specification allows: one from another generation is refused.
fn page(size: usize, generation: u64, params: &Value, key: &str, items: Vec<Value>) -> Result<Value, (i64, String)> {
    let start = match params["cursor"].as_str() {
        None => 0,
        Some(cursor) => cursor
            .split_once(':')
            .filter(|(owner, _)| owner.parse() == Ok(generation))
            .and_then(|(_, start)| start.parse().ok())
            .filter(|start| *start < items.len())
            .ok_or_else(|| (-32602, "Invalid cursor".to_owned()))?,
    };
    if size == 0 {
        return Ok(json!({ key: items }));
    }
    let end = (start + size).min(items.len());
    let mut result = json!({ key: items.get(start..end) });
    if end < items.len() {
        result["nextCursor"] = Value::from(format!("{generation}:{end}"));
    }
    Ok(result)
}
