//! The requests of the host that run, by their ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::rpc::message::Id;

/// Why a request does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// One with its id runs.
    Twice,
    /// Too many run.
    TooMany,
    /// None runs any more.
    Ended,
}

/// The requests that run.
#[derive(Debug, Default)]
pub(super) struct Calls {
    running: Mutex<HashMap<Id, CancellationToken>>,
    tasks: TaskTracker,
    ending: CancellationToken,
}

/// One that runs, until it is dropped.
#[derive(Debug)]
pub(super) struct Call {
    calls: Arc<Calls>,
    id: Id,
    /// The host does not want it any more: it gets no answer.
    pub(super) cancelled: CancellationToken,
    /// The proxy ends: what only listens does, too.
    pub(super) ending: CancellationToken,
}

impl Calls {
    fn running(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request of this id begins.
    ///
    /// # Errors
    /// Why it must not.
    pub(super) fn begin(self: &Arc<Self>, id: &Id, most: usize) -> Result<Call, Refused> {
        let mut running = self.running();
        if self.ending.is_cancelled() {
            return Err(Refused::Ended);
        }
        if running.contains_key(id) {
            return Err(Refused::Twice);
        }
        if running.len() >= most {
            return Err(Refused::TooMany);
        }
        let cancelled = CancellationToken::new();
        running.insert(id.clone(), cancelled.clone());
        Ok(Call { calls: Arc::clone(self), id: id.clone(), cancelled, ending: self.ending.clone() })
    }

    /// Carries it out beside the others.
    pub(super) fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(call);
    }

    /// The host does not want it any more.
    pub(super) fn cancel(&self, id: &Id) {
        if let Some(cancelled) = self.running().get(id) {
            cancelled.cancel();
        }
    }

    /// No further one; waits for those that run, for so long at most.
    pub(super) async fn end(&self, patience: Duration) {
        self.ending.cancel();
        self.tasks.close();
        drop(timeout(patience, self.tasks.wait()).await);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.calls.running().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_id_is_free_again_once_its_call_is_over() {
        let calls = Arc::new(Calls::default());
        let (a, b) = (Id::text("a"), Id::text("b"));
        let call = calls.begin(&a, 1).unwrap();
        assert_eq!(calls.begin(&a, 9).unwrap_err(), Refused::Twice);
        assert_eq!(calls.begin(&b, 1).unwrap_err(), Refused::TooMany);
        calls.cancel(&b);
        assert!(!call.cancelled.is_cancelled());
        calls.cancel(&a);
        assert!(call.cancelled.is_cancelled());
        drop(call);
        drop(calls.begin(&a, 1).unwrap());
        calls.end(Duration::ZERO).await;
        assert_eq!(calls.begin(&a, 1).unwrap_err(), Refused::Ended);
    }
}
