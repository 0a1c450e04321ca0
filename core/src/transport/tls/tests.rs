//! Our own roots, a client certificate, and a machine without roots.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Method};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::PrivatePkcs8KeyDer;
use test_case::test_case;
use tokio::io::AsyncWriteExt;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;
use crate::transport::exchange::{Cause, Exchange, WireFailure, WireRequest, WireResponse};
use crate::transport::http::peer::{Peer, read_request, until_gone};
use crate::transport::http::{HttpExchange, HttpSettings, ProxySetting};
use crate::transport::probe::Probe;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn leaf(authority: &Authority, usage: ExtendedKeyUsagePurpose) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![usage];
    (params.signed_by(&key, authority).unwrap(), key)
}

fn identity(authority: &Authority) -> ClientIdentity {
    let (certificate, key) = leaf(authority, ExtendedKeyUsagePurpose::ClientAuth);
    ClientIdentity {
        certificate_chain_pem: certificate.pem().into_bytes(),
        private_key_pem: key.serialize_pem().into_bytes(),
    }
}

/// A server with a certificate of this authority; it wants one of the client if `mutual`.
fn acceptor(authority: &Authority, mutual: bool) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let (certificate, key) = leaf(authority, ExtendedKeyUsagePurpose::ServerAuth);
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = if mutual {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Answers with the number of certificates that the client showed, in a header.
async fn peer(acceptor: TlsAcceptor) -> Peer {
    Peer::new(move |stream, counts| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let shown = stream.get_ref().1.peer_certificates().map_or(0, <[_]>::len);
            while read_request(&mut stream, &counts).await.is_some() {
                let answer = format!("HTTP/1.1 200 OK\r\nx-shown: {shown}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    })
    .await
}

async fn send(peer: &Peer, settings: HttpSettings) -> (Result<WireResponse, WireFailure>, Probe) {
    let exchange = HttpExchange::new(HttpSettings { proxy: ProxySetting::None, ..settings }).unwrap();
    let probe = Probe::new();
    let request = WireRequest {
        method: Method::POST,
        url: peer.url("https"),
        headers: HeaderMap::new(),
        body: Some(Bytes::from_static(b"{}")),
        probe: probe.clone(),
        fresh_connection: false,
    };
    (exchange.send(request).await, probe)
}

#[tokio::test]
async fn a_certificate_of_an_own_authority_is_accepted() {
    let authority = authority();
    let peer = peer(acceptor(&authority, false)).await;
    let settings =
        HttpSettings { root_certificates_pem: Some(authority.pem().into_bytes()), ..HttpSettings::default() };
    let answer = send(&peer, settings).await.0.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["x-shown"], "0");
}

#[tokio::test]
async fn files_that_the_host_trusts_count_and_unfit_ones_cost_nothing() {
    let authority = authority();
    let peer = peer(acceptor(&authority, false)).await;
    let place = std::env::temp_dir().join(format!("oncewire-trusted-{}", std::process::id()));
    let folder = place.join("folder");
    std::fs::create_dir_all(&folder).unwrap();
    let (good, bad) = (place.join("good.pem"), place.join("bad.pem"));
    let other = identity(&self::authority());
    let key = other.private_key_pem;
    std::fs::write(
        &good,
        [b"# a comment\n".to_vec(), key.clone(), NOT_A_CERTIFICATE.to_vec(), authority.pem().into()].concat(),
    )
    .unwrap();
    std::fs::write(&bad, [BROKEN, b"rubbish"].concat()).unwrap();
    std::fs::write(folder.join("a.pem"), &key).unwrap();
    std::fs::write(folder.join("b.crt"), authority.pem()).unwrap();
    let missing = place.join("missing.pem");
    for (files, accepted) in [
        (vec![good.clone()], true),
        (vec![folder.clone()], true),
        (vec![missing.clone(), bad.clone(), good], true),
        (vec![missing, bad], false),
    ] {
        let settings = HttpSettings { trusted_files: files.clone(), ..HttpSettings::default() };
        let answer = send(&peer, settings).await.0;
        assert_eq!(answer.is_ok(), accepted, "{files:?}: {answer:?}");
    }
    std::fs::remove_dir_all(place).unwrap();
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_before_the_body() {
    let peer = peer(acceptor(&authority(), false)).await;
    let other = Some(authority().pem().into_bytes());
    for root_certificates_pem in [None, other] {
        let settings = HttpSettings { root_certificates_pem, ..HttpSettings::default() };
        let (answer, probe) = send(&peer, settings).await;
        assert_eq!(answer.unwrap_err().cause, Cause::Tls);
        assert!(!probe.body_taken());
    }
    assert_eq!(peer.arrivals(), 0);
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_a_server_that_asks() {
    let authority = authority();
    let peer = peer(acceptor(&authority, true)).await;
    let settings = HttpSettings {
        root_certificates_pem: Some(authority.pem().into_bytes()),
        client_identity: Some(identity(&authority)),
        ..HttpSettings::default()
    };
    let answer = send(&peer, settings.clone()).await.0.unwrap();
    assert_eq!(answer.headers["x-shown"], "1");
    // Without one the server ends the connection after the handshake, for the client maybe after the body was taken.
    let (answer, _) = send(&peer, HttpSettings { client_identity: None, ..settings }).await;
    let cause = answer.unwrap_err().cause;
    assert!(matches!(cause, Cause::Tls | Cause::Closed | Cause::Reset), "{cause:?}");
    assert_eq!(peer.arrivals(), 1);
}

#[tokio::test]
async fn a_machine_without_roots_fails_the_handshake_and_says_what_is_missing() {
    let looked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looked);
    let load = move || {
        count.fetch_add(1, Ordering::SeqCst);
        Err(Error::General("no store".to_owned()))
    };
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(LazyVerifier::with_load(Arc::clone(&provider), Box::new(load)));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    assert_eq!(looked.load(Ordering::SeqCst), 0, "roots are read only for a handshake");
    let acceptor = acceptor(&authority(), false);
    let peer = Peer::new(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                until_gone(stream).await;
            }
        }
    })
    .await;
    let connector = TlsConnector::from(Arc::new(config));
    for handshake in 1..=2 {
        let stream = tokio::net::TcpStream::connect(peer.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let error = connector.connect(name, stream).await.unwrap_err();
        let text = error.get_ref().unwrap().to_string();
        assert!(text.contains("no root certificates were found") && text.contains("`root_certificates`"), "{text}");
        assert_eq!(looked.load(Ordering::SeqCst), handshake);
    }
}

fn options_error(roots: Option<&[u8]>, identity: Option<&ClientIdentity>) -> OptionError {
    let options =
        TlsOptions { root_certificates: roots, trusted_files: &[], identity, http_version: HttpVersion::Auto };
    client_config(&options).unwrap_err()
}

const BROKEN: &[u8] = b"-----BEGIN CERTIFICATE-----\ns3cret!\n-----END CERTIFICATE-----\n";
const NOT_A_CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----\nczNjcmV0\n-----END CERTIFICATE-----\n";

#[test_case(b""; "empty")]
#[test_case(b"s3cret"; "not pem")]
#[test_case(BROKEN; "not base64")]
#[test_case(NOT_A_CERTIFICATE; "not a certificate")]
fn roots_that_cannot_be_used_are_named(pem: &[u8]) {
    let error = options_error(Some(pem), None);
    assert_eq!(error.field, "root_certificates");
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[test]
fn an_identity_that_cannot_be_used_names_its_half() {
    let good = identity(&authority());
    let other = identity(&authority());
    let with_chain = |chain: &[u8]| ClientIdentity { certificate_chain_pem: chain.to_vec(), ..good.clone() };
    let with_key = |key: &[u8]| ClientIdentity { private_key_pem: key.to_vec(), ..good.clone() };
    for (identity, field) in [
        (with_chain(b"s3cret"), "client_certificate"),
        (with_chain(BROKEN), "client_certificate"),
        (with_chain(NOT_A_CERTIFICATE), "client_certificate"),
        (with_key(b"s3cret"), "client_key"),
        (with_key(b"-----BEGIN PRIVATE KEY-----\ns3cret!\n-----END PRIVATE KEY-----\n"), "client_key"),
        (with_key(b"-----BEGIN PRIVATE KEY-----\nczNjcmV0\n-----END PRIVATE KEY-----\n"), "client_key"),
        (with_key(&other.private_key_pem), "client_key"),
    ] {
        let error = options_error(None, Some(&identity));
        assert_eq!(error.field, field, "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

#[test]
fn nothing_is_installed_for_the_whole_process() {
    let options =
        TlsOptions { root_certificates: None, trusted_files: &[], identity: None, http_version: HttpVersion::Auto };
    let config = client_config(&options).unwrap();
    assert_eq!(config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    assert!(CryptoProvider::get_default().is_none());
}
