//! Which address of a name is tried first.
//!
//! The connector tries the addresses of one family one after the other, each for its share of `connect_timeout`: where the first of two is
//! dead, every new connection would wait for it. So an address that was passed over on the way to a connection goes behind the others of
//! its family for [`DEAD_FOR`]; as long as none was, the order is that of the resolver, which spreads the load.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

/// How long an address that was passed over goes behind the others.
const DEAD_FOR: Duration = Duration::from_secs(600);
/// Names whose order is remembered until a connection says what came of it; a client speaks to one host, or to its proxy.
const NAMES: usize = 8;
/// Dead addresses that are remembered.
const DEAD: usize = 64;

/// Gives the addresses of a name, their ports zero.
type Lookup = dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

/// What was seen of addresses. Clones share it.
#[derive(Clone)]
pub(super) struct Addresses {
    seen: Arc<Mutex<Seen>>,
    lookup: Arc<Lookup>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The order in which the latest connection to a name was to try.
    orders: Vec<(String, Vec<IpAddr>)>,
    dead: Vec<(IpAddr, Instant)>,
}

impl Default for Addresses {
    /// The resolver is that of the system.
    fn default() -> Self {
        Self::new(|name| async move { Ok(lookup_host((name.as_str(), 0)).await?.collect()) }.boxed())
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Addresses").field(&self.seen()).finish()
    }
}

impl Addresses {
    pub(super) fn new(
        lookup: impl Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync + 'static,
    ) -> Self {
        Self { seen: Arc::default(), lookup: Arc::new(lookup) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These addresses of a name in the order in which they are to be tried.
    fn order(&self, name: &str, mut addresses: Vec<SocketAddr>, now: Instant) -> Vec<SocketAddr> {
        let mut seen = self.seen();
        seen.dead.retain(|(_, since)| now.saturating_duration_since(*since) < DEAD_FOR);
        addresses.sort_by_key(|address| seen.dead.iter().any(|(dead, _)| *dead == address.ip()));
        seen.orders.retain(|(other, _)| other != name);
        if seen.orders.len() == NAMES {
            seen.orders.remove(0);
        }
        seen.orders.push((name.to_owned(), addresses.iter().map(SocketAddr::ip).collect()));
        addresses
    }

    /// An answer came from there: those of its family that were to be tried before it were passed over, and it is alive.
    pub(super) fn answered(&self, from: IpAddr) {
        self.answered_at(from, Instant::now());
    }

    fn answered_at(&self, from: IpAddr, now: Instant) {
        let mut seen = self.seen();
        let Some(at) = seen.orders.iter().position(|(_, order)| order.contains(&from)) else { return };
        let (_, order) = seen.orders.remove(at);
        let passed_over = order.into_iter().take_while(|address| *address != from);
        for address in passed_over.filter(|address| address.is_ipv4() == from.is_ipv4()) {
            seen.dead.retain(|(dead, _)| *dead != address);
            if seen.dead.len() == DEAD {
                seen.dead.remove(0);
            }
            seen.dead.push((address, now));
        }
        seen.dead.retain(|(dead, _)| *dead != from);
    }
}

impl Resolve for Addresses {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.clone();
        Box::pin(async move {
            // The connector puts the port of the URL in.
            let found = (addresses.lookup)(name.as_str().to_owned()).await?;
            let ordered = addresses.order(name.as_str(), found, Instant::now());
            Ok(Box::new(ordered.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_that_was_passed_over_goes_last_for_a_while() {
        let (seen, now) = (Addresses::default(), Instant::now());
        let found = addresses(&["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
        assert_eq!(seen.order("a", found.clone(), now), found);
        seen.answered_at(ip("192.0.2.2"), now);
        let later = now + DEAD_FOR - Duration::from_secs(1);
        assert_eq!(seen.order("a", found.clone(), later), addresses(&["192.0.2.2", "192.0.2.3", "192.0.2.1"]));
        assert_eq!(seen.order("a", found.clone(), now + DEAD_FOR), found);
    }

    #[test]
    fn an_address_that_answers_is_alive_again() {
        let (seen, now) = (Addresses::default(), Instant::now());
        let found = addresses(&["192.0.2.1", "192.0.2.2"]);
        seen.order("a", found.clone(), now);
        seen.answered_at(ip("192.0.2.2"), now);
        seen.order("a", found.clone(), now);
        // The second has died, and the first is up.
        seen.answered_at(ip("192.0.2.1"), now);
        assert_eq!(seen.order("a", found.clone(), now), found);
    }

    #[test]
    fn the_other_family_has_its_own_race() {
        let (seen, now) = (Addresses::default(), Instant::now());
        let found = addresses(&["2001:db8::1", "192.0.2.1", "2001:db8::2"]);
        seen.order("a", found.clone(), now);
        seen.answered_at(ip("192.0.2.1"), now);
        assert_eq!(seen.order("a", found.clone(), now), found);
    }

    #[test]
    fn where_all_are_dead_the_order_is_that_of_the_resolver() {
        let (seen, now) = (Addresses::default(), Instant::now());
        let found = addresses(&["192.0.2.1", "192.0.2.2"]);
        seen.seen().dead = vec![(ip("192.0.2.2"), now), (ip("192.0.2.1"), now)];
        assert_eq!(seen.order("a", found.clone(), now), found);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (seen, now) = (Addresses::default(), Instant::now());
        for number in 0..200_u8 {
            let found = addresses(&[&format!("192.0.2.{number}"), &format!("198.51.100.{number}")]);
            seen.order(&number.to_string(), found, now);
            seen.answered_at(ip(&format!("198.51.100.{number}")), now);
            seen.order(&number.to_string(), addresses(&["203.0.113.1"]), now);
        }
        let (orders, dead) = {
            let seen = seen.seen();
            (seen.orders.len(), seen.dead.len())
        };
        assert_eq!((orders, dead), (NAMES, DEAD));
        // An answer from where no name led says nothing.
        seen.answered_at(ip("192.0.2.250"), now);
    }
}
