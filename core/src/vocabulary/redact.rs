//! What the client itself sent as secret is cut out of every text of the server's, or of the host's, that goes on to the host: reasons,
//! excerpts, the message and data of a JSON-RPC error, events and log lines. A gateway's page that shows the headers of the request, or an
//! error that repeats the token, then shows [`MARK`] in their place.
//!
//! Secret are: every token; the value of every header of the caller's, but of [`HARMLESS`] ones, and of the cookies; in the URL, values of
//! the query and those parts of the path that look made up by a machine; the login of the proxy; what a server gets in its environment; session ids. They are found as they are,
//! in base64, and with their characters written as in a URL, in JSON or in HTML. What was cut off within a secret by the server itself is
//! not found.
//!
//! Bounds: of each kind of what changes (tokens, headers of a function, cookies, session ids) the latest [`RECENT`] are known. A secret of fewer than
//! [`SHORTEST`] bytes is not looked for, and one of fewer than [`ANYWHERE`](finder::ANYWHERE) only where it stands alone: texts are full of such.
//!
//! Results, notifications and requests of the server are data, not texts of ours: they are handed on as they are.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, ORIGIN, PRAGMA,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use url::Url;

use self::escapes::ESCAPE;
use self::finder::{Finder, MARK};
use super::excerpt::{EXCERPT, printable};
use super::tracing_headers::TRACING;

mod escapes;
mod finder;

/// The shortest secret that is looked for, in bytes.
const SHORTEST: usize = 4;
/// The shortest value of the URL's query, or of an environment, that is taken for a secret.
const IN_QUERY: usize = 8;
/// The shortest part of the URL's path that is taken for a secret, if it has letters and digits.
const IN_PATH: usize = 20;
/// So many secrets of one kind that change are known, the latest. One kind never makes another forgotten: a server may set a cookie with
/// every answer.
const RECENT: usize = 128;
/// The longest secret that is looked for; nothing has room for a longer one in a header.
const LONGEST: usize = 16 * 1024;

/// Headers of the caller's that say nothing of anybody.
const HARMLESS: [HeaderName; 10] = [
    ACCEPT,
    ACCEPT_ENCODING,
    ACCEPT_LANGUAGE,
    CACHE_CONTROL,
    CONTENT_TYPE,
    HOST,
    ORIGIN,
    PRAGMA,
    HeaderName::from_static("mcp-protocol-version"),
    USER_AGENT,
];

/// What this client has sent as secret.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Of the options: they stay.
    fixed: Vec<Arc<str>>,
    recent: VecDeque<Recent>,
    /// Of all of them.
    finder: Option<Arc<Finder>>,
}

struct Recent {
    secret: Arc<str>,
    of: Of,
}

/// What a secret that changes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Token,
    Header,
    Cookie,
    Session,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Those of the options.
    pub(crate) fn new(url: &Url, headers: &HeaderMap, proxy: Option<&str>) -> Self {
        let secrets = Self::default();
        let mut known = secrets.known();
        let mut values: Vec<String> = headers.iter().flat_map(|(name, value)| of_header(name, value)).collect();
        values.extend(of_url(url));
        values.extend(proxy.and_then(|proxy| Url::parse(proxy).ok()).iter().flat_map(of_login));
        known.fixed.extend(values.into_iter().filter(|value| is_findable(value)).map(Arc::from));
        drop(known);
        secrets
    }

    /// The same, and the values that a server gets in its environment, but for short ones: those are switches and numbers.
    pub(crate) fn and_environment<'a>(self, values: impl Iterator<Item = &'a str>) -> Self {
        let values = values.filter(|value| value.len() >= IN_QUERY && is_findable(value)).map(Arc::from);
        self.known().fixed.extend(values);
        self
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A token that is sent from now on.
    pub(crate) fn add_token(&self, token: &str) {
        self.remember(token, Of::Token);
    }

    /// The value of a cookie that is sent from now on.
    pub(crate) fn add_cookie(&self, value: &str) {
        self.remember(value, Of::Cookie);
    }

    /// The id of a session, which works like a credential. It is cut out of texts, and not of the data of an error: that may be a link, made
    /// by the server, which is of use only as it is.
    pub(crate) fn add_session(&self, id: &str) {
        self.remember(id, Of::Session);
    }

    fn remember(&self, secret: &str, of: Of) {
        if !is_findable(secret) {
            return;
        }
        let mut known = self.known();
        let is_known = known.fixed.iter().chain(known.recent.iter().rev().map(|recent| &recent.secret));
        if is_known.into_iter().any(|one| **one == *secret) {
            return;
        }
        if known.recent.iter().filter(|recent| recent.of == of).count() >= RECENT
            && let Some(oldest) = known.recent.iter().position(|recent| recent.of == of)
        {
            known.recent.remove(oldest);
        }
        known.recent.push_back(Recent { secret: secret.into(), of });
        known.finder = None;
    }

    /// Headers that a function of the caller's gave for a request.
    pub(crate) fn add_headers(&self, headers: &HeaderMap) {
        for (name, value) in headers {
            for secret in of_header(name, value) {
                self.remember(&secret, Of::Header);
            }
        }
    }

    /// Made when it is first needed: most clients never show a text of the server's.
    fn finder(&self) -> Option<Arc<Finder>> {
        let mut known = self.known();
        if known.finder.is_none() {
            let recent = known.recent.iter().map(|recent| &recent.secret);
            known.finder = Finder::new(known.fixed.iter().chain(recent)).map(Arc::new);
        }
        known.finder.clone()
    }

    fn finder_without_sessions(&self) -> Option<Finder> {
        let known = self.known();
        let recent = known.recent.iter().filter(|recent| recent.of != Of::Session).map(|recent| &recent.secret);
        Finder::new(known.fixed.iter().chain(recent))
    }

    /// The text without secrets.
    pub(crate) fn cut<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.finder() {
            Some(finder) => finder.cut(text),
            None => Cow::Borrowed(text),
        }
    }

    /// The text without secrets, and of that the beginning: a secret that is cut off is no less one.
    pub(crate) fn shown(&self, text: &str, characters: usize) -> String {
        let window = beginning(text, characters.saturating_mul(4));
        self.safe(window, window.len() < text.len()).chars().take(characters).collect()
    }

    /// The beginning of a body as text without secrets: at most [`EXCERPT`] bytes, control characters left out.
    pub(crate) fn excerpt(&self, body: &[u8]) -> String {
        let (window, whole) = printable(body, window(EXCERPT));
        let mut text = self.safe(&window, !whole).into_owned();
        let end = (0..=EXCERPT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text
    }

    /// The window without secrets and, if the text goes on beyond it, without the end, where a secret may be cut off.
    fn safe<'a>(&self, window: &'a str, goes_on: bool) -> Cow<'a, str> {
        let Some(finder) = self.finder() else { return Cow::Borrowed(window) };
        if !goes_on {
            return finder.cut(window);
        }
        let until = window.len().saturating_sub(finder.longest.saturating_mul(ESCAPE));
        finder.cut_until(window, until)
    }

    /// The JSON without secrets in its texts and numbers.
    pub(crate) fn cut_json(&self, json: Box<RawValue>) -> Box<RawValue> {
        if self.finder().is_none_or(|finder| finder.spans(json.get()).is_empty()) {
            return json;
        }
        let Some(finder) = self.finder_without_sessions() else { return json };
        let mut cut = String::with_capacity(json.get().len());
        for token in escapes::json_tokens(json.get()) {
            let shown = match serde_json::from_str::<serde_json::Value>(token) {
                Ok(serde_json::Value::String(text)) => Some(finder.cut(&text).into_owned()).filter(|cut| *cut != text),
                Ok(serde_json::Value::Number(_)) => Some(finder.cut(token).into_owned()).filter(|cut| cut == MARK),
                _ => None,
            };
            match shown {
                Some(shown) => cut.push_str(&serde_json::Value::from(shown).to_string()),
                None => cut.push_str(token),
            }
        }
        // It cannot fail; if it did, nothing is better than a secret.
        RawValue::from_string(cut).unwrap_or_default()
    }
}

