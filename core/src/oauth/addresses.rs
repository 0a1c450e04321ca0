//! What a server may make us fetch.
//!
//! The metadata of a resource and of its authorization server name addresses, and whoever writes them would otherwise choose what this
//! process asks in the network of its user. The rule: https, or http on the machine itself; and no address of a zone that the server is
//! not in. A public server names public addresses only; one of a private network that network's and public ones; one on this machine
//! could ask everything by itself, and may name everything. Names count as what they resolve to, at the moment of connecting. Behind a
//! proxy names are resolved by the proxy, and only addresses that are written out are known here.

use std::net::IpAddr;

use url::{Host, Url};

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Zone {
    /// This machine.
    Loopback,
    /// The cable, and what a cloud says to its machines (169.254.0.0/16, fe80::/10).
    Link,
    /// A network of somebody's own (RFC 1918, RFC 4193, RFC 6598).
    Private,
    /// Everything else.
    Public,
}

/// The zone of an address.
pub(crate) fn zone(address: IpAddr) -> Zone {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            if v4.is_loopback() || v4.is_unspecified() {
                Zone::Loopback
            } else if v4.is_link_local() {
                Zone::Link
            } else if v4.is_private() || (first == 100 && (64..128).contains(&second)) || v4.is_broadcast() {
                Zone::Private
            } else {
                Zone::Public
            }
        }
        IpAddr::V6(v6) => {
            if let Some(v4) = v6.to_ipv4_mapped() {
                return zone(IpAddr::V4(v4));
            }
            // The prefix of NAT64 (RFC 6052) leads to the IPv4 address at its end.
            if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = v6.segments() {
                let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
                return zone(IpAddr::from([a, b, c, d]));
            }
            if v6.is_loopback() || v6.is_unspecified() {
                Zone::Loopback
            } else if v6.is_unicast_link_local() {
                Zone::Link
            } else if v6.is_unique_local() {
                Zone::Private
            } else {
                Zone::Public
            }
        }
    }
}

/// May a server in this zone name an address in that one?
pub(crate) fn may_name(server: Zone, target: Zone) -> bool {
    server == Zone::Loopback || target == Zone::Public || server == target
}

/// The zone of a URL, if it can be told without asking anybody.
pub(crate) fn zone_of(url: &Url) -> Option<Zone> {
    match url.host()? {
        Host::Ipv4(address) => Some(zone(address.into())),
        Host::Ipv6(address) => Some(zone(address.into())),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            // RFC 6761, section 6.3.
            (name == "localhost" || name.ends_with(".localhost")).then_some(Zone::Loopback)
        }
    }
}

/// Why this URL is not fetched for a server of this zone; `None` if it may be.
pub(crate) fn refusal(server: Zone, url: &Url) -> Option<&'static str> {
    let zone = zone_of(url);
    if !(url.scheme() == "https" || (url.scheme() == "http" && zone == Some(Zone::Loopback))) {
        return Some("it is not https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it holds credentials");
    }
    match zone {
        Some(zone) if !may_name(server, zone) => Some("it is in a network that the server is not in"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("127.0.0.1", Zone::Loopback; "this machine")]
    #[test_case("0.0.0.0", Zone::Loopback; "no address, which is this machine")]
    #[test_case("::1", Zone::Loopback; "this machine in IPv6")]
    #[test_case("::ffff:127.0.0.1", Zone::Loopback; "this machine, mapped")]
    #[test_case("169.254.169.254", Zone::Link; "what a cloud says to its machines")]
    #[test_case("fe80::1", Zone::Link; "the cable")]
    #[test_case("10.1.2.3", Zone::Private; "ten")]
    #[test_case("172.31.0.1", Zone::Private; "one seven two")]
    #[test_case("192.168.1.1", Zone::Private; "one nine two")]
    #[test_case("100.64.0.1", Zone::Private; "behind a carrier")]
    #[test_case("fd00::1", Zone::Private; "unique local")]
    #[test_case("64:ff9b::a00:1", Zone::Private; "ten behind NAT64")]
    #[test_case("100.128.0.1", Zone::Public; "beside the carrier")]
    #[test_case("93.184.216.34", Zone::Public; "public")]
    #[test_case("2606:4700::1", Zone::Public; "public in IPv6")]
    fn where_an_address_is(address: &str, expected: Zone) {
        assert_eq!(zone(address.parse().unwrap()), expected);
    }

    #[test_case(Zone::Public, "https://10.0.0.1/token", false; "a public server and a private address")]
    #[test_case(Zone::Public, "https://169.254.169.254/latest/meta-data", false; "a public server and the cloud's own")]
    #[test_case(Zone::Public, "http://127.0.0.1:9000/token", false; "a public server and this machine")]
    #[test_case(Zone::Public, "https://localhost/token", false; "a public server and this machine by name")]
    #[test_case(Zone::Public, "https://[::ffff:10.0.0.1]/token", false; "a public server and a private address, mapped")]
    #[test_case(Zone::Public, "https://8.8.8.8/token", true; "a public server and a public address")]
    #[test_case(Zone::Public, "https://auth.example/token", true; "a name, which is looked at when it is resolved")]
    #[test_case(Zone::Public, "http://auth.example/token", false; "without TLS")]
    #[test_case(Zone::Private, "https://10.0.0.1/token", true; "within a private network")]
    #[test_case(Zone::Private, "http://10.0.0.1/token", false; "within a private network, without TLS")]
    #[test_case(Zone::Private, "https://127.0.0.1/token", false; "a private server and this machine")]
    #[test_case(Zone::Private, "https://169.254.169.254/", false; "a private server and the cloud's own")]
    #[test_case(Zone::Loopback, "http://127.0.0.1:9000/token", true; "all on this machine")]
    #[test_case(Zone::Loopback, "https://10.0.0.1/token", true; "this machine and a private address")]
    #[test_case(Zone::Public, "https://user:password@auth.example/token", false; "with credentials")]
    #[test_case(Zone::Public, "ftp://auth.example/token", false; "another scheme")]
    fn what_a_server_may_name(server: Zone, url: &str, expected: bool) {
        assert_eq!(refusal(server, &Url::parse(url).unwrap()).is_none(), expected);
    }
}
