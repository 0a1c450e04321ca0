//! One process for all sessions (`--shared`): it sees one client, and each session sees a server of its own.
//!
//! Ids and progress tokens of the sessions are kept apart by numbers of ours. What the process tells to nobody in particular goes to all; what
//! it asks could be anybody's business, and is refused.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::process::Process;
use crate::rpc::error::{METHOD_NOT_FOUND, RpcError};
use crate::rpc::members::{Members, raw};
use crate::rpc::message::{Id, Line, Message, read};

/// Lines that wait for a session; then the process waits.
const LINES: usize = 256;
/// The version that the process is offered.
const VERSION: &str = "2025-11-25";
/// The request that is ours, and no session's.
const INTRODUCTION: u64 = 0;

/// The process, and who speaks to it.
#[derive(Debug)]
pub(super) struct Shared {
    process: Process,
    state: Mutex<State>,
    /// What it said of itself.
    introduction: Box<RawValue>,
}

#[derive(Debug, Default)]
struct State {
    /// Numbers that were given.
    numbers: u64,
    waiting: HashMap<u64, Waiting>,
    members: HashMap<u64, mpsc::Sender<Bytes>>,
    /// The process writes no more.
    ended: bool,
}

/// A request of a session that is not answered.
#[derive(Debug)]
struct Waiting {
    member: u64,
    id: Id,
    token: Option<Box<RawValue>>,
}

/// The place of a session.
#[derive(Debug)]
pub(super) struct Member {
    shared: Arc<Shared>,
    number: u64,
}

impl Shared {
    /// Starts the process and asks it who it is, for so long at most.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(super) async fn start(command: &[OsString], patience: Duration) -> Result<Arc<Self>, String> {
        let (process, mut lines) =
            Process::start(command).map_err(|problem| format!("the command cannot be started: {problem}"))?;
        let info = json!({ "name": "oncewire", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": info });
        let initialize = json!({ "jsonrpc": "2.0", "id": INTRODUCTION, "method": "initialize", "params": params });
        let introduced = timeout(patience, async {
            if !process.send(Bytes::from(initialize.to_string())).await {
                return None;
            }
            while let Some(line) = lines.recv().await {
                if let Line::One(Ok(Message::Answer { outcome, .. })) = read(&line) {
                    return Some(outcome);
                }
            }
            None
        });
        let introduction = match introduced.await {
            Ok(Some(Ok(result))) => result,
            Ok(Some(Err(error))) => return Err(format!("the command refuses `initialize`: {error}")),
            Ok(None) => {
                return Err(
                    "the command ended before it answered `initialize`: its standard error says more".to_owned()
                );
            }
            Err(_) => return Err("the command does not answer `initialize`: its standard error says more".to_owned()),
        };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        process.send(Bytes::from(initialized.to_string())).await;
        let shared = Arc::new(Self { process, state: Mutex::default(), introduction });
        tokio::spawn(follow(Arc::downgrade(&shared), lines, shared.process.gone.clone()));
        Ok(shared)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a session, and what it is told; `None` if the process writes no more.
    pub(super) fn join(self: &Arc<Self>) -> Option<(Member, mpsc::Receiver<Bytes>)> {
        let (sender, lines) = mpsc::channel(LINES);
        let mut state = self.state();
        if state.ended {
            return None;
        }
        let number = state.next();
        state.members.insert(number, sender);
        Some((Member { shared: Arc::clone(self), number }, lines))
    }

    /// What the process said of itself.
    pub(super) fn introduction(&self) -> &RawValue {
        &self.introduction
    }

    pub(super) fn is_gone(&self) -> bool {
        self.state().ended
    }

    /// Ends the process.
    pub(super) fn end(&self) {
        self.process.end();
    }

    pub(super) fn gone(&self) -> &CancellationToken {
        &self.process.gone
    }

    /// The process has written a line.
    async fn said(&self, line: Bytes) {
        match read(&line) {
            Line::One(Ok(Message::Answer { id, .. })) => {
                let waiting = number(&id).and_then(|number| self.state().waiting.remove(&number));
                if let Some(Waiting { member, id, .. }) = waiting {
                    self.tell(member, rewritten(&line, |message| message.set("id", raw_id(&id)))).await;
                }
            }
            Line::One(Ok(Message::Request { id, .. })) => {
                let error = RpcError::new(METHOD_NOT_FOUND, "one process serves several clients: nobody can be asked");
                let refusal = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{}}}", id.to_json(), error.to_json());
                self.process.send(Bytes::from(refusal)).await;
            }
            Line::One(Ok(Message::Notification { method, params })) if method == "notifications/progress" => {
                let token =
                    params.as_deref().and_then(Members::of).and_then(|params| params.read::<u64>("progressToken"));
                let to = token.and_then(|token| {
                    let state = self.state();
                    let waiting = state.waiting.get(&token)?;
                    Some((waiting.member, waiting.token.clone()?))
                });
                if let Some((member, token)) = to {
                    let set = |message: &mut Members| {
                        let mut params = message.object("params").unwrap_or_default();
                        params.set("progressToken", token);
                        message.set("params", params.to_raw());
                    };
                    self.tell(member, rewritten(&line, set)).await;
                }
            }
            Line::One(Ok(Message::Notification { .. })) => {
                let all: Vec<_> = self.state().members.keys().copied().collect();
                for member in all {
                    self.tell(member, line.clone()).await;
                }
            }
            Line::Blank => {}
            Line::One(Err(_)) | Line::Batch(_) => {
                tracing::warn!(target: "oncewire", "a line of the server was dropped: it is no message");
            }
        }
    }

