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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Answers in the way that the test wants, and counts how often it was cancelled.
    struct Scripted {
        answer: fn(Option<String>, Arc<Reply>),
        kept: Mutex<Vec<Arc<Reply>>>,
        cancelled: Arc<AtomicUsize>,
    }

    struct Counted(Arc<AtomicUsize>);

    impl HookTask for Counted {
        fn cancel(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Hook for Scripted {
        fn ask(&self, question: Option<String>, reply: Arc<Reply>) -> Arc<dyn HookTask> {
            self.kept.lock().unwrap().push(Arc::clone(&reply));
            (self.answer)(question, reply);
            Arc::new(Counted(Arc::clone(&self.cancelled)))
        }
    }

    fn scripted(answer: fn(Option<String>, Arc<Reply>)) -> Arc<Scripted> {
        Arc::new(Scripted { answer, kept: Mutex::default(), cancelled: Arc::default() })
    }

    #[tokio::test]
    async fn the_first_answer_counts() {
        let hook = scripted(|question, reply| {
            reply.give(question.unwrap_or_default());
            reply.fail("too late".into());
        });
        assert_eq!(ask(Arc::clone(&hook) as _, Some("q".into())).await.unwrap(), "q");
        assert_eq!(hook.cancelled.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_failure_is_told_in_its_own_words() {
        let hook = scripted(|_, reply| reply.fail("the keychain is locked".into()));
        assert_eq!(ask(hook, None).await.unwrap_err().to_string(), "the keychain is locked");
    }

    #[tokio::test]
    async fn a_reply_that_is_dropped_is_a_failure_and_not_a_hang() {
        struct Forgetful;
        impl Hook for Forgetful {
            fn ask(&self, _: Option<String>, _: Arc<Reply>) -> Arc<dyn HookTask> {
                Arc::new(Counted(Arc::default()))
            }
        }
        assert_eq!(ask(Arc::new(Forgetful), None).await.unwrap_err().to_string(), "it gave no answer");
    }

    #[tokio::test]
    async fn a_task_that_nobody_waits_for_is_cancelled_once() {
        let hook = scripted(|_, _| {});
        let mut question = Box::pin(ask(Arc::clone(&hook) as _, None));
        assert!(futures_util::poll!(&mut question).is_pending());
        drop(question);
        assert_eq!(hook.cancelled.load(Ordering::SeqCst), 1);
        // An answer after that goes nowhere.
        hook.kept.lock().unwrap()[0].give("late".into());
    }
}
