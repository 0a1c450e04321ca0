//! How much of a peer's bytes is shown: what an error quotes is short, valid text, whatever a peer sends.

/// The most of a body, in bytes of UTF-8, that an error or an event quotes.
pub(crate) const EXCERPT: usize = 2_048;

/// The start of some bytes as text: at most [`EXCERPT`] bytes, what is not UTF-8 replaced, control characters other than newline and
/// tab left out.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    printable(bytes, EXCERPT).0
}

/// The start of some bytes as text, as [`excerpt`] gives it, of at most so many bytes, and whether that is all of it.
pub(crate) fn printable(bytes: &[u8], limit: usize) -> (String, bool) {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        let replacement = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        for character in chunk.valid().chars().chain(replacement) {
            if character.is_control() && character != '\n' && character != '\t' {
                continue;
            }
            if text.len() + character.len_utf8() > limit {
                return (text, false);
            }
            text.push(character);
        }
    }
    (text, true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_excerpt_keeps_lines_and_drops_control_characters() {
        assert_eq!(excerpt(b"<h1>\r\n\tBad\x1b[31m \x00gateway\x7f</h1>"), "<h1>\n\tBad[31m gateway</h1>");
    }

    #[test]
    fn an_excerpt_is_cut_between_characters() {
        let text = excerpt("€".repeat(1_000).as_bytes());
        assert_eq!(text, "€".repeat(682));
        assert_eq!(excerpt(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
    }

    proptest! {
        #[test]
        fn an_excerpt_is_never_longer_than_its_bound(bytes in proptest::collection::vec(any::<u8>(), 0..4_096)) {
            let text = excerpt(&bytes);
            prop_assert!(text.len() <= EXCERPT);
            prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        }
    }
}
