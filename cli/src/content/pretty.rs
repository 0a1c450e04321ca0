//! JSON, indented, with every digit and the order of its members as they came.

/// Indents a JSON text by two spaces a level. What is no JSON comes out much as it went in.
pub(crate) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len().saturating_mul(2));
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        if in_string {
            out.push(character);
            in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                out.push(character);
                while rest.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                in_string = character == '"';
                out.push(character);
            }
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::pretty;

    #[test]
    fn it_is_what_others_write() {
        let value = json!({"a": [1, 2.5, {}], "b": {"c": [], "d": "x\\\"{,:}"}, "e": null, "f": ""});
        assert_eq!(pretty(&value.to_string()), serde_json::to_string_pretty(&value).unwrap());
        let spaced = pretty(" { \"a\" : [ ] , \"b\" : 1 } ");
        assert_eq!(serde_json::from_str::<Value>(&spaced).unwrap(), json!({"a": [], "b": 1}));
    }

    #[test]
    fn every_digit_and_the_order_stay() {
        assert_eq!(
            pretty(r#"{"z":123456789012345678901234567890,"a":1.50}"#),
            "{\n  \"z\": 123456789012345678901234567890,\n  \"a\": 1.50\n}"
        );
    }
}
