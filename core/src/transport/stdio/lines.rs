//! Lines of a pipe, each bounded in length.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that are asked of the pipe at once.
const CHUNK: usize = 64 * 1024;

/// What reading on gives.
#[derive(Debug)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Bytes),
    /// What stood behind the last line end when the pipe was closed.
    Unfinished(Bytes),
    /// The pipe is closed, or cannot be read any more.
    Closed,
    /// A line is longer than the limit. This is its beginning.
    TooLong(Bytes),
}

/// Cuts what comes out of a pipe into lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    pipe: R,
    held: BytesMut,
    /// So far there is no line end in `held`.
    searched: usize,
    limit: usize,
    over: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(pipe: R, limit: usize) -> Self {
        Self { pipe, held: BytesMut::new(), searched: 0, limit, over: false }
    }

    /// The next line. Cancel-safe: what was read of one stays in `self`. Once it is over only [`Line::Closed`] follows.
    pub(super) async fn next(&mut self) -> Line {
        loop {
            if let Some(length) = self.held[self.searched..].iter().position(|byte| *byte == b'\n') {
                let length = self.searched + length;
                self.searched = 0;
                let mut line = self.held.split_to(length + 1).freeze();
                line.truncate(length);
                if line.last() == Some(&b'\r') {
                    line.truncate(length - 1);
                }
                if line.len() > self.limit {
                    return self.too_long(line);
                }
                return Line::Whole(line);
            }
            self.searched = self.held.len();
            if self.held.len() > self.limit {
                let line = self.held.split().freeze();
                return self.too_long(line);
            }
            if self.over {
                return Line::Closed;
            }
            self.held.reserve(CHUNK);
            match self.pipe.read_buf(&mut self.held).await {
                Ok(0) | Err(_) => {
                    self.over = true;
                    self.searched = 0;
                    let rest = self.held.split().freeze();
                    if !rest.is_empty() {
                        return Line::Unfinished(rest);
                    }
                }
                Ok(_) => {}
            }
        }
    }

    /// Reads on behind a line that was too long.
    pub(super) fn forgiven(self) -> Self {
        Self { over: false, ..self }
    }

    fn too_long(&mut self, line: Bytes) -> Line {
        self.over = true;
        self.held.clear();
        self.searched = 0;
        Line::TooLong(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &str, limit: usize) -> Vec<String> {
        let mut lines = Lines::new(text.as_bytes(), limit);
        let mut told = Vec::new();
        loop {
            let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
            match lines.next().await {
                Line::Whole(line) => told.push(text(&line)),
                Line::Unfinished(line) => told.push(format!("unfinished {}", text(&line))),
                Line::TooLong(line) => told.push(format!("too long {}", text(&line))),
                Line::Closed => return told,
            }
        }
    }

    #[tokio::test]
    async fn lines_end_with_a_newline_or_the_pipe() {
        assert_eq!(lines("a\nbc\r\n\nd", 10).await, ["a", "bc", "", "unfinished d"]);
        assert_eq!(lines("", 10).await, Vec::<String>::new());
        assert_eq!(lines("a\n", 1).await, ["a"]);
    }

    #[tokio::test]
    async fn a_line_past_the_limit_ends_the_reading() {
        assert_eq!(lines("abc\nabcd\nx\n", 3).await, ["abc", "too long abcd"]);
        assert_eq!(lines("abcd", 3).await, ["too long abcd"]);
    }
}