/// How much of a text is looked at to show so much of it: secrets that are cut out make room for what follows.
fn window(shown: usize) -> usize {
    shown + 16 * LONGEST
}

fn beginning(text: &str, characters: usize) -> &str {
    let bytes = window(characters);
    if text.len() <= bytes {
        return text;
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

fn is_findable(secret: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&secret.len())
}

/// What is secret in a header of the caller's.
fn of_header(name: &HeaderName, value: &HeaderValue) -> Vec<String> {
    let Ok(value) = std::str::from_utf8(value.as_bytes()) else { return Vec::new() };
    if HARMLESS.contains(name) || TRACING.contains(name) {
        return Vec::new();
    }
    let mut secrets = vec![value.trim().to_owned()];
    if *name == COOKIE {
        secrets.extend(value.split(';').filter_map(|pair| Some(pair.split_once('=')?.1.trim().to_owned())));
    }
    // RFC 9110, section 11.4: a scheme, and what belongs to it. Other headers are given like that, too.
    if let Some((scheme, credentials)) = value.trim().split_once(' ')
        && (*name == AUTHORIZATION || *name == PROXY_AUTHORIZATION || scheme.eq_ignore_ascii_case("bearer"))
    {
        secrets.push(credentials.trim().to_owned());
        // RFC 7617, section 2: a name, a colon, a password.
        let basic = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(credentials.trim()).ok()).flatten();
        if let Some(pair) = basic.and_then(|pair| String::from_utf8(pair).ok()) {
            secrets.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
        }
    }
    secrets
}

/// What is secret in the URL of the server.
fn of_url(url: &Url) -> Vec<String> {
    let query = url.query_pairs().map(|(name, value)| if value.is_empty() { name } else { value });
    let query = query.filter(|value| value.len() >= IN_QUERY).map(Cow::into_owned);
    let path = url.path_segments().into_iter().flatten().filter(|part| looks_made_up(part));
    query.chain(path.flat_map(|part| [part.to_owned(), decoded(part)])).collect()
}

/// What is secret in the URL of a proxy.
fn of_login(url: &Url) -> Vec<String> {
    match url.password() {
        Some(password) => {
            let (user, password) = (decoded(url.username()), decoded(password));
            vec![STANDARD_NO_PAD.encode(format!("{user}:{password}")), password]
        }
        None => Vec::from_iter(Some(decoded(url.username())).filter(|user| !user.is_empty())),
    }
}

fn decoded(part: &str) -> String {
    let unescaped = escapes::unescape(part.as_bytes());
    unescaped.map_or_else(|| part.to_owned(), |unescaped| String::from_utf8_lossy(&unescaped.bytes).into_owned())
}

/// Many servers give each customer a URL of its own, which is the key to it.
fn looks_made_up(part: &str) -> bool {
    part.len() >= IN_PATH
        && part.bytes().any(|byte| byte.is_ascii_digit())
        && part.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Where a server is, fit for a log: its origin and path, without secrets.
pub(crate) fn address(url: &Url) -> String {
    let parts = url.path_segments().into_iter().flatten();
    let parts: Vec<_> = parts.map(|part| if looks_made_up(part) { MARK } else { part }).collect();
    format!("{}/{}", url.origin().ascii_serialization(), parts.join("/"))
}

#[cfg(test)]
mod tests;
