//! The caller's token: asked for once, cached until a server answers 401, then asked for once more, however many calls saw the 401.
//!
//! A provider that fails is not asked again at once: its failure stands for [`FAILURE_STANDS`], for the one refused token that it was asked
//! about. Whoever wants a newer one in that time gets the same failure. It may open a login, or spend a refresh token.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use http::HeaderValue;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::transport::headers::bearer;
use crate::vocabulary::background::Background;
use crate::vocabulary::redact::Secrets;

/// How long the provider may take; it is asked in recovery too, where nobody else sets a bound.
pub(crate) const PROVIDER_PATIENCE: Duration = Duration::from_secs(30);

/// How long a failure of the provider stands. Many calls see one token refused, one after the other.
const FAILURE_STANDS: Duration = Duration::from_secs(5);

/// What a provider fails with; its text may reach errors and logs, so it must hold no secret. (Tokens that it gave before are cut out.)
pub type ProviderError = Box<dyn std::error::Error + Send + Sync>;

/// Gives the bearer token. It gets the token that the server refused, or `None` the first time.
pub(crate) type TokenProvider =
    Arc<dyn Fn(Option<String>) -> BoxFuture<'static, Result<String, ProviderError>> + Send + Sync>;

/// A token, as it goes into the `Authorization` header, and the count of tokens that came before it.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) header: HeaderValue,
    pub(crate) serial: u64,
    value: Arc<str>,
    /// The date after which it is good for nothing, where it says so itself.
    expires: Option<SystemTime>,
}

impl Token {
    /// Is it over by its own date?
    pub(crate) fn has_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Token").field("serial", &self.serial).finish_non_exhaustive()
    }
}

/// Why there is no token.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the token provider failed: {0}")]
pub(crate) struct TokenError(Arc<str>);

type Flight = Shared<BoxFuture<'static, Result<Token, TokenError>>>;

#[derive(Default)]
struct Cache {
    current: Option<Token>,
    serials: u64,
    flight: Option<Flight>,
    failed: Option<Failed>,
    /// The serial of a token that was answered 401 in a call that ended with it.
    doubted: Option<u64>,
}

/// The provider's last failure, until it gives a token.
struct Failed {
    /// The serial of the refused token that it was asked about; none for the first.
    refused: Option<u64>,
    at: Instant,
    error: TokenError,
}

impl Cache {
    /// The failure that stands for the current token.
    fn failure(&self) -> Option<TokenError> {
        let refused = self.current.as_ref().map(|token| token.serial);
        let failed = self.failed.as_ref().filter(|failed| failed.refused == refused)?;
        (failed.at.elapsed() < FAILURE_STANDS).then(|| failed.error.clone())
    }
}

/// The cached token and its single flight.
pub(crate) struct TokenCache {
    provider: Option<TokenProvider>,
    cache: Arc<Mutex<Cache>>,
    /// The serial of the current token, for those who wait for a newer one.
    newest: watch::Sender<u64>,
    background: Background,
    secrets: Arc<Secrets>,
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TokenCache").finish_non_exhaustive()
    }
}

impl TokenCache {
    pub(crate) fn new(provider: Option<TokenProvider>, background: Background, secrets: Arc<Secrets>) -> Self {
        Self { provider, cache: Arc::default(), newest: watch::Sender::new(0), background, secrets }
    }

    pub(crate) fn has_provider(&self) -> bool {
        self.provider.is_some()
    }

    /// The serial of the cached token.
    pub(crate) fn serial(&self) -> Option<u64> {
        lock(&self.cache).current.as_ref().map(|token| token.serial)
    }

    /// The cached token, or the first one. Of a doubted token a newer one is asked for first. If there is none to be had, the doubted
    /// one goes out again: it may have been somebody else's login that was refused, and the server says so if not.
    pub(crate) async fn get(&self) -> Result<Option<Token>, TokenError> {
        let doubted = lock(&self.cache).doubted.take();
        if let Some(doubted) = doubted
            && let Ok(token) = self.newer_than(Some(doubted)).await
        {
            return Ok(token);
        }
        self.newer_than(None).await
    }

    /// This token was answered 401, and nothing was done about it yet: the next request asks for another one.
    pub(crate) fn doubt(&self, serial: u64) {
        let mut cache = lock(&self.cache);
        if cache.current.as_ref().is_some_and(|token| token.serial == serial) {
            cache.doubted = Some(serial);
        }
    }

    /// A token newer than the refused one.
    pub(crate) async fn refresh(&self, refused: u64) -> Result<Option<Token>, TokenError> {
        self.newer_than(Some(refused)).await
    }

    /// Completes when somebody got a token that is newer than this one. Asks for none.
    pub(crate) async fn newer_came(&self, than: u64) {
        // The sender lives as long as self.
        let _ = self.newest.subscribe().wait_for(|newest| *newest > than).await;
    }

    async fn newer_than(&self, refused: Option<u64>) -> Result<Option<Token>, TokenError> {
        let Some(provider) = &self.provider else { return Ok(None) };
        let flight = {
            let mut cache = lock(&self.cache);
            match (&cache.current, refused) {
                (Some(token), None) => return Ok(Some(token.clone())),
                (Some(token), Some(serial)) if token.serial > serial => return Ok(Some(token.clone())),
                _ => {}
            }
            if let Some(flight) = &cache.flight {
                flight.clone()
            } else if let Some(error) = cache.failure() {
                return Err(error);
            } else {
                let flight = self.ask(provider, &mut cache);
                cache.flight = Some(flight.clone());
                flight
            }
        };
        flight.await.map(Some)
    }

