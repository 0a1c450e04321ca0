//! The id of a message that is too long to be kept: found while its bytes pass by.

use super::message::Id;
use crate::rpc::members::text;

/// The longest id that is looked for, in bytes.
const ID: usize = 256;

/// Looks for the member `id` of an object whose bytes pass by, at its top level.
#[derive(Debug, Default)]
pub(super) struct TopLevelId {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The text that began last at the top level, as far as it is wanted.
    word: Vec<u8>,
    state: State,
    value: Vec<u8>,
}

#[derive(Debug, Default, PartialEq)]
enum State {
    /// A name may come.
    #[default]
    Name,
    /// The name was `id`, and its colon comes.
    Colon,
    /// Its value comes.
    Value,
    /// The value of another member goes by.
    Other,
    Found,
    Nothing,
}

impl TopLevelId {
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if matches!(self.state, State::Found | State::Nothing) {
                return;
            }
            self.step(byte);
        }
    }

    /// The id, if there was one that can be one.
    pub(super) fn id(&self) -> Option<Id> {
        if self.state != State::Found {
            return None;
        }
        let value = std::str::from_utf8(&self.value).ok()?.trim();
        Id::of(&text(value.to_owned()))
    }

    fn step(&mut self, byte: u8) {
        let at_top = self.depth == 1;
        if self.state == State::Value && at_top && !self.in_string && matches!(byte, b',' | b'}') {
            self.state = State::Found;
            return;
        }
        if self.state == State::Value {
            self.value.push(byte);
            if self.value.len() > ID || self.depth > 1 {
                self.state = State::Nothing;
                return;
            }
        }
        if self.in_string {
            self.in_string(byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.word.clear();
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if at_top && self.state == State::Colon => self.state = State::Value,
            b':' if at_top && self.state == State::Name => self.state = State::Other,
            b',' if at_top => self.state = State::Name,
            _ => {}
        }
    }

    fn in_string(&mut self, byte: u8) {
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
            if self.depth == 1 && self.state == State::Name && self.word == b"id" {
                self.state = State::Colon;
            }
            return;
        }
        if self.word.len() < 3 {
            self.word.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":8}}"#, Some("7"))]
    #[test_case(
        r#"{"method":"id","params":{"id":8,"a":["]","\"id\":9"]},"jsonrpc":"2.0", "id" : "a\"b" }"#,
        Some(r#""a\"b""#)
    )]
    #[test_case(r#"{"params":{"id":8}}"#, None)]
    #[test_case(r#"{"id":{"x":1},"method":"x"}"#, None)]
    #[test_case(r#"{"id":null,"x":1}"#, None)]
    #[test_case(r#"[{"id":1}]"#, None)]
    #[test_case("plain text, \"id\":1,", None)]
    fn it_is_the_id_at_the_top_level(line: &str, id: Option<&str>) {
        for size in [1, 3, 1_000] {
            let mut looking = TopLevelId::default();
            line.as_bytes().chunks(size).for_each(|bytes| looking.pass(bytes));
            assert_eq!(looking.id().as_ref().map(Id::to_json), id);
        }
    }
}
