//! What is set about connections.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How a connection proves that the other side is alive: TCP keep-alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpKeepAlive {
    /// Silence before the first probe, and between probes.
    pub(crate) interval: Duration,
    /// Probes without an answer that end the connection.
    pub(crate) retries: u32,
}

/// How an HTTP/2 connection with open streams proves that the other side is alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Http2Ping {
    /// Silence before a ping.
    pub(crate) interval: Duration,
    /// How long the answer may take.
    pub(crate) timeout: Duration,
}

/// The certificate that the client shows, and its key.
#[derive(Clone)]
pub(crate) struct ClientIdentity {
    /// PEM, the client's own certificate first.
    pub(crate) certificate_chain_pem: Vec<u8>,
    /// PEM.
    pub(crate) private_key_pem: Vec<u8>,
}

/// Which proxy.
#[derive(Clone, Default)]
pub(crate) enum ProxySetting {
    /// The one of the environment or of the system.
    #[default]
    Environment,
    /// None, whatever the environment says.
    None,
    /// This one; it may hold a user and a password.
    Url(String),
}

/// Which version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HttpVersion {
    /// What the TLS handshake agrees on; HTTP/1.1 without TLS.
    #[default]
    Auto,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 without asking, also without TLS.
    Http2,
}

/// All that is set about connections.
#[derive(Clone)]
pub(crate) struct HttpSettings {
    pub(crate) connect_timeout: Duration,
    pub(crate) pool_idle_timeout: Duration,
    pub(crate) tcp_keep_alive: TcpKeepAlive,
    pub(crate) http2_ping: Http2Ping,
    pub(crate) root_certificates_pem: Option<Vec<u8>>,
    /// Files and folders of more of them, which may be missing or unfit.
    pub(crate) trusted_files: Vec<PathBuf>,
    pub(crate) client_identity: Option<ClientIdentity>,
    pub(crate) proxy: ProxySetting,
    pub(crate) http_version: HttpVersion,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            // Node and uvicorn close idle connections after five seconds: reuse must end first.
            pool_idle_timeout: Duration::from_secs(4),
            tcp_keep_alive: TcpKeepAlive { interval: Duration::from_secs(15), retries: 3 },
            http2_ping: Http2Ping { interval: Duration::from_secs(30), timeout: Duration::from_secs(20) },
            root_certificates_pem: None,
            trusted_files: Vec::new(),
            client_identity: None,
            proxy: ProxySetting::Environment,
            http_version: HttpVersion::Auto,
        }
    }
}

impl fmt::Debug for HttpSettings {
    // A proxy URL may hold a password, an identity holds a key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpSettings")
            .field("connect_timeout", &self.connect_timeout)
            .field("pool_idle_timeout", &self.pool_idle_timeout)
            .field("tcp_keep_alive", &self.tcp_keep_alive)
            .field("http2_ping", &self.http2_ping)
            .field("root_certificates", &self.root_certificates_pem.is_some())
            .field("client_certificate", &self.client_identity.is_some())
            .field("http_version", &self.http_version)
            .finish_non_exhaustive()
    }
}
