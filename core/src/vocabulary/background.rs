//! The client's own tasks: every one is known, none outlives `close()`.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Spawns tasks on the runtime that the client was made in, and can end them all.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    runtime: Handle,
    tasks: TaskTracker,
    /// Cancelled when the client begins to close.
    closing: CancellationToken,
    /// Cancelled when waiting is over: whatever still runs is dropped where it stands.
    end: CancellationToken,
}

impl Background {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, tasks: TaskTracker::new(), closing: CancellationToken::new(), end: CancellationToken::new() }
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

    /// Cancelled when the client begins to close: calls end, no further try of a handshake is begun, handlers and token providers are
    /// dropped.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// `close()` waits for whoever holds this, as for a task.
    pub(crate) fn hold(&self) -> TaskTrackerToken {
        self.tasks.token()
    }

    /// Runs a task that no `close()` waits for: the closing itself.
    pub(crate) fn spawn_detached<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        self.runtime.spawn(future);
    }

    /// Waits until nothing runs and nobody holds, but not for longer than that.
    pub(crate) async fn wait(&self, patience: Duration) {
        self.tasks.close();
        // The caller goes on either way.
        let _ = timeout(patience, self.tasks.wait()).await;
    }

    /// Ends all tasks that are left. Whoever still holds is not waited for.
    pub(crate) fn end(&self) {
        self.end.cancel();
    }
}
