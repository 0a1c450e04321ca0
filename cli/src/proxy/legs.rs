//! Calls of a modern host that the server has put a question to: they wait for the leg that brings the answer (MCP 2026-07-28, basic, multi
//! round-trip requests).
//!
//! The server behind may be of either era; its call goes on while the host makes up its mind. At most [`PARKED`] calls wait so, each for
//! [`PATIENCE`]; past that the call is given up, and the server is told so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oncewire::HandlerError;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::dispatch::Ask;
use super::progress::ProgressTo;
use crate::rpc::error::{INVALID_PARAMS, RpcError};
use crate::rpc::members::{Members, raw};

/// Calls that wait for an answer of the host.
pub(super) const PARKED: usize = 64;
/// How long each waits: a person may be asked.
pub(super) const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// What a call of the host gives.
pub(super) type Outcome = Result<Box<RawValue>, RpcError>;

/// A call that runs. Dropped, it is cancelled.
#[derive(Debug)]
pub(super) struct Running {
    /// What it is a call of, so that the next leg can be told from another call.
    pub(super) of: String,
    pub(super) call: AbortOnDropHandle<Outcome>,
    pub(super) asks: mpsc::Receiver<Ask>,
    pub(super) progress: Arc<ProgressTo>,
}

#[derive(Debug)]
struct Parked {
    running: Running,
    waiting: HashMap<String, oneshot::Sender<Result<Value, HandlerError>>>,
    since: Instant,
    /// Gives it up in the end.
    _patience: AbortOnDropHandle<()>,
}

/// The calls that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Legs(Arc<Mutex<HashMap<String, Parked>>>);

impl Legs {
    fn parked(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the call to its end, or to its next question: then that is the result of this leg.
    pub(super) async fn follow(&self, mut running: Running) -> Outcome {
        let asked = tokio::select! {
            biased;
            outcome = &mut running.call => return outcome.unwrap_or_else(|error| Err(broken(&error))),
            Some(ask) = running.asks.recv() => ask,
        };
        let mut asked = vec![asked];
        // A server of the modern era may ask several things at once.
        tokio::task::yield_now().await;
        while let Ok(ask) = running.asks.try_recv() {
            asked.push(ask);
        }
        Ok(self.park(running, asked))
    }

    fn park(&self, running: Running, asked: Vec<Ask>) -> Box<RawValue> {
        running.progress.nowhere();
        // Nobody else can guess it, though nobody else is on the pipe.
        let state = format!("oncewire/{}", uuid::Uuid::now_v7());
        let mut waiting = HashMap::new();
        let mut requests = Map::new();
        for (number, Ask { method, params, answer }) in asked.into_iter().enumerate() {
            let key = format!("q{}", number + 1);
            let request = if params.is_null() {
                json!({ "method": method })
            } else {
                json!({ "method": method, "params": params })
            };
            requests.insert(key.clone(), request);
            waiting.insert(key, answer);
        }
        let patience = tokio::spawn({
            let (parked, state) = (Arc::downgrade(&self.0), state.clone());
            async move {
                sleep(PATIENCE).await;
                if let Some(parked) = parked.upgrade() {
                    drop(parked.lock().unwrap_or_else(PoisonError::into_inner).remove(&state));
                }
            }
        });
        let patience = AbortOnDropHandle::new(patience);
        let mut parked = self.parked();
        if parked.len() >= PARKED
            && let Some(oldest) = parked.iter().min_by_key(|(_, parked)| parked.since).map(|(state, _)| state.clone())
        {
            tracing::warn!(target: "oncewire", "a call was given up: too many wait for an answer of the host");
            parked.remove(&oldest);
        }
        parked.insert(state.clone(), Parked { running, waiting, since: Instant::now(), _patience: patience });
        raw(&json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state }))
    }

    /// Is this the state of a call of ours?
    pub(super) fn is_ours(params: &Members) -> bool {
        params.read::<String>("requestState").is_some_and(|state| state.starts_with("oncewire/"))
    }

    /// The next leg of a call: what waits gets its answers.
    ///
    /// # Errors
    /// It is of no call that waits.
    pub(super) fn next(&self, params: &Members, of: &str) -> Result<Running, RpcError> {
        let refuse =
            |text: &str| RpcError::new(INVALID_PARAMS, format!("requestState: {text}; the call has to be made anew"));
        let state = params.read::<String>("requestState").unwrap_or_default();
        let mut parked = self.parked();
        match parked.get(&state) {
            None => return Err(refuse("no call waits for it")),
            Some(found) if found.running.of != of => return Err(refuse("it belongs to another call")),
            Some(_) => {}
        }
        let Some(found) = parked.remove(&state) else { return Err(refuse("no call waits for it")) };
        drop(parked);
        let answers: Map<String, Value> = params.read("inputResponses").unwrap_or_default();
        for (key, waiting) in found.waiting {
            let answer = answers.get(&key).cloned().ok_or_else(|| HandlerError::from("the host gave no answer"));
            // Who asked may not wait any more.
            drop(waiting.send(answer));
        }
        Ok(found.running)
    }

    /// Gives up all that waits.
    pub(super) fn clear(&self) {
        let parked = std::mem::take(&mut *self.parked());
        drop(parked);
    }
}

fn broken(error: &tokio::task::JoinError) -> RpcError {
    tracing::error!(target: "oncewire", %error, "a call broke off");
    RpcError::new(
        crate::rpc::error::INTERNAL_ERROR,
        "a fault of the proxy; the call may have been executed: check before calling it again",
    )
}
