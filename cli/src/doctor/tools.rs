//! What tools say of themselves: hints, schemas, names.

use std::collections::BTreeMap;

use oncewire::diagnose::{Ask, parameter_header_fault};
use serde_json::{Value, json};

use super::answer::{one_line, said};
use super::catalog::{self, Check};
use super::examine::{Examination, Line};
use super::facts;
use super::report::Finding;

/// Pages that are read.
const PAGES: usize = 50;
/// Names that a finding repeats.
const NAMED: usize = 8;
/// Words at the beginning of a name that change something.
const WRITES: [&str; 17] = [
    "add", "cancel", "create", "delete", "deploy", "drop", "execute", "insert", "patch", "post", "publish", "remove",
    "rename", "send", "transfer", "update", "write",
];

/// Lists the tools of a server that has any.
pub(super) async fn examine(examination: &mut Examination<'_>, line: &Line) {
    let offers = examination.facts.era.as_ref().is_some_and(|era| era.capabilities.iter().any(|name| name == "tools"));
    if !offers {
        return;
    }
    examination.progress.at("tools");
    let mut cursor: Option<String> = None;
    let mut pages = 0;
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let Some(told) = examination.ask(line.dress(Ask::request("tools/list", params))).await else { return };
        let Some(result) = told.result.as_ref() else {
            examination.find(&catalog::NO_TOOLS, said(&told));
            return;
        };
        pages += 1;
        examination.tools.extend(result["tools"].as_array().cloned().unwrap_or_default());
        let next = result["nextCursor"].as_str().map(str::to_owned);
        if next.is_none() {
            break;
        }
        if pages >= PAGES || next == cursor {
            examination.find(&catalog::PAGES_ENDLESS, format!("page {pages} names another one"));
            break;
        }
        cursor = next;
    }
    let (mut seen, findings) = judge(&examination.tools);
    seen.pages = pages;
    examination.facts.tools = Some(seen);
    examination.findings.extend(findings);
}

/// What the descriptions say.
pub(super) fn judge(tools: &[Value]) -> (facts::Tools, Vec<Finding>) {
    let mut seen = facts::Tools { count: tools.len(), ..facts::Tools::default() };
    let mut lists: BTreeMap<&'static str, (&'static Check, Vec<String>)> = BTreeMap::new();
    let mut found =
        |check: &'static Check, what: String| lists.entry(check.id).or_insert((check, Vec::new())).1.push(what);
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tool in tools {
        let name = one_line(tool["name"].as_str().unwrap_or_default());
        names.entry(folded(&name)).or_default().push(name.clone());
        if !is_good(&name) {
            found(&catalog::BAD_NAME, format!("{name:?}"));
        }
        let hint = |hint: &str| tool["annotations"][hint].as_bool();
        let (reads, repeats, destroys) = (hint("readOnlyHint"), hint("idempotentHint"), hint("destructiveHint"));
        match (reads, repeats) {
            (Some(true), _) => seen.read_only += 1,
            (_, Some(true)) => seen.idempotent += 1,
            (None, None) if destroys.is_none() => {
                seen.silent += 1;
                found(&catalog::NO_HINTS, name.clone());
            }
            _ => seen.writing += 1,
        }
        if reads == Some(true) && destroys == Some(true) {
            found(&catalog::CONTRADICTORY, format!("{name}: readOnlyHint and destructiveHint"));
        } else if reads == Some(true) && sounds_like_writing(&name) {
            found(&catalog::DOUBTFUL_HINT, name.clone());
        }
        match &tool["inputSchema"] {
            schema @ Value::Object(_) if schema["type"] == "object" => {
                if let Some(fault) = parameter_header_fault(schema) {
                    found(&catalog::HEADER_FAULT, format!("{name}: {fault}"));
                }
            }
            Value::Null => found(&catalog::SCHEMA_FAULT, format!("{name}: there is none")),
            _ => found(&catalog::SCHEMA_FAULT, format!("{name}: its type is not object")),
        }
    }
    for (_, alike) in names.into_iter().filter(|(_, alike)| alike.len() > 1) {
        let same = alike.iter().all(|name| *name == alike[0]);
        if same {
            found(&catalog::SAME_NAME, format!("{} ({} times)", alike[0], alike.len()));
        } else {
            found(&catalog::ALIKE_NAMES, alike.join(" and "));
        }
    }
    let count = tools.len();
    let findings = lists.into_values().map(|(check, what)| {
        let more = what.len().saturating_sub(NAMED);
        let mut detail = what.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            detail = format!("{detail} and {more} more");
        }
        Finding::new(check, format!("{} of {count}: {detail}", what.len()))
    });
    (seen, findings.collect())
}

