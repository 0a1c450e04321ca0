//! The requests of a login: bounded in size and time, to addresses that the server may name, and never redirected to another origin.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use tokio::net::lookup_host;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use url::Url;

use super::addresses::{Zone, may_name, refusal, zone, zone_of};
use super::classify;
pub(crate) use super::fetched::{Fetched, Unfetched};
use crate::transport::classify::Redirect;
use crate::transport::exchange::{Exchange, WireFailure, WireRequest};
use crate::transport::http::no_proxy::is_exempt;
use crate::transport::http::{HttpExchange, HttpSettings, HttpVersion, ProxySetting};
use crate::transport::limits::{Uncollected, collect};
use crate::transport::probe::Probe;
use crate::vocabulary::config::OptionError;
use crate::vocabulary::redact::address;

/// How long one answer may take, its body included.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The most of an answer that is read; metadata and tokens are a few kilobytes.
const LARGEST: usize = 256 * 1024;
/// Redirects that a request for metadata follows, within its origin.
const REDIRECTS: usize = 3;

/// Sends the requests of one login.
pub(crate) struct Fetch {
    network: Arc<Network>,
    /// Past every proxy; the other one goes by the options.
    direct: Arc<dyn Exchange>,
    usual: Arc<dyn Exchange>,
    by_option: bool,
}

impl fmt::Debug for Fetch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Fetch").finish_non_exhaustive()
    }
}

/// Where the server is.
struct Network {
    server: Url,
    /// Names are resolved; a scripted exchange knows none.
    resolves: bool,
    zone: OnceCell<Zone>,
}

impl Network {
    fn new(server: Url, resolves: bool) -> Arc<Self> {
        Arc::new(Self { server, resolves, zone: OnceCell::new() })
    }

    /// The zone of the server: of its addresses the one from which the least may be named. What cannot be resolved is public.
    async fn zone(&self) -> Zone {
        if let Some(zone) = zone_of(&self.server) {
            return zone;
        }
        let resolving = async {
            let Some(host) = self.server.host_str().filter(|_| self.resolves) else { return Zone::Public };
            match lookup_host((host, 0)).await {
                Ok(found) => found.map(|address| zone(address.ip())).max().unwrap_or(Zone::Public),
                Err(_) => Zone::Public,
            }
        };
        *self.zone.get_or_init(|| resolving).await
    }
}

impl Fetch {
    /// Over the network, with the settings of the client's own connections.
    pub(crate) fn over_network(settings: &HttpSettings, server: &Url) -> Result<Self, OptionError> {
        let network = Network::new(server.clone(), true);
        let exchange = |proxy| {
            // What the client shows to its server it shows to nobody else, and how its server is spoken to says nothing of another.
            let http_version = HttpVersion::Auto;
            let settings = HttpSettings { proxy, client_identity: None, http_version, ..settings.clone() };
            let network = Arc::clone(&network);
            let resolve = move |name: String| {
                let network = Arc::clone(&network);
                async move {
                    let server = network.zone().await;
                    let found: Vec<_> = lookup_host((name.as_str(), 0)).await?.collect();
                    let allowed: Vec<_> =
                        found.into_iter().filter(|address| may_name(server, zone(address.ip()))).collect();
                    if allowed.is_empty() {
                        return Err(std::io::Error::other("it is in a network that the server is not in"));
                    }
                    Ok(allowed)
                }
                .boxed()
            };
            HttpExchange::resolving(settings, resolve).map(|exchange| Arc::new(exchange) as Arc<dyn Exchange>)
        };
        Ok(Self {
            direct: exchange(ProxySetting::None)?,
            usual: exchange(settings.proxy.clone())?,
            by_option: !matches!(settings.proxy, ProxySetting::Environment),
            network,
        })
    }

    /// Over this exchange, which resolves no names.
    pub(crate) fn over(exchange: Arc<dyn Exchange>, server: &Url) -> Self {
        let network = Network::new(server.clone(), false);
        Self { network, direct: Arc::clone(&exchange), usual: exchange, by_option: true }
    }

    /// Why the server may not send a person's browser there; `None` if it may.
    pub(crate) async fn refusal(&self, url: &str) -> Option<&'static str> {
        match Url::parse(url) {
            Ok(url) => refusal(self.network.zone().await, &url),
            Err(_) => Some("it is not a URL"),
        }
    }

    /// GET of a JSON document. Redirects within the origin are followed, a few of them.
    pub(crate) async fn get(&self, url: &Url) -> Result<Fetched, Unfetched> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let fetched = self.send(Method::GET, &url, HeaderMap::new(), None).await?;
            match classify::redirect_of_get(fetched.status, &fetched.headers, &url) {
                Redirect::None => return Ok(fetched),
                Redirect::Follow(target) => url = target,
                Redirect::Refuse(target) => {
                    let (from, to) = (address(&url), address(&target));
                    return Err(Unfetched::Forbidden(format!("{from} redirects to {to}, another origin")));
                }
            }
        }
        Err(Unfetched::Lost(format!("{} redirects too often", address(&url))))
    }

    /// POST of a form or of JSON. No redirect is followed.
    pub(crate) async fn post(
        &self,
        url: &Url,
        content_type: &'static str,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, Unfetched> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.send(Method::POST, url, headers, Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Fetched, Unfetched> {
        let at = address(url);
        if let Some(why) = refusal(self.network.zone().await, url) {
            return Err(Unfetched::Forbidden(format!("{at} is not asked: {why}")));
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let probe = Probe::new();
        let has_body = body.is_some();
        let request =
            WireRequest { method, url: url.clone(), headers, body, probe: probe.clone(), fresh_connection: false };
        let exchange = if !self.by_option && is_exempt(url) { &self.direct } else { &self.usual };
        let unsent = |reason: String| {
            // A GET asks for nothing that could have happened.
            if has_body && probe.body_taken() { Unfetched::Lost(reason) } else { Unfetched::NeverSent(reason) }
        };
        let said = |failure: &WireFailure| format!("{at}: {}", words(failure));
        let fetching = async {
            let response = exchange.send(request).await.map_err(|failure| unsent(said(&failure)))?;
            let (status, headers) = (response.status, response.headers);
            let body = collect(response.body, LARGEST).await.map_err(|uncollected| match uncollected {
                Uncollected::TooLarge => Unfetched::Lost(format!("{at} answered with more than {LARGEST} bytes")),
                Uncollected::Broken(failure) => Unfetched::Lost(said(&failure)),
            })?;
            Ok(Fetched { status, headers, body })
        };
        match timeout(PATIENCE, fetching).await {
            Ok(fetched) => fetched,
            Err(_) => Err(unsent(format!("{at} did not answer within {} s", PATIENCE.as_secs()))),
        }
    }
}

/// A failure in words, with what is underneath it all.
fn words(failure: &WireFailure) -> String {
    let text = failure.to_string();
    let mut innermost: &dyn Error = failure;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let cause = innermost.to_string();
    if cause.is_empty() || text.contains(&cause) { text } else { format!("{text}: {cause}") }
}
