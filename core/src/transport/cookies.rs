//! Cookies (RFC 6265): a balancer that pins a client to a replica by one gets it back.
//!
//! There is one jar for a client, kept over recoveries and in memory alone. A client speaks to one origin only, and follows redirects
//! within it only, so no cookie goes anywhere else, whatever domain it names. What the caller's own `cookie` header names is the caller's.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cookie_store::CookieStore;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use url::Url;

use crate::vocabulary::redact::Secrets;

/// The most cookies that are kept: what RFC 6265, section 6.1, asks of a browser for one domain. Those past it are not taken.
const MOST: usize = 50;
/// The longest cookie that is taken, its attributes included, in bytes (the same section).
const LONGEST: usize = 4_096;
/// The most that is sent in one request, in bytes: servers refuse requests with longer headers.
const SENT: usize = 8_192;

/// The cookies of a client.
#[derive(Default)]
pub(crate) struct CookieJar(Mutex<CookieStore>);

impl fmt::Debug for CookieJar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CookieJar").finish_non_exhaustive()
    }
}

impl CookieJar {
    fn store(&self) -> MutexGuard<'_, CookieStore> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the answer from there sets.
    pub(crate) fn take(&self, url: &Url, answer: &HeaderMap, secrets: &Secrets) {
        let mut set = answer.get_all(SET_COOKIE).iter().filter(|value| value.len() <= LONGEST).peekable();
        if set.peek().is_none() {
            return;
        }
        let mut store = self.store();
        for cookie in set.filter_map(|value| value.to_str().ok()) {
            let Ok(cookie) = cookie_store::Cookie::parse(cookie, url) else { continue };
            let known = |cookie: &cookie_store::Cookie<'_>| {
                (cookie.domain.clone(), cookie.path.clone(), cookie.name().to_owned())
            };
            let is_new = !store.iter_any().any(|other| known(other) == known(&cookie));
            if is_new && !has_room(&mut store) {
                continue;
            }
            secrets.add_cookie(cookie.value());
            // Refused is what names another domain.
            let _ = store.insert(cookie.into_owned(), url);
        }
    }

    /// Puts into the headers of a request to there what belongs there.
    pub(crate) fn give(&self, url: &Url, headers: &mut HeaderMap) {
        let store = self.store();
        let mut cookies = store.matches(url);
        if cookies.is_empty() {
            return;
        }
        // RFC 6265, section 5.4: those with longer paths first.
        cookies.sort_by_key(|cookie| (std::cmp::Reverse(cookie.path.len()), cookie.name().to_owned()));
        let own: Vec<_> =
            headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
        let is_own = |name: &str| {
            own.iter()
                .flat_map(|own| own.split(';'))
                .any(|pair| pair.split('=').next().is_some_and(|own| own.trim() == name))
        };
        let mut all = own.join("; ");
        for (name, value) in cookies.iter().map(|cookie| cookie.name_value()).filter(|(name, _)| !is_own(name)) {
            if all.len() + name.len() + value.len() + 3 > SENT {
                continue;
            }
            let separator = if all.is_empty() { "" } else { "; " };
            all.push_str(&format!("{separator}{name}={value}"));
        }
        if let Ok(mut value) = HeaderValue::try_from(all) {
            value.set_sensitive(true);
            headers.insert(COOKIE, value);
        }
    }
}

