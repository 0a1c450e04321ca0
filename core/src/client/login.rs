//! Logging in and out.

use super::Client;
use super::builder::ClientBuilder;
use crate::oauth::OAuth;
use crate::vocabulary::error::Error;
use crate::vocabulary::outcome::Kind;

impl ClientBuilder {
    /// The client logs in by itself, and stays logged in (OAuth 2.1). It stands in the place of a token. Default: none.
    #[doc(hidden)]
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        self.draft.oauth = Some(oauth);
        self
    }
}

impl Client {
    /// Makes sure that there is a login: the stored one, refreshed if it is over, or else a new one, for which a person is asked. Whatever
    /// failed a moment ago is tried again. Nothing is sent to the server itself.
    ///
    /// Dropping the future stops neither a refresh nor a login.
    ///
    /// # Errors
    /// There is no login, of kind `auth`; or the client has none to make, for it was given no `oauth`, of kind `config`.
    #[doc(hidden)]
    pub async fn login(&self) -> Result<(), Error> {
        let tokens = &self.engine().wire.tokens;
        if tokens.login().is_none() {
            return Err(self.login_failed(Kind::Config, "the client was given no oauth".to_owned()));
        }
        tokens.log_in().await.map_err(|error| self.login_failed(Kind::Auth, error.to_string()))
    }

    /// Ends the login: it is revoked, as far as the authorization server lets it, and forgotten, for every process that shares the store.
    /// How the client is registered stays. What is called afterwards asks for a new login if the server wants one.
    ///
    /// # Errors
    /// The store failed, of kind `auth`; or the client was given no `oauth`, of kind `config`.
    #[doc(hidden)]
    pub async fn logout(&self) -> Result<(), Error> {
        let tokens = &self.engine().wire.tokens;
        if tokens.login().is_none() {
            return Err(self.login_failed(Kind::Config, "the client was given no oauth".to_owned()));
        }
        tokens.log_out().await.map_err(|error| self.login_failed(Kind::Auth, error.to_string()))
    }

    fn login_failed(&self, kind: Kind, reason: String) -> Error {
        crate::call::run::not_sent(self.engine(), "login", kind, reason)
    }
}
