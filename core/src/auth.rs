//! The token: the caller's, or that of a login. Asked for once, cached until a server answers 401, then asked for once more, however many calls saw the 401.
//!
//! A provider that fails is not asked again at once: its failure stands for some seconds (`error.rs`), for the one refused token that it was asked
//! about. Whoever wants a newer one in that time gets the same failure. It may open a login, or spend a refresh token.
//!
//! Many servers revoke a token when they give the next one. So nobody is asked for one while a twin is out that carries the token, and what
//! a twin says counts only where nobody was asked since its call was made ready: else it may be the asking that it tells of.

mod error;
mod token;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

pub(crate) use self::error::TokenError;
pub(crate) use self::token::Token;
use self::token::{of_login, token};
use crate::oauth::Login;
use crate::vocabulary::background::Background;
use crate::vocabulary::counter::{Counter, Held};
use crate::vocabulary::lock::lock;
use crate::vocabulary::redact::Secrets;

/// How long the provider may take; it is asked in recovery too, where nobody else sets a bound.
pub(crate) const PROVIDER_PATIENCE: Duration = Duration::from_secs(30);

/// How long nobody is asked yet while a call is in flight, which may be about to be refused for the same token. Servers look at a login first,
/// so that takes them no longer than a round trip.
const GATHERING: Duration = Duration::from_millis(250);

/// How long nobody is asked yet while a twin is out.
const TWINS_PATIENCE: Duration = Duration::from_secs(2);

/// What a provider fails with; its text may reach errors and logs, so it must hold no secret. (Tokens that it gave before are cut out.)
pub type ProviderError = Box<dyn std::error::Error + Send + Sync>;

/// Gives the bearer token. It gets the token that the server refused, or `None` the first time.
pub(crate) type TokenProvider =
    Arc<dyn Fn(Option<String>) -> BoxFuture<'static, Result<String, ProviderError>> + Send + Sync>;

/// Where tokens come from.
#[derive(Clone, Default)]
pub(crate) enum Source {
    /// From nowhere: requests carry what the caller's headers say.
    #[default]
    None,
    /// A function of the host.
    Provider(TokenProvider),
    /// A login of this client.
    Login(Arc<Login>),
}

/// The serial of the token that a request of a login carries that has none yet.
const NO_TOKEN: u64 = 0;

/// How often a flight of somebody else is waited for that brings nothing new.
const FLIGHTS: usize = 3;

type Flight = Shared<BoxFuture<'static, Result<Option<Token>, TokenError>>>;

#[derive(Default)]
struct Cache {
    current: Option<Token>,
    serials: u64,
    renewals: Renewals,
    flight: Option<(Errand, Flight)>,
    failed: Option<Failed>,
    /// The serial of a token that was answered 401 in a call that ended with it.
    doubted: Option<u64>,
    /// The login was asked, and has no token: the server says whether it wants one.
    asked_in_vain: bool,
}

/// The provider's last failure, until it gives a token.
struct Failed {
    /// The serial of the refused token that it was asked about; none for the first.
    refused: Option<u64>,
    at: Instant,
    error: TokenError,
}

/// How often the tokens that are out may have been ended by what the client did.
#[derive(Default)]
struct Renewals {
    count: u64,
    under_way: usize,
}

impl Renewals {
    fn begin(&mut self) {
        self.under_way += 1;
        self.count += 1;
    }

    fn end(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    fn so_far(&self) -> Option<u64> {
        (self.under_way == 0).then_some(self.count)
    }
}

impl Cache {
    /// The token, with how often one had been renewed by now.
    fn handed_out(&self, token: &Token) -> Token {
        Token { renewals: self.renewals.so_far(), ..token.clone() }
    }

    fn serial(&self) -> Option<u64> {
        self.current.as_ref().map(|token| token.serial)
    }

    /// The failure that stands for the current token.
    fn failure(&self) -> Option<TokenError> {
        let failed = self.failed.as_ref().filter(|failed| failed.refused == self.serial())?;
        (failed.at.elapsed() < failed.error.stands()).then(|| failed.error.clone())
    }
}

/// What a flight is to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Errand {
    /// What there is.
    First,
    /// Another token than the current one, which was refused.
    Another,
    /// Another token than the current one, which ends; no person is asked for it.
    Ahead,
}

