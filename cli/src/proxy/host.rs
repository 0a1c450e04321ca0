//! The way to the host: one message a line on the standard output, in the order in which they were given, within bounds.
//!
//! At most [`MESSAGES`] messages and [`BYTES`] bytes wait for a host that does not read. Answers and questions wait for their place, and so
//! do the calls behind them; a notification that finds none is dropped and counted: it must hold up no stream.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::rpc::error::RpcError;
use crate::rpc::message::Id;

/// Messages that wait for the host.
pub(super) const MESSAGES: usize = 16_384;
/// Bytes that wait for the host; one message alone may be longer.
pub(super) const BYTES: usize = 64 * 1024 * 1024;

struct Queued {
    line: Vec<u8>,
    /// Its share of the bytes; none of the end, which is no line.
    share: Option<OwnedSemaphorePermit>,
}

impl fmt::Debug for Queued {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Queued").finish_non_exhaustive()
    }
}

/// What is written to the host.
#[derive(Debug)]
pub(super) struct Lines(mpsc::Receiver<Queued>);

/// Speaks to the host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    queue: mpsc::Sender<Queued>,
    bytes: Arc<Semaphore>,
    dropped: Arc<AtomicU64>,
}

impl Host {
    pub(super) fn new() -> (Self, Lines) {
        let (queue, lines) = mpsc::channel(MESSAGES);
        (Self { queue, bytes: Arc::new(Semaphore::new(BYTES)), dropped: Arc::default() }, Lines(lines))
    }

    /// The result of a request.
    pub(super) async fn answer(&self, id: &Id, result: &RawValue) {
        self.say(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.to_json())).await;
    }

    /// The error of a request; of a line that has no id that can be told, under the id null.
    pub(super) async fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        self.say(refusal(id, error)).await;
    }

    /// The errors of all requests of a batch, as a batch.
    pub(super) async fn refuse_all(&self, ids: &[Id], error: &RpcError) {
        let refusals: Vec<_> = ids.iter().map(|id| refusal(Some(id), error)).collect();
        self.say(format!("[{}]", refusals.join(","))).await;
    }

    /// A request of the server.
    pub(super) async fn ask(&self, id: &Id, method: &str, params: &Value) {
        let id = format!("\"id\":{},", id.to_json());
        self.say(call(&id, method, params)).await;
    }

    /// A notification.
    pub(super) fn tell(&self, method: &str, params: &Value) {
        let line = into_line(call("", method, params));
        let share = Arc::clone(&self.bytes).try_acquire_many_owned(share(&line));
        let queued = share.ok().and_then(|share| self.queue.try_send(Queued { line, share: Some(share) }).ok());
        if queued.is_none() && !self.queue.is_closed() {
            let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            // Once, and at each power of ten: whoever floods is told of in few lines.
            if dropped == 10_u64.pow(dropped.ilog10()) {
                tracing::warn!(target: "oncewire", dropped, "the host does not read: notifications were dropped");
            }
        }
    }

    /// Nothing more is said: what was said before is written, and nothing after it.
    pub(super) fn end(&self) {
        if self.queue.try_send(Queued { line: Vec::new(), share: None }).is_err() {
            tracing::debug!(target: "oncewire", "the host does not read: the end of what is said has no room");
        }
    }

    async fn say(&self, message: String) {
        let line = into_line(message);
        // Neither is ever closed before the writer is gone, and then nobody reads.
        if let Ok(share) = Arc::clone(&self.bytes).acquire_many_owned(share(&line)).await {
            drop(self.queue.send(Queued { line, share: Some(share) }).await);
        }
    }
}

/// Writes to the host until nobody speaks to it any more, or somebody said that this is the end.
///
/// # Errors
/// The host does not take it any more.
pub(super) async fn write(mut lines: Lines, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
    // The share is held until its line is written.
    while let Some(Queued { line, share: Some(_share) }) = lines.0.recv().await {
        output.write_all(&line).await?;
        if lines.0.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

fn refusal(id: Option<&Id>, error: &RpcError) -> String {
    let id = id.map_or("null", Id::to_json);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.to_json())
}

fn call(id: &str, method: &str, params: &Value) -> String {
    let params = if params.is_null() { String::new() } else { format!(",\"params\":{params}") };
    format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":{}{params}}}", Value::from(method))
}

/// A server may have written its JSON on several lines; between tokens a space is as good, and inside of texts there is none.
fn into_line(message: String) -> Vec<u8> {
    let mut line = message.into_bytes();
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    line
}

fn share(line: &[u8]) -> u32 {
    u32::try_from(line.len().min(BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rpc::members::text;

    #[tokio::test]
    async fn one_message_is_one_line_however_it_was_written() {
        let (host, lines) = Host::new();
        host.answer(&Id::text("a"), &text("{\n \"x\":\r\n \"a\\nb\"\n}".to_owned())).await;
        host.tell("notifications/x", &Value::Null);
        host.end();
        host.tell("notifications/late", &Value::Null);
        let mut written = Vec::new();
        write(lines, &mut written).await.unwrap();
        let written = String::from_utf8(written).unwrap();
        let read: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let answer = json!({ "jsonrpc": "2.0", "id": "a", "result": { "x": "a\nb" } });
        assert_eq!(read, [answer, json!({ "jsonrpc": "2.0", "method": "notifications/x" })]);
    }

    #[tokio::test]
    async fn a_host_that_does_not_read_loses_notifications_and_no_answer() {
        let (host, lines) = Host::new();
        for _ in 0..=MESSAGES {
            host.tell("notifications/x", &Value::Null);
        }
        let answered = tokio::spawn({
            let host = host.clone();
            async move { host.answer(&Id::text("a"), RawValue::NULL).await }
        });
        assert_eq!(host.dropped.load(Ordering::Relaxed), 1);
        drop(host);
        let mut written = Vec::new();
        write(lines, &mut written).await.unwrap();
        answered.await.unwrap();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written.lines().count(), MESSAGES + 1);
        assert!(written.lines().last().unwrap().contains("\"id\":\"a\""));
    }
}
