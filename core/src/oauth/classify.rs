//! What an answer of a resource, of an authorization server or of its token endpoint means for the login. One pure function for each kind of
//! exchange; nothing else of the login reads a status code.
//!
//! Codes alone are not enough: servers say `invalid_request` of a dead refresh token, send pages of HTML with 200, and 429 to a login that is
//! good. What counts is the outcome: granted, refused for good, not now, or not known.

use std::time::{Duration, SystemTime};

use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, StatusCode};
use serde::Deserialize;
use url::Url;

use super::fetch::{Fetched, Unfetched};
use crate::transport::challenge::{Asked, asked};
use crate::transport::classify::Redirect;
use crate::transport::headers;
use crate::vocabulary::excerpt::excerpt;

/// The nonce of a proof of possession (RFC 9449, section 8.1).
pub(crate) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The longest text of a server that an error repeats, in characters.
const SAID: usize = 200;

/// What the answer to a request for metadata is.
#[derive(Debug)]
pub(crate) enum Metadata {
    /// A JSON document.
    Document(serde_json::Map<String, serde_json::Value>),
    /// There is none here: the next place may have it.
    Absent,
    /// Nothing can be told: what stands in the way says nothing of whether there is one.
    Trouble(String),
}

/// What the answer to a request for metadata is. Only a 4xx says that there is none; a server in trouble must not be taken for an older one.
pub(crate) fn metadata(fetched: Result<Fetched, Unfetched>) -> Metadata {
    let fetched = match fetched {
        Ok(fetched) => fetched,
        Err(unfetched) => return Metadata::Trouble(unfetched.to_string()),
    };
    let status = fetched.status;
    if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::REQUEST_TIMEOUT {
        return Metadata::Trouble(format!("HTTP {}", status.as_u16()));
    }
    if status.is_client_error() {
        return Metadata::Absent;
    }
    if !status.is_success() {
        return Metadata::Trouble(format!("HTTP {}", status.as_u16()));
    }
    match serde_json::from_slice(&fetched.body) {
        Ok(document) => Metadata::Document(document),
        // A page for everything that is not found, with 200: single-page applications do that.
        Err(_) if is_html(&fetched) => Metadata::Absent,
        Err(_) => Metadata::Trouble("what came is no JSON object".to_owned()),
    }
}

fn is_html(fetched: &Fetched) -> bool {
    let content_type = fetched.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.trim_start().to_ascii_lowercase().starts_with("text/html")
}

/// Where a redirect of a GET leads: a GET keeps its sense under every one of them.
pub(crate) fn redirect_of_get(status: StatusCode, headers: &HeaderMap, url: &Url) -> Redirect {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Redirect::None;
    }
    let Some(target) = headers::location(headers).and_then(|target| url.join(target).ok()) else {
        return Redirect::None;
    };
    if target.origin() == url.origin() { Redirect::Follow(target) } else { Redirect::Refuse(target) }
}

/// What a token endpoint grants (RFC 6749, section 5.1).
#[derive(Clone, Deserialize, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) access_token: String,
    #[serde(default)]
    pub(crate) token_type: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    pub(crate) expires_in: Option<u64>,
    #[serde(default)]
    pub(crate) refresh_token: Option<String>,
    #[serde(default)]
    pub(crate) scope: Option<String>,
    /// Of a token exchange (RFC 8693, section 2.2.1).
    #[serde(default)]
    pub(crate) issued_token_type: Option<String>,
}

impl std::fmt::Debug for Granted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Granted").field("expires_in", &self.expires_in).finish_non_exhaustive()
    }
}

/// Some servers write the number as a text, or as a fraction.
fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let number = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    // Of a number that is none the token is not thrown away.
    Ok(number.and_then(|number| Duration::try_from_secs_f64(number).ok()).map(|duration| duration.as_secs()))
}

/// What came of a request to a token endpoint.
#[derive(Debug)]
pub(crate) enum TokenAnswer {
    Granted(Box<Granted>),
    /// What was shown (a code, a refresh token, an assertion) is good for nothing: `invalid_grant`.
    DeadGrant(String),
    /// The client is not known, or not by this secret: `invalid_client`.
    DeadClient(String),
    /// A proof of possession with the nonce that it gives is wanted.
    Nonce,
    /// Refused, in words that do not say that what was shown is dead.
    Refused(String),
    /// Not now, as the server says.
    NotNow {
        reason: String,
        retry_after: Option<Duration>,
    },
    /// It never left this process.
    NeverSent(String),
    /// Sent, and whether it was granted is not known: cut off, timed out, or an answer that cannot be read.
    Lost(String),
}

