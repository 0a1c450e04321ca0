//! How a process gets its state: once, and anew in a forked child.

use std::process;
use std::sync::Arc;
use std::thread;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::Builder;

use crate::queue::Queue;
use crate::state::{STATE, State, hold_at_exit};
use crate::{delivery, logs};

/// Threads that move bytes. They never wait for Python.
const WORKERS: usize = 2;
/// Starts what a process has.
fn start(pid: u32) -> PyResult<State> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("oncewire")
        .enable_all()
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("oncewire could not start its threads: {error}")))?;
    let queue = Arc::new(Queue::default());
    let delivery = delivery::start(Arc::clone(&queue))?;
    logs::install();
    Ok(State::new(pid, runtime, queue, delivery))
}

/// The state of this process; made if there is none yet.
pub(crate) fn state(py: Python<'_>) -> PyResult<Arc<State>> {
    let pid = process::id();
    loop {
        let current = STATE.load_full();
        match current {
            Some(state) if state.pid == pid => {
                if state.stopped() {
                    if state.stopped_by.get() != Some(&thread::current().id()) {
                        py.detach(|| hold_at_exit());
                    }
                    return Err(PyRuntimeError::new_err("oncewire cannot be used while the interpreter exits"));
                }
                return Ok(state);
            }
            other => {
                let fresh = Arc::new(start(pid)?);
                let previous = STATE.compare_and_swap(&other, Some(Arc::clone(&fresh)));
                let same = match (&*previous, &other) {
                    (None, None) => true,
                    (Some(previous), Some(other)) => Arc::ptr_eq(previous, other),
                    _ => false,
                };
                if same {
                    // The parent's: its threads are not here, its locks may be locked.
                    std::mem::forget(other);
                } else {
                    // Another thread was faster.
                    fresh.stop();
                }
            }
        }
    }
}
