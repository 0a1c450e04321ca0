//! A server that costs as little as it can, so that the clients are what is measured: HTTP/1.1 with keep-alive, JSON answers, one
//! session id that can be forgotten, and one tool whose answer's stream ends without an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// What the server has seen, and what it is told.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The session that is known; its id is its number.
    session: AtomicU64,
    /// POSTs that arrived.
    pub(crate) posts: AtomicU64,
    /// When the stream without an answer was ended, last.
    pub(crate) ended: Mutex<Option<Instant>>,
}

impl Shared {
    /// The next request with the old session id gets 404.
    pub(crate) fn forget(&self) {
        self.session.fetch_add(1, Ordering::SeqCst);
    }
}

/// Starts the server on a runtime of its own and returns its URL.
pub(crate) fn start() -> anyhow::Result<(String, Arc<Shared>)> {
    let shared = Arc::new(Shared::default());
    let (sender, receiver) = std::sync::mpsc::channel();
    let state = Arc::clone(&shared);
    std::thread::Builder::new().name("server".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            sender.send(listener.local_addr()?)?;
            loop {
                let (stream, _) = listener.accept().await?;
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    // A client that goes away is no fault.
                    let _ = serve(stream, &state).await;
                });
            }
            #[expect(unreachable_code, reason = "gives the block its type")]
            anyhow::Ok(())
        })
    })?;
    let address = receiver.recv()?;
    Ok((format!("http://{address}/mcp"), shared))
}

struct Request {
    head: String,
    body: String,
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = BytesMut::with_capacity(16 * 1024);
    while let Some(request) = read(&mut stream, &mut buffer).await? {
        if request.body.contains("\"cut\"") {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(format!("{head}4\r\n: a\n\r\n").as_bytes()).await?;
            *shared.ended.lock().await = Some(Instant::now());
            stream.write_all(b"0\r\n\r\n").await?;
            continue;
        }
        stream.write_all(answer(&request, shared).as_bytes()).await?;
    }
    Ok(())
}

async fn read(stream: &mut TcpStream, buffer: &mut BytesMut) -> anyhow::Result<Option<Request>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).to_ascii_lowercase();
            let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0_usize);
            if buffer.len() >= end + 4 + length {
                buffer.advance(end + 4);
                let body = String::from_utf8_lossy(&buffer.split_to(length)).into_owned();
                return Ok(Some(Request { head, body }));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let line = head.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn answer(request: &Request, shared: &Shared) -> String {
    if request.head.starts_with("get") {
        return empty("405 Method Not Allowed");
    }
    if request.head.starts_with("delete") {
        return empty("200 OK");
    }
    shared.posts.fetch_add(1, Ordering::SeqCst);
    let session = shared.session.load(Ordering::SeqCst).to_string();
    if request.body.contains("\"initialize\"") {
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}"#;
        return json("200 OK", &format!("mcp-session-id: {session}\r\n"), &reply(&request.body, result));
    }
    if header(&request.head, "mcp-session-id") != Some(&session) {
        return empty("404 Not Found");
    }
    if !request.body.contains("\"id\"") {
        return empty("202 Accepted");
    }
    json("200 OK", "", &reply(&request.body, r#"{"content":[{"type":"text","text":"done"}],"isError":false}"#))
}

/// The id is wherever the client puts it; a full parse would cost more than the clients that are measured.
fn reply(body: &str, result: &str) -> String {
    let id = body.split_once("\"id\":").and_then(|(_, rest)| rest.split([',', '}']).next()).map_or("null", str::trim);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn empty(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")
}

fn json(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}")
}
