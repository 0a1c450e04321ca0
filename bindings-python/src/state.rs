//! What one process has: a runtime, the thread that hands things to Python, and the clients that are open.
//!
//! Threads do not survive `fork`, and locks may be left locked by threads that are gone. So everything here belongs to one process id:
//! a forked child that finds its parent's state leaks it, without touching it, and makes its own. At exit Python calls
//! [`shutdown`] while it is still whole: after it no thread of ours comes back to the interpreter, which would crash it.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use pyo3::prelude::*;
use tokio::runtime::{Handle, Runtime};

use crate::lock::lock;
use crate::queue::Queue;

/// What closing the open clients may take at exit, and what stopping the runtime may take after that.
const AT_EXIT: Duration = Duration::from_secs(1);

pub(crate) static STATE: ArcSwapOption<State> = ArcSwapOption::const_empty();

/// A client that is closed at exit.
pub(crate) trait Open: Send + Sync {
    /// The client, if it is of this process.
    fn client(&self) -> Option<&oncewire::Client>;
}

/// What the process with this id has.
pub(crate) struct State {
    pub(crate) pid: u32,
    runtime: Mutex<Option<Runtime>>,
    pub(crate) handle: Handle,
    pub(crate) queue: Arc<Queue>,
    delivery: Mutex<Option<JoinHandle<()>>>,
    clients: Mutex<Vec<Weak<dyn Open>>>,
    stopped: AtomicBool,
    /// The thread that ends the interpreter.
    pub(crate) stopped_by: OnceLock<ThreadId>,
}

impl State {
    /// Of a process, around a runtime and the thread that empties the queue.
    pub(crate) fn new(pid: u32, runtime: Runtime, queue: Arc<Queue>, delivery: JoinHandle<()>) -> Self {
        Self {
            pid,
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            queue,
            delivery: Mutex::new(Some(delivery)),
            clients: Mutex::default(),
            stopped: AtomicBool::new(false),
            stopped_by: OnceLock::new(),
        }
    }

    /// Python is about to end, or has ended.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Closes this client at exit, if it is still there.
    pub(crate) fn remember(&self, client: &Arc<dyn Open>) {
        let mut clients = lock(&self.clients);
        clients.retain(|client| client.strong_count() > 0);
        clients.push(Arc::downgrade(client));
    }

    pub(crate) fn stop(&self) {
        self.stopped_by.get_or_init(|| thread::current().id());
        if self.stopped.swap(true, Ordering::AcqRel) {
            return;
        }
        let clients: Vec<_> = lock(&self.clients).drain(..).filter_map(|client| client.upgrade()).collect();
        if let Some(runtime) = lock(&self.runtime).take() {
            let closing = clients.iter().filter_map(|shared| shared.client()).map(oncewire::Client::close);
            // Whoever did not close is no reason to hold up the exit.
            let _ = runtime.block_on(async { tokio::time::timeout(AT_EXIT, join_all(closing)).await });
            runtime.shutdown_timeout(AT_EXIT);
        }
        self.queue.stop();
        if let Some(delivery) = lock(&self.delivery).take() {
            // It ends by itself, and a panic in it has been printed.
            let _ = delivery.join();
        }
    }
}

/// Holds a thread for ever, without the interpreter. At exit: a daemon thread that came back to an interpreter that ends would be killed
/// in the middle of Rust, and one that got an exception would print it.
pub(crate) fn hold_at_exit() -> ! {
    loop {
        thread::park();
    }
}

/// The state of this process, if there is one and it is not stopped.
pub(crate) fn existing() -> Option<Arc<State>> {
    STATE.load_full().filter(|state| state.pid == process::id() && !state.stopped())
}

/// Ends everything of this process: closes its clients, stops its threads. Python calls it at exit.
#[pyfunction]
pub(crate) fn shutdown(py: Python<'_>) {
    if let Some(state) = existing() {
        py.detach(|| state.stop());
    }
}