/// What can be said at once.
enum Next {
    Known(Result<Option<Token>, TokenError>),
    Flight(Flight),
}

/// The cached token and its single flight.
pub(crate) struct TokenCache {
    source: Source,
    cache: Arc<Mutex<Cache>>,
    /// The serial of the current token, for those who wait for a newer one.
    newest: watch::Sender<u64>,
    /// Calls in flight that carry a token.
    calls: Counter,
    /// Twins that are out or about to go. Held only under the lock of the cache, so that none comes between the last look and the asking.
    twins: Counter,
    background: Background,
    secrets: Arc<Secrets>,
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TokenCache").finish_non_exhaustive()
    }
}

impl TokenCache {
    pub(crate) fn new(source: Source, background: Background, secrets: Arc<Secrets>) -> Self {
        let (calls, twins) = (Counter::default(), Counter::default());
        Self { source, cache: Arc::default(), newest: watch::Sender::new(NO_TOKEN), calls, twins, background, secrets }
    }

    pub(crate) fn has_source(&self) -> bool {
        !matches!(self.source, Source::None)
    }

    /// The login that tokens come from.
    pub(crate) fn login(&self) -> Option<&Arc<Login>> {
        match &self.source {
            Source::Login(login) => Some(login),
            Source::None | Source::Provider(_) => None,
        }
    }

    /// The serial of the cached token.
    pub(crate) fn serial(&self) -> Option<u64> {
        lock(&self.cache).serial().or_else(|| self.serial_of_none())
    }

    /// The serial that a request carries that has no token: a login may come by one, others never do.
    pub(crate) fn serial_of_none(&self) -> Option<u64> {
        self.login().map(|_| NO_TOKEN)
    }

    /// The cached token, or the first one. Of a doubted token a newer one is asked for first. If there is none to be had, the doubted
    /// one goes out again: it may have been somebody else's login that was refused, and the server says so if not.
    pub(crate) async fn get(&self) -> Result<Option<Token>, TokenError> {
        let doubted = lock(&self.cache).doubted.take();
        if let Some(doubted) = doubted
            && let Ok(token) = self.newer_than(Some(doubted), false).await
        {
            return Ok(token);
        }
        self.newer_than(None, false).await
    }

    /// This token was answered 401, and nothing was done about it yet: the next request asks for another one.
    pub(crate) fn doubt(&self, serial: u64) {
        let mut cache = lock(&self.cache);
        if cache.serial().or_else(|| self.serial_of_none()) == Some(serial) {
            cache.doubted = Some(serial);
        }
    }

    /// A token newer than the refused one.
    pub(crate) async fn refresh(&self, refused: u64) -> Result<Option<Token>, TokenError> {
        self.newer_than(Some(refused), false).await
    }

    /// How often the client did what may have ended a token: asked for the next one, or logged out. `None` while it does. Where it is the same
    /// as it was, nothing of the client's own making has befallen a token in between.
    pub(crate) fn renewals(&self) -> Option<u64> {
        lock(&self.cache).renewals.so_far()
    }

    /// Waits until nobody asks for the next token of one that was refused, or for the first: a call that went out meanwhile would carry one that
    /// is about to be replaced. Where calls are not to wait for a person, only until one is waited for.
    pub(crate) async fn renewed(&self) {
        let flight = lock(&self.cache).flight.clone();
        let Some((_, flight)) = flight.filter(|(errand, _)| *errand != Errand::Ahead) else { return };
        // What it fails with, whoever asks next is told.
        match self.login().filter(|login| !login.calls_wait()) {
            None => drop(flight.await),
            Some(login) => tokio::select! {
                _ = flight => {}
                () = login.waits() => {}
            },
        }
    }

    /// A call that carries a token is in flight, for as long as this is held.
    pub(crate) fn call_in_flight(&self) -> Held {
        self.calls.hold()
    }

    /// A twin that carries a token is out, or about to go, for as long as this is held: the token is not renewed, but for
    /// [`TWINS_PATIENCE`].
    pub(crate) fn twin_is_out(&self) -> Held {
        let _cache = lock(&self.cache);
        self.twins.hold()
    }

