//! Callbacks of the user, reached from the runtime's threads: what is told, and what is asked.
//!
//! Python gives adapters that take JSON text; they run on the client's loop. An adapter that fails is the affair of its own call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use oncewire::HandlerError;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::lock::lock;
use crate::queue::{Loop, Parcel};
use crate::state::State;

/// A callback and the loop that it runs on.
pub(crate) struct Callback {
    state: Arc<State>,
    to: Loop,
    /// None once the client is closed: it may hold whoever holds the client.
    ///
    /// The garbage collector is not told of it, since the core's tasks use it as long as they like: a circle is broken by closing.
    call: Mutex<Option<Py<PyAny>>>,
}

impl Callback {
    pub(crate) fn new(state: Arc<State>, to: Loop, call: Py<PyAny>) -> Arc<Self> {
        Arc::new(Self { state, to, call: Mutex::new(Some(call)) })
    }

    /// Nobody will call it any more, when all that is on its way is told.
    pub(crate) fn retire(self: &Arc<Self>) {
        let callback = Arc::clone(self);
        self.send(move |_| {
            // Dropped after the lock: it may run code of the user.
            let call = lock(&callback.call).take();
            drop(call);
        });
    }

    fn call<'py>(&self, py: Python<'py>, arguments: impl PyCallArgs<'py>) -> PyResult<()> {
        let call = lock(&self.call).as_ref().map(|call| call.clone_ref(py));
        call.map_or(Ok(()), |call| call.call1(py, arguments).map(drop))
    }

    fn send(&self, work: impl FnOnce(Python<'_>) + Send + 'static) {
        self.state.queue.send(Parcel { to: Arc::clone(&self.to), elsewhere: true, work: Box::new(work) });
    }

    /// Asks, and waits for the answer. Whoever no longer waits cancels the callback.
    pub(crate) async fn ask(self: Arc<Self>, payload: Option<String>) -> Result<String, HandlerError> {
        let (sender, answer) = oneshot::channel();
        let reply = Arc::new(Slot { sender: Mutex::new(Some(sender)), task: Mutex::new(None) });
        let mut guard = Asked { callback: Arc::clone(&self), slot: Arc::clone(&reply), over: false };
        let callback = Arc::clone(&self);
        self.send(move |py| {
            let called = Py::new(py, Reply { slot: reply }).and_then(|reply| callback.call(py, (reply, payload)));
            if let Err(error) = called {
                // The adapter catches all that the user's code raises; what is left is an exit, which the loop must see.
                error.write_unraisable(py, None);
            }
        });
        let answer = answer.await;
        guard.over = true;
        match answer {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(text)) => Err(text.into()),
            Err(_) => Err("the callback was abandoned".into()),
        }
    }
}

/// The answer that is waited for, and the task that works on it.
struct Slot {
    sender: Mutex<Option<oneshot::Sender<Result<String, String>>>>,
    task: Mutex<Option<Py<PyAny>>>,
}

/// Cancels the task when nobody waits for the answer any more.
struct Asked {
    callback: Arc<Callback>,
    slot: Arc<Slot>,
    over: bool,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let slot = Arc::clone(&self.slot);
        self.callback.send(move |py| {
            drop(lock(&slot.sender).take());
            if let Some(task) = lock(&slot.task).take()
                && let Err(error) = task.call_method0(py, "cancel")
            {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Where an adapter puts its answer. Dropping it is an answer too: that there will be none.
#[pyclass(frozen, module = "oncewire._native")]
pub(crate) struct Reply {
    slot: Arc<Slot>,
}

#[pymethods]
impl Reply {
    /// The answer, as text.
    fn ok(&self, text: String) {
        self.answer(Ok(text));
    }

    /// Why there is no answer.
    fn fail(&self, text: String) {
        self.answer(Err(text));
    }

    /// The asyncio task that works on it; cancelled when nobody waits any more.
    fn worked_on_by(&self, task: Py<PyAny>) {
        *lock(&self.slot.task) = Some(task);
    }
}

impl Reply {
    fn answer(&self, answer: Result<String, String>) {
        drop(lock(&self.slot.task).take());
        if let Some(sender) = lock(&self.slot.sender).take() {
            // Nobody waits any more: nothing to do.
            let _ = sender.send(answer);
        }
    }
}

/// Things to tell in order, held for a slow loop; of more than there is room for the oldest is dropped, and counted in the log.
pub(crate) struct Mailbox {
    callback: Arc<Callback>,
    /// What it holds, for the log.
    what: &'static str,
    room: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    texts: VecDeque<String>,
    dropped: u64,
    on_its_way: bool,
}

impl Mailbox {
    pub(crate) fn new(callback: Arc<Callback>, what: &'static str, room: usize) -> Arc<Self> {
        Arc::new(Self { callback, what, room, held: Mutex::default() })
    }

    pub(crate) fn tell(self: &Arc<Self>, text: String) {
        let on_its_way = {
            let mut held = lock(&self.held);
            if held.texts.len() == self.room {
                held.texts.pop_front();
                held.dropped += 1;
            }
            held.texts.push_back(text);
            std::mem::replace(&mut held.on_its_way, true)
        };
        if !on_its_way {
            let mailbox = Arc::clone(self);
            self.callback.send(move |py| mailbox.empty(py));
        }
    }

    fn empty(&self, py: Python<'_>) {
        let Held { texts, dropped, .. } = std::mem::take(&mut *lock(&self.held));
        if dropped > 0 {
            tracing::warn!(target: "oncewire", dropped, "the oldest {} were dropped: the event loop is slow", self.what);
        }
        for text in texts {
            if let Err(error) = self.callback.call(py, (text,)) {
                error.write_unraisable(py, None);
            }
        }
    }
}
