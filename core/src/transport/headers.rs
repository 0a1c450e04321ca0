//! The headers that the protocol gives a meaning, and how each is read.
//!
//! Reading is strict where a value goes back to the server (a session id) and tolerant where it only informs. Values that
//! came from the caller are marked sensitive, so that no Debug output and no HTTP/2 header table holds them.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::time::{Duration, SystemTime};

use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, LOCATION, RETRY_AFTER,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::classify::facts::Login;
use crate::vocabulary::config::OptionError;
use crate::vocabulary::tracing_headers::TRACING;

/// The id of a session, given by the server with the answer to `initialize`.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The protocol version, on every request after the handshake.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The id of the last event that was read, on a GET that reads on.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON_OR_EVENT_STREAM: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Headers that belong to one connection or to the session: a caller's value would break the framing or the recovery.
const NOT_THE_CALLERS: [HeaderName; 9] =
    [CONNECTION, CONTENT_LENGTH, EXPECT, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, SESSION_ID, LAST_EVENT_ID];

/// The id of a session. It works like a credential, so it is not shown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(HeaderValue);

impl SessionId {
    /// Only visible ASCII (0x21 to 0x7E), as the transport chapter of the specification demands.
    pub(crate) fn new(value: &HeaderValue) -> Option<Self> {
        let bytes = value.as_bytes();
        if bytes.is_empty() || !bytes.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let mut value = value.clone();
        value.set_sensitive(true);
        Some(Self(value))
    }

    /// Only to look for it in texts that must not show it.
    pub(crate) fn reveal(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SessionId(..)")
    }
}

/// The session id that an answer gives, if it gives a valid one.
pub(crate) fn session_id(headers: &HeaderMap) -> Option<SessionId> {
    headers.get(SESSION_ID).and_then(SessionId::new)
}

/// How long the server asks to wait (RFC 9110, section 10.2.3): seconds or an HTTP date. A date in the past is zero. A number
/// past 64 bits is [`Duration::MAX`]: add the result to a clock only with a checked addition.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// Does the answer say how to authenticate?
pub(crate) fn has_challenge(headers: &HeaderMap) -> bool {
    headers.contains_key(WWW_AUTHENTICATE)
}

/// The target of a redirect as the server wrote it: maybe relative, maybe no URL at all.
pub(crate) fn location(headers: &HeaderMap) -> Option<&str> {
    std::str::from_utf8(headers.get(LOCATION)?.as_bytes()).ok().map(str::trim).filter(|target| !target.is_empty())
}

/// Is the body a stream of server-sent events? Type and subtype alone count, without regard to case (RFC 9110, section 8.3.1).
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else { return false };
    value.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// The codings that the body went through, in the order in which they were applied (RFC 9110, section 8.4), in small letters.
/// `identity` is none.
pub(crate) fn codings(headers: &HeaderMap) -> impl Iterator<Item = String> {
    headers
        .get_all(CONTENT_ENCODING)
        .into_iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(|name| crate::vocabulary::excerpt::excerpt(name.trim_ascii()).to_ascii_lowercase())
        .filter(|name| !name.is_empty() && name != "identity")
}

/// The codings that nothing below has undone, because one of them is not known. A body that is no message is then one that was not
/// read. Names come from the server, so what is told of them is short.
pub(crate) fn unread_coding(headers: &HeaderMap) -> Option<String> {
    let names: Vec<_> = codings(headers).collect();
    (!names.is_empty()).then(|| names.join(", ").chars().take(40).collect())
}

/// What every request of a client carries: the caller's headers, the token, the session and its version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// From the `headers` option, through [`from_caller`].
    pub(crate) caller: HeaderMap,
    /// The value of `authorization`, through [`bearer`]; it replaces one of the caller.
    pub(crate) authorization: Option<HeaderValue>,
    /// The session; `None` before the handshake, in a stateless one and in the modern era.
    pub(crate) session: Option<SessionId>,
    /// The negotiated version; `None` on `initialize`.
    pub(crate) version: Option<HeaderValue>,
    /// What a request of the modern era says of itself outside of its body.
    pub(crate) routing: HeaderMap,
    /// The token had expired by its own date.
    pub(crate) expired: bool,
    /// How often the client had done what may end a token when this was put together; none if it was about to.
    pub(crate) renewals: Option<u64>,
}

impl Standing {
    /// What the request carries of a login.
    pub(crate) fn login(&self) -> Login {
        match &self.authorization {
            Some(_) if self.expired => Login::Expired,
            None if !self.caller.contains_key(AUTHORIZATION) => Login::None,
            Some(_) | None => Login::Sent,
        }
    }

