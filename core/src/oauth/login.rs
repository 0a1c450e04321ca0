//! The login of one client with one server: what is stored of it, and how it is renewed.
//!
//! Everything that changes it holds the lock of its key in the store, so that it happens once on the whole machine: whoever gets the lock
//! reads the store again, and uses what a neighbour has fetched meanwhile. A process that waits for the lock waits for the store, and opens
//! no browser.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use url::Url;

use super::classify::{self, Granted};
use super::error::LoginError;
use super::fetch::Fetch;
use super::jwt::SigningKey;
use super::options::{OAuth, ProviderError};
use super::proof::{Prover, SCHEME};
use super::record::{self, Record, Tokens, seconds_of};
use super::step_up::holds;
use super::store::{FileStore, LoginStore};
use crate::transport::challenge::Asked;
use crate::vocabulary::background::Background;
use crate::vocabulary::config::OptionError;
use crate::vocabulary::event::{Event, EventName, EventSink};
use crate::vocabulary::lock::lock;
use crate::vocabulary::redact::Secrets;

/// How long the store may take for one thing; it may be a database.
const STORE_PATIENCE: Duration = Duration::from_secs(30);
/// How long the lock is waited for before it is told that somebody else is busy with the login.
const BRIEFLY: Duration = Duration::from_secs(2);
/// A new token is fetched so long before the old one ends, or after half of its life, whichever is later.
const AHEAD: Duration = Duration::from_secs(30);
/// How often a save is tried where losing it would lose the login.
const SAVES: u32 = 3;

/// A token, to be sent with requests.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) value: String,
    /// It is bound to a key: requests that carry it need a proof.
    pub(crate) bound: bool,
    pub(crate) expires: Option<SystemTime>,
    /// From then on a new one may be fetched.
    pub(crate) renewable_from: Option<SystemTime>,
}

impl fmt::Debug for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Access").field("bound", &self.bound).finish_non_exhaustive()
    }
}

/// The login of one client.
pub(crate) struct Login {
    pub(super) oauth: OAuth,
    pub(super) server: Url,
    key: String,
    store: Arc<dyn LoginStore>,
    pub(super) fetch: Fetch,
    pub(super) signing_key: Option<SigningKey>,
    prover: Mutex<Option<Arc<Prover>>>,
    /// What the server asked for in its latest refusal.
    asked: Mutex<Option<Asked>>,
    /// What was granted and could not be saved: it is the truth until it is.
    unsaved: Mutex<Option<Record>>,
    /// A person, or another process that has one, is waited for.
    pub(super) waiting: watch::Sender<bool>,
    pub(super) step_ups: AtomicU32,
    events: Arc<EventSink>,
    secrets: Arc<Secrets>,
    pub(super) background: Background,
}

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Login").finish_non_exhaustive()
    }
}

/// What a login is made with.
pub(crate) struct LoginParts {
    pub(crate) oauth: OAuth,
    pub(crate) store: Arc<dyn LoginStore>,
    pub(crate) fetch: Fetch,
    pub(crate) signing_key: Option<SigningKey>,
}

impl LoginParts {
    /// # Errors
    /// Names the option that cannot be used.
    pub(crate) fn new(oauth: OAuth, fetch: Fetch) -> Result<Self, OptionError> {
        let bad = |problem: String| OptionError::new("oauth", problem);
        let signing_key = match &oauth.signing_key {
            Some(key) => {
                let read = SigningKey::from_pem(key.pem.as_bytes());
                let read = read.map_err(|error| bad(format!("private_key: {error}")))?;
                if read.algorithm() != key.algorithm {
                    return Err(bad(format!("private_key is a key for {}", read.algorithm())));
                }
                Some(read)
            }
            None => None,
        };
        let store = match &oauth.store {
            Some(store) => Arc::clone(store),
            None => Arc::new(FileStore::of_user().map_err(|error| bad(format!("store: {error}")))?),
        };
        Ok(Self { oauth, store, fetch, signing_key })
    }
}

/// The lock of a login, given back when dropped.
struct Held<'a>(&'a Login);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let (store, key) = (Arc::clone(&self.0.store), self.0.key.clone());
        // Nobody waits for it; a lock that cannot be given back is given up with the process.
        self.0.background.spawn_detached(async move {
            let _ = timeout(STORE_PATIENCE, store.unlock(&key)).await;
        });
    }
}