/// What came of a request to a token endpoint.
pub(crate) fn token(fetched: Result<Fetched, Unfetched>) -> TokenAnswer {
    let fetched = match fetched {
        Ok(fetched) => fetched,
        Err(Unfetched::Lost(reason)) => return TokenAnswer::Lost(reason),
        Err(unfetched) => return TokenAnswer::NeverSent(unfetched.to_string()),
    };
    let status = fetched.status;
    let http = format!("HTTP {}", status.as_u16());
    if status.is_success() {
        return match serde_json::from_slice::<Granted>(&fetched.body) {
            Ok(granted) if !granted.access_token.is_empty() => TokenAnswer::Granted(Box::new(granted)),
            // Some say errors with 200.
            _ => match refusal(&fetched) {
                Some((code, text)) if is_final(&code) => of_code(&code, text, &fetched),
                _ => TokenAnswer::Lost(format!("{http}, and what came is no token")),
            },
        };
    }
    let not_now =
        |reason| TokenAnswer::NotNow { reason, retry_after: headers::retry_after(&fetched.headers, SystemTime::now()) };
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::REQUEST_TIMEOUT {
        let said = refusal(&fetched).map_or(http, |(_, text)| text);
        return not_now(said);
    }
    match refusal(&fetched) {
        Some((code, text)) if matches!(&*code, "temporarily_unavailable" | "slow_down" | "server_error") => {
            not_now(text)
        }
        Some((code, text)) => of_code(&code, text, &fetched),
        // A page, a redirect, a word of something on the way: it says nothing of the login.
        None => not_now(http),
    }
}

/// Does this code say that what was shown, or who showed it, is good for nothing?
fn is_final(code: &str) -> bool {
    matches!(code, "invalid_grant" | "invalid_client")
}

fn of_code(code: &str, text: String, fetched: &Fetched) -> TokenAnswer {
    match code {
        "invalid_grant" => TokenAnswer::DeadGrant(text),
        "invalid_client" => TokenAnswer::DeadClient(text),
        "use_dpop_nonce" if nonce(&fetched.headers).is_some() => TokenAnswer::Nonce,
        _ => TokenAnswer::Refused(text),
    }
}

/// The code of an error (RFC 6749, section 5.2), and it in words.
fn refusal(fetched: &Fetched) -> Option<(String, String)> {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
        #[serde(default)]
        error_description: Option<String>,
    }
    let Refusal { error, error_description } = serde_json::from_slice(&fetched.body).ok()?;
    let error = said(&error);
    let text = match error_description.filter(|text| !text.is_empty()) {
        Some(description) => format!("{error} ({})", said(&description)),
        None => error.clone(),
    };
    Some((error, text))
}

/// A text of a server, short and printable.
pub(crate) fn said(text: &str) -> String {
    excerpt(text.as_bytes()).replace('\n', " ").chars().take(SAID).collect()
}

/// The nonce that an answer gives.
pub(crate) fn nonce(headers: &HeaderMap) -> Option<String> {
    headers.get(DPOP_NONCE)?.to_str().ok().filter(|nonce| !nonce.is_empty()).map(str::to_owned)
}

/// What came of a registration (RFC 7591, section 3.2): the document, or why there is none, and whether it might work in a moment.
pub(crate) fn registration(fetched: Result<Fetched, Unfetched>) -> Result<Fetched, (String, bool)> {
    let fetched = fetched.map_err(|unfetched| (unfetched.to_string(), true))?;
    if fetched.status.is_success() {
        return Ok(fetched);
    }
    let status = fetched.status;
    let passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    let text = refusal(&fetched).map_or_else(|| format!("HTTP {}", status.as_u16()), |(_, text)| text);
    Err((text, passing))
}