    /// Is it the same to a server that asks who sends it and on which session?
    pub(crate) fn has_the_identity_of(&self, other: &Self) -> bool {
        self.has_the_login_of(other) && self.session == other.session && self.version == other.version
    }

    /// Is it the same to a server that asks who sends it?
    pub(crate) fn has_the_login_of(&self, other: &Self) -> bool {
        self.authorization == other.authorization && without_tracing(&self.caller) == without_tracing(&other.caller)
    }

    /// Is it the same to a server that counts failed logins? What else differs from request to request makes no other login of one token.
    pub(crate) fn has_the_token_of(&self, other: &Self) -> bool {
        match (self.token(), other.token()) {
            (None, None) => self.has_the_login_of(other),
            (token, others) => token == others,
        }
    }

    fn token(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref().or_else(|| self.caller.get(AUTHORIZATION))
    }

    /// The headers of a POST.
    pub(crate) fn post(&self) -> HeaderMap {
        let mut headers = self.with_accept(JSON_OR_EVENT_STREAM);
        headers.insert(CONTENT_TYPE, JSON);
        for (name, value) in &self.routing {
            headers.insert(name, value.clone());
        }
        headers
    }

    /// The headers of a GET that listens or, after an event id, reads on.
    pub(crate) fn get(&self, last_event_id: Option<HeaderValue>) -> HeaderMap {
        let mut headers = self.with_accept(EVENT_STREAM);
        if let Some(id) = last_event_id {
            headers.insert(LAST_EVENT_ID, id);
        }
        headers
    }

    /// The headers of a DELETE.
    pub(crate) fn delete(&self) -> HeaderMap {
        self.with_accept(JSON_OR_EVENT_STREAM)
    }

    fn with_accept(&self, accept: HeaderValue) -> HeaderMap {
        let mut headers = self.caller.clone();
        // A body type of the caller's would be wrong on GET and DELETE.
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, accept);
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        match &self.session {
            Some(SessionId(id)) => headers.insert(SESSION_ID, id.clone()),
            None => headers.remove(SESSION_ID),
        };
        match &self.version {
            Some(version) => headers.insert(PROTOCOL_VERSION, version.clone()),
            None => headers.remove(PROTOCOL_VERSION),
        };
        headers
    }
}

/// The value of `Last-Event-ID`; `None` if the id cannot be a header value, and so cannot be resumed from.
pub(crate) fn last_event_id(id: &str) -> Option<HeaderValue> {
    if id.is_empty() {
        return None;
    }
    HeaderValue::from_bytes(id.as_bytes()).ok()
}