/// Is there room for one more? Those that are over make room.
fn has_room(store: &mut CookieStore) -> bool {
    if store.iter_any().count() < MOST {
        return true;
    }
    let over: Vec<_> = store
        .iter_any()
        .filter(|cookie| cookie.is_expired())
        .map(|cookie| (String::from(&cookie.domain), String::from(&cookie.path), cookie.name().to_owned()))
        .collect();
    for (domain, path, name) in over {
        store.remove(&domain, &path, &name);
    }
    store.iter_any().count() < MOST
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn setting(cookies: &[&str]) -> HeaderMap {
        cookies.iter().map(|cookie| (SET_COOKIE, HeaderValue::from_str(cookie).unwrap())).collect()
    }

    /// What goes with a request to there, after an answer from `http://server.test/mcp` that set these.
    fn sent(cookies: &[&str], to: &str, own: Option<&str>) -> Option<String> {
        let jar = CookieJar::default();
        jar.take(&url("http://server.test/mcp"), &setting(cookies), &Secrets::default());
        let mut headers: HeaderMap = own.map(|own| (COOKIE, HeaderValue::from_str(own).unwrap())).into_iter().collect();
        jar.give(&url(to), &mut headers);
        assert!(headers.values().all(|value| own.is_some() || value.is_sensitive()));
        headers.get(COOKIE).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test_case(&["a=1; HttpOnly"], "http://server.test/mcp", Some("a=1"); "one")]
    #[test_case(&["a=1", "b=2"], "http://server.test/mcp", Some("a=1; b=2"); "two")]
    #[test_case(&["a=1", "a=2"], "http://server.test/mcp", Some("a=2"); "set again")]
    #[test_case(&["a=1", "a=; Max-Age=0"], "http://server.test/mcp", None; "taken back")]
    #[test_case(&["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "http://server.test/mcp", None; "over")]
    #[test_case(&["a=1; Secure"], "http://server.test/mcp", None; "for TLS alone")]
    #[test_case(&["a=1; Domain=other.test"], "http://server.test/mcp", None; "of another domain")]
    #[test_case(&["a=1; Domain=server.test"], "http://other.test/mcp", None; "to another host")]
    #[test_case(&["a=1; Path=/other"], "http://server.test/mcp", None; "of another path")]
    #[test_case(&["a=1; Path=/", "b=2; Path=/mcp"], "http://server.test/mcp", Some("b=2; a=1"); "the longer path first")]
    #[test_case(&["no cookie"], "http://server.test/mcp", None; "none at all")]
    fn a_cookie_goes_back_to_where_it_is_from(cookies: &[&str], to: &str, expected: Option<&str>) {
        assert_eq!(sent(cookies, to, None).as_deref(), expected);
    }

    #[test]
    fn the_callers_own_goes_before() {
        let to = "http://server.test/mcp";
        assert_eq!(sent(&["a=1", "b=2"], to, Some("a=mine; c=3")).unwrap(), "a=mine; c=3; b=2");
        assert_eq!(sent(&[], to, Some("a=mine")).unwrap(), "a=mine");
    }

    #[test]
    fn what_is_kept_and_what_is_sent_is_bounded() {
        let (jar, here) = (CookieJar::default(), url("http://server.test/mcp"));
        let secrets = Secrets::default();
        jar.take(&here, &setting(&[&format!("long={}", "x".repeat(LONGEST))]), &secrets);
        assert_eq!(jar.store().iter_any().count(), 0);
        for number in 0..MOST * 2 {
            jar.take(&here, &setting(&[&format!("c{number}={}", "x".repeat(1_000))]), &secrets);
        }
        assert_eq!(jar.store().iter_any().count(), MOST);
        // One that is there is still renewed.
        jar.take(&here, &setting(&["c0=new"]), &secrets);
        let mut headers = HeaderMap::new();
        jar.give(&here, &mut headers);
        let sent = headers[COOKIE].to_str().unwrap();
        assert!(sent.contains("c0=new") && sent.len() <= SENT, "{}", sent.len());
        // Those that are over make room.
        jar.take(&here, &setting(&["c0=; Max-Age=0", "last=1"]), &secrets);
        assert!(jar.store().iter_any().any(|cookie| cookie.name() == "last"));
    }

    #[test]
    fn a_cookie_is_a_secret() {
        let (jar, secrets) = (CookieJar::default(), Secrets::default());
        jar.take(&url("http://server.test/mcp"), &setting(&["route=abcdef0123456789"]), &secrets);
        assert!(!secrets.cut("it was abcdef0123456789").contains("abcdef"));
        assert!(!format!("{jar:?}").contains("abcdef"));
    }
}
