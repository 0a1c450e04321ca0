//! `private_key_jwt`: a client that says by a signature who it is (RFC 7523, section 2.2; OpenID Connect Core, section 9).

use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::key::{KeyError, SigningKey};
use super::{compact, seconds};
use crate::oauth::random::unguessable;

/// The `client_assertion_type` of the token request.
pub(crate) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How long an assertion is good for. It is used at once; the rest is for clocks that differ.
const LIFETIME: Duration = Duration::from_secs(300);

/// Who says it, and to whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAssertion<'a> {
    /// Issuer and subject.
    pub(crate) client_id: &'a str,
    /// The issuer of the authorization server, as it is written in its metadata.
    pub(crate) audience: &'a str,
    /// Which of the keys that the authorization server knows of this client, if it has more than one.
    pub(crate) key_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
    jti: String,
}

impl ClientAssertion<'_> {
    /// The assertion, new for each request: its `jti` is used once.
    pub(crate) fn sign(&self, key: &SigningKey, now: SystemTime) -> Result<String, KeyError> {
        let header = Header { alg: key.algorithm(), typ: "JWT", kid: self.key_id };
        let claims = Claims {
            iss: self.client_id,
            sub: self.client_id,
            aud: self.audience,
            iat: seconds(now),
            exp: seconds(now) + LIFETIME.as_secs(),
            jti: unguessable()?,
        };
        compact(key, &header, &claims)
    }
}
