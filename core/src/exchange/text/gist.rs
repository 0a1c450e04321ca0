//! What a page says in one line: a server that refuses often says why, and how it would not have.

use serde_json::Value;

/// Characters of a page that a text repeats.
const GIST: usize = 200;

/// Members of a JSON object that hold the words for a person, best first.
const SAID: [&str; 7] = ["error_description", "message", "detail", "error", "reason", "description", "title"];

/// The words of a page for a person, in one line; `None` if it has none. The page is text, HTML or JSON, and may be cut off anywhere.
pub(crate) fn gist(page: &str) -> Option<String> {
    let page = page.trim();
    let said = if page.starts_with('{') {
        serde_json::from_str(page).ok().as_ref().and_then(said).unwrap_or_else(|| page.to_owned())
    } else if page.starts_with('<') {
        of_html(page)
    } else {
        page.lines().next().unwrap_or_default().to_owned()
    };
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut gist: String = line.chars().take(GIST).collect();
    if gist.len() < line.len() {
        gist.push('…');
    }
    Some(gist).filter(|gist| !gist.is_empty())
}

fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(members) => SAID.iter().find_map(|name| said(members.get(*name)?)),
        _ => None,
    }
}

/// The text between the tags, without what is no text and without what was just said: title and heading are often the same.
fn of_html(page: &str) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some((text, after)) = rest.split_once('<') {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() && texts.last() != Some(&text) {
            texts.push(text);
        }
        let hidden = ["script", "style", "!--"]
            .iter()
            .find(|tag| after.get(..tag.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(tag)));
        let end = match hidden {
            Some(&"!--") => "-->",
            Some(&"style") => "</style>",
            Some(_) => "</script>",
            None => ">",
        };
        rest = after.split_once(end).map(|(_, rest)| rest).unwrap_or_default();
    }
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("Access is only allowed at localhost:9114\n", Some("Access is only allowed at localhost:9114"); "a line")]
    #[test_case("\n  one\ntwo", Some("one"); "the first of several lines")]
    #[test_case("<html><head><title>502 Bad Gateway</title>\n<style>h1{}</style></head><body><h1>502 Bad Gateway</h1><hr>nginx</body>", Some("502 Bad Gateway: nginx"); "a page")]
    #[test_case("<!DOCTYPE html><!-- > --><script>a > b</script><pre>Cannot POST /mcpp</pre>", Some("Cannot POST /mcpp"); "what is no text")]
    #[test_case("<p>cut off <b", Some("cut off"); "a page that is cut off")]
    #[test_case(r#"{"detail": "Not Found"}"#, Some("Not Found"); "json")]
    #[test_case(r#"{"status": 400, "error": {"code": 7, "message": "no\n such\tthing"}}"#, Some("no such thing"); "json within json")]
    #[test_case(r#"{"detail": "cut of"#, Some(r#"{"detail": "cut of"#); "json that is cut off")]
    #[test_case(r#"{"a": 1}"#, Some(r#"{"a": 1}"#); "json without words")]
    #[test_case("", None; "nothing")]
    #[test_case("<html></html>", None; "a page without words")]
    fn a_page_is_told_in_one_line(page: &str, told: Option<&str>) {
        assert_eq!(gist(page).as_deref(), told);
    }

    #[test]
    fn the_line_is_short() {
        assert_eq!(gist(&"é".repeat(300)), Some(format!("{}…", "é".repeat(GIST))));
    }
}