/// What the server of ours asks for with this answer, if it asks for a login: 401, or 403 for want of scope.
pub(crate) fn challenge(status: StatusCode, headers: &HeaderMap) -> Option<Asked> {
    match status {
        StatusCode::UNAUTHORIZED => Some(asked(headers).unwrap_or_default()),
        StatusCode::FORBIDDEN if headers.contains_key(WWW_AUTHENTICATE) => {
            asked(headers).filter(|asked| asked.error.as_deref() == Some("insufficient_scope"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderValue;
    use test_case::test_case;

    use super::*;

    fn answer(status: u16, body: &str) -> Result<Fetched, Unfetched> {
        Ok(Fetched {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        })
    }

    /// The variant, by name.
    fn sort(answer: &TokenAnswer) -> &'static str {
        match answer {
            TokenAnswer::Granted(_) => "granted",
            TokenAnswer::DeadGrant(_) => "dead grant",
            TokenAnswer::DeadClient(_) => "dead client",
            TokenAnswer::Nonce => "nonce",
            TokenAnswer::Refused(_) => "refused",
            TokenAnswer::NotNow { .. } => "not now",
            TokenAnswer::NeverSent(_) => "never sent",
            TokenAnswer::Lost(_) => "lost",
        }
    }

    #[test_case(200, r#"{"access_token":"a","token_type":"Bearer"}"#, "granted"; "a token")]
    #[test_case(201, r#"{"access_token":"a","expires_in":"3600"}"#, "granted"; "a token with 201 and a number as a text")]
    #[test_case(200, r#"{"access_token":""}"#, "lost"; "an empty token")]
    #[test_case(200, "<html>", "lost"; "a page with 200 may hide a rotation")]
    #[test_case(200, "{\"access_token\":\"a", "lost"; "half a token")]
    #[test_case(200, r#"{"error":"invalid_grant"}"#, "dead grant"; "an error with 200")]
    #[test_case(200, r#"{"error":"server_error"}"#, "lost"; "another error with 200")]
    #[test_case(400, r#"{"error":"invalid_grant"}"#, "dead grant"; "dead")]
    #[test_case(401, r#"{"error":"invalid_grant"}"#, "dead grant"; "dead with another status")]
    #[test_case(401, r#"{"error":"invalid_client"}"#, "dead client"; "an unknown client")]
    #[test_case(400, r#"{"error":"invalid_client"}"#, "dead client"; "an unknown client with 400")]
    #[test_case(400, r#"{"error":"invalid_request"}"#, "refused"; "what some say of a dead token")]
    #[test_case(400, r#"{"error":"use_dpop_nonce"}"#, "refused"; "a nonce is wanted and none is given")]
    #[test_case(400, r#"{"error":"temporarily_unavailable"}"#, "not now"; "busy, by its word")]
    #[test_case(401, "unauthorized", "not now"; "a gateway that wants a login of its own")]
    #[test_case(403, "<html>blocked</html>", "not now"; "a firewall")]
    #[test_case(404, "", "not now"; "a route that is away")]
    #[test_case(302, "", "not now"; "a redirect")]
    #[test_case(429, r#"{"error":"invalid_grant"}"#, "not now"; "too many requests whatever the code")]
    #[test_case(500, r#"{"error":"invalid_grant"}"#, "not now"; "a server in trouble whatever the code")]
    #[test_case(503, "", "not now"; "away")]
    fn what_a_token_endpoint_says(status: u16, body: &str, expected: &str) {
        assert_eq!(sort(&token(answer(status, body))), expected);
    }

    #[test]
    fn what_it_does_not_say() {
        assert_eq!(sort(&token(Err(Unfetched::Lost("cut".into())))), "lost");
        assert_eq!(sort(&token(Err(Unfetched::NeverSent("refused".into())))), "never sent");
        assert_eq!(sort(&token(Err(Unfetched::Forbidden("inside".into())))), "never sent");
    }

    #[test]
    fn a_nonce_that_is_given_is_to_be_used() {
        let mut fetched = answer(400, r#"{"error":"use_dpop_nonce"}"#).unwrap();
        fetched.headers.insert(DPOP_NONCE, HeaderValue::from_static("n-1"));
        assert_eq!(nonce(&fetched.headers).as_deref(), Some("n-1"));
        assert!(matches!(token(Ok(fetched)), TokenAnswer::Nonce));
    }

    #[test_case(200, "{}", "document"; "a document")]
    #[test_case(404, "", "absent"; "none here")]
    #[test_case(401, "{}", "absent"; "guarded")]
    #[test_case(500, "", "trouble"; "a server in trouble is not one without metadata")]
    #[test_case(429, "", "trouble"; "nor is a busy one")]
    #[test_case(200, "[]", "trouble"; "no object")]
    fn what_metadata_is(status: u16, body: &str, expected: &str) {
        let sort = match metadata(answer(status, body)) {
            Metadata::Document(_) => "document",
            Metadata::Absent => "absent",
            Metadata::Trouble(_) => "trouble",
        };
        assert_eq!(sort, expected);
    }

    #[test_case(302, "/b", Some("follow"); "within the origin")]
    #[test_case(301, "https://a.example/b", Some("follow"); "within the origin, in full")]
    #[test_case(307, "https://b.example/b", Some("refuse"); "to another origin")]
    #[test_case(302, "http://a.example/b", Some("refuse"); "out of TLS")]
    #[test_case(304, "/b", None; "no redirect")]
    fn where_metadata_is_redirected(status: u16, target: &'static str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::LOCATION, HeaderValue::from_static(target));
        let url = Url::parse("https://a.example/a").unwrap();
        let led = match redirect_of_get(StatusCode::from_u16(status).unwrap(), &headers, &url) {
            Redirect::None => None,
            Redirect::Follow(_) => Some("follow"),
            Redirect::Refuse(_) => Some("refuse"),
        };
        assert_eq!(led, expected);
    }
}
