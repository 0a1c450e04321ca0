//! The way to a server: its addresses, and a connection to each.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::prober::Prober;
use crate::transport::http::ProxySetting;
use crate::transport::http::no_proxy::is_exempt;
use crate::vocabulary::redact::address;

/// Addresses of one name that are tried.
const ADDRESSES: usize = 8;

/// Where a proxy is named in the environment.
const PROXIES: [&str; 6] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// The way to a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reach {
    /// The URL is https.
    pub encrypted: bool,
    /// Requests go through a proxy, whose address it is as far as it is known. Then nothing else here was tried.
    pub proxy: Option<String>,
    /// How long the lookup of the name took.
    pub lookup: Duration,
    /// Why there are no addresses.
    pub failure: Option<String>,
    /// At most eight, in the order of the resolver.
    pub addresses: Vec<Address>,
}

/// One address, and a connection to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Address {
    /// Where.
    pub ip: IpAddr,
    /// How long it took to connect, or why it failed.
    pub connected: Result<Duration, String>,
    /// TLS, where the URL is https and there was a connection.
    pub tls: Option<Result<Tls, String>>,
}

/// What the TLS handshake agreed on. The certificate was verified as the client does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tls {
    /// `1.2` or `1.3`.
    pub version: String,
    /// The protocol that ALPN agreed on.
    pub alpn: Option<String>,
    /// The certificates of the server, its own first, in DER.
    pub certificates: Vec<Vec<u8>>,
    /// How long the handshake took.
    pub took: Duration,
}

/// A connection on which nothing was said yet.
pub struct Connection {
    /// Both directions.
    pub stream: Box<dyn Stream>,
    /// How long it took to connect.
    pub connected: Duration,
    /// TLS, where the URL is https.
    pub tls: Option<Tls>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// What bytes go over.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Prober {
    /// Looks the name up and connects to each of its addresses. Nothing is sent but the hello of TLS.
    pub async fn reach(&self, patience: Duration) -> Reach {
        let url = self.url();
        let mut reach = Reach {
            encrypted: url.scheme() == "https",
            proxy: self.proxy(),
            lookup: Duration::ZERO,
            failure: None,
            addresses: Vec::new(),
        };
        if reach.proxy.is_some() {
            return reach;
        }
        let started = Instant::now();
        let found = timeout(patience, lookup(self)).await;
        reach.lookup = started.elapsed();
        let addresses = match found {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => {
                reach.failure = Some(error.to_string());
                return reach;
            }
            Err(_) => {
                reach.failure = Some("the lookup of the name took too long".to_owned());
                return reach;
            }
        };
        let trying = addresses.into_iter().map(|address| self.try_address(address, patience));
        reach.addresses = futures_util::future::join_all(trying).await;
        reach
    }

    async fn try_address(&self, address: SocketAddr, patience: Duration) -> Address {
        let ip = address.ip();
        match self.connect(address, false, patience).await {
            Ok(Connection { connected, tls, .. }) => Address { ip, connected: Ok(connected), tls: tls.map(Ok) },
            Err(Unconnected { connected: None, why }) => Address { ip, connected: Err(why), tls: None },
            Err(Unconnected { connected: Some(took), why }) => Address { ip, connected: Ok(took), tls: Some(Err(why)) },
        }
    }

    /// A connection to this address of the server, past every proxy. `http1` offers nothing else by ALPN.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub async fn connection(&self, ip: IpAddr, http1: bool, patience: Duration) -> Result<Connection, String> {
        let address = SocketAddr::new(ip, self.port());
        self.connect(address, http1, patience).await.map_err(|failed| failed.why)
    }

    async fn connect(&self, address: SocketAddr, http1: bool, patience: Duration) -> Result<Connection, Unconnected> {
        let started = Instant::now();
        let too_long = || format!("nothing answered within {} s", patience.as_secs_f64());
        let failed = |connected, why: String| Unconnected { connected, why };
        let stream = match timeout(patience, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(failed(None, error.to_string())),
            Err(_) => return Err(failed(None, too_long())),
        };
        let connected = started.elapsed();
        if self.url().scheme() != "https" {
            return Ok(Connection { stream: Box::new(stream), connected, tls: None });
        }
        let mut config = self.tls.clone();
        if http1 {
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        let host = self.url().host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(|error| failed(Some(connected), error.to_string()))?;
        let begun = Instant::now();
        let stream = match timeout(patience, TlsConnector::from(Arc::new(config)).connect(name, stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(failed(Some(connected), error.to_string())),
            Err(_) => return Err(failed(Some(connected), too_long())),
        };
        let (_, session) = stream.get_ref();
        let version = match session.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "1.2".to_owned(),
            Some(rustls::ProtocolVersion::TLSv1_3) => "1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let tls = Tls {
            version,
            alpn: session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
            certificates: session.peer_certificates().unwrap_or_default().iter().map(|der| der.to_vec()).collect(),
            took: begun.elapsed(),
        };
        Ok(Connection { stream: Box::new(stream), connected, tls: Some(tls) })
    }

    fn port(&self) -> u16 {
        self.url().port_or_known_default().unwrap_or(80)
    }

    /// The proxy that requests go through, as far as is known from options and environment.
    fn proxy(&self) -> Option<String> {
        let named = |text: &str| url::Url::parse(text).map_or_else(|_| "a proxy".to_owned(), |url| address(&url));
        match &self.http.proxy {
            ProxySetting::Url(url) => Some(named(url)),
            ProxySetting::None => None,
            ProxySetting::Environment if is_exempt(self.url()) => None,
            ProxySetting::Environment => {
                let (of_https, of_http) = (self.url().scheme() == "https", self.url().scheme() == "http");
                PROXIES
                    .iter()
                    .filter(|name| {
                        let name = name.to_ascii_lowercase();
                        name.starts_with("all")
                            || of_https && name.starts_with("https")
                            || of_http && name == "http_proxy"
                    })
                    .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
                    .map(|value| named(&value))
            }
        }
    }
}

async fn lookup(prober: &Prober) -> std::io::Result<Vec<SocketAddr>> {
    let host = prober.url().host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let mut addresses: Vec<SocketAddr> = lookup_host((host, prober.port())).await?.collect();
    addresses.dedup();
    addresses.truncate(ADDRESSES);
    Ok(addresses)
}

/// Why there is no connection.
struct Unconnected {
    /// How long TCP took, if it was that far.
    connected: Option<Duration>,
    why: String,
}
