use std::sync::atomic::{AtomicU32, Ordering};

use tokio::runtime::Handle;

use super::*;

/// A provider that numbers its tokens, and fails when asked to.
fn cache(fails_from: u32) -> (TokenCache, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let provider: TokenProvider = Arc::new(move |_refused| {
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        let given = if number >= fails_from { Err("no more".into()) } else { Ok(format!("token-{number}")) };
        Box::pin(async move { given })
    });
    (TokenCache::new(Source::Provider(provider), Background::new(Handle::current()), Arc::default()), asked)
}

async fn serial_of(cache: &TokenCache) -> u64 {
    cache.get().await.unwrap().unwrap().serial
}

#[tokio::test]
async fn of_a_doubted_token_a_newer_one_is_asked_for_once() {
    let (cache, asked) = cache(u32::MAX);
    let first = serial_of(&cache).await;
    assert_eq!(serial_of(&cache).await, first);
    cache.doubt(first);
    cache.doubt(first);
    let second = serial_of(&cache).await;
    assert!(second > first);
    assert_eq!(serial_of(&cache).await, second);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_doubt_about_a_token_that_was_replaced_asks_for_nothing() {
    let (cache, asked) = cache(u32::MAX);
    let first = serial_of(&cache).await;
    cache.refresh(first).await.unwrap();
    let second = serial_of(&cache).await;
    cache.doubt(first);
    assert_eq!(serial_of(&cache).await, second);
    // Nor does one that somebody has looked after since.
    cache.doubt(second);
    cache.refresh(second).await.unwrap();
    let third = serial_of(&cache).await;
    assert!(third > second);
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_doubted_token_goes_out_again_if_there_is_no_other() {
    let (cache, asked) = cache(2);
    let first = serial_of(&cache).await;
    cache.doubt(first);
    assert_eq!(serial_of(&cache).await, first);
    assert_eq!(serial_of(&cache).await, first, "and is not doubted any more");
    assert_eq!(asked.load(Ordering::SeqCst), 2, "asked once");
    // The server refuses it once more: the failure stands.
    cache.doubt(first);
    assert_eq!(serial_of(&cache).await, first);
    assert!(cache.refresh(first).await.is_err());
    assert_eq!(asked.load(Ordering::SeqCst), 2, "not again at once");
}

#[tokio::test]
async fn without_a_provider_there_is_nothing_to_doubt() {
    let cache = TokenCache::new(Source::None, Background::new(Handle::current()), Arc::default());
    cache.doubt(1);
    assert!(cache.get().await.unwrap().is_none());
}
