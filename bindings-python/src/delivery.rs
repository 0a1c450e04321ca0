//! The one thread that hands things over to Python.
//!
//! The runtime's threads never wait for the interpreter: they put parcels into a queue, and this thread gives all that are there to
//! their asyncio loops at once. So a busy interpreter slows no socket, and at exit one thread has to be stopped and not many.

use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::lock::lock;
use crate::queue::{Loop, Parcel, Queue};
use crate::record;
use crate::state::existing;

/// Starts the thread; it ends after [`Queue::stop`].
pub(crate) fn start(queue: Arc<Queue>) -> PyResult<JoinHandle<()>> {
    let run = move || {
        while let Some((parcels, logs, dropped)) = queue.next() {
            // None: the interpreter is gone, and nobody waits any more.
            let handed_over = Python::try_attach(|py| {
                hand_over(py, parcels);
                record::hand_over(py, logs, dropped);
            });
            if handed_over.is_none() {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("oncewire-py".into())
        .spawn(run)
        .map_err(|error| PyRuntimeError::new_err(format!("oncewire could not start its threads: {error}")))
}

fn hand_over(py: Python<'_>, parcels: Vec<Parcel>) {
    let mut parcels = parcels.into_iter().peekable();
    while let Some(first) = parcels.next() {
        let to = Arc::clone(&first.to);
        let mut load = vec![first];
        while let Some(next) = parcels.next_if(|next| next.to.is(&*to)) {
            load.push(next);
        }
        give(py, &to, load);
    }
}

fn give(py: Python<'_>, to: &Loop, load: Vec<Parcel>) {
    let Ok(batch) = Bound::new(py, Batch { load: Mutex::new(load) }) else { return };
    if call_soon(to.bind(py), &batch).is_ok() {
        return;
    }
    // The loop is closed. Whoever awaited on it is gone with it; callbacks of the client go on, on a loop of our own.
    let load = std::mem::take(&mut *lock(&batch.get().load));
    let load: Vec<_> = load.into_iter().filter(|parcel| parcel.elsewhere).collect();
    if load.is_empty() || existing().is_none() {
        return;
    }
    let moved = background_loop(py).and_then(|to| call_soon(&to, &Bound::new(py, Batch { load: Mutex::new(load) })?));
    if let Err(error) = moved {
        error.write_unraisable(py, None);
    }
}

fn call_soon(to: &Bound<'_, PyAny>, batch: &Bound<'_, Batch>) -> PyResult<()> {
    to.call_method1(pyo3::intern!(to.py(), "call_soon_threadsafe"), (batch,)).map(drop)
}

fn background_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    LOOP.import(py, "oncewire._background", "loop")?.call0()
}

/// All that goes to one loop at once; the loop calls it.
#[pyclass(frozen, module = "oncewire._native")]
pub(crate) struct Batch {
    load: Mutex<Vec<Parcel>>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        // The loop took it and was closed before it came to it. What another loop may do is sent again, and finds this one closed.
        let load = std::mem::take(&mut *lock(&self.load));
        if let Some(state) = existing() {
            load.into_iter().filter(|parcel| parcel.elsewhere).for_each(|parcel| state.queue.send(parcel));
        }
    }
}

#[pymethods]
impl Batch {
    fn __call__(&self, py: Python<'_>) {
        let load = std::mem::take(&mut *lock(&self.load));
        for parcel in load {
            (parcel.work)(py);
        }
    }
}
