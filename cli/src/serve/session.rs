//! One session: a process, its own or a place at a shared one, the streams that carry what it says, and what is kept of them to be read on from.
//!
//! An answer goes on the stream of its request, progress too. What the process says or asks besides goes on the stream of the GET if one is
//! open, else on that of the latest request: standard output does not say what it belongs to. A stream whose client does not read is ended
//! once [`AHEAD`] events wait; the client reads on from what is kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::behind::Behind;
use super::store::{Kept, Store, StreamId};
use crate::rpc::members::Members;
use crate::rpc::message::{Id, Line, Message, read};

/// The stream of the GET.
pub(super) const LISTENING: StreamId = 0;
/// Events that wait for a client that does not read.
const AHEAD: usize = 1_024;
/// Requests of one session that run at once.
pub(super) const REQUESTS: usize = 1_024;

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A request with its id runs.
    Twice,
    /// Too many run.
    TooMany,
    /// The process is gone.
    Gone,
}

/// What comes on a stream.
pub(super) type Events = mpsc::Receiver<Kept>;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    behind: Behind,
    state: Mutex<State>,
    /// Cancelled when it is over.
    pub(super) over: CancellationToken,
}

#[derive(Debug)]
struct State {
    store: Store,
    streams: u64,
    /// The streams of requests that are not answered.
    requests: HashMap<Id, StreamId>,
    /// The streams of their progress.
    progress: HashMap<Id, StreamId>,
    /// Streams that somebody reads.
    open: HashMap<StreamId, mpsc::Sender<Kept>>,
    used: Instant,
}

