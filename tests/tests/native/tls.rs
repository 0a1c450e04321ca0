//! TLS: an own authority, an unknown one, a client certificate, and faults behind TLS, which prove what they prove without it.

use std::time::{Duration, Instant};

use oncewire::{Client, Execution, Kind, Phase, Proof};
use oncewire_tests::server::{FaultServer, Options};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::tls_front::{Authority, TlsFront};

const HTTP1: &[&str] = &["http/1.1"];

#[tokio::test]
async fn a_session_over_tls_with_an_own_authority_recovers_like_any_other() {
    let rules = json!([{"when": {"name": "poke"}, "skip": 1, "times": 1, "do": ["execute", "close"]}]);
    let server = super::server(Options::default(), rules).await;
    let authority = Authority::new();
    let front = TlsFront::start(&authority, false, HTTP1, server.port()).await;
    let client = Client::builder(&front.url).no_proxy().root_certificates(authority.pem()).connect().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    let lost = client.call_tool("poke", Value::Null).await.unwrap_err();
    assert_eq!((lost.kind(), lost.execution()), (Kind::ConnectionClosed, Execution::MayHaveExecuted), "{lost}");
    server.forget_sessions();
    client.call_tool("poke", Value::Null).await.unwrap();
    client.close().await;
    let ledger = server.ledger();
    assert_eq!((ledger.sessions.len(), ledger.executions_of("tools/call", Some("poke"))), (2, 3));
}

#[tokio::test]
async fn an_unknown_authority_surfaces_at_once_whatever_the_patience() {
    let server = FaultServer::healthy().await.unwrap();
    let front = TlsFront::start(&Authority::new(), false, HTTP1, server.port()).await;
    let builder = Client::builder(&front.url).no_proxy().connect_patience(Duration::from_secs(60));
    for builder in [builder.clone(), builder.root_certificates(Authority::new().pem())] {
        let begun = Instant::now();
        let error = builder.connect().await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        assert!(error.not_executed(), "{error}");
        assert_eq!((error.kind(), error.proof()), (Kind::Connect, Some(Proof::NeverSent)), "{error}");
        assert!(error.to_string().contains("TLS") || error.to_string().contains("certificate"), "{error}");
    }
    assert_eq!(server.ledger().connections.opened, 0);
}

#[tokio::test]
async fn a_server_without_tls_behind_an_https_url_is_told_in_plain_words() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1_024]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        }
    });
    let error = Client::builder(url).no_proxy().connect().await.unwrap_err();
    serving.abort();
    assert_eq!((error.kind(), error.proof()), (Kind::Connect, Some(Proof::NeverSent)), "{error}");
    assert!(error.to_string().contains("speaks no TLS (is the URL to begin with http://?)"), "{error}");
}

#[tokio::test]
async fn a_server_that_asks_for_a_client_certificate_gets_it() {
    let server = FaultServer::healthy().await.unwrap();
    let authority = Authority::new();
    let front = TlsFront::start(&authority, true, HTTP1, server.port()).await;
    let identity = authority.client();
    let builder = Client::builder(&front.url).no_proxy().root_certificates(authority.pem());
    let client = builder.clone().client_certificate(identity.chain, identity.key).connect().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    client.close().await;
    let arrived = server.ledger().arrivals.len();

    let begun = Instant::now();
    let error = builder.connect_patience(Duration::from_secs(60)).connect().await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5), "{error} after {:?}", begun.elapsed());
    assert_eq!(server.ledger().arrivals.len(), arrived, "{error}");
}

#[tokio::test]
async fn a_port_that_speaks_no_tls_is_never_sent_a_request() {
    let server = FaultServer::healthy().await.unwrap();
    let url = server.url().replace("http://", "https://");
    let error = Client::builder(url).no_proxy().connect_patience(Duration::ZERO).connect().await.unwrap_err();
    assert_eq!((error.kind(), error.proof()), (Kind::Connect, Some(Proof::NeverSent)), "{error}");
    assert_eq!(server.ledger().arrivals.len(), 0);
}

#[tokio::test]
async fn a_front_that_is_cut_in_mid_answer_leaves_the_outcome_unknown() {
    let rules = json!([{"when": {"name": "poke"}, "do": ["execute", {"comment": "working"}, "reset"]}]);
    let server = super::server(Options::default(), rules).await;
    let authority = Authority::new();
    let front = TlsFront::start(&authority, false, HTTP1, server.port()).await;
    let client = Client::builder(&front.url).no_proxy().root_certificates(authority.pem()).connect().await.unwrap();
    let lost = client.call_tool("poke", Value::Null).await.unwrap_err();
    assert!(lost.may_have_executed() && lost.failure().unwrap().phase == Phase::Streaming, "{lost}");
    client.read_resource("mem://a").await.unwrap();
    client.close().await;
    assert_eq!(server.ledger().executions_of("tools/call", Some("poke")), 1);
}

#[tokio::test]
async fn http2_is_agreed_on_by_alpn_and_proves_what_it_proves() {
    let rules = json!([
        {"when": {"name": "poke"}, "times": 1, "do": [{"reset_stream": "refused_stream"}]},
        {"when": {"name": "slow"}, "do": ["execute", {"reset_stream": "cancel"}]},
    ]);
    let server = super::server(Options::default(), rules).await;
    let authority = Authority::new();
    let front = TlsFront::start(&authority, false, &["h2", "http/1.1"], server.port()).await;
    let client = Client::builder(&front.url).no_proxy().root_certificates(authority.pem()).connect().await.unwrap();
    // A proxy refuses a stream also after it has forwarded it.
    let refused = client.call_tool("poke", Value::Null).await.unwrap_err();
    let lost = client.call_tool("slow", Value::Null).await.unwrap_err();
    assert!(refused.may_have_executed() && lost.may_have_executed(), "{refused} {lost}");
    client.call_tool("poke", Value::Null).await.unwrap();
    client.close().await;
    let ledger = server.ledger();
    assert_eq!((front.over_h2(), ledger.connections.opened), (1, 1), "one connection for all");
    assert_eq!(ledger.arrivals_of("tools/call", Some("poke")), 2, "refused, and then the next call");
    assert_eq!(ledger.executions_of("tools/call", None), 2);
}
