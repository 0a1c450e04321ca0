//! Proxies: one that forwards `http` and tunnels `https`, with and without credentials, and one that refuses.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oncewire::{Client, Kind, Proof};
use oncewire_tests::server::FaultServer;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy, copy_buf};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::tls_front::{Authority, TlsFront};

/// `user:secret-password` in Basic (RFC 7617).
const CREDENTIALS: &str = "Basic dXNlcjpzZWNyZXQtcGFzc3dvcmQ=";

/// A proxy, and the request lines that it saw.
struct TestProxy {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl TestProxy {
    async fn start(wants: Option<&'static str>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                // An error is the end of one side, and so of the connection.
                tokio::spawn(serve(stream, wants, Arc::clone(&noted)));
            }
        });
        Self { port, seen, task }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TestProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The head of a request: its first line and the rest, to and with the empty line.
async fn head(stream: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<(String, Vec<String>)>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut fields = Vec::new();
    loop {
        let mut field = String::new();
        stream.read_line(&mut field).await?;
        let end = field.trim_end().is_empty();
        fields.push(field);
        if end {
            return Ok(Some((line.trim_end().to_owned(), fields)));
        }
    }
}

fn field<'a>(fields: &'a [String], name: &str) -> Option<&'a str> {
    let mut pairs = fields.iter().filter_map(|field| field.split_once(':'));
    pairs.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// One connection of the client, and at most one to a server.
async fn serve(stream: TcpStream, wants: Option<&str>, seen: Arc<Mutex<Vec<String>>>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let Some((mut line, mut fields)) = head(&mut read).await? else { return Ok(()) };
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
    if wants.is_some_and(|wants| field(&fields, "proxy-authorization") != Some(wants)) {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        write.write_all(refusal.as_bytes()).await?;
        return write.shutdown().await;
    }
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    if line.starts_with("CONNECT ") {
        let (mut up_read, mut up_write) = TcpStream::connect(target).await?.into_split();
        write.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
        tokio::try_join!(copy_buf(&mut read, &mut up_write), copy(&mut up_read, &mut write))?;
        return Ok(());
    }
    // The absolute form (RFC 9112 section 3.2.2), passed on in the origin form.
    let (authority, _) = target.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let (mut up_read, mut up_write) = TcpStream::connect(authority).await?.into_split();
    let origin = format!("http://{authority}");
    let onwards = async {
        loop {
            up_write.write_all(format!("{}\r\n", line.replace(&origin, "")).as_bytes()).await?;
            let length = field(&fields, "content-length").map_or(0, |length| length.parse().unwrap());
            up_write.write_all(fields.concat().as_bytes()).await?;
            copy(&mut (&mut read).take(length), &mut up_write).await?;
            let Some(next) = head(&mut read).await? else { return up_write.shutdown().await };
            (line, fields) = next;
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
        }
    };
    tokio::try_join!(onwards, copy(&mut up_read, &mut write))?;
    Ok(())
}

fn with_credentials(proxy: &TestProxy) -> String {
    format!("http://user:secret-password@127.0.0.1:{}", proxy.port)
}

#[tokio::test]
async fn http_goes_through_a_forwarding_proxy_with_its_credentials() {
    let server = FaultServer::healthy().await.unwrap();
    let proxy = TestProxy::start(Some(CREDENTIALS)).await;
    let client = Client::builder(server.url()).proxy(with_credentials(&proxy)).connect().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    server.forget_sessions();
    client.call_tool("poke", Value::Null).await.unwrap();
    client.close().await;
    let ledger = server.ledger();
    assert_eq!((ledger.sessions.len(), ledger.executions_of("tools/call", Some("poke"))), (2, 2));
    assert_eq!(proxy.seen().len(), ledger.arrivals.len(), "all of it went through the proxy");
    let passed_on = ledger.arrivals.iter().any(|arrival| arrival.headers.iter().any(|it| it == "authorization"));
    assert!(!passed_on, "the server has no business with the proxy's password");
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let server = FaultServer::healthy().await.unwrap();
    let authority = Authority::new();
    let front = TlsFront::start(&authority, false, &["http/1.1"], server.port()).await;
    let proxy = TestProxy::start(Some(CREDENTIALS)).await;
    let builder = Client::builder(&front.url).proxy(with_credentials(&proxy)).root_certificates(authority.pem());
    let client = builder.connect().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    client.close().await;
    let seen = proxy.seen();
    assert!(!seen.is_empty() && seen.iter().all(|line| line.starts_with("CONNECT 127.0.0.1:")), "{seen:?}");
    assert_eq!(server.ledger().executions_of("tools/call", Some("poke")), 1);
}

#[tokio::test]
async fn a_proxy_that_refuses_surfaces_at_once_with_a_proof() {
    let server = FaultServer::healthy().await.unwrap();
    let authority = Authority::new();
    let front = TlsFront::start(&authority, false, &["http/1.1"], server.port()).await;
    let proxy = TestProxy::start(Some("Basic other")).await;
    for url in [server.url(), front.url.as_str()] {
        let builder = Client::builder(url).proxy(with_credentials(&proxy)).root_certificates(authority.pem());
        let begun = Instant::now();
        let error = builder.connect_patience(Duration::from_secs(60)).connect().await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(5), "{error} after {:?}", begun.elapsed());
        // No call was sent, whatever became of the handshake.
        assert_eq!(error.proof(), Some(Proof::NeverSent), "{error}");
        let whole = format!("{error} {error:?} {}", error.to_json());
        assert!(!whole.contains("secret-password") && !whole.contains("dXNlcj"), "{whole}");
        if url.starts_with("https") {
            assert_eq!(error.kind(), Kind::Connect, "{error}");
        } else {
            // Here the proxy's answer is the answer to the request itself.
            assert_eq!(error.failure().unwrap().http_status, Some(407), "{error}");
        }
    }
    assert_eq!(server.ledger().arrivals.len(), 0);
}

#[tokio::test]
async fn a_dead_proxy_is_a_connection_that_was_never_made() {
    let server = FaultServer::healthy().await.unwrap();
    let proxy = TestProxy::start(None).await;
    let port = proxy.port;
    drop(proxy);
    let builder = Client::builder(server.url()).proxy(format!("http://127.0.0.1:{port}"));
    let error = builder.connect_patience(Duration::from_millis(300)).connect().await.unwrap_err();
    assert_eq!((error.kind(), error.proof()), (Kind::Connect, Some(Proof::NeverSent)), "{error}");
    assert_eq!(server.ledger().arrivals.len(), 0);
}
