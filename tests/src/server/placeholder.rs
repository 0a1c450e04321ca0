//! `$id` and its kin in the texts of a script; the list is in the documentation of the acts.

use serde_json::Value;

/// Where the values come from.
pub(crate) trait Lookup {
    /// The value of the placeholder with this name (without the dollar sign), if there is such a one.
    fn lookup(&self, name: &str) -> Option<Value>;
}

/// Replaces the placeholders everywhere in a JSON value.
pub(crate) fn in_value(value: &Value, from: &impl Lookup) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$').and_then(|name| from.lookup(name)) {
            Some(value) => value,
            None => Value::String(in_text(text, from)),
        },
        Value::Array(items) => items.iter().map(|item| in_value(item, from)).collect(),
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), in_value(member, from))).collect(),
        other => other.clone(),
    }
}

/// Replaces the placeholders in a text; strings go in without their quotes.
pub(crate) fn in_text(text: &str, from: &impl Lookup) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // The longest name wins, and an end of a sentence or a path is no part of it.
        let end = part
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':')))
            .unwrap_or(part.len());
        let hit = (1..=end).rev().find_map(|end| Some((end, from.lookup(part.get(..end)?)?)));
        match hit {
            Some((end, value)) => {
                match value {
                    Value::String(text) => out.push_str(&text),
                    other => out.push_str(&other.to_string()),
                }
                out.push_str(part.get(end..).unwrap_or_default());
            }
            None => {
                out.push('$');
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixed;

    impl Lookup for Fixed {
        fn lookup(&self, name: &str) -> Option<Value> {
            match name {
                "id" => Some(json!(7)),
                "url" => Some(json!("http://a/mcp")),
                "url.b" => Some(json!("http://b/mcp")),
                _ => None,
            }
        }
    }

    #[test]
    fn a_lone_placeholder_takes_the_type_and_one_in_a_text_becomes_text() {
        let value = json!({"id": "$id", "at": ["$url.b/x", "$5 and $url."], "no": "$none"});
        assert_eq!(
            in_value(&value, &Fixed),
            json!({"id": 7, "at": ["http://b/mcp/x", "$5 and http://a/mcp."], "no": "$none"})
        );
    }
}
