//! What went past on one connection: each request by its first line and its JSON-RPC method, and the beginning of its answer.

use std::fmt;

/// As much is kept of an answer.
const KEPT: usize = 2 * 1024;

/// One HTTP request and the beginning of its answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    /// The HTTP method.
    pub(crate) http: &'static str,
    /// The first JSON-RPC method in its body.
    pub(crate) rpc: Option<String>,
    /// It reads on with `Last-Event-ID`.
    pub(crate) resumes: bool,
    /// The client closed the connection, and this was the last request on it.
    pub(crate) left: bool,
    /// The connection is closed, by whomever, and this was the last request on it.
    pub(crate) over: bool,
    answer: Vec<u8>,
}

/// What went past on the way to the server, and back.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) handshakes: usize,
    pub(crate) tool_calls: usize,
    pub(crate) deletes: usize,
    pub(crate) session: Option<String>,
    pub(crate) exchanges: Vec<Exchange>,
}

impl Exchange {
    /// The status of the answer, if one began.
    pub(crate) fn status(&self) -> Option<u16> {
        let (version, rest) = self.answer.split_at_checked(b"HTTP/1.1 ".len())?;
        let digits = rest.get(..3)?;
        version.starts_with(b"HTTP/1.").then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
    }

    /// The stream of `subscriptions/listen` is open: its first message has arrived.
    pub(crate) fn acknowledged(&self) -> bool {
        String::from_utf8_lossy(&self.answer).contains("notifications/subscriptions/acknowledged")
    }

    fn header(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.answer);
        let head = text.split_once("\r\n\r\n").map_or(&*text, |(head, _)| head);
        let mut lines = head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
    }

    /// The beginning of the body in one line, without what frames it.
    fn body(&self) -> String {
        let text = String::from_utf8_lossy(&self.answer);
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let chunked = self.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"));
        let body = if chunked { body.split_once("\r\n").map_or("", |(_, chunk)| chunk) } else { body };
        let body = if chunked { body.split_once("\r\n").map_or(body, |(chunk, _)| chunk) } else { body };
        body.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Exchange {
    /// The request in words.
    pub(crate) fn asked(&self) -> String {
        [self.http, self.rpc.as_deref().unwrap_or_default()].join(" ").trim_end().to_owned()
    }

    /// The beginning of the answer in words.
    pub(crate) fn answered(&self) -> String {
        let Some(status) = self.status() else { return "no answer".into() };
        let content = self.header("content-type").unwrap_or_default();
        let content = content.split(';').next().unwrap_or_default().trim().to_owned();
        // A stream, a result: what is in it may differ each time.
        let body = if content == "text/event-stream" || status < 300 { String::new() } else { self.body() };
        let body = if content == "text/html" { heading(&body) } else { body };
        let words = [status.to_string(), content, body];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} -> {}", self.asked(), self.answered())
    }
}

/// Of a page, its heading is enough.
fn heading(page: &str) -> String {
    let heading = page.split_once("<h1>").and_then(|(_, rest)| rest.split_once("</h1>"));
    heading.map_or_else(|| page.to_owned(), |(heading, _)| format!("\"{heading}\""))
}

/// Finds the words in the two streams of bytes of one connection, which come in pieces.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    line: Vec<u8>,
    /// The request on this connection that is waiting for its answer, or being answered.
    current: Option<usize>,
}

