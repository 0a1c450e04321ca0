//! Demonstrating Proof of Possession (RFC 9449): a token that is stolen is of no use without the key.

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::Serialize;
use url::Url;

use super::key::{Jwk, KeyError, SigningKey};
use super::{compact, seconds};
use crate::oauth::random::unguessable;

/// What one request is proved for (section 4.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DpopProof<'a> {
    /// `GET`, `POST`, `DELETE`.
    pub(crate) method: &'a str,
    pub(crate) url: &'a Url,
    /// The access token that goes with it; none at the token endpoint.
    pub(crate) access_token: Option<&'a str>,
    /// The latest nonce of the server that it goes to (section 8).
    pub(crate) nonce: Option<&'a str>,
}

#[derive(Serialize)]
struct Header<'a> {
    typ: &'static str,
    alg: &'static str,
    jwk: &'a Jwk,
}

#[derive(Serialize)]
struct Claims<'a> {
    jti: String,
    htm: &'a str,
    htu: &'a str,
    iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
}

impl DpopProof<'_> {
    /// The value of the `DPoP` header, new for each request: its `jti` is used once.
    pub(crate) fn sign(&self, key: &SigningKey, now: SystemTime) -> Result<String, KeyError> {
        let header = Header { typ: "dpop+jwt", alg: key.algorithm(), jwk: key.jwk() };
        let target = target(self.url);
        let claims = Claims {
            jti: unguessable()?,
            htm: self.method,
            htu: target.as_str(),
            iat: seconds(now),
            ath: self.access_token.map(token_hash),
            nonce: self.nonce,
        };
        compact(key, &header, &claims)
    }
}

/// `htu`: the target without query and fragment, and without the login that a URL may hold, which is not sent as part of it.
fn target(url: &Url) -> Url {
    let mut target = url.clone();
    target.set_query(None);
    target.set_fragment(None);
    // Both fail only where a URL can hold none.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    target
}

/// `ath`: which token it goes with.
fn token_hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    // RFC 9449, section 7.1.
    #[test]
    fn the_hash_of_the_token_in_the_rfc() {
        let hash = token_hash("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
        assert_eq!(hash, "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
    }

    #[test_case("https://a.example/mcp?x=1#y", "https://a.example/mcp"; "query and fragment")]
    #[test_case("https://user:pass@a.example/mcp", "https://a.example/mcp"; "a login")]
    #[test_case("http://localhost:8000", "http://localhost:8000/"; "an origin")]
    #[test_case("https://A.example:443/b%2Fc", "https://a.example/b%2Fc"; "normal form")]
    fn what_the_proof_is_for(url: &str, expected: &str) {
        assert_eq!(target(&Url::parse(url).unwrap()).as_str(), expected);
    }
}
