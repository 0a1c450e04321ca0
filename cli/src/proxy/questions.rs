//! What the server asks, put to a host of the handshake era as a request of ours.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oncewire::{HandlerError, HandlerRefusal};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::host::Host;
use crate::rpc::error::INTERNAL_ERROR;
use crate::rpc::members::Members;
use crate::rpc::message::Id;

/// What the host answers: the result, or the error object.
type Outcome = Result<Box<RawValue>, Box<RawValue>>;

/// Questions that wait for the host. The client asks sixteen at once at most.
#[derive(Debug)]
pub(super) struct Questions {
    host: Host,
    asked: AtomicU64,
    waiting: Mutex<HashMap<Id, oneshot::Sender<Outcome>>>,
}

impl Questions {
    pub(super) fn new(host: Host) -> Self {
        Self { host, asked: AtomicU64::new(0), waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Id, oneshot::Sender<Outcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the host, and waits for its answer. Dropped, it tells the host that nobody waits any more.
    pub(super) async fn ask(self: Arc<Self>, method: &str, params: Value) -> Result<Value, HandlerError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        // The host has ids of its own for its own requests; ours tell themselves apart in a log, too.
        let mut question = Question { id: Id::text(&format!("oncewire-{number}")), questions: &self, open: true };
        let (answer, answered) = oneshot::channel();
        self.waiting().insert(question.id.clone(), answer);
        self.host.ask(&question.id, method, &params).await;
        let outcome = answered.await.map_err(|_| HandlerError::from("the host is gone"))?;
        question.open = false;
        match outcome {
            Ok(result) => Ok(serde_json::from_str(result.get())?),
            Err(error) => Err(refusal(&error).into()),
        }
    }

    /// The host answers. An answer to nothing that waits is dropped.
    pub(super) fn answered(&self, id: &Id, outcome: Outcome) {
        match self.waiting().remove(id) {
            Some(waiting) => drop(waiting.send(outcome)),
            None => tracing::debug!(target: "oncewire", "an answer of the host to no question that waits was dropped"),
        }
    }
}

struct Question<'a> {
    id: Id,
    questions: &'a Questions,
    open: bool,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if self.open {
            self.questions.waiting().remove(&self.id);
            let id: Value = serde_json::from_str(self.id.to_json()).unwrap_or_default();
            let params = json!({ "requestId": id, "reason": "the server no longer waits" });
            self.questions.host.tell("notifications/cancelled", &params);
        }
    }
}

/// The host's error, as the server gets it.
fn refusal(error: &RawValue) -> HandlerRefusal {
    let members = Members::of(error).unwrap_or_default();
    HandlerRefusal {
        code: members.read("code").unwrap_or(INTERNAL_ERROR),
        message: members.read("message").unwrap_or_else(|| "the host refused".to_owned()),
        data: members.read("data"),
    }
}
