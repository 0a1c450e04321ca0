//! The client's own tasks: every one is known, none outlives `close()`.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns tasks on the runtime that the client was made in, and can end them all.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    runtime: Handle,
    tasks: TaskTracker,
    /// Cancelled when waiting is over: whatever still runs is dropped where it stands.
    end: CancellationToken,
}

impl Background {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, tasks: TaskTracker::new(), end: CancellationToken::new() }
    }

    /// Runs the future in a task of its own. The receiver gets its output, or an error if the client ended first.
    pub(crate) fn spawn<F>(&self, future: F) -> oneshot::Receiver<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let end = self.end.clone();
        self.tasks.spawn_on(
            async move {
                tokio::select! {
                    biased;
                    () = end.cancelled() => {}
                    output = future => { let _ = sender.send(output); }
                }
            },
            &self.runtime,
        );
        receiver
    }

    /// Runs a task that no `close()` waits for: the closing itself.
    pub(crate) fn spawn_detached<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        self.runtime.spawn(future);
    }

    /// Waits for all tasks, then ends those that are left. True if none had to be ended.
    pub(crate) async fn finish(&self, patience: Duration) -> bool {
        self.tasks.close();
        let in_time = tokio::time::timeout(patience, self.tasks.wait()).await.is_ok();
        self.end.cancel();
        self.tasks.wait().await;
        in_time
    }
}
