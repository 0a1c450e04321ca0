//! Logins that end with the process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{LoginStore, StoreError, StoreErrorKind};

/// Keeps logins for as long as it lives, in this process. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryStore {
    entries: Arc<Mutex<HashMap<String, Entry>>>,
}

struct Entry {
    value: Option<String>,
    lock: Arc<Semaphore>,
    /// Of the one who holds the lock.
    held: Option<OwnedSemaphorePermit>,
}

impl Default for Entry {
    fn default() -> Self {
        Self { value: None, lock: Arc::new(Semaphore::new(1)), held: None }
    }
}

impl fmt::Debug for MemoryStore {
    // What is kept is secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryStore").field("logins", &self.entries().len()).finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LoginStore for MemoryStore {
    async fn load(&self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(self.entries().get(key).and_then(|entry| entry.value.clone()))
    }

    async fn save(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.entries().entry(key.to_owned()).or_default().value = value.map(str::to_owned);
        Ok(())
    }

    async fn lock(&self, key: &str) -> Result<(), StoreError> {
        let lock = Arc::clone(&self.entries().entry(key.to_owned()).or_default().lock);
        let permit = lock.acquire_owned().await;
        let permit = permit.map_err(|error| StoreError::new(StoreErrorKind::Unavailable, error.to_string()))?;
        self.entries().entry(key.to_owned()).or_default().held = Some(permit);
        Ok(())
    }

    async fn unlock(&self, key: &str) -> Result<(), StoreError> {
        let held = self.entries().get_mut(key).and_then(|entry| entry.held.take());
        drop(held);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_value_is_kept_replaced_and_removed() {
        let store = MemoryStore::new();
        assert_eq!(store.load("a").await, Ok(None));
        store.save("a", Some("1")).await.unwrap();
        store.save("b", Some("2")).await.unwrap();
        store.clone().save("a", Some("3")).await.unwrap();
        assert_eq!(store.load("a").await, Ok(Some("3".to_owned())));
        store.save("a", None).await.unwrap();
        store.save("a", None).await.unwrap();
        assert_eq!((store.load("a").await, store.load("b").await), (Ok(None), Ok(Some("2".to_owned()))));
    }

    #[tokio::test]
    async fn one_holder_at_a_time_and_each_key_for_itself() {
        let store = MemoryStore::new();
        store.lock("a").await.unwrap();
        store.lock("b").await.unwrap();
        let mut second = store.lock("a");
        assert!((&mut second).now_or_never().is_none());
        store.unlock("a").await.unwrap();
        second.await.unwrap();
        assert!(store.lock("a").now_or_never().is_none(), "held by the second");
    }

    #[tokio::test]
    async fn a_waiter_that_gives_up_leaves_no_lock_behind() {
        let store = MemoryStore::new();
        store.lock("a").await.unwrap();
        let mut waiter = store.lock("a");
        assert!((&mut waiter).now_or_never().is_none());
        store.unlock("a").await.unwrap();
        // It is the next in line, and goes away without having been run.
        drop(waiter);
        assert!(store.lock("a").now_or_never().is_some());
    }

    #[tokio::test]
    async fn unlocking_what_is_not_held_is_no_error() {
        let store = MemoryStore::new();
        store.unlock("a").await.unwrap();
        store.lock("a").await.unwrap();
        assert!(store.lock("a").now_or_never().is_none(), "still one holder");
    }

    #[tokio::test]
    async fn its_debug_text_shows_no_login() {
        let store = MemoryStore::new();
        store.save("key-of-it", Some("secret-of-it")).await.unwrap();
        assert_eq!(format!("{store:?}"), "MemoryStore { logins: 1, .. }");
    }
}
