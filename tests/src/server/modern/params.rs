//! `Mcp-Param-*`: arguments whose schema has `x-mcp-header` are repeated in headers.

use serde_json::Value;

use super::admission::decoded;
use crate::server::catalog;
use crate::server::request::{Request, Rpc};
use crate::server::script::Options;

const PREFIX: &str = "mcp-param-";
/// The largest integer that every JSON reader keeps exact; clients may leave larger ones out.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// What the headers are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As they must be.
    Fine,
    /// The server can live with them, and a correct client would not send them.
    Odd(String),
    /// To be refused.
    Wrong {
        /// The header.
        header: String,
        /// What the body says.
        body: String,
    },
}

/// Compares the headers of a `tools/call` with its arguments.
pub(super) fn check(options: &Options, request: &Request, rpc: &Rpc) -> Verdict {
    let tool = rpc.name.as_deref().filter(|_| rpc.method.as_deref() == Some("tools/call"));
    let mut declared = Vec::new();
    if let Some(tool) = tool.and_then(|name| catalog::tool(options, name)) {
        declarations(&tool["inputSchema"], &mut Vec::new(), &mut declared);
    }
    let mut expected = Vec::new();
    for (path, name) in &declared {
        let value = path.iter().fold(&rpc.params()["arguments"], |value, key| &value[key.as_str()]);
        let Some(text) = text(value) else { continue };
        let header = format!("{PREFIX}{}", name.to_ascii_lowercase());
        let exact_everywhere = value.as_f64().is_none_or(|number| number.abs() <= MAX_SAFE as f64);
        match request.header(&header).map(|given| (given, decoded(given))) {
            None if !exact_everywhere => {}
            Some((_, Some(given))) if given == text || same_number(&given, value) => {}
            given => {
                let given = given.map_or("(missing)", |(given, _)| given);
                return Verdict::Wrong { header: header.clone(), body: format!("{given} is not {text:?}") };
            }
        }
        expected.push(header);
    }
    let surplus = request.headers.iter().map(|(name, _)| name.to_ascii_lowercase());
    match surplus.filter(|name| name.starts_with(PREFIX)).find(|name| !expected.contains(name)) {
        Some(name) => Verdict::Odd(format!("the header {name} repeats nothing")),
        None => Verdict::Fine,
    }
}

/// The headers as they came, by what follows the prefix, in lower case.
pub(crate) fn given(request: &Request) -> std::collections::BTreeMap<String, String> {
    let name = |header: &str| header.to_ascii_lowercase().strip_prefix(PREFIX).map(str::to_owned);
    request.headers.iter().filter_map(|(header, value)| Some((name(header)?, value.clone()))).collect()
}

fn declarations(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        path.push(key.clone());
        if let Some(name) = property["x-mcp-header"].as_str() {
            found.push((path.clone(), name.to_owned()));
        }
        declarations(property, path, found);
        path.pop();
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// 42 and 42.0 are the same argument.
fn same_number(given: &str, value: &Value) -> bool {
    value.is_number() && given.parse::<f64>().is_ok_and(|given| value.as_f64() == Some(given))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(headers: &[(&str, &str)], arguments: &Value) -> Verdict {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "free": {"type": "string"},
        }});
        let mut options = Options::default();
        options.tools.insert("poke".to_owned(), json!({"inputSchema": schema}));
        let body = json!({"method": "tools/call", "id": 1, "params": {"name": "poke", "arguments": arguments}});
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = Request { headers, ..Request::default() };
        check(&options, &request, &Rpc::parse(body.to_string().as_bytes()).unwrap_or_default())
    }

    #[test]
    fn declared_arguments_must_be_in_headers_and_nothing_else_may() {
        let both = [("Mcp-Param-Region", "eu"), ("mcp-param-n", "7")];
        assert_eq!(verdict(&both, &json!({"region": "eu", "deep": {"n": 7}, "free": "x"})), Verdict::Fine);
        assert_eq!(verdict(&[("mcp-param-n", "7.0")], &json!({"region": null, "deep": {"n": 7}})), Verdict::Fine);
        assert_eq!(verdict(&[], &json!({"deep": {"n": 9_007_199_254_740_993_u64}})), Verdict::Fine);
        for (headers, arguments) in [
            (&[][..], json!({"region": "eu"})),
            (&both[..1], json!({"region": "us"})),
            (&both[..1], json!({"region": "eu", "deep": {"n": 7}})),
        ] {
            assert!(matches!(verdict(headers, &arguments), Verdict::Wrong { .. }), "{arguments}");
        }
        assert!(matches!(verdict(&both[..1], &json!({"region": null})), Verdict::Odd(_)));
        assert!(matches!(verdict(&[("Mcp-Param-Free", "x")], &json!({"free": "x"})), Verdict::Odd(_)));
    }
}
