//! Other ways to write a character: `%2F` in a URL, `\u002f` and `\/` in JSON, `&#x2F;` and `&amp;` in HTML.

use std::ops::Range;

/// The longest way to write one byte: `&#x0000002f;`, say.
pub(super) const ESCAPE: usize = 12;

/// Bytes without escapes, and where each of them was.
pub(super) struct Unescaped {
    pub(super) bytes: Vec<u8>,
    /// Where each byte begins in the source, and where the source ends.
    starts: Vec<usize>,
}

impl Unescaped {
    /// The place in the source.
    pub(super) fn source(&self, span: &Range<usize>) -> Range<usize> {
        let at = |index: usize| self.starts.get(index).copied().unwrap_or_default();
        at(span.start)..at(span.end)
    }
}

/// `None` if there is no escape in it.
pub(super) fn unescape(text: &[u8]) -> Option<Unescaped> {
    if !text.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'&')) {
        return None;
    }
    let mut unescaped = Unescaped { bytes: Vec::with_capacity(text.len()), starts: Vec::with_capacity(text.len() + 1) };
    let mut at = 0;
    let mut found = false;
    while let Some(&byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let escape = match byte {
            b'%' => of_url(rest),
            b'\\' => of_json(rest),
            b'&' => of_html(rest),
            _ => None,
        };
        match escape {
            Some(Escape { bytes, length }) => {
                found = true;
                for byte in bytes.as_slice() {
                    unescaped.bytes.push(*byte);
                    unescaped.starts.push(at);
                }
                at += length;
            }
            None => {
                unescaped.bytes.push(byte);
                unescaped.starts.push(at);
                at += 1;
            }
        }
    }
    unescaped.starts.push(text.len());
    found.then_some(unescaped)
}

struct Escape {
    bytes: Bytes,
    /// Of the escape, in the source.
    length: usize,
}

/// What an escape stands for: one byte, or a character in UTF-8.
struct Bytes([u8; 4], usize);

impl Bytes {
    fn of(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Self(bytes, length)
    }

    fn as_slice(&self) -> &[u8] {
        self.0.get(..self.1).unwrap_or_default()
    }
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

fn of_url(text: &[u8]) -> Option<Escape> {
    let byte = u8::try_from(number(text.get(1..3)?, 16)?).ok()?;
    Some(Escape { bytes: Bytes([byte, 0, 0, 0], 1), length: 3 })
}

fn of_json(text: &[u8]) -> Option<Escape> {
    match text.get(1)? {
        b'u' => {
            let character = char::from_u32(number(text.get(2..6)?, 16)?)?;
            Some(Escape { bytes: Bytes::of(character), length: 6 })
        }
        byte @ (b'/' | b'\\' | b'"') => Some(Escape { bytes: Bytes([*byte, 0, 0, 0], 1), length: 2 }),
        _ => None,
    }
}

/// The characters that are escaped in HTML everywhere, by name or by number.
fn of_html(text: &[u8]) -> Option<Escape> {
    let end = text.iter().take(ESCAPE).position(|byte| *byte == b';')?;
    let character = match text.get(1..end)? {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return None,
    };
    Some(Escape { bytes: Bytes::of(character), length: end + 1 })
}

/// The tokens of a valid JSON text: texts with their quotes, and what is between them, of that each word or number for itself.
pub(super) fn json_tokens(json: &str) -> Vec<&str> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let bytes = json.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let more = if byte == b'"' {
            let mut escaped = false;
            let end = rest.iter().position(|byte| {
                let ends = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 1)
        } else if is_word(byte) {
            rest.iter().take_while(|byte| is_word(**byte)).count()
        } else {
            rest.iter().take_while(|byte| **byte != b'"' && !is_word(**byte)).count()
        };
        tokens.extend(json.get(at..=at + more));
        at += more + 1;
    }
    tokens
}