/// `Bearer` and the token, marked sensitive.
pub(crate) fn bearer(token: &str) -> Result<HeaderValue, OptionError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| OptionError::new("token", "it holds a character that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// `DPoP` and the token, which is bound to a key (RFC 9449, section 7.1), marked sensitive.
pub(crate) fn bound(token: &str) -> Result<HeaderValue, OptionError> {
    let mut value = HeaderValue::try_from(format!("DPoP {token}"))
        .map_err(|_| OptionError::new("token", "it holds a character that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The caller's headers. What the client itself sets on every request (`accept`, `content-type`, `mcp-protocol-version`) is
/// accepted here, because configurations often hold it, and overwritten when a request is made.
pub(crate) fn from_caller<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<HeaderMap, OptionError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::try_from(name).map_err(|_| {
            OptionError::new(
                "headers",
                format!("{:?} is not a header name", crate::vocabulary::excerpt::excerpt(name.as_bytes())),
            )
        })?;
        if NOT_THE_CALLERS.contains(&name) {
            return Err(OptionError::new("headers", format!("{name} is set by the client itself")));
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            OptionError::new("headers", format!("the value of {name} holds a character that a header cannot carry"))
        })?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

/// [`TRACING`] headers differ in each request, and say nothing of whose it is.
fn without_tracing(caller: &HeaderMap) -> HeaderMap {
    let mut caller = caller.clone();
    for name in &TRACING {
        caller.remove(name);
    }
    caller
}

/// What stands for the caller's headers where it has to be known whether two requests are of one identity: the same for the same names and
/// values, whatever the order of the names. Values are not kept. [`TRACING`] headers are left out: they differ in each request.
pub(crate) fn digest(caller: &HeaderMap, key: &RandomState) -> u64 {
    let mut names: Vec<_> = caller.keys().filter(|name| !TRACING.contains(name)).collect();
    names.sort_unstable_by_key(|name| name.as_str());
    let mut hasher = key.build_hasher();
    for name in names {
        let values: Vec<_> = caller.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        (name.as_str(), values).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn one(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        headers
    }

    #[test_case(None, None, false, Login::None; "nothing")]
    #[test_case(Some("Bearer a"), None, false, Login::Sent; "a token")]
    #[test_case(Some("Bearer a"), None, true, Login::Expired; "a token that had expired")]
    #[test_case(None, Some("Basic b"), false, Login::Sent; "a login of the caller's own")]
    #[test_case(Some("Bearer a"), Some("Basic b"), true, Login::Expired; "the token replaces the caller's")]
    fn what_a_request_carries_of_a_login(
        token: Option<&'static str>,
        own: Option<&'static str>,
        expired: bool,
        login: Login,
    ) {
        let caller = own.map_or_else(HeaderMap::new, |own| one("authorization", own));
        let authorization = token.map(HeaderValue::from_static);
        assert_eq!(Standing { caller, authorization, expired, ..Standing::default() }.login(), login);
    }

    #[test]
    fn a_request_has_the_identity_of_another_if_nothing_differs_that_a_server_asks_for() {
        let base = || Standing {
            caller: one("x-tenant", "a"),
            authorization: Some(HeaderValue::from_static("Bearer a")),
            session: session_id(&one("mcp-session-id", "s1")),
            version: Some(HeaderValue::from_static("2025-11-25")),
            ..Standing::default()
        };
        let same = |other: &Standing| (base().has_the_login_of(other), base().has_the_identity_of(other));
        assert_eq!(same(&base()), (true, true));
        assert_eq!(same(&Standing { routing: one("mcp-method", "ping"), ..base() }), (true, true));
        assert_eq!(same(&Standing { session: session_id(&one("mcp-session-id", "s2")), ..base() }), (true, false));
        assert_eq!(same(&Standing { session: None, ..base() }), (true, false));
        assert_eq!(same(&Standing { version: None, ..base() }), (true, false));
        assert_eq!(
            same(&Standing { authorization: Some(HeaderValue::from_static("Bearer b")), ..base() }),
            (false, false)
        );
        assert_eq!(same(&Standing { authorization: None, ..base() }), (false, false));
        assert_eq!(same(&Standing { caller: one("x-tenant", "b"), ..base() }), (false, false));
    }

    #[test_case("0194f2c1-!~", true; "visible ascii")]
    #[test_case("", false; "empty")]
    #[test_case("a b", false; "a blank")]
    #[test_case("a\tb", false; "a tab")]
    #[test_case("é", false; "not ascii")]
    fn a_session_id_is_visible_ascii(value: &str, valid: bool) {
        let id = session_id(&one("mcp-session-id", value));
        assert_eq!(id.is_some(), valid);
        if let Some(id) = id {
            assert_eq!(format!("{id:?}"), "SessionId(..)");
        }
        assert_eq!(session_id(&HeaderMap::new()), None);
    }

    const NOW: u64 = 1_700_000_000;

    #[test_case("120", Some(Duration::from_secs(120)); "seconds")]
    #[test_case(" 0 ", Some(Duration::ZERO); "zero")]
    #[test_case("99999999999999999999999999", Some(Duration::MAX); "a huge number")]
    #[test_case("Tue, 14 Nov 2023 22:13:50 GMT", Some(Duration::from_secs(30)); "a date to come")]
    #[test_case("Tue, 14 Nov 2023 22:13:10 GMT", Some(Duration::ZERO); "a date in the past")]
    #[test_case("-1", None; "a negative number")]
    #[test_case("1.5", None; "a fraction")]
    #[test_case("soon", None; "a word")]
    #[test_case("", None; "nothing")]
    fn retry_after_is_seconds_or_a_date(value: &str, wait: Option<Duration>) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        assert_eq!(retry_after(&one("retry-after", value), now), wait);
    }

    #[test_case("text/event-stream", true; "event stream")]
    #[test_case(" Text/Event-Stream ; charset=UTF-8", true; "event stream with case and parameter")]
    #[test_case("application/json", false; "json")]
    #[test_case("text/plain, text/event-stream", false; "a list")]
    #[test_case("text/plain; text/event-stream", false; "a parameter")]
    #[test_case("text/event-stream-x", false; "a longer subtype")]
    #[test_case("", false; "nothing")]
    fn content_types_are_read_without_case_and_parameters(value: &str, stream: bool) {
        assert_eq!(is_event_stream(&one("content-type", value)), stream);
        assert!(!is_event_stream(&HeaderMap::new()));
    }

    #[test]
    fn a_location_is_given_as_written() {
        assert_eq!(location(&one("location", " /mcp/ ")), Some("/mcp/"));
        assert_eq!(location(&one("location", "")), None);
        assert_eq!(location(&HeaderMap::new()), None);
    }

    #[test]
    fn each_method_has_its_headers() {
        let standing = Standing {
            caller: from_caller([("X-Team", "blue"), ("Accept", "*/*"), ("Content-Type", "text/plain")]).unwrap(),
            authorization: Some(bearer("s3cret").unwrap()),
            session: session_id(&one("mcp-session-id", "abc")),
            version: Some(HeaderValue::from_static("2025-11-25")),
            ..Standing::default()
        };
        let post = standing.post();
        assert_eq!(post["accept"], "application/json, text/event-stream");
        assert_eq!(post["content-type"], "application/json");
        assert_eq!(post["mcp-session-id"], "abc");
        assert_eq!(post["mcp-protocol-version"], "2025-11-25");
        assert_eq!(post["authorization"], "Bearer s3cret");
        assert_eq!(post["x-team"], "blue");
        let get = standing.get(last_event_id("7"));
        assert_eq!(get["accept"], "text/event-stream");
        assert_eq!(get["last-event-id"], "7");
        assert!(!get.contains_key("content-type"));
        assert!(!standing.get(None).contains_key("last-event-id"));
        assert!(!standing.delete().contains_key("content-type"));
        for headers in [post, get] {
            let debug = format!("{headers:?}");
            assert!(!debug.contains("s3cret") && !debug.contains("abc") && !debug.contains("blue"), "{debug}");
        }
    }

    #[test]
    fn before_the_handshake_no_session_and_no_version_is_sent() {
        let standing =
            Standing { caller: from_caller([("MCP-Protocol-Version", "x")]).unwrap(), ..Standing::default() };
        assert!(!standing.post().contains_key(PROTOCOL_VERSION));
    }

    #[test_case("bad name", "v", "\"bad name\""; "bad name")]
    #[test_case("x-key", "s3cret\n", "x-key"; "bad value")]
    #[test_case("Content-Length", "s3cret", "content-length"; "framing")]
    #[test_case("Mcp-Session-Id", "s3cret", "mcp-session-id"; "session")]
    fn a_header_that_cannot_be_used_is_named_without_its_value(name: &str, value: &str, shown: &str) {
        let error = from_caller([(name, value)]).unwrap_err();
        assert_eq!(error.field, "headers");
        assert!(error.problem.contains(shown), "{error}");
        assert!(!error.to_string().contains("s3cret"));
    }

    #[test]
    fn a_digest_tells_identities_apart_and_nothing_else() {
        let key = RandomState::new();
        let of = |pairs: &[(&'static str, &'static str)]| digest(&from_caller(pairs.iter().copied()).unwrap(), &key);
        let mine = of(&[("x-user", "mine"), ("x-team", "blue")]);
        assert_eq!(mine, of(&[("X-Team", "blue"), ("traceparent", "00-1"), ("x-user", "mine")]));
        for other in [
            &[("x-user", "yours"), ("x-team", "blue")][..],
            &[("x-user", "mine")],
            &[("x-user", "mine"), ("x-team", "blue"), ("x-team", "red")],
            &[("x-user", "blue"), ("x-team", "mine")],
            &[],
        ] {
            assert_ne!(mine, of(other), "{other:?}");
        }
    }

    #[test]
    fn a_token_with_a_line_break_is_refused_unseen() {
        let error = bearer("s3cret\r\nx: y").unwrap_err();
        assert_eq!(error.field, "token");
        assert!(!error.to_string().contains("s3cret"));
    }

    #[test]
    fn repeated_headers_are_all_sent() {
        let headers = from_caller([("x-a", "1"), ("x-a", "2")]).unwrap();
        assert_eq!(headers.get_all("x-a").iter().count(), 2);
    }

    #[test]
    fn an_event_id_that_no_header_can_carry_is_no_resume_point() {
        assert_eq!(last_event_id("a\nb"), None);
        assert_eq!(last_event_id(""), None);
        assert_eq!(last_event_id("é/1").unwrap().as_bytes(), "é/1".as_bytes());
    }
}
