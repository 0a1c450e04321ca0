//! TLS in front of a fault server: what it decrypts it passes on, byte by byte, so every script works behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::PrivatePkcs8KeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, both PEM.
pub(crate) struct Identity {
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    fn leaf(&self, usage: ExtendedKeyUsagePurpose) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    pub(crate) fn client(&self) -> Identity {
        let (certificate, key) = self.leaf(ExtendedKeyUsagePurpose::ClientAuth);
        Identity { chain: certificate.pem(), key: key.serialize_pem() }
    }

    fn acceptor(&self, mutual: bool, alpn: &[&str]) -> TlsAcceptor {
        let provider = Arc::new(ring::default_provider());
        let (certificate, key) = self.leaf(ExtendedKeyUsagePurpose::ServerAuth);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = if mutual {
            let mut roots = RootCertStore::empty();
            roots.add(self.0.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A TLS port in front of another port.
pub(crate) struct TlsFront {
    pub(crate) url: String,
    task: JoinHandle<()>,
    over_h2: Arc<AtomicUsize>,
}

impl TlsFront {
    /// With a certificate of this authority; it wants one of the client if `mutual`.
    pub(crate) async fn start(authority: &Authority, mutual: bool, alpn: &[&str], behind: u16) -> Self {
        let acceptor = authority.acceptor(mutual, alpn);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("https://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
        let over_h2 = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&over_h2);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (acceptor, counted) = (acceptor.clone(), Arc::clone(&counted));
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                        counted.fetch_add(1, Ordering::SeqCst);
                    }
                    let Ok(mut inner) = TcpStream::connect(("127.0.0.1", behind)).await else { return };
                    // However it ends, it ends for both sides.
                    let _ = copy_bidirectional(&mut stream, &mut inner).await;
                });
            }
        });
        Self { url, task, over_h2 }
    }

    /// Connections that chose HTTP/2 by ALPN.
    pub(crate) fn over_h2(&self) -> usize {
        self.over_h2.load(Ordering::SeqCst)
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.task.abort();
    }
}
