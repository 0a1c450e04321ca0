//! Who is let in: the names under which the server may be asked for, the pages that may ask, and the token.
//!
//! A page of any site can send requests to this machine from a browser, under a name that leads here (MCP 2025-11-25, transports, "Security
//! warning"). So a `Host` that is not of this machine, and an `Origin` that was not allowed, are refused.

use std::fmt;

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};

/// Who is let in.
#[derive(Default)]
pub(super) struct Guard {
    /// Names besides those of the machine itself, without ports.
    pub(super) hosts: Vec<String>,
    /// Origins besides those of the machine itself.
    pub(super) origins: Vec<String>,
    pub(super) token: Option<String>,
}

impl fmt::Debug for Guard {
    // The token is secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Guard")
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Host,
    Origin,
    Token,
}

impl Guard {
    /// # Errors
    /// Why it is not.
    pub(super) fn admits(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(HOST).map(without_port).unwrap_or_default();
        if !is_this_machine(host) && !self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)) {
            return Err(Refusal::Host);
        }
        if headers.contains_key(ORIGIN) && !text(ORIGIN).is_some_and(|origin| self.allows(origin)) {
            return Err(Refusal::Origin);
        }
        if let Some(token) = &self.token {
            let given = text(AUTHORIZATION).and_then(|value| value.split_once(' '));
            let given =
                given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, given)| given.trim());
            if !given.is_some_and(|given| same(given, token)) {
                return Err(Refusal::Token);
            }
        }
        Ok(())
    }

    /// May a page of this origin ask?
    pub(super) fn allows(&self, origin: &str) -> bool {
        let here = origin.split_once("://").is_some_and(|(_, host)| is_this_machine(without_port(host)));
        here || self.origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }
}

fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.split(':').next().unwrap_or_default()
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Takes as long whether they differ in the first byte or in the last.
fn same(given: &str, right: &str) -> bool {
    let differ = |sum: u8, (a, b): (u8, u8)| sum | (a ^ b);
    given.len() == right.len() && given.bytes().zip(right.bytes()).fold(0, differ) == 0
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn admitted(guard: &Guard, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        guard.admits(&pairs.collect::<HeaderMap>())
    }

    #[test_case("127.0.0.1:8000", Ok(()))]
    #[test_case("localhost", Ok(()))]
    #[test_case("[::1]:8000", Ok(()))]
    #[test_case("mcp.example.org", Ok(()))]
    #[test_case("evil.example", Err(Refusal::Host))]
    #[test_case("127.0.0.1.evil.example", Err(Refusal::Host))]
    fn the_host_is_this_machine_or_allowed(host: &str, expected: Result<(), Refusal>) {
        let guard = Guard { hosts: vec!["mcp.example.org".into()], ..Guard::default() };
        assert_eq!(admitted(&guard, &[("host", host)]), expected);
    }

    #[test_case("http://localhost:3000", Ok(()))]
    #[test_case("https://app.example.org", Ok(()))]
    #[test_case("https://evil.example", Err(Refusal::Origin))]
    #[test_case("null", Err(Refusal::Origin))]
    fn the_origin_is_this_machine_or_allowed(origin: &str, expected: Result<(), Refusal>) {
        let guard = Guard { origins: vec!["https://app.example.org".into()], ..Guard::default() };
        assert_eq!(admitted(&guard, &[("host", "localhost"), ("origin", origin)]), expected);
    }

    #[test_case(&[("host", "localhost"), ("authorization", "Bearer right")], Ok(()))]
    #[test_case(&[("host", "localhost"), ("authorization", "bearer right")], Ok(()))]
    #[test_case(&[("host", "localhost"), ("authorization", "Bearer wrong")], Err(Refusal::Token))]
    #[test_case(&[("host", "localhost"), ("authorization", "Basic right")], Err(Refusal::Token))]
    #[test_case(&[("host", "localhost")], Err(Refusal::Token))]
    fn the_token_is_asked_for(headers: &[(&'static str, &str)], expected: Result<(), Refusal>) {
        assert_eq!(admitted(&Guard { token: Some("right".into()), ..Guard::default() }, headers), expected);
    }
}
