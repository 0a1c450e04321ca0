//! The runtime that everything of the core runs on, and the way a call gets there and back.
//!
//! uniffi can poll futures on Swift's own threads, but then what they spawn shares one thread and timers run elsewhere. Here a call is a
//! task of our runtime from its first to its last poll; Swift waits for a message from it. Cancelling the task drops the core's future,
//! which is how the core is told that nobody waits.

use std::future::Future;
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Runtime};
use tokio::task::{AbortHandle, JoinHandle};

/// Made with the first client, and kept: its threads are few and sleep when there is nothing to do.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let built = Builder::new_multi_thread().worker_threads(2).thread_name("oncewire").enable_all().build();
        match built {
            Ok(runtime) => runtime,
            // Without threads or a poll handle there is no client, and no caller that could do anything about it.
            Err(error) => panic!("oncewire cannot start its runtime: {error}"),
        }
    })
}

/// How a task ended.
pub(crate) enum Settled<T> {
    /// By itself.
    Done(T),
    /// Because it was told to.
    Cancelled,
    /// It panicked: a fault of ours.
    Broken,
}

/// A future on our runtime that can be cancelled and waited for. The runtime drops it, so that it is judged, before it tells the waiter.
pub(crate) struct Pending<T> {
    abort: AbortHandle,
    task: Mutex<Option<JoinHandle<T>>>,
}

impl<T: Send + 'static> Pending<T> {
    pub(crate) fn start(future: impl Future<Output = T> + Send + 'static) -> Self {
        let task = runtime().spawn(future);
        Self { abort: task.abort_handle(), task: Mutex::new(Some(task)) }
    }

    pub(crate) fn cancel(&self) {
        self.abort.abort();
    }

    /// How it ended; to be asked once.
    pub(crate) async fn settled(&self) -> Settled<T> {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(task) = task else { return Settled::Broken };
        match task.await {
            Ok(output) => Settled::Done(output),
            Err(error) if error.is_cancelled() => Settled::Cancelled,
            Err(_) => Settled::Broken,
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    struct SetOnDrop(Arc<AtomicBool>);

    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_cancelled_future_is_gone_before_its_waiter_is_told() {
        let gone = Arc::new(AtomicBool::new(false));
        let guard = SetOnDrop(Arc::clone(&gone));
        let pending = Pending::start(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        pending.cancel();
        pending.cancel();
        assert!(matches!(pending.settled().await, Settled::Cancelled));
        assert!(gone.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn cancelling_what_is_over_changes_nothing() {
        let (sender, receiver) = oneshot::channel();
        let pending = Pending::start(async move {
            let _ = sender.send(());
            7
        });
        receiver.await.unwrap();
        assert!(matches!(pending.settled().await, Settled::Done(7)));
        pending.cancel();
        assert!(matches!(pending.settled().await, Settled::Broken));
    }

    #[tokio::test]
    async fn a_panic_is_told_as_such() {
        let pending = Pending::start(async { panic!("on purpose") });
        assert!(matches!(pending.settled().await, Settled::<()>::Broken));
    }

    #[tokio::test]
    async fn letting_go_of_a_pending_call_cancels_it() {
        let (started, start) = oneshot::channel();
        let (sender, gone) = oneshot::channel::<()>();
        let pending = Pending::start(async move {
            let _sender = sender;
            let _ = started.send(());
            std::future::pending::<()>().await;
        });
        start.await.unwrap();
        drop(pending);
        assert!(gone.await.is_err());
    }
}
