//! One token: the header that it makes, and until when it is good.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use serde::Deserialize;

use super::error::TokenError;
use crate::oauth::{Access, LoginError};
use crate::transport::headers::{bearer, bound};

/// A token, as it goes into the `Authorization` header, and the count of tokens that came before it.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) header: HeaderValue,
    pub(crate) serial: u64,
    /// [`super::TokenCache::renewals`] when it was handed out.
    pub(crate) renewals: Option<u64>,
    pub(super) value: Arc<str>,
    /// The date after which it is good for nothing, where it says so itself, or the authorization server did.
    pub(crate) expires: Option<SystemTime>,
    /// From then on a login may be refreshed; none if it cannot be.
    pub(crate) renewable_from: Option<SystemTime>,
}

impl Token {
    /// Is it over by its own date?
    pub(crate) fn has_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub(super) fn is_renewable(&self, now: SystemTime) -> bool {
        self.renewable_from.is_some_and(|from| from <= now)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Token").field("serial", &self.serial).finish_non_exhaustive()
    }
}

/// What a provider gave.
pub(super) fn token(value: &str, serial: u64) -> Result<Token, TokenError> {
    let header = bearer(value).map_err(|error| TokenError::Provider(error.to_string().into()))?;
    Ok(Token { header, serial, renewals: None, value: value.into(), expires: expiry(value), renewable_from: None })
}

/// What a login gave.
pub(super) fn of_login(access: &Access, serial: u64) -> Result<Token, TokenError> {
    let header = if access.bound { bound(&access.value) } else { bearer(&access.value) };
    let header = header.map_err(|error| TokenError::Login(LoginError::lasting(error.to_string())))?;
    Ok(Token {
        header,
        serial,
        renewals: None,
        value: access.value.as_str().into(),
        expires: access.expires.or_else(|| expiry(&access.value)),
        renewable_from: access.renewable_from,
    })
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

#[cfg(test)]
mod tests {
    use test_case::test_case;

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
}