    async fn tell(&self, member: u64, line: Bytes) {
        let sender = self.state().members.get(&member).cloned();
        if let Some(sender) = sender {
            // A session that is over reads no more.
            drop(sender.send(line).await);
        }
    }
}

/// Until the process ends: then nobody is told anything more, which ends the sessions.
async fn follow(shared: Weak<Shared>, mut lines: mpsc::Receiver<Bytes>, gone: CancellationToken) {
    while let Some(line) = lines.recv().await {
        let Some(shared) = shared.upgrade() else { return };
        shared.said(line).await;
    }
    if let Some(shared) = shared.upgrade() {
        let mut state = shared.state();
        state.ended = true;
        state.members.clear();
        state.waiting.clear();
    }
    gone.cancelled().await;
}

impl State {
    fn next(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

impl Member {
    /// Sends a message of its client, under numbers of ours. False if the process is gone.
    pub(super) async fn send(&self, message: &Bytes) -> bool {
        let prepared = match read(message) {
            Line::One(Ok(Message::Request { id, params, .. })) => self.request(message, id, params.as_deref()),
            // It was introduced once, to us.
            Line::One(Ok(Message::Notification { method, .. })) if method == "notifications/initialized" => None,
            Line::One(Ok(Message::Notification { method, params })) if method == "notifications/cancelled" => {
                self.cancelled(message, params.as_deref())
            }
            Line::One(Ok(Message::Notification { .. })) => Some(message.clone()),
            // Nobody was asked.
            _ => None,
        };
        match prepared {
            Some(message) => self.shared.process.send(message).await,
            None => !self.shared.is_gone(),
        }
    }

    fn request(&self, message: &Bytes, id: Id, params: Option<&RawValue>) -> Option<Bytes> {
        let mut params = params.and_then(Members::of);
        let mut meta = params.as_ref().and_then(|params| params.object("_meta"));
        let token = meta.as_mut().and_then(|meta| meta.remove("progressToken"));
        let number = {
            let mut state = self.shared.state();
            let number = state.next();
            state.waiting.insert(number, Waiting { member: self.number, id, token: token.clone() });
            number
        };
        Some(rewritten(message, |message| {
            message.set("id", raw(&Value::from(number)));
            if let (Some(params), Some(meta), true) = (&mut params, &mut meta, token.is_some()) {
                meta.set("progressToken", raw(&Value::from(number)));
                params.set("_meta", meta.to_raw());
                message.set("params", params.to_raw());
            }
        }))
    }

    /// `None` if there is nothing to cancel.
    fn cancelled(&self, message: &Bytes, params: Option<&RawValue>) -> Option<Bytes> {
        let mut params = Members::of(params?)?;
        let id = params.get("requestId").and_then(Id::of)?;
        let number = {
            let state = self.shared.state();
            let mut waiting = state.waiting.iter();
            waiting.find(|(_, waiting)| waiting.member == self.number && waiting.id == id).map(|(number, _)| *number)?
        };
        params.set("requestId", raw(&Value::from(number)));
        Some(rewritten(message, |message| message.set("params", params.to_raw())))
    }

    /// The session is over: nobody waits for what it asked.
    pub(super) fn leave(&self) {
        let left: Vec<u64> = {
            let mut state = self.shared.state();
            state.members.remove(&self.number);
            let mine = state.waiting.iter().filter(|(_, waiting)| waiting.member == self.number);
            let mine: Vec<_> = mine.map(|(number, _)| *number).collect();
            state.waiting.retain(|_, waiting| waiting.member != self.number);
            mine
        };
        if left.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            for number in left {
                let params = json!({ "requestId": number, "reason": "the session is over" });
                let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                if !shared.process.send(Bytes::from(message.to_string())).await {
                    return;
                }
            }
        });
    }

    pub(super) fn gone(&self) -> &CancellationToken {
        self.shared.gone()
    }
}

/// The message with something set in it; the rest stays as it was written.
fn rewritten(message: &Bytes, set: impl FnOnce(&mut Members)) -> Bytes {
    let Ok(mut members) = serde_json::from_slice::<Members>(message) else { return message.clone() };
    set(&mut members);
    Bytes::from(members.to_raw().get().to_owned())
}

fn raw_id(id: &Id) -> Box<RawValue> {
    crate::rpc::members::text(id.to_json().to_owned())
}

fn number(id: &Id) -> Option<u64> {
    id.to_json().parse().ok()
}
