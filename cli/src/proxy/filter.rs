//! Tools that the host is not to see: left out of lists, and refused when they are called.

use serde_json::value::RawValue;

use crate::rpc::members::{Members, text};

/// Patterns of names; `*` stands for any characters, upper and lower case are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    patterns: Vec<String>,
}

impl Filter {
    pub(super) fn new(patterns: Vec<String>) -> Self {
        Self { patterns: patterns.into_iter().map(|pattern| pattern.to_lowercase()).collect() }
    }

    /// Is this tool hidden?
    pub(super) fn hides(&self, tool: &str) -> bool {
        let tool = tool.to_lowercase();
        self.patterns.iter().any(|pattern| matches(pattern, &tool))
    }

    /// A result of `tools/list` without the hidden ones. What is no such result stays as it is.
    pub(super) fn shown(&self, list: Box<RawValue>) -> Box<RawValue> {
        if self.patterns.is_empty() {
            return list;
        }
        let Some(mut members) = Members::of(&list) else { return list };
        let Some(tools) = members.read::<Vec<Box<RawValue>>>("tools") else { return list };
        let name = |tool: &RawValue| Members::of(tool).and_then(|tool| tool.read::<String>("name"));
        let shown = tools.iter().filter(|tool| name(tool).is_none_or(|name| !self.hides(&name)));
        let shown = shown.map(|tool| tool.get()).collect::<Vec<_>>().join(",");
        members.set("tools", text(format!("[{shown}]")));
        members.to_raw()
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("delete", "delete", true)]
    #[test_case("delete", "delete_all", false)]
    #[test_case("Delete*", "deleteAll", true)]
    #[test_case("*_all", "delete_all", true)]
    #[test_case("*_all", "delete_all_now", false)]
    #[test_case("a*b*c", "axxbyyc", true)]
    #[test_case("a*b*c", "axxcyyb", false)]
    #[test_case("ab*ba", "aba", false; "no byte counts twice")]
    #[test_case("*", "", true)]
    #[test_case("**", "x", true)]
    fn a_star_stands_for_any_characters(pattern: &str, name: &str, hidden: bool) {
        assert_eq!(Filter::new(vec![pattern.to_owned()]).hides(name), hidden);
    }

    #[test]
    fn the_rest_of_a_list_stays_as_it_was_written() {
        let list = r#"{"nextCursor":"x","tools":[{"name":"a","n":18446744073709551616},{"name":"drop_b"},{"title":"no name"}],"ttlMs":1.50}"#;
        let shown = Filter::new(vec!["drop*".to_owned()]).shown(text(list.to_owned()));
        assert_eq!(shown.get(), list.replace(r#",{"name":"drop_b"}"#, ""));
    }
}
