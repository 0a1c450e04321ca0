//! The one thread that hands things over to Python.
//!
//! The runtime's threads never wait for the interpreter: they put parcels into a queue, and this thread gives all that are there to
//! their asyncio loops at once. So a busy interpreter slows no socket, and at exit one thread has to be stopped and not many.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::logs::Record;
use crate::state::{existing, lock};

/// Log records wait so long for company; everything else goes at once.
const LOGS_WAIT: Duration = Duration::from_millis(10);
/// Log records held back for a slow logging handler; the oldest is dropped and counted.
const LOGS_HELD: usize = 4_096;

/// Done on the thread of an asyncio loop.
pub(crate) type Work = Box<dyn FnOnce(Python<'_>) + Send>;

/// An asyncio loop.
pub(crate) type Loop = Arc<Py<PyAny>>;

/// Work for a loop.
pub(crate) struct Parcel {
    pub(crate) to: Loop,
    /// May another loop do it, if this one is closed? A callback yes, the future of a closed loop no.
    pub(crate) elsewhere: bool,
    pub(crate) work: Work,
}

#[derive(Default)]
struct Held {
    parcels: Vec<Parcel>,
    logs: VecDeque<Record>,
    logs_dropped: u64,
    stopped: bool,
}

/// What waits for the delivery thread.
#[derive(Default)]
pub(crate) struct Queue {
    held: Mutex<Held>,
    changed: Condvar,
}

impl Queue {
    pub(crate) fn send(&self, parcel: Parcel) {
        let mut held = lock(&self.held);
        held.parcels.push(parcel);
        if held.parcels.len() == 1 {
            self.changed.notify_one();
        }
    }

    pub(crate) fn log(&self, record: Record) {
        let mut held = lock(&self.held);
        if held.logs.len() == LOGS_HELD {
            held.logs.pop_front();
            held.logs_dropped += 1;
        }
        held.logs.push_back(record);
        if held.logs.len() == 1 {
            self.changed.notify_one();
        }
    }

    pub(crate) fn stop(&self) {
        lock(&self.held).stopped = true;
        self.changed.notify_one();
    }

    /// Waits for something to hand over; `None` once stopped and empty.
    fn next(&self) -> Option<(Vec<Parcel>, VecDeque<Record>, u64)> {
        let mut held = lock(&self.held);
        while held.parcels.is_empty() && !held.stopped {
            held = if held.logs.is_empty() {
                self.changed.wait(held).unwrap_or_else(std::sync::PoisonError::into_inner)
            } else {
                let waited = self.changed.wait_timeout(held, LOGS_WAIT);
                let (held, timed_out) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
                if timed_out.timed_out() {
                    return Some(take(held));
                }
                held
            };
        }
        let nothing = held.parcels.is_empty() && held.logs.is_empty();
        if nothing { None } else { Some(take(held)) }
    }
}

fn take(mut held: std::sync::MutexGuard<'_, Held>) -> (Vec<Parcel>, VecDeque<Record>, u64) {
    let dropped = std::mem::take(&mut held.logs_dropped);
    (std::mem::take(&mut held.parcels), std::mem::take(&mut held.logs), dropped)
}

/// Starts the thread; it ends after [`Queue::stop`].
pub(crate) fn start(queue: Arc<Queue>) -> PyResult<JoinHandle<()>> {
    let run = move || {
        while let Some((parcels, logs, dropped)) = queue.next() {
            // None: the interpreter is gone, and nobody waits any more.
            let handed_over = Python::try_attach(|py| {
                hand_over(py, parcels);
                crate::logs::hand_over(py, logs, dropped);
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
