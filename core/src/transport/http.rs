//! The real exchange: one request over reqwest, and nothing on top.
//!
//! reqwest would re-send on protocol refusals, follow redirects with the body, and time whole requests out; all of that is
//! off, because each hides an arrival from the verdict. hyper-util alone may still pick another pooled connection, and does
//! so only with a request that hyper handed back unwritten.
//!
//! A body is marked as taken by its own probe. A request without a body (GET, DELETE) has nothing that could tell: its probe
//! is marked before it is handed over, and the mark is taken back only if the failure proves that no connection carried it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, Stream};
use futures_util::{StreamExt, TryStreamExt};
use reqwest::{Client, ClientBuilder, Proxy, redirect, retry};
use rustls::ClientConfig;

use self::addresses::Addresses;
pub(crate) use self::settings::{ClientIdentity, Http2Ping, HttpSettings, HttpVersion, ProxySetting, TcpKeepAlive};
use super::exchange::{Cause, Exchange, Framing, Spoken, WireFailure, WireRequest, WireResponse};
use super::headers::{codings, unread_coding};
use super::probe::ProbedBody;
use super::tls::{self, TlsOptions};
use crate::vocabulary::config::OptionError;

mod addresses;
mod cause;
mod coding;
pub(crate) mod no_proxy;
pub(super) mod settings;

/// Sends over real connections.
pub(crate) struct HttpExchange {
    settings: HttpSettings,
    tls: ClientConfig,
    addresses: Addresses,
    pooled: Client,
    /// Never reuses a connection; made when first asked for.
    fresh: OnceLock<Client>,
}

impl HttpExchange {
    /// An exchange with these settings; connects to nothing.
    ///
    /// # Errors
    /// Names the option that cannot be used.
    pub(crate) fn new(settings: HttpSettings) -> Result<Self, OptionError> {
        Self::with_addresses(settings, Addresses::default())
    }

    /// The same, and names are resolved by this function, which may leave addresses out. Ports are zero.
    ///
    /// # Errors
    /// Names the option that cannot be used.
    pub(crate) fn resolving(
        settings: HttpSettings,
        resolve: impl Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync + 'static,
    ) -> Result<Self, OptionError> {
        Self::with_addresses(settings, Addresses::new(resolve))
    }

    fn with_addresses(settings: HttpSettings, addresses: Addresses) -> Result<Self, OptionError> {
        let tls = tls::client_config(&TlsOptions {
            root_certificates: settings.root_certificates_pem.as_deref(),
            trusted_files: &settings.trusted_files,
            identity: settings.client_identity.as_ref(),
            http_version: settings.http_version,
        })?;
        let pooled = builder(&settings, &tls, &addresses)?
            .build()
            .map_err(|error| OptionError::new("http_version", format!("the HTTP client was not made: {error}")))?;
        Ok(Self { settings, tls, addresses, pooled, fresh: OnceLock::new() })
    }

    fn client(&self, fresh_connection: bool) -> Result<&Client, WireFailure> {
        if !fresh_connection {
            return Ok(&self.pooled);
        }
        if let Some(client) = self.fresh.get() {
            return Ok(client);
        }
        let unusable = |source| WireFailure { cause: Cause::BadRequest, source: Some(source) };
        let client = builder(&self.settings, &self.tls, &self.addresses)
            .map_err(|error| unusable(Box::new(error)))?
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| unusable(Box::new(error)))?;
        Ok(self.fresh.get_or_init(|| client))
    }
}

impl fmt::Debug for HttpExchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HttpExchange").field(&self.settings).finish()
    }
}

fn builder(settings: &HttpSettings, tls: &ClientConfig, addresses: &Addresses) -> Result<ClientBuilder, OptionError> {
    let keep_alive = settings.tcp_keep_alive;
    let mut builder = Client::builder()
        .user_agent(concat!("oncewire/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .tls_backend_preconfigured(tls.clone())
        .dns_resolver(Arc::new(addresses.clone()))
        .connect_timeout(settings.connect_timeout)
        .pool_idle_timeout(settings.pool_idle_timeout)
        .tcp_keepalive(keep_alive.interval)
        .tcp_keepalive_interval(keep_alive.interval)
        .tcp_keepalive_retries(keep_alive.retries)
        .http2_keep_alive_interval(settings.http2_ping.interval)
        .http2_keep_alive_timeout(settings.http2_ping.timeout);
    // Keep-alive probes do not run while sent bytes wait for their acknowledgement: this bounds that wait alike.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    {
        builder = builder.tcp_user_timeout(keep_alive.interval.saturating_mul(keep_alive.retries));
    }
    builder = match settings.http_version {
        HttpVersion::Auto => builder,
        HttpVersion::Http1 => builder.http1_only(),
        HttpVersion::Http2 => builder.http2_prior_knowledge(),
    };
    match &settings.proxy {
        ProxySetting::Environment => Ok(builder),
        ProxySetting::None => Ok(builder.no_proxy()),
        ProxySetting::Url(url) => Ok(builder.proxy(proxy(url)?)),
    }
}

fn proxy(url: &str) -> Result<Proxy, OptionError> {
    let problem = || OptionError::new("proxy", "it is not an http or https URL");
    let url = url::Url::parse(url).map_err(|_| problem())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(problem());
    }
    Proxy::all(url).map_err(|_| problem())
}

#[async_trait]
impl Exchange for HttpExchange {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireFailure> {
        let WireRequest { method, url, headers, body, probe, fresh_connection } = request;
        let mut outgoing = self.client(fresh_connection)?.request(method, url).headers(headers);
        // hyper need not poll a body of zero bytes, so such a body tells as little as none.
        let tells = match body {
            Some(body) => {
                let tells = !body.is_empty();
                outgoing = outgoing.body(reqwest::Body::wrap(ProbedBody::new(body, probe.clone())));
                tells
            }
            None => false,
        };
        if !tells {
            // Nobody judges a request before it is sent: it cannot be sealed yet.
            let _ = probe.take();
        }
        match outgoing.send().await {
            Ok(mut response) => {
                let remote = response.remote_addr();
                if let Some(from) = remote {
                    self.addresses.answered(from.ip());
                }
                let (status, version) = (response.status(), response.version());
                let mut headers = std::mem::take(response.headers_mut());
                let coded: Vec<_> = codings(&headers).collect();
                let body = coding::decoded(&mut headers, until_broken(response.bytes_stream()));
                let undone = if unread_coding(&headers).is_none() { coded } else { Vec::new() };
                let spoken = Spoken { version: Some(version), remote, codings: undone };
                Ok(WireResponse { status, headers, body, framing: Framing::Http, spoken })
            }
            Err(error) => {
                if !tells && cause::proves_unsent(&error) {
                    probe.reset();
                }
                let cause = cause::before_head(&error);
                Err(WireFailure { cause, source: Some(Box::new(error.without_url())) })
            }
        }
    }
}

/// The chunks, up to the end or the first error.
fn until_broken(
    body: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
) -> BoxStream<'static, Result<Bytes, WireFailure>> {
    let chunks = body
        .map_err(|error| WireFailure { cause: cause::in_body(&error), source: Some(Box::new(error.without_url())) });
    stream::unfold(Some(chunks.boxed()), |chunks| async move {
        let mut chunks = chunks?;
        let item = chunks.next().await?;
        let rest = item.is_ok().then_some(chunks);
        Some((item, rest))
    })
    .boxed()
}

#[cfg(test)]
mod http2_tests;
#[cfg(test)]
pub(crate) mod peer;
#[cfg(test)]
mod tests;
