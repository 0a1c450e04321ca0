//! What the clones of a client share: the engine, and how it comes to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{oneshot, watch};

use crate::call::engine::Engine;
use crate::vocabulary::event::{Event, EventName};

/// The engine, for as long as anybody wants it: the last clone that is dropped closes it.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    owner: Arc<Owner>,
}

/// Closes the client when the last clone is dropped.
#[derive(Debug)]
struct Owner {
    closing: Arc<Closing>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let closing = Arc::clone(&self.closing);
        self.closing.engine.wire.background.spawn_detached(async move { closing.close().await });
    }
}

impl Handle {
    pub(super) fn new(engine: Engine) -> Self {
        let closing =
            Closing { engine: Arc::new(engine), begun: AtomicBool::new(false), over: watch::Sender::new(false) };
        Self { owner: Arc::new(Owner { closing: Arc::new(closing) }) }
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.owner.closing.engine
    }

    pub(super) async fn close(&self) {
        // In a task of its own: dropping this future must not leave the client half closed.
        let closing = Arc::clone(&self.owner.closing);
        let background = closing.engine.wire.background.clone();
        let (done, closed) = oneshot::channel();
        background.spawn_detached(async move {
            closing.close().await;
            let _ = done.send(());
        });
        if closed.await.is_err() {
            // The client's own runtime is gone, and its tasks with it: what is left is done here.
            self.owner.closing.finish().await;
        }
    }
}

/// How the engine comes to its end.
#[derive(Debug)]
struct Closing {
    engine: Arc<Engine>,
    begun: AtomicBool,
    over: watch::Sender<bool>,
}

impl Closing {
    /// Everything ends within `close_timeout`: calls are judged and the server is told, then sessions get their DELETE. The first
    /// caller does it; the others wait for it.
    async fn close(&self) {
        if self.begun.swap(true, Ordering::AcqRel) {
            // The sender lives in self: it cannot be gone.
            let _ = self.over.subscribe().wait_for(|over| *over).await;
            return;
        }
        self.finish().await;
    }

    async fn finish(&self) {
        let background = &self.engine.wire.background;
        let patience = self.engine.settings.close_timeout;
        background.closing().cancel();
        self.engine.sessions.handshake.end_leftovers();
        self.engine.sessions.close();
        // Calls see that the client closes, and let go of their sessions, which ends them. A call that nobody polls does not: half of
        // the time is for it, the other half for the DELETE that it holds up.
        background.wait(patience / 2).await;
        self.engine.sessions.end_all();
        background.wait(patience / 2).await;
        background.end();
        self.engine.wire.hang_up();
        self.engine.wire.events.emit(Event::new(EventName::Closed));
        self.over.send_replace(true);
    }
}
