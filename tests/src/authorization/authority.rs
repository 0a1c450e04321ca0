//! What an authorization server knows: clients, codes, and the tokens that it has issued.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::ledger::{AuthorizationLedger, Login};
use super::metadata::issuer;
use super::options::{Authorization, KnownClient};

/// Those of the servers of one scenario, by name.
pub(crate) type Authorities = Arc<Mutex<BTreeMap<String, Arc<Authority>>>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Authority {
    started: Instant,
    /// Empty if the server is none.
    issuer: String,
    book: Mutex<Book>,
}

/// All that changes.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) ledger: AuthorizationLedger,
    /// Those that registered.
    pub(crate) clients: HashMap<String, KnownClient>,
    pub(crate) codes: HashMap<String, Code>,
    pub(crate) refresh_tokens: HashMap<String, RefreshToken>,
    pub(crate) access_tokens: HashMap<String, AccessToken>,
    /// How often the nonce was changed.
    pub(crate) nonces: u64,
    issued: u64,
}

/// A code that was given out and not used yet.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    pub(crate) challenge: String,
    pub(crate) scope: String,
    pub(crate) resource: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct RefreshToken {
    pub(crate) login: usize,
    /// When it was exchanged, the first time.
    pub(crate) exchanged: Option<Instant>,
    /// The key that it is bound to.
    pub(crate) thumbprint: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct AccessToken {
    pub(crate) login: usize,
    pub(crate) expires: Instant,
    pub(crate) thumbprint: Option<String>,
}

impl Default for Authority {
    fn default() -> Self {
        Self { started: Instant::now(), issuer: String::new(), book: Mutex::default() }
    }
}

impl Authority {
    /// Of the server with the MCP endpoint at `url`.
    pub(crate) fn of(options: Option<&Authorization>, url: &str) -> Self {
        let issuer = options.map(|options| issuer(options, url)).unwrap_or_default();
        Self { issuer, ..Self::default() }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ledger(&self) -> AuthorizationLedger {
        self.book().ledger.clone()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// No access token that was issued so far is good any more; the logins live on.
    pub(crate) fn expire_access_tokens(&self) {
        let now = Instant::now();
        self.book().access_tokens.values_mut().for_each(|token| token.expires = now);
    }

    /// Ends every login.
    pub(crate) fn revoke_logins(&self, why: &str) {
        let mut book = self.book();
        (0..book.ledger.logins.len()).for_each(|login| book.revoke(login, why));
    }

    /// The nonce for proofs is another one from now on.
    pub(crate) fn change_nonce(&self) {
        self.book().nonces += 1;
    }
}

impl Book {
    /// A text that was never given out before, and is not to be guessed from the ones before.
    pub(crate) fn unique(&mut self, what: &str) -> String {
        use std::hash::{BuildHasher, Hasher, RandomState};
        self.issued += 1;
        let random = RandomState::new().build_hasher().finish();
        format!("{what}-{}-{random:016x}", self.issued)
    }

    pub(crate) fn nonce(&self) -> String {
        format!("nonce-{}", self.nonces)
    }

    pub(crate) fn begin_login(&mut self, login: Login) -> usize {
        self.ledger.logins.push(login);
        self.ledger.logins.len() - 1
    }

    /// Takes every token of a login away. The first reason stands.
    pub(crate) fn revoke(&mut self, login: usize, why: &str) {
        if let Some(login) = self.ledger.logins.get_mut(login) {
            login.revoked.get_or_insert_with(|| why.to_owned());
        }
    }

    pub(crate) fn is_alive(&self, login: usize) -> bool {
        self.ledger.logins.get(login).is_some_and(|login| login.revoked.is_none())
    }

    pub(crate) fn issue_access_token(
        &mut self,
        login: usize,
        lifetime: Duration,
        thumbprint: Option<String>,
    ) -> String {
        let token = self.unique("access");
        let expires = Instant::now() + lifetime;
        self.access_tokens.insert(token.clone(), AccessToken { login, expires, thumbprint });
        token
    }

    pub(crate) fn issue_refresh_token(&mut self, login: usize, thumbprint: Option<String>) -> String {
        let token = self.unique("refresh");
        self.refresh_tokens.insert(token.clone(), RefreshToken { login, exchanged: None, thumbprint });
        token
    }
}

/// Members in place of others; null takes one away.
pub(crate) fn overridden(mut object: Value, overrides: &serde_json::Map<String, Value>) -> Value {
    if let Some(members) = object.as_object_mut() {
        for (name, value) in overrides {
            if value.is_null() {
                members.remove(name);
            } else {
                members.insert(name.clone(), value.clone());
            }
        }
    }
    object
}
