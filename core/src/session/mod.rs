//! Sessions: one at a time, counted by generations, each ended exactly once.

pub(crate) mod handshake;
pub(crate) mod listen;
pub(crate) mod listener;
mod opens;
pub(crate) mod recovery;
pub(crate) mod restore;
pub(crate) mod sessions;
pub mod state;
pub(crate) mod subscriptions;
pub(crate) mod verify;

/// The locks of [`sessions::Sessions`]. Named here, so that `core/tests/interleavings` builds the same code on locks that it can schedule.
mod locks {
    pub(super) use std::sync::{Mutex, MutexGuard};
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::call::attempt::Request;
use crate::era::Lifecycle;
use crate::era::terms::{Terms, routing_headers};
use crate::results::InitializeResult;
use crate::rpc::params::Params;
use crate::transport::classify;
use crate::transport::headers::SessionId;
use crate::transport::wire::{Carried, Wire};

/// One session with the server, from its `initialize` on. Shared by the client and by every request that uses it; when the last of
/// them lets go, the session is ended with one DELETE, unless the server gave no id or declared it gone.
///
/// In the modern era there are no sessions on the wire. There this is the client's side alone: the generation, and the terms that
/// every request states anew.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) generation: u64,
    pub(crate) initialized: Arc<InitializeResult>,
    id: Option<SessionId>,
    /// `None` until it is agreed on.
    version: Option<HeaderValue>,
    /// In the modern era only.
    terms: Option<Arc<Terms>>,
    gone: CancellationToken,
    /// The session is no longer the current one: its listener stops, and so do the handlers of what came on it.
    retired: CancellationToken,
    /// A call was answered.
    answered: Notify,
    ended: AtomicBool,
    wire: Arc<Wire>,
    delete_timeout: Duration,
}

impl Session {
    pub(crate) fn carried(&self) -> Carried {
        Carried { session: self.id.clone(), version: self.version.clone(), ..Carried::default() }
    }

    /// What a request carries outside of its body, and its params with what they have to say in this era.
    pub(crate) fn dress(&self, request: Request<'_>) -> (Carried, Params) {
        let Request { method, params, parameter_headers } = request;
        let mut carried = self.carried();
        let Some(terms) = &self.terms else { return (carried, params) };
        carried.routing = routing_headers(method, &params);
        carried.routing.extend(parameter_headers);
        (carried, terms.complete(&params))
    }

    /// The era that it is of.
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        if self.terms.is_some() { Lifecycle::Modern } else { Lifecycle::Legacy }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.lifecycle() == Lifecycle::Modern
    }

    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// The server does not know this session any more: no DELETE for it.
    pub(crate) fn declare_gone(&self) {
        self.gone.cancel();
    }

    /// Cancelled when the server has declared the session gone.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// A call on it was answered.
    pub(crate) fn note_answer(&self) {
        self.answered.notify_waiters();
    }

    /// Waits until a call on it is answered, from now on.
    pub(crate) async fn answers(&self) {
        self.answered.notified().await;
    }

    pub(crate) fn retire(&self) {
        self.retired.cancel();
    }

    /// Cancelled when the session is no longer the current one.
    pub(crate) fn retired(&self) -> &CancellationToken {
        &self.retired
    }
}

impl Session {
    /// Ends it with one DELETE, unless it was ended before, the server gave no id or declared it gone.
    pub(crate) fn end(&self) {
        if self.id.is_none() || self.gone.is_cancelled() || self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        delete(&self.wire, self.carried(), Some(self.generation), self.delete_timeout);
    }
}

/// One DELETE, whatever comes of it, in a task of its own.
fn delete(wire: &Arc<Wire>, carried: Carried, generation: Option<u64>, patience: Duration) {
    let sending = Arc::clone(wire);
    drop(wire.background.spawn(async move {
        let deleting = async {
            let ready = sending.delete(carried).await.ok()?;
            Some(sending.send(ready).await.map(|response| response.status).map_err(|failure| failure.cause))
        };
        let head = timeout(patience, deleting).await.ok().flatten();
        let gone = head.is_some_and(classify::delete);
        tracing::debug!(target: "oncewire", generation, gone, "session deleted");
    }));
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}
