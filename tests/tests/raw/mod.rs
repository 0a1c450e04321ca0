//! A client that is nothing but a socket, so that what the server does is seen byte by byte.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests")]
#![allow(unreachable_pub, reason = "a module of two test binaries")]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::io;

use oncewire_tests::server::FaultServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Raw {
    pub stream: TcpStream,
    port: u16,
    pub session: Option<String>,
    pub token: Option<String>,
    next_id: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        let text = self.body.trim();
        let text = text.strip_prefix("data: ").unwrap_or(text);
        serde_json::from_str(text).unwrap_or_else(|_| panic!("no JSON: {text}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Raw {
    pub(crate) async fn connect(server: &FaultServer) -> Self {
        let port = server.port();
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        Self { stream, port, session: None, token: None, next_id: 0 }
    }

    /// Connects and goes through the handshake.
    pub(crate) async fn ready(server: &FaultServer) -> Self {
        let mut raw = Self::connect(server).await;
        raw.handshake().await;
        raw
    }

    pub(crate) async fn another(&self) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        Self { stream, port: self.port, session: self.session.clone(), token: self.token.clone(), next_id: 1_000 }
    }

    pub(crate) async fn handshake(&mut self) -> String {
        self.session = None;
        let answer = self.rpc("initialize", json!({"protocolVersion": "2025-06-18"})).await;
        assert_eq!((answer.status, &answer.json()["result"]["protocolVersion"]), (200, &json!("2025-06-18")));
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        assert_eq!(self.notify("notifications/initialized", json!({})).await.status, 202);
        self.session.clone().unwrap()
    }

    pub(crate) fn request(&self, http: &str, path: &str, extra: &str, body: &str) -> String {
        let session = self.session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let token = self.token.as_ref().map(|t| format!("Authorization: Bearer {t}\r\n")).unwrap_or_default();
        let length = body.len();
        format!("{http} {path} HTTP/1.1\r\nHost: x\r\n{session}{token}{extra}Content-Length: {length}\r\n\r\n{body}")
    }

    pub(crate) async fn send(&mut self, http: &str, path: &str, extra: &str, body: &str) {
        let text = self.request(http, path, extra, body);
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) fn message(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
    }

    pub(crate) async fn send_rpc(&mut self, method: &str, params: Value) {
        let message = self.message(method, params);
        self.send("POST", "/mcp", "", &message.to_string()).await;
    }

    pub(crate) async fn rpc(&mut self, method: &str, params: Value) -> Answer {
        self.send_rpc(method, params).await;
        self.answer().await.unwrap()
    }

    pub(crate) async fn call(&mut self, tool: &str) -> Answer {
        self.rpc("tools/call", json!({"name": tool})).await
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send("POST", "/mcp", "", &message.to_string()).await;
        self.answer().await.unwrap()
    }

    /// One whole response. An error if the connection ends before.
    pub(crate) async fn answer(&mut self) -> io::Result<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await?);
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let mut body = Vec::new();
        if let Some(length) = answer.header("content-length") {
            body.resize(length.parse().unwrap(), 0);
            self.stream.read_exact(&mut body).await?;
        } else if answer.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk().await? {
                body.extend(chunk);
            }
        } else if answer.header("connection") == Some("close") {
            self.stream.read_to_end(&mut body).await?;
        }
        answer.body = String::from_utf8(body).unwrap();
        Ok(answer)
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.push(self.stream.read_u8().await?);
        }
        Ok(String::from_utf8(line).unwrap().trim_end().to_owned())
    }

    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = usize::from_str_radix(&self.line().await?, 16).unwrap();
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk).await?;
        self.line().await?;
        Ok((size > 0).then_some(chunk))
    }

    /// What comes up to and with this text.
    pub async fn until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            bytes.push(self.stream.read_u8().await.unwrap());
        }
        String::from_utf8(bytes).unwrap()
    }

    /// Everything until the connection ends, and how it ended: `None` for an orderly end.
    pub(crate) async fn rest(&mut self) -> (String, Option<io::ErrorKind>) {
        let mut bytes = Vec::new();
        let end = self.stream.read_to_end(&mut bytes).await;
        (String::from_utf8_lossy(&bytes).into_owned(), end.err().map(|error| error.kind()))
    }
}
