//! How much of an answer is held in memory: a body is collected up to a limit and not a byte further, whatever a peer sends.

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::exchange::WireFailure;

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::stream;

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
}
