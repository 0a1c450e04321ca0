//! UTF-8, chunk by chunk: what is none becomes U+FFFD (Encoding Standard, "UTF-8 decode"), a character that is cut over chunks stays whole.

use bytes::{Bytes, BytesMut};

/// U+FFFD, as UTF-8.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The bytes of a character that its chunk ended in: three at most.
#[derive(Debug, Default)]
pub(super) struct Lossy(BytesMut);

impl Lossy {
    /// What the chunk is as text, but for the beginning of a character at its end, which goes before the next chunk. Without that end of a
    /// body it is no text: it is dropped there, since a line without an end is dropped too.
    pub(super) fn pass(&mut self, chunk: Bytes) -> Bytes {
        // Almost all chunks are whole: those are passed on without a copy.
        let chunk = if self.0.is_empty() {
            chunk
        } else {
            let mut joined = std::mem::take(&mut self.0);
            joined.extend_from_slice(&chunk);
            joined.freeze()
        };
        let Err(first) = std::str::from_utf8(&chunk) else { return chunk };
        if first.error_len().is_none() {
            self.0 = BytesMut::from(&chunk[first.valid_up_to()..]);
            return chunk.slice(..first.valid_up_to());
        }
        let mut text = BytesMut::with_capacity(chunk.len() + REPLACEMENT.len());
        let mut pieces = chunk.utf8_chunks().peekable();
        while let Some(piece) = pieces.next() {
            text.extend_from_slice(piece.valid().as_bytes());
            let invalid = piece.invalid();
            if pieces.peek().is_none() && is_begun(invalid) {
                self.0 = BytesMut::from(invalid);
            } else if !invalid.is_empty() {
                text.extend_from_slice(REPLACEMENT);
            }
        }
        text.freeze()
    }
}

/// Can these bytes be the beginning of a character?
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pass(chunks: &[&[u8]]) -> (Vec<u8>, usize) {
        let mut lossy = Lossy::default();
        let mut text = Vec::new();
        for chunk in chunks {
            text.extend_from_slice(&lossy.pass(Bytes::copy_from_slice(chunk)));
        }
        (text, lossy.0.len())
    }

    #[test]
    fn text_is_passed_on_as_it_is() {
        let chunk = Bytes::from_static("grüße 🦀".as_bytes());
        assert_eq!(Lossy::default().pass(chunk.clone()).as_ptr(), chunk.as_ptr());
    }

    #[test]
    fn a_bad_byte_is_replaced_wherever_it_stands() {
        assert_eq!(pass(&[b"caf\xe9 x"]).0, "caf\u{fffd} x".as_bytes());
        assert_eq!(pass(&[b"caf\xe9", b" x"]).0, "caf\u{fffd} x".as_bytes());
        assert_eq!(pass(&[b"\xff", b"\xfe"]).0, "\u{fffd}\u{fffd}".as_bytes());
        assert_eq!(pass(&[b"\xf0\x9f", b"\xa6", b"x"]).0, "\u{fffd}x".as_bytes());
    }

    proptest! {
        #[test]
        fn the_cuts_make_no_difference(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0x80_u8..0xc0, 0xe0_u8..0xf5, Just(b'a')], 0..40),
            cuts in proptest::collection::vec(0_usize..40, 0..8),
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let parts: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let (text, held) = pass(&parts);
            prop_assert!(held < 4);
            let whole = String::from_utf8_lossy(&bytes[..bytes.len() - held]).into_owned();
            prop_assert_eq!(String::from_utf8(text).unwrap(), whole);
        }
    }
}
