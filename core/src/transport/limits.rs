//! How much of an answer is held in memory, and how much of it is shown.
//!
//! Both are bounds on what a peer can make this process do: a body is collected up to a limit and not a byte further, and
//! what an error quotes of it is short, valid text.

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::exchange::WireFailure;

/// The most of a body, in bytes of UTF-8, that an error or an event quotes.
pub(crate) const EXCERPT: usize = 2_048;

/// Why a body was not collected.
#[derive(Debug)]
pub(crate) enum Uncollected {
    /// It is longer than the limit.
    TooLarge,
    /// It stopped before its end.
    Broken(WireFailure),
}

/// The whole body, if it is not longer than `limit`. Whatever the outcome, the body is dropped on return, and so its connection
/// is freed.
pub(crate) async fn collect(
    mut body: BoxStream<'static, Result<Bytes, WireFailure>>,
    limit: usize,
) -> Result<Bytes, Uncollected> {
    let mut first = Bytes::new();
    let mut all: Option<BytesMut> = None;
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(Uncollected::Broken)?;
        let held = all.as_ref().map_or(first.len(), BytesMut::len);
        if chunk.len() > limit.saturating_sub(held) {
            return Err(Uncollected::TooLarge);
        }
        match &mut all {
            Some(all) => all.extend_from_slice(&chunk),
            // Most answers are one chunk: those are passed on without a copy.
            None if first.is_empty() => first = chunk,
            None if chunk.is_empty() => {}
            None => {
                let mut joined = BytesMut::with_capacity(first.len() + chunk.len());
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&chunk);
                all = Some(joined);
            }
        }
    }
    Ok(all.map_or(first, BytesMut::freeze))
}

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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::stream;
    use proptest::prelude::*;

    use super::*;
    use crate::transport::exchange::Cause;

    fn body(chunks: &[&'static str]) -> BoxStream<'static, Result<Bytes, WireFailure>> {
        stream::iter(chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))).collect::<Vec<_>>()).boxed()
    }

    #[tokio::test]
    async fn a_body_of_exactly_the_limit_is_collected() {
        assert_eq!(collect(body(&["abc", "", "de", "f"]), 6).await.unwrap(), "abcdef");
        assert_eq!(collect(body(&["", "abcdef"]), 6).await.unwrap(), "abcdef");
        assert_eq!(collect(body(&[]), 0).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_body_past_the_limit_is_dropped_at_the_chunk_that_passes_it() {
        let pulled = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&pulled);
        let endless = stream::repeat_with(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Bytes::from_static(b"abc"))
        });
        assert!(matches!(collect(endless.boxed(), 7).await, Err(Uncollected::TooLarge)));
        assert_eq!(pulled.load(Ordering::Relaxed), 3);
        assert!(matches!(collect(body(&["abc"]), 2).await, Err(Uncollected::TooLarge)));
    }

    #[tokio::test]
    async fn a_broken_body_is_broken_however_much_came() {
        let items = vec![Ok(Bytes::from_static(b"abc")), Err(WireFailure::new(Cause::Reset))];
        let Err(Uncollected::Broken(failure)) = collect(stream::iter(items).boxed(), 100).await else {
            panic!("collected");
        };
        assert_eq!(failure.cause, Cause::Reset);
    }

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