impl Scan {
    const METHOD: &'static [u8] = br#""method":""#;
    const REQUESTS: [&'static str; 3] = ["POST", "GET", "DELETE"];
    const REST_OF_LINE: &'static [u8] = b" HTTP/1.1\r";
    const SESSION: &'static [u8] = b"mcp-session-id:";
    const RESUMES: &'static [u8] = b"last-event-id:";
    /// The longest that a found thing can be; as much is kept of what is not decided yet.
    const LONGEST: usize = 256;

    /// Bytes of the client.
    pub(crate) fn take(&mut self, bytes: &[u8], seen: &mut Seen) {
        for &byte in bytes {
            if byte == b'\n' {
                self.line_end(seen);
                continue;
            }
            if byte == b'"'
                && let Some(method) = self.method()
            {
                self.called(method, seen);
            }
            self.line.push(byte);
            if self.line.len() > 2 * Self::LONGEST {
                // A long body: its beginning is no header, and only its end can still complete a word.
                self.line.drain(..Self::LONGEST);
            }
        }
    }

    /// Bytes of the server. The client never sends a request before the answer to the one before it is whole.
    pub(crate) fn answer(&self, bytes: &[u8], seen: &mut Seen) {
        if let Some(exchange) = self.current.and_then(|index| seen.exchanges.get_mut(index)) {
            let room = KEPT.saturating_sub(exchange.answer.len());
            exchange.answer.extend(bytes.iter().take(room));
        }
    }

    /// The connection is closed; by the client?
    pub(crate) fn over(&self, by_the_client: bool, seen: &mut Seen) {
        if let Some(exchange) = self.current.and_then(|index| seen.exchanges.get_mut(index)) {
            exchange.over = true;
            exchange.left = by_the_client;
        }
    }

    fn line_end(&mut self, seen: &mut Seen) {
        // A request line may follow the body before it without a line end.
        let line = self.line.strip_suffix(Self::REST_OF_LINE).unwrap_or_default();
        let blank = line.iter().rposition(|byte| *byte == b' ').unwrap_or_default();
        let (method, path) = line.split_at_checked(blank).unwrap_or_default();
        let request =
            Self::REQUESTS.into_iter().find(|http| path.starts_with(b" /") && method.ends_with(http.as_bytes()));
        if let Some(http) = request {
            seen.deletes += usize::from(http == "DELETE");
            self.current = Some(seen.exchanges.len());
            seen.exchanges.push(Exchange { http, ..Exchange::default() });
        }
        if let Some((name, value)) = self.line.split_at_checked(Self::SESSION.len())
            && name.eq_ignore_ascii_case(Self::SESSION)
        {
            seen.session = Some(String::from_utf8_lossy(value).trim().to_owned());
        }
        if let Some((name, _)) = self.line.split_at_checked(Self::RESUMES.len())
            && name.eq_ignore_ascii_case(Self::RESUMES)
            && let Some(exchange) = self.current.and_then(|index| seen.exchanges.get_mut(index))
        {
            exchange.resumes = true;
        }
        self.line.clear();
    }

    /// The method whose closing quotation mark comes next.
    fn method(&self) -> Option<String> {
        let quote = self.line.iter().rposition(|byte| *byte == b'"')?;
        let (before, name) = self.line.split_at_checked(quote + 1)?;
        before.ends_with(Self::METHOD).then(|| String::from_utf8_lossy(name).into_owned())
    }

    fn called(&self, method: String, seen: &mut Seen) {
        seen.handshakes += usize::from(method == "initialize");
        seen.tool_calls += usize::from(method == "tools/call");
        if let Some(exchange) = self.current.and_then(|index| seen.exchanges.get_mut(index)) {
            exchange.rpc.get_or_insert(method);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_whatever_pieces_they_come() {
        let request = concat!(
            "POST /mcp HTTP/1.1\r\nMcp-Session-Id: abc\r\ncontent-length: 3\r\n\r\n",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            "POST /mcp HTTP/1.1\r\n\r\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}"#,
            "DELETE /mcp HTTP/1.1\r\n\r\n",
        );
        for size in 1..request.len() {
            let (mut scan, mut seen) = (Scan::default(), Seen::default());
            for piece in request.as_bytes().chunks(size) {
                scan.take(piece, &mut seen);
            }
            assert_eq!((seen.handshakes, seen.tool_calls, seen.deletes), (1, 1, 1), "size {size}");
            assert_eq!(seen.session.as_deref(), Some("abc"), "size {size}");
            let shown: Vec<_> = seen.exchanges.iter().map(Exchange::to_string).collect();
            let right = ["POST tools/call -> no answer", "POST initialize -> no answer", "DELETE -> no answer"];
            assert_eq!(shown, right, "size {size}");
        }
    }

    fn shown(answer: &str) -> String {
        let (mut scan, mut seen) = (Scan::default(), Seen::default());
        scan.take(b"POST /mcp HTTP/1.1\r\n\r\n", &mut seen);
        for piece in answer.as_bytes().chunks(5) {
            scan.answer(piece, &mut seen);
        }
        seen.exchanges.iter().map(Exchange::to_string).collect()
    }

    #[test]
    fn an_answer_is_shown_without_what_frames_it() {
        let json = "HTTP/1.1 404 Not Found\r\nContent-Type: application/json; charset=utf-8\r\n\r\n{\"id\":null}";
        assert_eq!(shown(json), r#"POST -> 404 application/json {"id":null}"#);
        let chunked = "HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n4\r\nGone\r\n0\r\n\r\n";
        assert_eq!(shown(chunked), "POST -> 404 Gone");
        let page = "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\n\r\n<html>\r\n<h1>502 Bad\nGateway</h1>";
        assert_eq!(shown(page), r#"POST -> 502 text/html "502 Bad Gateway""#);
        let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
        assert_eq!(shown(stream), "POST -> 200 text/event-stream");
    }
}
