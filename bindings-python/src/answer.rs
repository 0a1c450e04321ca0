//! What becomes of a call: a value or an exception for whoever waits, a coroutine or a blocked thread.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use oncewire::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use serde_json::value::RawValue;

use crate::queue::{Loop, Parcel};
use crate::state::State;

/// Makes an object of Python.
pub(crate) type Make = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// How a call ended, before it is a Python object.
pub(crate) enum Answer {
    /// A result of which nothing is read.
    Nothing,
    /// A result as the server sent it.
    Json(Box<str>),
    /// An object that is made where Python may be called.
    Object(Make),
    /// A failure.
    Failed(Box<Error>),
    /// The task that carried out the call is gone without a word.
    Lost,
}

impl From<Box<RawValue>> for Answer {
    fn from(raw: Box<RawValue>) -> Self {
        Self::Json(raw.into())
    }
}

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl<T: Into<Self>> From<Result<T, Error>> for Answer {
    fn from(result: Result<T, Error>) -> Self {
        match result {
            Ok(value) => value.into(),
            Err(error) => Self::Failed(Box::new(error)),
        }
    }
}

impl Answer {
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Nothing => Ok(py.None()),
            Self::Json(text) => Ok(PyString::new(py, &text).into_any().unbind()),
            Self::Object(make) => make(py),
            Self::Failed(error) => Err(exception(py, &error)),
            Self::Lost => Err(PyRuntimeError::new_err("oncewire lost the call: this is a bug")),
        }
    }
}

/// The exception of Python for an error of the core.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let fields = match error {
        Error::NotExecuted(failure) | Error::MayHaveExecuted(failure) => serde_json::to_string(failure),
        Error::Answered(failure) => serde_json::to_string(failure),
        other => serde_json::to_string(&other.to_json()),
    };
    let made = || -> PyResult<PyErr> {
        let fields = fields.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let made = MAKE.import(py, "oncewire.errors", "from_json")?.call1((fields, error.to_string()))?;
        Ok(PyErr::from_value(made))
    };
    made().unwrap_or_else(|error| error)
}

/// What a blocked thread gets.
pub(crate) enum Message {
    /// The progress of its call, as JSON.
    Progress(String),
    /// The end of its call.
    Done(Answer),
}

/// Who waits for a call.
pub(crate) enum Waiting {
    /// A coroutine, by a future of its loop.
    Future {
        /// Its loop.
        to: Loop,
        /// Its future.
        future: Py<PyAny>,
    },
    /// A blocked thread.
    Thread(Sender<Message>),
}

/// Who waits; is told exactly once, also if the call is dropped.
pub(crate) struct Waiter {
    waiting: Option<Waiting>,
    state: Arc<State>,
}

impl Waiter {
    pub(crate) fn new(state: Arc<State>, waiting: Waiting) -> Self {
        Self { waiting: Some(waiting), state }
    }

    pub(crate) fn settle(mut self, answer: Answer) {
        self.tell(answer);
    }

    fn tell(&mut self, answer: Answer) {
        match self.waiting.take() {
            None => {}
            // A thread that does not wait any more was interrupted.
            Some(Waiting::Thread(sender)) => drop(sender.send(Message::Done(answer))),
            Some(Waiting::Future { to, future }) => {
                let work = Box::new(move |py: Python<'_>| {
                    if let Err(error) = settle_future(future.bind(py), answer) {
                        error.write_unraisable(py, None);
                    }
                });
                self.state.queue.send(Parcel { to, elsewhere: false, work });
            }
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // At exit whoever waits is left waiting: waking a thread now would bring it back to an interpreter that ends.
        if !self.state.stopped() {
            self.tell(Answer::Lost);
        } else if let Some(Waiting::Thread(sender)) = self.waiting.take() {
            std::mem::forget(sender);
        }
    }
}

fn settle_future(future: &Bound<'_, PyAny>, answer: Answer) -> PyResult<()> {
    let py = future.py();
    if future.call_method0(pyo3::intern!(py, "done"))?.is_truthy()? {
        return Ok(());
    }
    match answer.into_python(py) {
        Ok(value) => future.call_method1(pyo3::intern!(py, "set_result"), (value,))?,
        Err(error) => future.call_method1(pyo3::intern!(py, "set_exception"), (error.into_value(py),))?,
    };
    Ok(())
}
