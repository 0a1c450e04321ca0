//! Whose a line is: of all who wait on one channel, the request that it answers, or that it tells the progress of; or nobody's, and then it is
//! what the server says unasked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::end::ChannelEnd;
use crate::rpc::id::Id;
use crate::rpc::message::names_id;
use crate::transport::probe::Probe;
use crate::vocabulary::lock::lock;

/// Lines that are held for one request before its answer, and for whoever hears what the server says unasked. What comes beyond that, while
/// nobody reads, is dropped: an answer never is.
const HELD: usize = 1_024;

/// What there is to know of a message to tell whose it is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(rename = "progressToken", borrow, default)]
    progress_token: Option<&'a RawValue>,
    #[serde(rename = "requestId", borrow, default)]
    request_id: Option<&'a RawValue>,
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId", borrow, default)]
    subscription: Option<&'a RawValue>,
}

/// What a message of ours is.
pub(super) struct Outgoing {
    /// Of a request.
    pub(super) id: Option<u64>,
    /// It is one of those that come before anything else is said.
    pub(super) first: bool,
}

impl Outgoing {
    pub(super) fn read(body: &[u8]) -> Self {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(body) else { return Self { id: None, first: false } };
        let id = head.method.and(head.id).and_then(ours);
        let first = head.method.is_some_and(|method| matches!(method.get(), "\"initialize\"" | "\"server/discover\""));
        Self { id, first }
    }
}

fn ours(id: &RawValue) -> Option<u64> {
    Id::from_raw(id.to_owned()).as_ours()
}

/// What became of a line.
pub(super) enum Delivery {
    /// It went to whom it belongs to.
    Delivered,
    /// There was no more room for it.
    Dropped,
    /// It is no message.
    NoMessage,
}

/// All who wait on one channel.
pub(super) struct Desk {
    /// The bytes that are held for one of them.
    limit: usize,
    state: Mutex<State>,
}

struct State {
    waiting: HashMap<u64, Waiting>,
    unasked: Option<Held>,
    end: Option<ChannelEnd>,
}

struct Waiting {
    held: Held,
    answer: oneshot::Sender<Result<Bytes, ChannelEnd>>,
    probe: Probe,
    first: bool,
    /// How much had been written before it; nothing as long as it was not.
    written_at: Option<u64>,
}

/// The lines that wait for one reader.
struct Held {
    lines: mpsc::Sender<Bytes>,
    bytes: Arc<AtomicUsize>,
}

/// What comes for one reader, in order.
pub(super) struct Coming {
    lines: mpsc::Receiver<Bytes>,
    bytes: Arc<AtomicUsize>,
}

impl Coming {
    /// The next line; none once there will be no more.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let line = self.lines.recv().await?;
        self.bytes.fetch_sub(line.len(), Ordering::Relaxed);
        Some(line)
    }
}

fn reader() -> (Held, Coming) {
    let (sender, receiver) = mpsc::channel(HELD);
    let bytes = Arc::<AtomicUsize>::default();
    (Held { lines: sender, bytes: Arc::clone(&bytes) }, Coming { lines: receiver, bytes })
}

impl Held {
    /// False if there is no more room.
    fn push(&self, line: Bytes, limit: usize) -> bool {
        let length = line.len();
        if self.bytes.fetch_add(length, Ordering::Relaxed).saturating_add(length) > limit
            || self.lines.try_send(line).is_err()
        {
            self.bytes.fetch_sub(length, Ordering::Relaxed);
            return false;
        }
        true
    }
}

impl Desk {
    /// A desk, and what is said unasked; `limit` is how many bytes are held for one reader.
    pub(super) fn new(limit: usize) -> (Self, Coming) {
        let (held, unasked) = reader();
        let state = State { waiting: HashMap::new(), unasked: Some(held), end: None };
        (Self { limit, state: Mutex::new(state) }, unasked)
    }

