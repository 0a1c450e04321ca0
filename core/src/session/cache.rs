//! Results that the server allows to be kept (MCP 2026-07-28, server, caching): lists and reads, as long as their `ttlMs` says, where the
//! host asks for it.
//!
//! Bounds: [`ENTRIES`] results and [`BYTES`] bytes; past them the one that would be stale first goes. What a notification says has changed
//! goes at once, and everything goes with the session that it came on.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::exchange::wire::Identity;
use crate::vocabulary::method::Method;

/// Results that are kept at most.
const ENTRIES: usize = 256;
/// Bytes of JSON that are kept at most: 16 MiB.
const BYTES: usize = 16 * 1024 * 1024;

/// What a result was the answer to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    method: String,
    /// The URI of a read.
    uri: Option<String>,
    params: String,
    /// Of a private result, whose the request was that brought it: it is for that identity alone.
    owner: Option<Identity>,
}

#[derive(Debug)]
struct Kept {
    raw: Box<RawValue>,
    generation: u64,
    until: Instant,
}

#[derive(Debug, Default)]
struct Entries {
    kept: HashMap<Key, Kept>,
    bytes: usize,
    /// Counts the times that something was dropped because it had changed: an answer that was asked for before is not kept.
    epoch: u64,
}

/// The question, as far as it matters for keeping the answer.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    method: String,
    uri: Option<String>,
    params: String,
    epoch: u64,
}

/// The results that a client keeps.
#[derive(Debug)]
pub(crate) struct ResultCache {
    enabled: bool,
    entries: Mutex<Entries>,
}

impl ResultCache {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, entries: Mutex::default() }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The question that this call asks; `None` if its answer is not kept in any case.
    pub(crate) fn question(
        &self,
        method: &Method,
        name: Option<&str>,
        params: impl FnOnce() -> Option<String>,
    ) -> Option<Question> {
        let keeps = [
            Method::LIST_TOOLS,
            Method::LIST_RESOURCES,
            Method::LIST_RESOURCE_TEMPLATES,
            Method::LIST_PROMPTS,
            Method::READ_RESOURCE,
        ];
        if !self.enabled || method.is_raw() || !keeps.contains(method) {
            return None;
        }
        Some(Question {
            method: method.to_string(),
            uri: name.map(str::to_owned),
            params: params().unwrap_or_default(),
            epoch: self.entries().epoch,
        })
    }

    /// The result that was kept for this question, for everybody or for this identity, and its generation.
    pub(crate) fn get(&self, question: &Question, owner: Option<Identity>) -> Option<(Box<RawValue>, u64)> {
        let now = Instant::now();
        let entries = self.entries();
        let kept = entries.kept.get(&question.key(owner)).filter(|kept| kept.until > now)?;
        Some((kept.raw.clone(), kept.generation))
    }

    /// Is there anything for this question that belongs to one identity?
    pub(crate) fn has_private(&self, question: &Question) -> bool {
        let entries = self.entries();
        entries.kept.keys().any(|key| key.owner.is_some() && question.key(key.owner) == *key)
    }

    /// Keeps the result of a request of this identity if the server allows it.
    pub(crate) fn keep(&self, question: &Question, asked_by: Identity, raw: &RawValue, generation: u64) {
        #[derive(Deserialize)]
        struct Lifetime<'a> {
            #[serde(rename = "ttlMs", default)]
            ttl: u64,
            #[serde(rename = "cacheScope", default)]
            scope: Option<std::borrow::Cow<'a, str>>,
        }
        let Ok(Lifetime { ttl, scope }) = serde_json::from_str(raw.get()) else { return };
        let Some(until) = Instant::now().checked_add(Duration::from_millis(ttl)).filter(|_| ttl > 0) else { return };
        // What is not said to be for everybody is for whoever asked.
        let owner = (scope.as_deref() != Some("public")).then_some(asked_by);
        let mut entries = self.entries();
        if entries.epoch != question.epoch || raw.get().len() > BYTES {
            return;
        }
        let key = question.key(owner);
        entries.remove(&key);
        while entries.kept.len() >= ENTRIES || entries.bytes + raw.get().len() > BYTES {
            let first = entries.kept.iter().min_by_key(|(_, kept)| kept.until).map(|(key, _)| key.clone());
            let Some(first) = first else { break };
            entries.remove(&first);
        }
        entries.bytes += raw.get().len();
        entries.kept.insert(key, Kept { raw: raw.to_owned(), generation, until });
    }

    /// A notification of the server says that something changed.
    pub(crate) fn changed(&self, notification: &str, params: Option<&RawValue>) {
        match notification {
            "notifications/tools/list_changed" => self.drop_where(|key| key.method == "tools/list"),
            "notifications/prompts/list_changed" => self.drop_where(|key| key.method == "prompts/list"),
            "notifications/resources/list_changed" => {
                self.drop_where(|key| matches!(&*key.method, "resources/list" | "resources/templates/list"));
            }
            "notifications/resources/updated" => {
                #[derive(Deserialize)]
                struct Updated {
                    uri: String,
                }
                let updated = params.and_then(|params| serde_json::from_str::<Updated>(params.get()).ok());
                // One that does not say which may be any.
                self.drop_where(|key| {
                    key.uri.is_some() && updated.as_ref().is_none_or(|updated| key.uri.as_ref() == Some(&updated.uri))
                });
            }
            _ => {}
        }
    }

    /// Nothing that is kept can be relied on any more.
    pub(crate) fn clear(&self) {
        self.drop_where(|_| true);
    }

    fn drop_where(&self, stale: impl Fn(&Key) -> bool) {
        if !self.enabled {
            return;
        }
        let mut entries = self.entries();
        entries.epoch += 1;
        let gone: Vec<_> = entries.kept.keys().filter(|key| stale(key)).cloned().collect();
        for key in gone {
            entries.remove(&key);
        }
    }
}

