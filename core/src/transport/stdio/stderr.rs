//! What becomes of what a server writes on stderr: each line goes to the log, within a rate, and the last ones are kept for the error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::AsyncRead;
use tokio::time::Instant;

use super::lines::{Line, Lines};
use crate::vocabulary::excerpt::{EXCERPT, printable};
use crate::vocabulary::lock::lock;

/// The longest line, in bytes; what is longer is told as several.
const LONGEST: usize = 64 * 1024;
/// Lines that are kept for the error.
const LAST_LINES: usize = 8;
/// Bytes of them.
const LAST_BYTES: usize = 1_024;
/// Lines that may be told at once.
const BURST: u32 = 256;
/// Lines that may be told in a second, from then on.
const PER_SECOND: u32 = 64;

/// Takes a line of stderr; it must not block.
pub(crate) type StderrSink = Arc<dyn Fn(String) + Send + Sync>;

/// The last lines of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl LastWords {
    fn add(&self, line: &str) {
        let mut lines = lock(&self.0);
        lines.push_back(line.to_owned());
        while lines.len() > LAST_LINES || lines.iter().map(String::len).sum::<usize>() > LAST_BYTES && lines.len() > 1 {
            lines.pop_front();
        }
    }

    /// Them, one behind the other.
    pub(super) fn said(&self) -> String {
        let lines = lock(&self.0);
        let said = lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        printable(said.as_bytes(), LAST_BYTES).0
    }
}

/// Reads stderr until it is closed.
pub(super) async fn tell(pipe: impl AsyncRead + Unpin, sink: StderrSink, last: LastWords) {
    let mut lines = Lines::new(pipe, LONGEST);
    let mut rate = Rate::new();
    loop {
        let line = match lines.next().await {
            Line::Whole(line) | Line::Unfinished(line) => line,
            Line::TooLong(line) => {
                lines = lines.forgiven();
                line
            }
            Line::Closed => return,
        };
        let (text, _) = printable(&line, EXCERPT);
        if text.trim().is_empty() {
            continue;
        }
        last.add(&text);
        match rate.allows() {
            Some(0) => sink(text),
            Some(left_out) => sink(format!("({left_out} lines left out) {text}")),
            None => {}
        }
    }
}

/// How many lines are told.
#[derive(Debug)]
struct Rate {
    tokens: f64,
    since: Instant,
    left_out: u64,
}

impl Rate {
    fn new() -> Self {
        Self { tokens: f64::from(BURST), since: Instant::now(), left_out: 0 }
    }

    /// One more line: how many were left out before it, or nothing if it is left out.
    fn allows(&mut self) -> Option<u64> {
        let now = Instant::now();
        let came = now.duration_since(self.since).as_secs_f64() * f64::from(PER_SECOND);
        self.tokens = (self.tokens + came).min(f64::from(BURST));
        self.since = now;
        if self.tokens < 1.0 {
            self.left_out += 1;
            return None;
        }
        self.tokens -= 1.0;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(text: String) -> (Vec<String>, String) {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let (sink, last) = (Arc::clone(&lines), LastWords::default());
        tell(text.as_bytes(), Arc::new(move |line| lock(&sink).push(line)), last.clone()).await;
        let lines = lock(&lines).clone();
        (lines, last.said())
    }

    #[tokio::test]
    async fn lines_are_told_and_the_last_ones_kept() {
        let (lines, last) = told((0..10).map(|number| format!("line {number}\n")).collect()).await;
        assert_eq!(lines.len(), 10);
        assert_eq!(last, "line 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_told_within_a_rate_and_kept_within_a_bound() {
        let (lines, last) = told((0..10_000).map(|number| format!("{number} {}\n", "x".repeat(500))).collect()).await;
        assert_eq!(lines.len(), BURST as usize);
        assert!(last.len() <= LAST_BYTES && last.contains("9999 "), "{last}");
        // A line without end is told as far as it goes, and does not end the reading.
        let (lines, last) = told(format!("{}\nafter\n", "y".repeat(3 * LONGEST))).await;
        assert!(lines[0].len() <= EXCERPT);
        assert_eq!(lines.last().map(String::as_str), Some("after"));
        assert!(last.ends_with("after"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_left_out_is_counted() {
        let mut rate = Rate::new();
        for _ in 0..BURST {
            assert_eq!(rate.allows(), Some(0));
        }
        assert_eq!((rate.allows(), rate.allows()), (None, None));
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert_eq!(rate.allows(), Some(2));
    }
}