    /// Completes when somebody got a token that is newer than this one. Asks for none.
    pub(crate) async fn newer_came(&self, than: u64) {
        // The sender lives as long as self.
        let _ = self.newest.subscribe().wait_for(|newest| *newest > than).await;
    }

    /// Makes sure that there is a login, whatever failed a moment ago, and waits for the person.
    pub(crate) async fn log_in(&self) -> Result<(), TokenError> {
        lock(&self.cache).failed = None;
        if self.newer_than(None, true).await?.is_some_and(|token| !token.has_expired(SystemTime::now())) {
            return Ok(());
        }
        let serial = self.serial().unwrap_or(NO_TOKEN);
        self.newer_than(Some(serial), true).await.map(drop)
    }

    /// Ends the login. In a task of its own: no caller's cancellation leaves it half ended.
    pub(crate) async fn log_out(&self) -> Result<(), TokenError> {
        let Source::Login(login) = &self.source else { return Ok(()) };
        let (login, cache) = (Arc::clone(login), Arc::clone(&self.cache));
        let ending = self.background.spawn(async move {
            lock(&cache).renewals.begin();
            let ended = login.log_out().await;
            let mut cache = lock(&cache);
            cache.renewals.end();
            (cache.current, cache.failed, cache.doubted, cache.asked_in_vain) = (None, None, None, true);
            ended
        });
        ending.await.map_err(|_| TokenError::closed())?.map_err(TokenError::Login)
    }

    /// A token newer than the refused one, or any. `patiently`: the person is waited for, whatever the options say.
    async fn newer_than(&self, refused: Option<u64>, patiently: bool) -> Result<Option<Token>, TokenError> {
        for _ in 0..FLIGHTS {
            let flight = match self.next(refused) {
                Next::Known(known) => return known,
                Next::Flight(flight) => flight,
            };
            let landed = match self.login().filter(|login| !patiently && !login.calls_wait()) {
                None => flight.await?,
                Some(login) => tokio::select! {
                    biased;
                    landed = flight => landed?,
                    () = login.waits() => return Err(TokenError::Waits),
                },
            };
            // It may have been on another errand.
            if refused.is_none_or(|refused| landed.as_ref().is_some_and(|token| token.serial > refused)) {
                return Ok(landed);
            }
        }
        Err(TokenError::Provider("nothing newer came".into()))
    }

    fn next(&self, refused: Option<u64>) -> Next {
        let now = SystemTime::now();
        let mut cache = lock(&self.cache);
        let errand = match (&self.source, &cache.current, refused) {
            (Source::None, _, _) => return Next::Known(Ok(None)),
            (_, Some(token), Some(serial)) if token.serial > serial => {
                return Next::Known(Ok(Some(cache.handed_out(token))));
            }
            (_, _, Some(_)) => Errand::Another,
            (_, Some(token), None) if !token.is_renewable(now) => {
                return Next::Known(Ok(Some(cache.handed_out(token))));
            }
            (_, Some(_), None) => Errand::Ahead,
            (Source::Login(_), None, None) if cache.asked_in_vain => return Next::Known(Ok(None)),
            (_, None, None) => Errand::First,
        };
        // A token that is good for a while is used until there is a new one, and also if there is none to be had.
        let still_good = cache.current.as_ref().filter(|token| errand == Errand::Ahead && !token.has_expired(now));
        let still_good = still_good.map(|token| cache.handed_out(token));
        if cache.flight.is_none() {
            if let Some(error) = cache.failure() {
                return Next::Known(still_good.map(Some).ok_or(error));
            }
            cache.flight = Some((errand, self.send(errand, &mut cache)));
        }
        match (still_good, &cache.flight) {
            (Some(token), _) => Next::Known(Ok(Some(token))),
            (None, Some((_, flight))) => Next::Flight(flight.clone()),
            (None, None) => Next::Known(Ok(None)),
        }
    }

