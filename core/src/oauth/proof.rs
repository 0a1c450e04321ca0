//! Proofs of possession (DPoP, RFC 9449) for the requests of one login: each gets its own, with the latest nonce of the server that it goes
//! to.

use std::fmt;
use std::sync::Mutex;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use super::classify;
use super::error::LoginError;
use super::jwt::{DpopProof, SigningKey};
use crate::vocabulary::lock::lock;

/// The header of a proof.
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
/// The scheme of a token that is bound to a key, with the blank behind it.
pub(crate) const SCHEME: &str = "DPoP ";

/// The key of a login.
pub(crate) struct Prover {
    key: SigningKey,
    stored: String,
    /// The latest nonce of the authorization server, and of our own server: each has its own.
    of_issuer: Mutex<Option<String>>,
    of_server: Mutex<Option<String>>,
}

impl fmt::Debug for Prover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Prover").finish_non_exhaustive()
    }
}

impl Prover {
    /// With a key of its own.
    pub(crate) fn generate() -> Result<Self, LoginError> {
        let key = SigningKey::generate().map_err(|error| LoginError::lasting(error.to_string()))?;
        let stored = key.pkcs8().map(|der| URL_SAFE_NO_PAD.encode(der)).unwrap_or_default();
        Ok(Self { key, stored, of_issuer: Mutex::default(), of_server: Mutex::default() })
    }

    /// With a key that was stored.
    pub(crate) fn stored(text: &str) -> Result<Self, LoginError> {
        let broken = || {
            LoginError::lasting(
                "the stored key of the login cannot be read; removing the login makes room for a new one",
            )
        };
        let der = URL_SAFE_NO_PAD.decode(text).map_err(|_| broken())?;
        let key = SigningKey::from_pkcs8(&der).map_err(|_| broken())?;
        Ok(Self { key, stored: text.to_owned(), of_issuer: Mutex::default(), of_server: Mutex::default() })
    }

    /// The key, as it is stored.
    pub(crate) fn to_store(&self) -> &str {
        &self.stored
    }

    /// What binds an authorization request to the key (RFC 9449, section 10).
    pub(crate) fn thumbprint(&self) -> Result<String, LoginError> {
        self.key.jwk().thumbprint().map_err(|error| LoginError::lasting(error.to_string()))
    }

    /// The proof for a request to the token endpoint.
    pub(crate) fn of_token_request(&self, endpoint: &Url) -> Result<HeaderValue, LoginError> {
        self.proof(&Method::POST, endpoint, None, lock(&self.of_issuer).as_deref())
    }

    /// The proof for a request to our server that carries this token.
    pub(crate) fn of_request(&self, method: &Method, url: &Url, token: &str) -> Result<HeaderValue, LoginError> {
        self.proof(method, url, Some(token), lock(&self.of_server).as_deref())
    }

    /// The nonce that the authorization server gives is the one to use from now on.
    pub(crate) fn take_nonce_of_issuer(&self, headers: &HeaderMap) {
        if let Some(nonce) = classify::nonce(headers) {
            *lock(&self.of_issuer) = Some(nonce);
        }
    }

    /// So is that of our server.
    pub(crate) fn take_nonce_of_server(&self, headers: &HeaderMap) {
        if let Some(nonce) = classify::nonce(headers) {
            *lock(&self.of_server) = Some(nonce);
        }
    }

    fn proof(
        &self,
        method: &Method,
        url: &Url,
        access_token: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<HeaderValue, LoginError> {
        let proof = DpopProof { method: method.as_str(), url, access_token, nonce };
        let failed = |why: String| LoginError::passing(format!("no proof of possession was made: {why}"));
        let signed = proof.sign(&self.key, SystemTime::now()).map_err(|error| failed(error.to_string()))?;
        let mut value = HeaderValue::try_from(signed).map_err(|error| failed(error.to_string()))?;
        value.set_sensitive(true);
        Ok(value)
    }
}
