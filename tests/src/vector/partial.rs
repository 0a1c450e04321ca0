//! Does a value have at least what another one says?
//!
//! Objects need only the members that are named; a member that is expected to be null may be absent. Arrays must be of the same
//! length. An object with one member that begins with a dollar sign is a test: `$any_of`, `$all_of`, `$not`, `$has` (part of a text, or an
//! item of an array), `$at_least`, `$at_most`.

use serde_json::Value;

/// Where and how the value differs; `None` if it does not.
pub fn mismatch(wanted: &Value, value: &Value) -> Option<String> {
    differ(wanted, value, "")
}

fn differ(wanted: &Value, value: &Value, at: &str) -> Option<String> {
    let wrong = || Some(format!("{at}: expected {wanted}, got {value}"));
    match (wanted, value) {
        (Value::Object(members), _) if members.len() == 1 && members.keys().all(|key| key.starts_with('$')) => {
            let holds = members.iter().all(|(test, argument)| passes(test, argument, value));
            if holds { None } else { wrong() }
        }
        (Value::Object(members), Value::Object(given)) => members.iter().find_map(|(key, member)| {
            let given = given.get(key).unwrap_or(&Value::Null);
            differ(member, given, &format!("{at}/{key}"))
        }),
        (Value::Array(items), Value::Array(given)) if items.len() == given.len() => items
            .iter()
            .zip(given)
            .enumerate()
            .find_map(|(index, (item, given))| differ(item, given, &format!("{at}/{index}"))),
        _ if wanted == value => None,
        _ => wrong(),
    }
}

fn passes(test: &str, argument: &Value, value: &Value) -> bool {
    match (test, argument) {
        ("$any_of", Value::Array(choices)) => choices.iter().any(|choice| mismatch(choice, value).is_none()),
        ("$all_of", Value::Array(wanted)) => wanted.iter().all(|wanted| mismatch(wanted, value).is_none()),
        ("$not", unwanted) => mismatch(unwanted, value).is_some(),
        ("$has", item) => match value {
            Value::String(text) => item.as_str().is_some_and(|part| text.contains(part)),
            Value::Array(items) => items.iter().any(|given| mismatch(item, given).is_none()),
            _ => false,
        },
        ("$at_least", bound) => value.as_f64() >= bound.as_f64() && value.is_number(),
        ("$at_most", bound) => value.as_f64() <= bound.as_f64() && value.is_number(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_need_only_what_is_named_and_arrays_all() {
        let value = json!({"a": {"b": 1, "c": 2}, "list": [1, 2]});
        assert_eq!(mismatch(&json!({"a": {"b": 1}, "none": null}), &value), None);
        assert_eq!(mismatch(&json!({"a": {"b": 2}}), &value).unwrap(), "/a/b: expected 2, got 1");
        assert!(mismatch(&json!({"list": [1]}), &value).is_some());
        assert!(mismatch(&json!({"missing": 1}), &value).is_some());
    }

    #[test]
    fn tests_are_written_with_a_dollar_sign() {
        let value = json!({"n": 5, "text": "session not found", "list": [{"a": 1, "b": 2}]});
        for (good, bad) in [
            (json!({"n": {"$at_least": 5}}), json!({"n": {"$at_least": 6}})),
            (json!({"n": {"$at_most": 5}}), json!({"n": {"$at_most": 4}})),
            (json!({"n": {"$any_of": [4, 5]}}), json!({"n": {"$any_of": [4]}})),
            (json!({"n": {"$not": 4}}), json!({"n": {"$not": 5}})),
            (json!({"n": {"$all_of": [5, {"$not": 4}]}}), json!({"n": {"$all_of": [5, 4]}})),
            (json!({"text": {"$has": "not"}}), json!({"text": {"$has": "nought"}})),
            (json!({"list": {"$has": {"a": 1}}}), json!({"list": {"$has": {"a": 2}}})),
            (json!({"list": {"$not": null}}), json!({"list": {"$unknown": 1}})),
        ] {
            assert_eq!(mismatch(&good, &value), None);
            assert!(mismatch(&bad, &value).is_some(), "{bad}");
        }
    }
}