    /// Asks the source in a task of its own: no caller's cancellation stops it.
    fn send(&self, errand: Errand, cache: &mut Cache) -> Flight {
        let refused = cache.current.clone();
        cache.serials += 1;
        let serial = cache.serials;
        let asking: BoxFuture<'static, Result<Option<Token>, TokenError>> = match &self.source {
            Source::None => std::future::ready(Ok(None)).boxed(),
            Source::Provider(provider) => {
                let refused = refused.as_ref().map(|token| token.value.to_string());
                let closing = self.background.closing().clone();
                let asked = asked(Arc::clone(provider), refused, serial, Arc::clone(&self.secrets));
                async move {
                    tokio::select! {
                        token = asked => token.map(Some),
                        () = closing.cancelled() => Err(TokenError::closed()),
                    }
                }
                .boxed()
            }
            Source::Login(login) => {
                let login = Arc::clone(login);
                // What must not be cut off when the client closes is finished; what waits for a person ends by itself.
                async move {
                    let current = refused.as_ref().map(|token| &*token.value);
                    let access = match (errand, current) {
                        (Errand::First, _) => login.current().await,
                        (Errand::Ahead, Some(current)) => login.renew_ahead(current).await,
                        (Errand::Another | Errand::Ahead, current) => login.renew(current).await.map(Some),
                    };
                    match access.map_err(TokenError::Login)? {
                        Some(access) => of_login(&access, serial).map(Some),
                        // There is nothing to renew it with: the server says what it wants.
                        None if errand == Errand::Ahead => {
                            Ok(refused.map(|token| Token { renewable_from: None, ..token }))
                        }
                        None => Ok(None),
                    }
                }
                .boxed()
            }
        };
        let refused = cache.serial();
        let shared_cache = Arc::clone(&self.cache);
        let newest = self.newest.clone();
        let (calls, twins) = (self.calls.clone(), self.twins.clone());
        let closing = self.background.closing().clone();
        let task = self.background.spawn(async move {
            begin(&shared_cache, &calls, &twins, &closing).await;
            let result = asking.await;
            let mut cache = lock(&shared_cache);
            cache.flight = None;
            cache.renewals.end();
            let result = result.map(|token| token.map(|token| cache.handed_out(&token)));
            match &result {
                Ok(Some(token)) => {
                    cache.current = Some(token.clone());
                    cache.failed = None;
                    newest.send_replace(token.serial);
                }
                Ok(None) => cache.asked_in_vain = true,
                Err(error) => {
                    let error = error.clone();
                    cache.failed = Some(Failed { refused, at: Instant::now(), error });
                }
            }
            result
        });
        async move { task.await.unwrap_or_else(|_| Err(TokenError::closed())) }.boxed().shared()
    }
}

/// The asking begins: when no twin is out any more, or has been for too long, or the client is closed.
async fn begin(cache: &Mutex<Cache>, calls: &Counter, twins: &Counter, closing: &CancellationToken) {
    tokio::select! {
        _ = timeout(GATHERING, calls.zero()) => {}
        () = closing.cancelled() => {}
    }
    let deadline = Instant::now() + TWINS_PATIENCE;
    loop {
        {
            let mut cache = lock(cache);
            if twins.is_zero() || Instant::now() >= deadline || closing.is_cancelled() {
                cache.renewals.begin();
                return;
            }
        }
        tokio::select! {
            _ = timeout_at(deadline, twins.zero()) => {}
            () = closing.cancelled() => {}
        }
    }
}

/// What the provider gives, asked with the refused token.
async fn asked(
    provider: TokenProvider,
    refused: Option<String>,
    serial: u64,
    secrets: Arc<Secrets>,
) -> Result<Token, TokenError> {
    let failed = |why: String| TokenError::Provider(why.into());
    let refused_value = refused.clone();
    let asking = std::panic::AssertUnwindSafe(timeout(PROVIDER_PATIENCE, async move { provider(refused).await }));
    match asking.catch_unwind().await {
        Ok(Ok(Ok(value))) if Some(&value) == refused_value.as_ref() => {
            Err(failed("it gave the refused token again".to_owned()))
        }
        Ok(Ok(Ok(value))) => {
            secrets.add_token(&value);
            token(&value, serial)
        }
        Ok(Ok(Err(error))) => Err(failed(error.to_string())),
        Ok(Err(_)) => Err(failed(format!("no token within {} s", PROVIDER_PATIENCE.as_secs()))),
        Err(_) => Err(failed("it panicked".to_owned())),
    }
}

#[cfg(test)]
mod tests;
