//! What goes past the proxy of the environment, besides what the HTTP stack knows of: the machine itself, unless a proxy is given as an
//! option, and the entries of `NO_PROXY` that other programs take and the stack does not (`*` for an address, `*.internal`, a port).

use std::env;

use url::{Host, Url};

/// Does the environment's proxy not serve this URL?
pub(crate) fn is_exempt(url: &Url) -> bool {
    // The same two, in the same order, as the HTTP stack looks at.
    let list = ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| env::var(name).ok());
    is_loopback(url) || list.is_some_and(|list| is_listed(&list, url))
}

/// Nobody's proxy leads to the machine of its client: Go never asks one for that.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
        // RFC 6761, section 6.3.
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

fn is_listed(list: &str, url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let (host, port) = (host.trim_end_matches('.'), url.port_or_known_default());
    list.split([',', ' ', '\t']).map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let entry = entry.to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        let (name, of_port) = match entry.rsplit_once(':') {
            Some((name, of_port)) if !name.contains(':') || name.ends_with(']') => match of_port.parse::<u16>() {
                Ok(of_port) => (name, Some(of_port)),
                Err(_) => return false,
            },
            _ => (entry.as_str(), None),
        };
        if of_port.is_some() && of_port != port {
            return false;
        }
        match name.strip_prefix('*') {
            // `*.internal` and `*internal`.
            Some(end) => !end.is_empty() && host.ends_with(end),
            None => {
                let name = name.trim_start_matches('.');
                host == name || host.strip_suffix(name).is_some_and(|rest| !name.is_empty() && rest.ends_with('.'))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("http://127.0.0.1:8000/mcp", true)]
    #[test_case("http://127.9.9.9/mcp", true)]
    #[test_case("http://[::1]:8000/mcp", true)]
    #[test_case("http://[::ffff:127.0.0.1]/mcp", true)]
    #[test_case("http://localhost/mcp", true)]
    #[test_case("http://LOCALHOST./mcp", true)]
    #[test_case("http://api.localhost/mcp", true)]
    #[test_case("http://localhost.example.org/mcp", false)]
    #[test_case("http://10.0.0.1/mcp", false)]
    #[test_case("http://0.0.0.0/mcp", false)]
    fn the_machine_itself_is_not_behind_a_proxy(url: &str, exempt: bool) {
        assert_eq!(is_loopback(&Url::parse(url).unwrap()), exempt);
    }

    #[test_case("*", "http://10.0.0.1/mcp", true)]
    #[test_case("a.test, *", "https://server.test/mcp", true)]
    #[test_case("*.internal", "https://api.internal/mcp", true)]
    #[test_case("*.internal", "https://internal/mcp", false)]
    #[test_case("*.internal", "https://api.internal.test/mcp", false)]
    #[test_case("internal", "https://api.internal/mcp", true)]
    #[test_case(".internal", "https://a.b.internal./mcp", true)]
    #[test_case("internal", "https://notinternal/mcp", false)]
    #[test_case("API.internal:8443", "https://api.internal:8443/mcp", true)]
    #[test_case("api.internal:8443", "https://api.internal/mcp", false)]
    #[test_case("api.internal:443", "https://api.internal/mcp", true)]
    #[test_case("10.0.0.1", "http://10.0.0.1:9/mcp", true)]
    #[test_case("10.0.0.1:9", "http://10.0.0.1:9/mcp", true)]
    #[test_case("[fd00::1]", "http://[fd00::1]/mcp", true)]
    #[test_case("[fd00::1]:80", "http://[fd00::1]/mcp", true)]
    #[test_case("a.test b.test", "http://b.test/mcp", true; "blanks")]
    #[test_case("", "http://b.test/mcp", false; "empty")]
    #[test_case(",.,", "http://b.test/mcp", false; "nothing in it")]
    fn the_list_is_read_as_other_programs_read_it(list: &str, url: &str, exempt: bool) {
        assert_eq!(is_listed(list, &Url::parse(url).unwrap()), exempt);
    }
}
