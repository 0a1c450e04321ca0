//! A call under way, as Python holds it: to await, to wait for, to cancel.

use std::future::Future;
use std::pin::Pin;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::answer::Message;
use crate::lock::lock;
use crate::state::{existing, hold_at_exit};

/// How often the main thread looks for signals while it waits.
const SIGNALS: Duration = Duration::from_millis(50);

/// The work of a call, in a task of its own, which can be dropped by whoever cancels it: when `cancel` returns the call is judged and
/// sends nothing any more. Aborting the task alone would leave that to the moment when one of the runtime's threads gets to it.
#[derive(Clone)]
pub(crate) struct Work {
    future: Arc<Mutex<Option<BoxFuture<'static, ()>>>>,
}

impl Work {
    /// Starts it.
    pub(crate) fn start(runtime: &Handle, future: impl Future<Output = ()> + Send + 'static) -> Running {
        let work = Self { future: Arc::new(Mutex::new(Some(Box::pin(future)))) };
        let task = runtime.spawn(Polled(work.clone()));
        Running { work, task: task.abort_handle() }
    }

    fn drop_now(&self) {
        // Dropped after the lock: what it drops may take its time.
        let future = lock(&self.future).take();
        drop(future);
    }
}

/// The task's end of it.
struct Polled(Work);

impl Future for Polled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut future = lock(&self.0.future);
        let polled = future.as_mut().map_or(Poll::Ready(()), |future| future.as_mut().poll(context));
        if polled.is_ready() {
            let over = future.take();
            drop(future);
            drop(over);
        }
        polled
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        // The runtime ends: nothing of it may outlive that.
        self.0.drop_now();
    }
}

/// The caller's end of it.
pub(crate) struct Running {
    work: Work,
    task: AbortHandle,
}

impl Running {
    fn cancel(&self) {
        self.work.drop_now();
        self.task.abort();
    }
}

/// A call under way.
#[pyclass(frozen, module = "oncewire._native")]
pub(crate) struct Pending {
    future: Option<Py<PyAny>>,
    inbox: Option<Mutex<Receiver<Message>>>,
    running: Running,
    pid: u32,
}

impl Pending {
    pub(crate) fn awaited(future: Py<PyAny>, running: Running) -> Self {
        Self { future: Some(future), inbox: None, running, pid: process::id() }
    }

    pub(crate) fn blocking(inbox: Receiver<Message>, running: Running) -> Self {
        Self { future: None, inbox: Some(Mutex::new(inbox)), running, pid: process::id() }
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
            self.running.cancel();
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