impl Login {
    pub(crate) fn new(
        parts: LoginParts,
        server: Url,
        events: Arc<EventSink>,
        secrets: Arc<Secrets>,
        background: Background,
    ) -> Self {
        let LoginParts { oauth, store, fetch, signing_key } = parts;
        for secret in oauth.secrets() {
            secrets.add_token(secret);
        }
        Self {
            key: record::key(&server, &oauth),
            oauth,
            server,
            store,
            fetch,
            signing_key,
            prover: Mutex::default(),
            asked: Mutex::default(),
            unsaved: Mutex::default(),
            waiting: watch::Sender::new(false),
            step_ups: AtomicU32::new(0),
            events,
            secrets,
            background,
        }
    }

    /// Do calls wait for a person?
    pub(crate) fn calls_wait(&self) -> bool {
        self.oauth.wait
    }

    /// Is a person, or another process that has one, waited for?
    pub(crate) fn is_waiting(&self) -> bool {
        *self.waiting.borrow()
    }

    /// Completes when a person is waited for.
    pub(crate) async fn waits(&self) {
        // The sender lives as long as self.
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting).await;
    }

    /// The head of an answer of our server: what it asks for is kept for the next renewal, and its nonce for the next proof.
    pub(crate) fn heard(&self, status: StatusCode, headers: &HeaderMap) {
        if let Some(prover) = &*lock(&self.prover) {
            prover.take_nonce_of_server(headers);
        }
        if let Some(asked) = classify::challenge(status, headers) {
            *lock(&self.asked) = Some(asked);
        }
    }

    /// The proof that a request with this `Authorization` needs; `None` if it needs none.
    ///
    /// # Errors
    /// There is no key any more, or it does not sign.
    pub(crate) fn proof(
        &self,
        method: &Method,
        url: &Url,
        authorization: &HeaderValue,
    ) -> Result<Option<HeaderValue>, LoginError> {
        let Some(token) = authorization.to_str().ok().and_then(|value| value.strip_prefix(SCHEME)) else {
            return Ok(None);
        };
        let prover = lock(&self.prover).clone();
        let prover = prover.ok_or_else(|| LoginError::passing("the key of the login is gone"))?;
        prover.of_request(method, url, token).map(Some)
    }

    /// The token that is stored, refreshed if it is over; `None` if there is none to be had without a person or a new grant. The server
    /// then says what it wants.
    pub(crate) async fn current(&self) -> Result<Option<Access>, LoginError> {
        let record = self.load().await?;
        if let Some(tokens) = record.usable(SystemTime::now()) {
            return self.adopt(&record, tokens).map(Some);
        }
        if record.refresh_token().is_none() {
            return Ok(None);
        }
        let _held = self.hold().await?;
        let mut record = self.load().await?;
        if let Some(tokens) = record.usable(SystemTime::now()) {
            return self.adopt(&record, tokens).map(Some);
        }
        self.refresh(&mut record).await
    }

    /// A token that is not this one, refused or about to end: what a neighbour has stored, else refreshed, else by a new login.
    pub(crate) async fn renew(&self, refused: Option<&str>) -> Result<Access, LoginError> {
        let asked = lock(&self.asked).take().unwrap_or_default();
        let wants_nonce = asked.error.as_deref() == Some("use_dpop_nonce");
        let wants_scope = asked.error.as_deref() == Some("insufficient_scope");
        let _held = self.hold().await?;
        let mut record = self.load().await?;
        if let Some(tokens) = record.usable(SystemTime::now()) {
            let is_another = refused != Some(&tokens.access_token);
            // Nothing is wrong with a token that only lacks the nonce, which is known by now.
            let is_enough = !wants_scope || holds(&tokens.scopes, asked.scope.as_deref().unwrap_or_default());
            if (is_another && is_enough) || (wants_nonce && tokens.bound) {
                return self.adopt(&record, tokens);
            }
        }
        if !self.oauth.is_interactive() {
            return self.acquire(&mut record, &asked).await;
        }
        if !wants_scope
            && record.refresh_token().is_some()
            && !self.has_moved(&record, &asked, refused).await
            && let Some(access) = self.refresh(&mut record).await?
        {
            return Ok(access);
        }
        self.log_in(&mut record, &asked).await
    }

    /// A token that is about to end is replaced while it is still good; no person is asked for that.
    pub(crate) async fn renew_ahead(&self, current: &str) -> Result<Option<Access>, LoginError> {
        let _held = self.hold().await?;
        let mut record = self.load().await?;
        if let Some(tokens) = record.usable(SystemTime::now()).filter(|tokens| tokens.access_token != current) {
            return self.adopt(&record, tokens).map(Some);
        }
        self.refresh(&mut record).await
    }

    /// Was a token refused that should be good, by a server that names other authorization servers by now?
    async fn has_moved(&self, record: &Record, asked: &Asked, refused: Option<&str>) -> bool {
        let should_be_good =
            record.usable(SystemTime::now()).is_some_and(|tokens| refused == Some(&tokens.access_token));
        if !should_be_good {
            return false;
        }
        let wanted = [record.origin.issuer.as_str()];
        match super::discovery::discover(&self.fetch, &self.server, asked.metadata.as_deref(), &wanted).await {
            Ok(found) => found.server.issuer != record.origin.issuer,
            // Nothing is concluded from what does not answer.
            Err(_) => false,
        }
    }

    /// Ends the login: it is revoked, as far as the server lets it, and forgotten. How the client is registered stays.
    pub(crate) async fn log_out(&self) -> Result<(), LoginError> {
        let _held = self.hold().await?;
        let mut record = self.load().await?;
        self.revoke(&record).await;
        (record.tokens, record.intent, record.dead) = (None, None, None);
        record.asked.clear();
        *lock(&self.unsaved) = None;
        *lock(&self.asked) = None;
        self.step_ups.store(0, Ordering::Relaxed);
        self.save(&record).await
    }

    /// Takes the lock, which another process may hold while somebody logs in there.
    async fn hold(&self) -> Result<Held<'_>, LoginError> {
        let closed = || LoginError::passing("the client was closed");
        let locking = self.store.lock(&self.key);
        tokio::pin!(locking);
        let first = tokio::select! {
            locked = &mut locking => Some(locked),
            () = sleep(BRIEFLY) => None,
            () = self.background.closing().cancelled() => return Err(closed()),
        };
        let locked = match first {
            Some(locked) => locked,
            None => {
                let _waiting = Waiting::begin(&self.waiting);
                let patience = self.oauth.login_timeout.saturating_add(STORE_PATIENCE);
                tokio::select! {
                    locked = timeout(patience, locking) => locked.map_err(|_| {
                        LoginError::passing("another process is busy with the login and does not come to an end")
                    })?,
                    () = self.background.closing().cancelled() => return Err(closed()),
                }
            }
        };
        locked?;
        Ok(Held(self))
    }

    /// What is stored, or what should be.
    pub(super) async fn load(&self) -> Result<Record, LoginError> {
        let unsaved = lock(&self.unsaved).clone();
        let record = match unsaved {
            Some(record) => {
                self.save(&record)
                    .await
                    .map_err(|error| error.while_("the login was renewed and is not stored yet"))?;
                *lock(&self.unsaved) = None;
                record
            }
            None => {
                let stored = timeout(STORE_PATIENCE, self.store.load(&self.key)).await;
                let stored = stored.map_err(|_| LoginError::passing("the store of logins does not answer"))??;
                Record::read(stored.as_deref())?
            }
        };
        let tokens =
            record.tokens.iter().flat_map(|tokens| [Some(&tokens.access_token), tokens.refresh_token.as_ref()]);
        let of_clients = record.clients.values().map(|client| client.client_secret.as_ref());
        for secret in tokens.chain(of_clients).flatten() {
            self.secrets.add_token(secret);
        }
        Ok(record)
    }

    pub(super) async fn save(&self, record: &Record) -> Result<(), LoginError> {
        let text = record.write()?;
        let saved = timeout(STORE_PATIENCE, self.store.save(&self.key, Some(&text))).await;
        Ok(saved.map_err(|_| LoginError::passing("the store of logins does not answer"))??)
    }

    /// Saves what the server has just granted, which may be the only copy: it is kept here until it is stored, and used no sooner.
    pub(super) async fn save_granted(&self, record: &Record) -> Result<(), LoginError> {
        let mut tried = self.save(record).await;
        for _ in 1..SAVES {
            if tried.is_ok() {
                break;
            }
            sleep(Duration::from_millis(200)).await;
            tried = self.save(record).await;
        }
        tried.map_err(|error| {
            *lock(&self.unsaved) = Some(record.clone());
            error.while_("the login was renewed and is not stored yet")
        })
    }

    /// The key that tokens are bound to, if they are to be: that of the record, or a new one, which goes into it.
    pub(super) fn prover(&self, record: &mut Record) -> Result<Option<Arc<Prover>>, LoginError> {
        if !self.oauth.dpop {
            return Ok(None);
        }
        let mut current = lock(&self.prover);
        let prover = match (&*current, &record.key) {
            (Some(prover), Some(stored)) if prover.to_store() == stored => Arc::clone(prover),
            (_, Some(stored)) => Arc::new(Prover::stored(stored)?),
            (_, None) => Arc::new(Prover::generate()?),
        };
        record.key = Some(prover.to_store().to_owned());
        *current = Some(Arc::clone(&prover));
        Ok(Some(prover))
    }

    /// The tokens that were granted go into the record. What is not given anew stays: a refresh token need not be rotated.
    pub(super) fn take(&self, record: &mut Record, granted: &Granted, asked: &[String]) -> Result<(), LoginError> {
        let bound = match granted.token_type.as_deref().unwrap_or("Bearer") {
            kind if kind.eq_ignore_ascii_case("bearer") => false,
            kind if kind.eq_ignore_ascii_case("dpop") && self.oauth.dpop => true,
            kind => {
                let kind = classify::said(kind);
                return Err(LoginError::lasting(format!("the authorization server gave a token of the type {kind:?}")));
            }
        };
        for secret in [Some(&granted.access_token), granted.refresh_token.as_ref()].into_iter().flatten() {
            self.secrets.add_token(secret);
        }
        let now = seconds_of(SystemTime::now());
        record.serials += 1;
        record.tokens = Some(Tokens {
            access_token: granted.access_token.clone(),
            bound,
            refresh_token: granted.refresh_token.clone(),
            granted_at: now,
            expires_at: granted.expires_in.map(|seconds| now.saturating_add(seconds)),
            scopes: match &granted.scope {
                Some(scope) => super::authorize::words(scope).collect(),
                // RFC 6749, section 5.1: not said if it is what was asked for.
                None => asked.to_vec(),
            },
            serial: record.serials,
        });
        (record.intent, record.dead) = (None, None);
        Ok(())
    }

    /// The token, with the key that it may be bound to at hand.
    pub(super) fn adopt(&self, record: &Record, tokens: &Tokens) -> Result<Access, LoginError> {
        if tokens.bound {
            let stored = record.key.as_deref().unwrap_or_default();
            let mut current = lock(&self.prover);
            if current.as_ref().is_none_or(|prover| prover.to_store() != stored) {
                *current = Some(Arc::new(Prover::stored(stored)?));
            }
        }
        let expires = tokens.expires();
        let life = expires.map(|_| tokens.expires_at.unwrap_or_default().saturating_sub(tokens.granted_at));
        let ahead = life.map(|life| AHEAD.min(Duration::from_secs(life) / 2)).unwrap_or_default();
        let can_be_refreshed = record.refresh_token().is_some();
        Ok(Access {
            value: tokens.access_token.clone(),
            bound: tokens.bound,
            expires,
            renewable_from: expires.filter(|_| can_be_refreshed).and_then(|expires| expires.checked_sub(ahead)),
        })
    }

    pub(super) fn secret(&self, secret: &str) {
        self.secrets.add_token(secret);
    }

    pub(super) fn tell(&self, name: EventName, reason: Option<String>) {
        self.events.emit(Event { reason, ..Event::new(name) });
    }

    pub(super) fn tell_url(&self, url: &str, reason: Option<String>) {
        self.events.emit(Event { url: Some(url.to_owned()), reason, ..Event::new(EventName::LoginNeeded) });
    }

    /// What a function of the host gives, whose panic is its own.
    pub(super) async fn of_host<T>(
        what: &str,
        asking: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, LoginError> {
        match std::panic::AssertUnwindSafe(asking).catch_unwind().await {
            Ok(given) => given.map_err(|error| LoginError::lasting(format!("{what} failed: {error}"))),
            Err(_) => Err(LoginError::lasting(format!("{what} panicked"))),
        }
    }
}

/// Tells that somebody is waited for, as long as it is held.
pub(super) struct Waiting<'a>(&'a watch::Sender<bool>);

impl<'a> Waiting<'a> {
    pub(super) fn begin(sender: &'a watch::Sender<bool>) -> Self {
        sender.send_replace(true);
        Self(sender)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}