    /// Asks the provider in a task of its own: no caller's cancellation stops it.
    fn ask(&self, provider: &TokenProvider, cache: &mut Cache) -> Flight {
        let refused = cache.current.as_ref().map(|token| token.value.to_string());
        let refused_serial = cache.current.as_ref().map(|token| token.serial);
        cache.serials += 1;
        let serial = cache.serials;
        let refused_value = refused.clone();
        let provider = Arc::clone(provider);
        let shared_cache = Arc::clone(&self.cache);
        let newest = self.newest.clone();
        let closing = self.background.closing().clone();
        let secrets = Arc::clone(&self.secrets);
        let task = self.background.spawn(async move {
            let asking =
                std::panic::AssertUnwindSafe(timeout(PROVIDER_PATIENCE, async move { provider(refused).await }));
            let asked = tokio::select! {
                asked = asking.catch_unwind() => asked,
                () = closing.cancelled() => return Err(TokenError("the client was closed".into())),
            };
            let result = match asked {
                Ok(Ok(Ok(value))) if Some(&value) == refused_value.as_ref() => {
                    Err(TokenError("it gave the refused token again".into()))
                }
                Ok(Ok(Ok(value))) => {
                    secrets.add_token(&value);
                    token(&value, serial)
                }
                Ok(Ok(Err(error))) => Err(TokenError(error.to_string().into())),
                Ok(Err(_)) => Err(TokenError(format!("no token within {} s", PROVIDER_PATIENCE.as_secs()).into())),
                Err(_) => Err(TokenError("it panicked".into())),
            };
            let mut cache = lock(&shared_cache);
            cache.flight = None;
            match &result {
                Ok(token) => {
                    cache.current = Some(token.clone());
                    cache.failed = None;
                    newest.send_replace(serial);
                }
                Err(error) => {
                    let error = error.clone();
                    cache.failed = Some(Failed { refused: refused_serial, at: Instant::now(), error });
                }
            }
            result
        });
        async move { task.await.unwrap_or_else(|_| Err(TokenError("the client was closed".into()))) }.boxed().shared()
    }
}

fn token(value: &str, serial: u64) -> Result<Token, TokenError> {
    let header = bearer(value).map_err(|error| TokenError(error.to_string().into()))?;
    Ok(Token { header, serial, value: value.into(), expires: expiry(value) })
}

/// The date of a JSON Web Token (RFC 7519, section 4.1.4). It is read, and not verified: that is the server's business.
fn expiry(token: &str) -> Option<SystemTime> {
    #[derive(Deserialize)]
    struct Claims {
        exp: f64,
    }
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    let Claims { exp } = serde_json::from_slice(&claims).ok()?;
    UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(exp).ok()?)
}

fn lock(cache: &Mutex<Cache>) -> std::sync::MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use test_case::test_case;
    use tokio::runtime::Handle;

    use super::*;

    fn jwt(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test_case(r#"{"exp":1700000000}"#, Some(1_700_000_000_000); "whole seconds")]
    #[test_case(r#"{"sub":"a","exp":1700000000.5,"aud":["b"]}"#, Some(1_700_000_000_500); "half of one, among others")]
    #[test_case(r#"{"exp":0}"#, Some(0); "the beginning of time")]
    #[test_case(r#"{"exp":-1}"#, None; "before it")]
    #[test_case(r#"{"exp":1e300}"#, None; "past the end of it")]
    #[test_case(r#"{"exp":"1700000000"}"#, None; "a text")]
    #[test_case(r#"{"exp":null}"#, None; "null")]
    #[test_case(r#"{"sub":"a"}"#, None; "no date")]
    #[test_case("[]", None; "no object")]
    #[test_case("no json", None; "no JSON")]
    fn the_date_of_a_jwt(claims: &str, expected: Option<u64>) {
        let expected = expected.map(|millis| UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(expiry(&jwt(claims)), expected);
        // Some pad it all the same.
        assert_eq!(expiry(&format!("e30.{}==.c2ln", URL_SAFE_NO_PAD.encode(claims))), expected);
    }

    #[test_case(""; "empty")]
    #[test_case("4f1c2d3e"; "an opaque token")]
    #[test_case("eyJleHAiOjF9"; "one part")]
    #[test_case("e30.eyJleHAiOjF9"; "two parts")]
    #[test_case("e30.!!!.c2ln"; "no base64")]
    #[test_case("v2.local.token"; "another kind of token in three parts")]
    fn other_tokens_have_no_date(token: &str) {
        assert_eq!(expiry(token), None);
    }

    #[test]
    fn a_token_is_over_at_its_date() {
        let token = token(&jwt(r#"{"exp":1000}"#), 1).unwrap();
        let at = |seconds| token.has_expired(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!([at(999), at(1_000), at(1_001)], [false, true, true]);
        let undated = super::token("4f1c2d3e", 1).unwrap();
        assert!(!undated.has_expired(SystemTime::now() + Duration::from_secs(1_000_000_000)));
    }

    /// A provider that numbers its tokens, and fails when asked to.
    fn cache(fails_from: u32) -> (TokenCache, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&asked);
        let provider: TokenProvider = Arc::new(move |_refused| {
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let given = if number >= fails_from { Err("no more".into()) } else { Ok(format!("token-{number}")) };
            Box::pin(async move { given })
        });
        (TokenCache::new(Some(provider), Background::new(Handle::current()), Arc::default()), asked)
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
        let cache = TokenCache::new(None, Background::new(Handle::current()), Arc::default());
        cache.doubt(1);
        assert!(cache.get().await.unwrap().is_none());
    }
}
