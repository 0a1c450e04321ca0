//! What happened, seen from the server's side of the exchange.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::label::{label, message};
use super::reply::Step;
use crate::transport::exchange::{Cause, WireFailure, WireRequest};

/// How a request and its answer's body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Over {
    /// The script failed it before the head.
    Failed(Cause),
    /// The body was read to its orderly end.
    Ended,
    /// The body was read to where the script cut it off.
    Broken(Cause),
    /// The client let go of it before; `drained`: all bytes that the script had for it were read by then.
    Dropped {
        /// Was nothing of the body left but pauses?
        drained: bool,
    },
}

/// One request and what became of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// When it arrived, on tokio's clock.
    pub at: Instant,
    /// POST, GET or DELETE.
    pub http_method: Method,
    /// All its headers.
    pub headers: HeaderMap,
    /// The JSON-RPC message of a POST.
    pub message: Value,
    /// Was the body taken?
    pub taken: bool,
    /// The status of the answer, once there is one.
    pub status: Option<StatusCode>,
    /// When and how it ended; `None` while it is open.
    pub over: Option<(Instant, Over)>,
}

impl Entry {
    /// The JSON-RPC method of a POST; `GET` or `DELETE`; `resume` for a GET that reads on; empty for a reply to the server.
    #[must_use]
    pub fn method(&self) -> &str {
        label(&self.http_method, &self.headers, &self.message)
    }

    /// The id of the request; `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        self.message.get("id").and_then(Value::as_u64)
    }

    /// The value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The session that it carries.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.header("mcp-session-id")
    }
}

/// Everything that arrived, in order. Clones share it.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    entries: Mutex<Vec<Entry>>,
    changed: watch::Sender<u64>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self(Arc::new(Inner { entries: Mutex::default(), changed: watch::Sender::new(0) }))
    }
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, number: usize, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.lock().get_mut(number) {
            change(entry);
        }
        self.0.changed.send_modify(|count| *count += 1);
    }

    /// A copy of all entries.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// The entries of this method, as [`Entry::method`] names it.
    #[must_use]
    pub fn of(&self, method: &str) -> Vec<Entry> {
        self.lock().iter().filter(|entry| entry.method() == method).cloned().collect()
    }

    /// How many requests of this method arrived.
    #[must_use]
    pub fn count(&self, method: &str) -> usize {
        self.lock().iter().filter(|entry| entry.method() == method).count()
    }

    /// How many requests arrived at all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Did nothing arrive?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The methods of all requests, in order.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        self.lock().iter().map(|entry| entry.method().to_owned()).collect()
    }

    /// The requests that are not over: no head yet, or a body that is still held.
    #[must_use]
    pub fn open(&self) -> Vec<Entry> {
        self.lock().iter().filter(|entry| entry.over.is_none()).cloned().collect()
    }

    /// Waits until the ledger is as wanted.
    pub async fn until(&self, mut wanted: impl FnMut(&[Entry]) -> bool) {
        let mut changed = self.0.changed.subscribe();
        while !wanted(&self.lock()) {
            // The sender lives in self.
            let _ = changed.changed().await;
        }
    }

    /// Waits until so many requests of this method have arrived.
    pub async fn arrivals(&self, method: &str, count: usize) {
        self.until(|entries| entries.iter().filter(|entry| entry.method() == method).count() >= count).await;
    }
}

/// A request that is not over; dropping it is the client letting go of it.
pub(super) struct Open {
    ledger: Ledger,
    number: usize,
    left: usize,
    over: bool,
}

impl Open {
    pub(super) fn begin(ledger: &Ledger, request: &WireRequest) -> Self {
        let number = {
            let mut entries = ledger.lock();
            entries.push(Entry {
                at: Instant::now(),
                http_method: request.method.clone(),
                headers: request.headers.clone(),
                message: message(request),
                taken: false,
                status: None,
                over: None,
            });
            entries.len() - 1
        };
        ledger.0.changed.send_modify(|count| *count += 1);
        // Until the head is there everything is left.
        Self { ledger: ledger.clone(), number, left: 1, over: false }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn head(&self, status: StatusCode) {
        self.ledger.change(self.number, |entry| entry.status = Some(status));
    }

    pub(super) fn over(mut self, over: Over) {
        self.record(over);
    }

    fn record(&mut self, over: Over) {
        if !std::mem::replace(&mut self.over, true) {
            self.ledger.change(self.number, |entry| entry.over = Some((Instant::now(), over)));
        }
    }

    /// The body of these steps; dropping it lets go of the request.
    pub(super) fn body(
        mut self,
        steps: VecDeque<Step>,
    ) -> impl Stream<Item = Result<Bytes, WireFailure>> + Send + 'static {
        self.left =
            steps.iter().filter(|step| matches!(step, Step::Chunk(_) | Step::Later(_) | Step::Break(_))).count();
        unfold((self, steps), |(mut open, mut steps)| async move {
            loop {
                match steps.pop_front() {
                    Some(Step::Chunk(bytes)) => {
                        open.left -= 1;
                        return Some((Ok(bytes), (open, steps)));
                    }
                    Some(Step::Until(future)) => future.await,
                    Some(Step::Later(bytes)) => {
                        let bytes = bytes.await;
                        open.left -= 1;
                        return Some((Ok(bytes), (open, steps)));
                    }
                    Some(Step::Break(cause)) => {
                        open.record(Over::Broken(cause));
                        steps.clear();
                        return Some((Err(WireFailure::new(cause)), (open, steps)));
                    }
                    None => {
                        open.record(Over::Ended);
                        return None;
                    }
                }
            }
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let drained = self.left == 0;
        self.record(Over::Dropped { drained });
    }
}