impl Session {
    /// Begins, with what was just started for it, or its place at what is there.
    pub(super) fn begin(behind: Behind, lines: mpsc::Receiver<Bytes>, idle: Duration) -> Arc<Self> {
        let state = State {
            store: Store::default(),
            streams: 0,
            requests: HashMap::new(),
            progress: HashMap::new(),
            open: HashMap::new(),
            used: Instant::now(),
        };
        let session = Arc::new(Self { behind, state: Mutex::new(state), over: CancellationToken::new() });
        tokio::spawn(Arc::clone(&session).follow(lines, idle));
        session
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until the process ends, or nobody has used the session for so long.
    async fn follow(self: Arc<Self>, mut lines: mpsc::Receiver<Bytes>, idle: Duration) {
        loop {
            let unused = self.state().idle_since() + idle;
            tokio::select! {
                biased;
                () = self.over.cancelled() => break,
                line = lines.recv() => match line {
                    Some(line) => self.said(&line),
                    None => break,
                },
                () = sleep_until(unused) => {
                    if self.state().idle_since() + idle <= Instant::now() {
                        break;
                    }
                }
            }
        }
        self.end();
    }

    /// It is over: streams end without an answer, for there is none.
    pub(super) fn end(&self) {
        self.over.cancel();
        self.behind.end();
        let mut state = self.state();
        state.open.clear();
        state.requests.clear();
    }

    /// Cancelled when its process is gone, too.
    pub(super) fn gone(&self) -> &CancellationToken {
        self.behind.gone()
    }

    /// The process has written a line.
    fn said(&self, line: &Bytes) {
        let mut state = self.state();
        match read(line) {
            Line::Blank => {}
            Line::One(Ok(Message::Answer { id, .. })) => match state.requests.remove(&id) {
                Some(stream) => {
                    state.progress.retain(|_, of| *of != stream);
                    state.tell(stream, line, true);
                }
                None => tracing::debug!(target: "oncewire", "an answer of the server to no request was dropped"),
            },
            Line::One(Ok(Message::Notification { method, params })) if method == "notifications/progress" => {
                let stream = token(params.as_deref()).and_then(|token| state.progress.get(&token).copied());
                if let Some(stream) = stream {
                    state.tell(stream, line, false);
                }
            }
            Line::One(Ok(_)) => {
                let stream = state.unasked();
                state.tell(stream, line, false);
            }
            Line::One(Err(_)) | Line::Batch(_) => {
                tracing::warn!(target: "oncewire", "a line of the server was dropped: it is no message");
            }
        }
    }

    /// A request of the client; what comes on its stream.
    ///
    /// # Errors
    /// Why it is not taken.
    pub(super) async fn request(&self, id: Id, params: Option<&RawValue>, message: Bytes) -> Result<Events, Refused> {
        let events = {
            let mut state = self.state();
            if self.over.is_cancelled() {
                return Err(Refused::Gone);
            }
            if state.requests.contains_key(&id) {
                return Err(Refused::Twice);
            }
            if state.requests.len() >= REQUESTS {
                return Err(Refused::TooMany);
            }
            state.streams += 1;
            let stream = state.streams;
            state.requests.insert(id, stream);
            let meta = params.and_then(Members::of).and_then(|params| params.object("_meta"));
            if let Some(token) = meta.and_then(|meta| meta.get("progressToken").and_then(Id::of)) {
                state.progress.insert(token, stream);
            }
            let events = state.open(stream);
            // There is something to read on from, also where nothing more arrives.
            state.begin(stream);
            events
        };
        if self.behind.send(message).await { Ok(events) } else { Err(Refused::Gone) }
    }

    /// A notification of the client, or its answer to a question. False if the process is gone.
    pub(super) async fn notify(&self, message: Bytes) -> bool {
        self.state().used = Instant::now();
        self.behind.send(message).await
    }

    /// The stream of the GET; `None` if somebody reads it.
    pub(super) fn listen(&self) -> Option<Events> {
        let mut state = self.state();
        if state.open.get(&LISTENING).is_some_and(|open| !open.is_closed()) {
            return None;
        }
        let events = state.open(LISTENING);
        state.begin(LISTENING);
        Some(events)
    }

    /// What came on a stream after this place, and what comes. `None` if that place is not kept.
    pub(super) fn read_on(&self, stream: StreamId, number: u64) -> Option<Events> {
        let mut state = self.state();
        let missed = state.store.after(stream, number)?;
        if missed.len() >= AHEAD {
            return None;
        }
        let events = state.open(stream);
        let done = missed.iter().any(|kept| kept.last);
        for kept in missed {
            state.send(kept);
        }
        let runs = stream == LISTENING || state.requests.values().any(|running| *running == stream);
        if done || !runs {
            state.open.remove(&stream);
        }
        Some(events)
    }
}

impl State {
    /// Since when nobody has used it; not while a request runs or a stream is read.
    fn idle_since(&mut self) -> Instant {
        self.open.retain(|_, open| !open.is_closed());
        if !self.open.is_empty() || !self.requests.is_empty() {
            self.used = Instant::now();
        }
        self.used
    }

    fn open(&mut self, stream: StreamId) -> Events {
        self.used = Instant::now();
        let (sender, events) = mpsc::channel(AHEAD);
        self.open.insert(stream, sender);
        events
    }

    /// The first event of a stream, which has no message.
    fn begin(&mut self, stream: StreamId) {
        let kept = self.store.keep(stream, None, false);
        self.send(kept);
    }

    fn tell(&mut self, stream: StreamId, line: &Bytes, last: bool) {
        let kept = self.store.keep(stream, Some(line.clone()), last);
        self.send(kept);
        if last {
            self.open.remove(&stream);
        }
    }

    fn send(&mut self, kept: Kept) {
        let stream = kept.stream;
        // Who does not read, or is gone, reads on from what is kept.
        if self.open.get(&stream).is_some_and(|open| open.try_send(kept).is_err()) {
            self.open.remove(&stream);
        }
    }

    /// Where that goes which belongs to no request.
    fn unasked(&mut self) -> StreamId {
        self.open.retain(|_, open| !open.is_closed());
        if self.open.contains_key(&LISTENING) {
            return LISTENING;
        }
        self.requests.values().copied().max().unwrap_or(LISTENING)
    }
}

fn token(params: Option<&RawValue>) -> Option<Id> {
    Members::of(params?)?.get("progressToken").and_then(Id::of)
}
