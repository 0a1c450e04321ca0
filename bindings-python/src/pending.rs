//! A call under way, as Python holds it: to await, to wait for, to cancel.

use std::process;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use tokio::task::AbortHandle;

use crate::answer::Message;
use crate::state::{existing, hold_at_exit, lock};

/// How often the main thread looks for signals while it waits.
const SIGNALS: Duration = Duration::from_millis(50);

/// A call under way.
#[pyclass(frozen, module = "oncewire._native")]
pub(crate) struct Pending {
    future: Option<Py<PyAny>>,
    inbox: Option<Mutex<Receiver<Message>>>,
    abort: AbortHandle,
    pid: u32,
}

impl Pending {
    pub(crate) fn awaited(future: Py<PyAny>, abort: AbortHandle) -> Self {
        Self { future: Some(future), inbox: None, abort, pid: process::id() }
    }

    pub(crate) fn blocking(inbox: Receiver<Message>, abort: AbortHandle) -> Self {
        Self { future: None, inbox: Some(Mutex::new(inbox)), abort, pid: process::id() }
    }
}

#[pymethods]
impl Pending {
    /// What to await; None for a call that is waited for.
    #[getter]
    fn future(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.future.as_ref().map(|future| future.clone_ref(py))
    }

    /// Nobody waits any more: drops the call, which then is cancelled and judged. Harmless when it is over.
    fn cancel(&self) {
        if self.pid == process::id() {
            self.abort.abort();
        }
    }

    /// Waits, without the interpreter: (False, progress) or (True, result). The main thread looks for signals in between.
    fn wait(&self, py: Python<'_>, main_thread: bool) -> PyResult<(bool, Py<PyAny>)> {
        let Some(inbox) = &self.inbox else {
            return Err(PyRuntimeError::new_err("this call is awaited"));
        };
        if self.pid != process::id() {
            return Err(PyRuntimeError::new_err("this call was made in another process"));
        }
        loop {
            match py.detach(|| receive(inbox, main_thread)) {
                Ok(Message::Progress(text)) => return Ok((false, PyString::new(py, &text).into_any().unbind())),
                Ok(Message::Done(answer)) => return answer.into_python(py).map(|value| (true, value)),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("oncewire cannot be used while the interpreter exits"));
                }
            }
        }
    }
}

fn receive(inbox: &Mutex<Receiver<Message>>, main_thread: bool) -> Result<Message, RecvTimeoutError> {
    let inbox = lock(inbox);
    if main_thread {
        return inbox.recv_timeout(SIGNALS);
    }
    let received = inbox.recv();
    if existing().is_none() {
        hold_at_exit();
    }
    received.map_err(|_| RecvTimeoutError::Disconnected)
}