/// MCP 2025-11-25, tools, "Tool names".
fn is_good(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// What hosts that change names make of it.
fn folded(name: &str) -> String {
    name.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '_' }).collect()
}

/// Is a word that changes something the first of the name, or behind a prefix?
fn sounds_like_writing(name: &str) -> bool {
    let mut words = Vec::new();
    let mut word = String::new();
    for sign in name.chars() {
        if !sign.is_ascii_alphanumeric() || sign.is_ascii_uppercase() {
            words.push(std::mem::take(&mut word));
        }
        if sign.is_ascii_alphanumeric() {
            word.push(sign.to_ascii_lowercase());
        }
    }
    words.push(word);
    words.iter().filter(|word| !word.is_empty()).take(2).any(|word| WRITES.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn tool(name: &str, annotations: Value) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations })
    }

    fn found(tools: &[Value]) -> Vec<&'static str> {
        judge(tools).1.into_iter().map(|finding| finding.check).collect()
    }

    #[test]
    fn hints_are_counted_once_for_each_tool() {
        let tools = [
            tool("a", json!({ "readOnlyHint": true, "idempotentHint": true })),
            tool("b", json!({ "idempotentHint": true })),
            tool("c", json!({ "readOnlyHint": false })),
            tool("d", json!({ "destructiveHint": true })),
            tool("e", json!({ "title": "E" })),
            tool("f", Value::Null),
        ];
        let (seen, _) = judge(&tools);
        assert_eq!((seen.count, seen.read_only, seen.idempotent, seen.writing, seen.silent), (6, 1, 1, 2, 2));
    }

    #[test_case(&json!({ "name": "a" }), "tools.schema_fault"; "no schema")]
    #[test_case(&json!({ "name": "a", "inputSchema": { "type": "array" } }), "tools.schema_fault"; "another type")]
    #[test_case(&json!({ "name": "a b", "inputSchema": { "type": "object" } }), "tools.bad_name"; "a blank")]
    #[test_case(&json!({ "name": "", "inputSchema": { "type": "object" } }), "tools.bad_name"; "no name")]
    #[test_case(&tool("a", json!({ "readOnlyHint": true, "destructiveHint": true })), "tools.contradictory")]
    #[test_case(&tool("files_delete_all", json!({ "readOnlyHint": true })), "tools.doubtful_hint")]
    #[test_case(&tool("deleteFile", json!({ "readOnlyHint": true })), "tools.doubtful_hint"; "in camel case")]
    #[test_case(&tool("a", Value::Null), "tools.no_hints")]
    fn a_fault_is_found(tool: &Value, check: &str) {
        assert!(found(std::slice::from_ref(tool)).contains(&check), "{:?}", found(std::slice::from_ref(tool)));
    }

    #[test]
    fn names_are_compared_as_hosts_write_them() {
        let read = |name: &str| tool(name, json!({ "readOnlyHint": true }));
        assert_eq!(found(&[read("get-a"), read("get_a")]), ["tools.alike_names"]);
        assert_eq!(found(&[read("a"), read("a")]), ["tools.same_name"]);
        assert_eq!(found(&[read("a"), read("b"), read("list_updates")]), [] as [&str; 0]);
    }
}
