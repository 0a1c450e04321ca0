//! What Swift does for the core: tokens, headers, answers to the server's requests, and places for what happens.
//!
//! A question is a plain call into Swift that starts a task there; the answer comes back through a [`Reply`]. (uniffi has async traits for
//! that, but what it generates for them does not get through the Swift 6 compiler.) A hook that fails gives the text of its error and
//! fails what asked, nothing else. If nobody waits for the answer any more, the Swift task is cancelled.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// What a hook failed with, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct HookError(String);

/// Answers one kind of question. What a question and its answer are depends on the kind: a token as it is, all else as JSON.
#[uniffi::export(foreign)]
pub trait Hook: Send + Sync {
    /// Starts to answer; must not block.
    fn ask(&self, question: Option<String>, reply: Arc<Reply>) -> Arc<dyn HookTask>;
}

/// The task that answers.
#[uniffi::export(foreign)]
pub trait HookTask: Send + Sync {
    /// Nobody waits any more.
    fn cancel(&self);
}

/// Takes one answer; the first counts.
#[derive(Debug, uniffi::Object)]
pub struct Reply {
    sender: Mutex<Option<oneshot::Sender<Result<String, HookError>>>>,
}

impl Reply {
    fn send(&self, answer: Result<String, HookError>) {
        if let Some(sender) = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // If nobody waits, nobody needs it.
            let _ = sender.send(answer);
        }
    }
}

#[uniffi::export]
impl Reply {
    /// The answer.
    pub fn give(&self, answer: String) {
        self.send(Ok(answer));
    }

    /// There is none, because of this.
    pub fn fail(&self, reason: String) {
        self.send(Err(HookError(reason)));
    }
}

/// Asks, and waits for the answer.
pub(crate) async fn ask(hook: Arc<dyn Hook>, question: Option<String>) -> Result<String, HookError> {
    let (sender, answer) = oneshot::channel();
    let reply = Arc::new(Reply { sender: Mutex::new(Some(sender)) });
    let mut waiting = Waiting(Some(hook.ask(question, reply)));
    let answer = answer.await;
    waiting.0 = None;
    answer.unwrap_or_else(|_| Err(HookError("it gave no answer".to_owned())))
}

struct Waiting(Option<Arc<dyn HookTask>>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.cancel();
        }
    }
}

/// Called for each notification of the server but progress.
#[uniffi::export(foreign)]
pub trait NotificationSink: Send + Sync {
    /// One notification; must not block.
    fn notification(&self, method: String, params: String, generation: u64);
}

/// Called for each event.
#[uniffi::export(foreign)]
pub trait EventSink: Send + Sync {
    /// One event; must not block.
    fn event(&self, json: String);
}
