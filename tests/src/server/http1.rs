//! HTTP/1.1 over a raw socket: every byte that goes out is ours to choose.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::watch;

use super::request::Request;
use super::wire::{Framing, H2Error, Head, LastStream, Wire};

/// The writing half of one connection.
#[derive(Debug)]
pub(crate) struct Http1 {
    stream: OwnedWriteHalf,
    gone: watch::Receiver<bool>,
    framing: Framing,
    pieces: Option<usize>,
}

impl Http1 {
    pub(crate) fn new(stream: OwnedWriteHalf, gone: watch::Receiver<bool>) -> Self {
        Self { stream, gone, framing: Framing::None, pieces: None }
    }

    /// Forgets what the last response on this connection had set.
    pub(crate) fn next_response(&mut self) {
        self.framing = Framing::None;
        self.pieces = None;
    }

    pub(crate) fn stream(&self) -> &OwnedWriteHalf {
        &self.stream
    }

    /// Lets go of the socket without the FIN that dropping would send.
    pub(crate) fn forget(self) {
        self.stream.forget();
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.pieces {
            None => self.stream.write_all(bytes).await,
            Some(size) => {
                for piece in bytes.chunks(size.max(1)) {
                    self.stream.write_all(piece).await?;
                    // Without Nagle each write is a segment of its own, unless the kernel merges it with the next:
                    // giving the reader a turn makes that rare.
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
        }
    }
}

impl Wire for Http1 {
    const SHARED: bool = false;

    async fn head(&mut self, head: &Head) -> io::Result<()> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", head.status, reason(head.status));
        for (name, value) in &head.headers {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value);
            text.push_str("\r\n");
        }
        match head.framing {
            Framing::Length(length) => text.push_str(&format!("Content-Length: {length}\r\n")),
            Framing::Chunked => text.push_str("Transfer-Encoding: chunked\r\n"),
            Framing::UntilClose => text.push_str("Connection: close\r\n"),
            Framing::None => {}
        }
        text.push_str("\r\n");
        self.framing = head.framing;
        self.write(text.as_bytes()).await
    }

    async fn data(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.framing == Framing::Chunked {
            let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
            chunk.extend_from_slice(bytes);
            chunk.extend_from_slice(b"\r\n");
            self.write(&chunk).await
        } else {
            self.write(bytes).await
        }
    }

    async fn end(&mut self) -> io::Result<()> {
        if self.framing == Framing::Chunked {
            self.write(b"0\r\n\r\n").await?;
        }
        Ok(())
    }

    async fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).await
    }

    fn pieces(&mut self, size: usize) {
        self.pieces = Some(size);
    }

    async fn half_close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    async fn reset_stream(&mut self, _: H2Error) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    async fn go_away(&mut self, _: LastStream, _: H2Error) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    async fn client_gone(&mut self) {
        // An error means that the reading side ended, which is the same news.
        let _ = self.gone.wait_for(|gone| *gone).await;
    }
}

/// Reads requests off one connection.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    stream: R,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// The next request; `None` when the client has closed.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Request>> {
        let head_end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at;
            }
            if !self.fill().await? {
                return Ok(None);
            }
        };
        let head: Vec<u8> = self.buffer.drain(..head_end + 4).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let mut request = Request {
            method: words.next().unwrap_or_default().to_owned(),
            path: words.next().unwrap_or_default().to_owned(),
            ..Request::default()
        };
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(|| bad("header without a colon"))?;
            request.headers.push((name.to_owned(), value.trim().to_owned()));
        }
        request.close = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let chunked = request.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        if chunked {
            request.body = self.chunked().await?;
        } else if let Some(length) = request.header("content-length") {
            let length = length.parse().map_err(|_| bad("content-length is no number"))?;
            request.body = self.exactly(length).await?;
        }
        Ok(Some(request))
    }

    async fn chunked(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| bad("chunk size is no number"))?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.exactly(size).await?);
            self.line().await?;
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                return Ok(String::from_utf8_lossy(line.strip_suffix(b"\r\n").unwrap_or(&line)).into_owned());
            }
            self.need().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.need().await?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn need(&mut self) -> io::Result<()> {
        if self.fill().await? { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    async fn fill(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &'static [u8]) -> Vec<Request> {
        let mut reader = Reader::new(bytes);
        let mut requests = Vec::new();
        while let Some(request) = reader.next().await.unwrap() {
            requests.push(request);
        }
        requests
    }

    #[tokio::test]
    async fn pipelined_requests_of_both_framings_are_read_apart() {
        let requests = read(
            b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nGET /c HTTP/1.1\r\nConnection: close\r\n\r\n",
        )
        .await;
        let seen: Vec<_> = requests.iter().map(|r| (r.path.as_str(), r.body.as_slice(), r.close)).collect();
        assert_eq!(
            seen,
            [("/mcp", b"{}".as_slice(), false), ("/b", b"abcde".as_slice(), false), ("/c", b"".as_slice(), true)]
        );
    }

    #[tokio::test]
    async fn a_request_that_stops_in_its_body_is_an_error() {
        let mut reader = Reader::new(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab".as_slice());
        assert_eq!(reader.next().await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