    /// How the channel ended, if it did.
    pub(super) fn end(&self) -> Option<ChannelEnd> {
        lock(&self.state).end.clone()
    }

    /// From now on until this is dropped the lines of this request are its.
    pub(super) fn expect(self: &Arc<Self>, id: u64, first: bool, probe: Probe) -> Result<Expected, ChannelEnd> {
        let (answer, answered) = oneshot::channel();
        let (held, coming) = reader();
        let mut state = lock(&self.state);
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        state.waiting.insert(id, Waiting { held, answer, probe, first, written_at: None });
        Ok(Expected { desk: Arc::clone(self), id, coming, answer: Some(answered) })
    }

    /// The line of this request is about to be written, behind so many bytes.
    pub(super) fn written(&self, id: u64, at: u64) {
        if let Some(waiting) = lock(&self.state).waiting.get_mut(&id) {
            waiting.written_at = Some(at);
        }
    }

    /// Is anybody waiting whose line was written?
    pub(super) fn awaits_an_answer(&self) -> bool {
        lock(&self.state).waiting.values().any(|waiting| waiting.written_at.is_some())
    }

    /// Gives a line to whom it belongs to.
    pub(super) fn deliver(&self, line: Bytes) -> Delivery {
        let text = String::from_utf8_lossy(&line);
        // RFC 8259, section 8.1: a byte order mark may be ignored.
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // An array would be read as the members of the head, one after the other.
        let head = if text.starts_with('{') { serde_json::from_str::<Head<'_>>(text).ok() } else { None };
        let Some(head) = head else { return self.deliver_unreadable(line) };
        let mut state = lock(&self.state);
        if head.method.is_none() {
            let id = head.id.and_then(ours).filter(|id| state.waiting.contains_key(id));
            // What is said of no id is said of the one request that there is, as long as nothing else was ever sent.
            let id = id.or_else(|| match head.id {
                None => sole(&state),
                Some(id) if id.get() == "null" => sole(&state),
                Some(_) => None,
            });
            return match id.and_then(|id| state.waiting.remove(&id)) {
                Some(waiting) => {
                    // Whoever waited may be gone in this very moment.
                    let _ = waiting.answer.send(Ok(line));
                    Delivery::Delivered
                }
                None => unasked(&state, line, self.limit),
            };
        }
        let method = head.method.map_or("", RawValue::get);
        let params = head.params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
        let subscription = params.as_ref().and_then(|params| params.meta.as_ref()?.subscription).and_then(ours);
        let about = match method {
            "\"notifications/progress\"" => params.as_ref().and_then(|params| params.progress_token).and_then(ours),
            // The server ends a subscription (MCP 2026-07-28, transports, stdio): it ends like a stream that was closed in good order.
            "\"notifications/cancelled\"" if head.id.is_none() => {
                let id = params.as_ref().and_then(|params| params.request_id).and_then(ours);
                let id = id.filter(|id| subscription == Some(*id));
                if let Some(id) = id {
                    state.waiting.remove(&id);
                    return Delivery::Delivered;
                }
                None
            }
            _ => subscription,
        };
        match about.and_then(|id| state.waiting.get(&id)) {
            Some(waiting) if waiting.held.push(line.clone(), self.limit) => Delivery::Delivered,
            Some(_) => Delivery::Dropped,
            None => unasked(&state, line, self.limit),
        }
    }

    /// A batch, or what is no message: only whoever reads it can tell.
    fn deliver_unreadable(&self, line: Bytes) -> Delivery {
        let is_array = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let elements = is_array.then(|| serde_json::from_slice::<Vec<&RawValue>>(&line).ok()).flatten();
        let Some(elements) = elements.filter(|elements| !elements.is_empty()) else { return self.deliver_noise(line) };
        // MCP 2025-03-26 has batches: each of its messages goes its way.
        let mut all = Delivery::Delivered;
        for element in elements.iter().filter(|element| element.get().starts_with('{')) {
            match self.deliver(Bytes::copy_from_slice(element.get().as_bytes())) {
                Delivery::Delivered => {}
                other => all = other,
            }
        }
        all
    }

    /// What is no message is the answer that it was to be if it names the request. If it may have been any answer, all who wait are shown it.
    fn deliver_noise(&self, line: Bytes) -> Delivery {
        let text = String::from_utf8_lossy(&line);
        let mut state = lock(&self.state);
        let named = state.waiting.keys().copied().find(|id| names_id(&text, *id));
        if let Some(waiting) = named.and_then(|id| state.waiting.remove(&id)) {
            let _ = waiting.answer.send(Ok(line));
            return Delivery::NoMessage;
        }
        if text.trim_start().starts_with('{') && !text.contains("\"method\"") {
            for waiting in state.waiting.values() {
                waiting.held.push(line.clone(), self.limit);
            }
        }
        unasked(&state, line.clone(), self.limit);
        Delivery::NoMessage
    }

    /// The channel is over. `unread` are the bytes, out of `written`, that nobody has read or will: a request whose line is among them whole was not sent
    /// at all.
    pub(super) fn close(&self, end: &ChannelEnd, written: u64, unread: Option<u64>) {
        let waiting = {
            let mut state = lock(&self.state);
            if state.end.is_none() {
                state.end = Some(end.clone());
            }
            state.unasked = None;
            std::mem::take(&mut state.waiting)
        };
        let read = unread.map(|unread| written.saturating_sub(unread));
        for (_, waiting) in waiting {
            if let (Some(at), Some(read)) = (waiting.written_at, read)
                && at >= read
            {
                waiting.probe.reset();
            }
            let _ = waiting.answer.send(Err(end.clone()));
        }
    }
}

/// The one who waits, if there is only one and it asks what comes first.
fn sole(state: &State) -> Option<u64> {
    let mut all = state.waiting.iter();
    match (all.next(), all.next()) {
        (Some((id, waiting)), None) if waiting.first => Some(*id),
        _ => None,
    }
}

fn unasked(state: &State, line: Bytes, limit: usize) -> Delivery {
    match &state.unasked {
        Some(unasked) if unasked.push(line, limit) => Delivery::Delivered,
        _ => Delivery::Dropped,
    }
}

/// What comes next for a request.
pub(super) enum Came {
    /// Something about it.
    Word(Bytes),
    /// Its answer: nothing follows.
    Answer(Bytes),
    /// The channel is over.
    Over(ChannelEnd),
    /// The server is done with it, and gives no answer.
    Done,
}

/// A request that waits for its answer.
pub(super) struct Expected {
    desk: Arc<Desk>,
    id: u64,
    coming: Coming,
    answer: Option<oneshot::Receiver<Result<Bytes, ChannelEnd>>>,
}

impl Expected {
    /// What comes next. Cancel-safe.
    pub(super) async fn next(&mut self) -> Came {
        let Some(answer) = &mut self.answer else { return Came::Done };
        let came = tokio::select! {
            biased;
            // What was told before the answer comes before it.
            Some(line) = self.coming.next() => return Came::Word(line),
            came = answer => came,
        };
        // It may have been told while the answer was looked at.
        if let Ok(line) = self.coming.lines.try_recv() {
            let (answer, late) = oneshot::channel();
            if let Ok(came) = came {
                let _ = answer.send(came);
            }
            self.answer = Some(late);
            return Came::Word(line);
        }
        self.answer = None;
        match came {
            Ok(Ok(line)) => Came::Answer(line),
            Ok(Err(end)) => Came::Over(end),
            Err(_) => Came::Done,
        }
    }

    /// The id of the request, as long as it may still be answered.
    pub(super) fn unanswered(&self) -> Option<u64> {
        (self.answer.is_some() && lock(&self.desk.state).waiting.contains_key(&self.id)).then_some(self.id)
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        lock(&self.desk.state).waiting.remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