impl Entries {
    fn remove(&mut self, key: &Key) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= kept.raw.get().len();
        }
    }
}

impl Question {
    fn key(&self, owner: Option<Identity>) -> Key {
        Key { method: self.method.clone(), uri: self.uri.clone(), params: self.params.clone(), owner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn question(cache: &ResultCache, method: &Method, uri: Option<&str>) -> Question {
        cache.question(method, uri, || Some("{}".to_owned())).unwrap()
    }

    fn me() -> Identity {
        Identity::for_tests(1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_is_kept_as_long_as_the_server_says() {
        let cache = ResultCache::new(true);
        let asked = question(&cache, &Method::LIST_TOOLS, None);
        cache.keep(&asked, me(), &raw(r#"{"tools":[]}"#), 1);
        assert!(cache.get(&asked, None).is_none(), "without ttlMs");
        cache.keep(&asked, me(), &raw(r#"{"ttlMs":1000,"cacheScope":"public"}"#), 1);
        assert_eq!(cache.get(&asked, None).unwrap().1, 1);
        tokio::time::advance(Duration::from_millis(1_000)).await;
        assert!(cache.get(&asked, None).is_none());
    }

    #[tokio::test]
    async fn a_private_result_is_for_one_identity() {
        let cache = ResultCache::new(true);
        let you = Identity::for_tests(2);
        let asked = question(&cache, &Method::READ_RESOURCE, Some("mem://a"));
        assert!(!cache.has_private(&asked));
        cache.keep(&asked, me(), &raw(r#"{"ttlMs":1000,"cacheScope":"private"}"#), 1);
        assert!(cache.has_private(&asked));
        assert!(cache.get(&asked, Some(me())).is_some());
        assert!(cache.get(&asked, Some(you)).is_none() && cache.get(&asked, None).is_none());
        cache.keep(&asked, me(), &raw(r#"{"ttlMs":1000,"cacheScope":"public"}"#), 1);
        assert!(cache.get(&asked, None).is_some());
        assert!(!cache.has_private(&question(&cache, &Method::READ_RESOURCE, Some("mem://b"))));
    }

    #[tokio::test]
    async fn what_changed_is_dropped_and_what_was_asked_for_before_is_not_kept() {
        let cache = ResultCache::new(true);
        let read = question(&cache, &Method::READ_RESOURCE, Some("mem://a"));
        let list = question(&cache, &Method::LIST_TOOLS, None);
        let answer = raw(r#"{"ttlMs":1000}"#);
        cache.keep(&read, me(), &answer, 1);
        cache.keep(&list, me(), &answer, 1);
        cache.changed("notifications/resources/updated", Some(&raw(r#"{"uri":"mem://b"}"#)));
        assert!(cache.get(&read, Some(me())).is_some() && cache.get(&list, Some(me())).is_some());
        cache.changed("notifications/resources/updated", Some(&raw(r#"{"uri":"mem://a"}"#)));
        assert!(cache.get(&read, Some(me())).is_none() && cache.get(&list, Some(me())).is_some());
        cache.keep(&read, me(), &answer, 1);
        assert!(cache.get(&read, Some(me())).is_none(), "it was asked for before the change");
        cache.changed("notifications/tools/list_changed", None);
        assert!(cache.get(&list, Some(me())).is_none());
    }

    #[tokio::test]
    async fn the_bounds_hold_and_the_first_to_be_stale_goes() {
        let cache = ResultCache::new(true);
        for number in 0..=ENTRIES {
            let asked = question(&cache, &Method::READ_RESOURCE, Some(&number.to_string()));
            cache.keep(&asked, me(), &raw(&format!("{{\"ttlMs\":{}}}", 100_000 + number)), 1);
        }
        assert_eq!(cache.entries().kept.len(), ENTRIES);
        assert!(cache.get(&question(&cache, &Method::READ_RESOURCE, Some("0")), Some(me())).is_none());
        let large = raw(&format!("{{\"ttlMs\":200000,\"x\":\"{}\"}}", "x".repeat(BYTES / 2)));
        for name in ["a", "b", "c"] {
            cache.keep(&question(&cache, &Method::READ_RESOURCE, Some(name)), me(), &large, 1);
        }
        assert!(cache.entries().bytes <= BYTES);
        cache.clear();
        assert_eq!(cache.entries().bytes, 0);
    }

    #[test]
    fn nothing_is_kept_unless_the_host_asks_for_it() {
        assert!(ResultCache::new(false).question(&Method::LIST_TOOLS, None, || None).is_none());
        assert!(ResultCache::new(true).question(&Method::CALL_TOOL, None, || None).is_none());
        assert!(ResultCache::new(true).question(&Method::raw("tools/list"), None, || None).is_none());
    }
}
