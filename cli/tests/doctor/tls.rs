//! The way over TLS: a front that decrypts, and passes on to the fault server.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls_pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::command::{checks, report, server};

/// The URL of a front with a certificate that ends in so many days, and its root in a file.
async fn front(behind: u16, days: u64) -> (String, tempfile::NamedTempFile) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.not_after = (SystemTime::now() + Duration::from_secs(days * 86_400 + 3_600)).into();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let Ok(mut inner) = TcpStream::connect(("127.0.0.1", behind)).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut inner).await;
            });
        }
    });
    let root = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&root, authority.pem()).unwrap();
    (url, root)
}

async fn examined(days: u64, trusted: bool) -> Value {
    let server = server(json!({})).await;
    let (url, root) = front(server.port(), days).await;
    let trust = ["--root-certificate", root.path().to_str().unwrap()];
    let more: &[&str] = if trusted { &trust } else { &[] };
    let (report, _) = report(&[&[&*url], more].concat()).await;
    report["servers"][0].clone()
}

#[tokio::test]
async fn version_protocol_and_days_left_are_told() {
    let report = examined(90, true).await;
    let reach = &report["facts"]["reach"];
    assert_eq!(
        (&reach["tls"]["version"], &reach["tls"]["alpn"], &reach["http"]),
        (&json!("1.3"), &json!("h2"), &json!("2"))
    );
    assert_eq!(reach["tls"]["certificate_days_left"], 90);
    assert!(report["grade"]["letter"].is_string(), "{report:#}");
    assert!(!checks(&report).iter().any(|check| check.starts_with("reach.")), "{report:#}");
}

#[tokio::test]
async fn a_certificate_that_ends_soon_or_that_nobody_trusts_is_found() {
    assert!(checks(&examined(5, true).await).contains(&"reach.certificate_ends"));
    let report = examined(90, false).await;
    assert_eq!(checks(&report), ["reach.tls_failed"], "{report:#}");
}
