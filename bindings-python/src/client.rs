//! The client, method by method. Each takes a loop (or None, for a thread that will wait) and gives back the call under way.

use std::cell::RefCell;
use std::future::{Future, IntoFuture};
use std::process;
use std::sync::{Arc, mpsc};

use oncewire::{Call, ClientBuilder, Error, EventStream, ListCall, ListResult, NOTIFICATION_QUEUE, ServerCommand};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};
use serde_json::value::RawValue;
use tokio::sync::Mutex as AsyncMutex;

use crate::answer::{Answer, Message, Waiter, Waiting};
use crate::builder::{Host, builder};
use crate::callbacks::{Callback, Mailbox};
use crate::given::{Given, Teller, json_value};
use crate::json::to_json;
use crate::pending::{Pending, Work};
use crate::process::state;
use crate::state::{Open, State};

/// A client of the core, and the process that it lives in.
pub(crate) struct Shared {
    client: Option<oncewire::Client>,
    pid: u32,
    callbacks: Vec<Arc<Callback>>,
}

impl Open for Shared {
    fn client(&self) -> Option<&oncewire::Client> {
        self.client.as_ref().filter(|_| self.pid == process::id())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // In a forked child: the runtime that the client would use to say goodbye is not here, and its locks may be locked.
        if self.pid != process::id() {
            std::mem::forget(self.client.take());
        }
    }
}

/// The client of the core.
#[pyclass(frozen, module = "oncewire._native")]
pub(crate) struct Client {
    shared: Arc<Shared>,
}

/// Makes a client and connects it, unless it is lazy. Its callbacks run on the loop `host`.
#[pyfunction]
#[pyo3(signature = (to, host, url, options, /))]
pub(crate) fn connect(
    py: Python<'_>,
    to: Option<Bound<'_, PyAny>>,
    host: Option<Py<PyAny>>,
    url: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Pending> {
    connected(py, to, host, oncewire::Client::builder(url), options)
}

/// The same, of a server that this command starts; it is described as JSON.
#[pyfunction]
#[pyo3(signature = (to, host, command, options, /))]
pub(crate) fn connect_stdio(
    py: Python<'_>,
    to: Option<Bound<'_, PyAny>>,
    host: Option<Py<PyAny>>,
    command: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Pending> {
    let command = ServerCommand::from_json(command).map_err(|error| PyValueError::new_err(error.to_string()))?;
    connected(py, to, host, oncewire::Client::stdio(command), options)
}

fn connected(
    py: Python<'_>,
    to: Option<Bound<'_, PyAny>>,
    host: Option<Py<PyAny>>,
    begun: ClientBuilder,
    options: &Bound<'_, PyDict>,
) -> PyResult<Pending> {
    let state = state(py)?;
    let host = Host { state: Arc::clone(&state), to: host.map(Arc::new), callbacks: RefCell::default() };
    let builder = builder(begun, options, &host)?;
    let callbacks = host.callbacks.into_inner();
    submit(py, &state.clone(), to, None, move |_| async move {
        match builder.connect().await {
            Ok(client) => {
                let shared = Arc::new(Shared { client: Some(client), pid: process::id(), callbacks });
                let open: Arc<dyn Open> = Arc::<Shared>::clone(&shared);
                state.remember(&open);
                Answer::Object(Box::new(move |py| Ok(Py::new(py, Client::new(shared))?.into_any())))
            }
            Err(error) => Answer::Failed(Box::new(error)),
        }
    })
}

/// Starts a call in a task of its own.
fn submit<F, A>(
    py: Python<'_>,
    state: &Arc<State>,
    to: Option<Bound<'_, PyAny>>,
    on_progress: Option<Py<PyAny>>,
    call: impl FnOnce(Option<Teller>) -> F,
) -> PyResult<Pending>
where
    F: Future<Output = A> + Send + 'static,
    A: Into<Answer>,
{
    match to {
        Some(to) => {
            let future = to.call_method0(pyo3::intern!(py, "create_future"))?.unbind();
            let to = Arc::new(to.unbind());
            let teller: Option<Teller> = on_progress.map(|call| {
                let callback = Callback::new(Arc::clone(state), Arc::clone(&to), call);
                let mailbox = Mailbox::new(callback, "progress notifications", NOTIFICATION_QUEUE);
                let teller: Teller = Box::new(move |text| mailbox.tell(text));
                teller
            });
            let waiter = Waiter::new(Arc::clone(state), Waiting::Future { to, future: future.clone_ref(py) });
            let call = call(teller);
            let running = Work::start(&state.handle, async move { waiter.settle(call.await.into()) });
            Ok(Pending::awaited(future, running))
        }
        None => {
            let (sender, inbox) = mpsc::channel();
            let teller: Option<Teller> = on_progress.is_some().then(|| {
                let sender = sender.clone();
                let teller: Teller = Box::new(move |text| drop(sender.send(Message::Progress(text))));
                teller
            });
            let waiter = Waiter::new(Arc::clone(state), Waiting::Thread(sender));
            let call = call(teller);
            let running = Work::start(&state.handle, async move { waiter.settle(call.await.into()) });
            Ok(Pending::blocking(inbox, running))
        }
    }
}

/// A result whose text is all that Python needs.
trait Raw {
    fn raw(self) -> Answer;
}

macro_rules! raw {
    ($($result:ident),+) => {$(
        impl Raw for oncewire::$result {
            fn raw(self) -> Answer {
                self.raw.into()
            }
        }
    )+};
}

raw!(CallToolResult, ReadResourceResult, GetPromptResult, CompleteResult);

impl<T> Raw for ListResult<T> {
    fn raw(self) -> Answer {
        self.raw.into()
    }
}

impl Raw for Box<RawValue> {
    fn raw(self) -> Answer {
        self.into()
    }
}

impl Raw for () {
    fn raw(self) -> Answer {
        Answer::Nothing
    }
}

impl Client {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn core(&self) -> PyResult<&oncewire::Client> {
        self.shared.client().ok_or_else(|| {
            PyRuntimeError::new_err(format!(
                "this oncewire client was made in process {} and cannot be used in process {}, which was forked from it: \
                 connect again here",
                self.shared.pid,
                process::id()
            ))
        })
    }

    fn start<T, R>(
        &self,
        py: Python<'_>,
        to: Option<Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
        call: impl FnOnce(&oncewire::Client) -> PyResult<Call<T>>,
    ) -> PyResult<Pending>
    where
        T: 'static,
        Call<T>: IntoFuture<Output = Result<R, Error>, IntoFuture: Send>,
        R: Raw,
    {
        let core = self.core()?;
        let state = state(py)?;
        let mut given = Given::read(options)?;
        let on_progress = given.on_progress.take();
        let call = call(core)?;
        submit(py, &state, to, on_progress, move |teller| {
            let call = given.on(call, teller).into_future();
            async move { call.await.map_or_else(|error| Answer::Failed(Box::new(error)), Raw::raw) }
        })
    }

    fn list<T>(
        &self,
        py: Python<'_>,
        to: Option<Bound<'_, PyAny>>,
        cursor: Option<String>,
        options: Option<&Bound<'_, PyDict>>,
        call: impl FnOnce(&oncewire::Client) -> ListCall<T>,
    ) -> PyResult<Pending>
    where
        T: 'static,
        ListCall<T>: IntoFuture<Output = Result<ListResult<T>, Error>, IntoFuture: Send + 'static>,
    {
        let mut call = call(self.core()?);
        if let Some(cursor) = cursor {
            call = call.cursor(cursor);
        }
        let mut given = Given::read(options)?.for_a_list()?;
        let on_progress = given.on_progress.take();
        submit(py, &state(py)?, to, on_progress, move |teller| {
            let call = given.on_list(call, teller).into_future();
            async move { call.await.map_or_else(|error| Answer::Failed(Box::new(error)), Raw::raw) }
        })
    }
}

/// Nothing, where nothing is given.
fn object(value: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<String>> {
    value.map(|value| to_json(value, name)).transpose()
}

type To<'py> = Option<Bound<'py, PyAny>>;
type Options<'a, 'py> = Option<&'a Bound<'py, PyDict>>;

#[pymethods]
impl Client {
    #[pyo3(signature = (to, cursor, options, /))]
    fn list_tools(
        &self,
        py: Python<'_>,
        to: To<'_>,
        cursor: Option<String>,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.list(py, to, cursor, options, oncewire::Client::list_tools)
    }

    #[pyo3(signature = (to, cursor, options, /))]
    fn list_resources(
        &self,
        py: Python<'_>,
        to: To<'_>,
        cursor: Option<String>,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.list(py, to, cursor, options, oncewire::Client::list_resources)
    }

    #[pyo3(signature = (to, cursor, options, /))]
    fn list_resource_templates(
        &self,
        py: Python<'_>,
        to: To<'_>,
        cursor: Option<String>,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.list(py, to, cursor, options, oncewire::Client::list_resource_templates)
    }

    #[pyo3(signature = (to, cursor, options, /))]
    fn list_prompts(
        &self,
        py: Python<'_>,
        to: To<'_>,
        cursor: Option<String>,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.list(py, to, cursor, options, oncewire::Client::list_prompts)
    }

    #[pyo3(signature = (to, name, arguments, options, /))]
    fn call_tool(
        &self,
        py: Python<'_>,
        to: To<'_>,
        name: String,
        arguments: Option<&Bound<'_, PyAny>>,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.start(py, to, options, |core| {
            Ok(match object(arguments, "arguments")? {
                None => core.call_tool(name, serde_json::Value::Null),
                Some(arguments) => core.call_tool_json(name, &arguments),
            })
        })
    }

    #[pyo3(signature = (to, uri, options, /))]
    fn read_resource(&self, py: Python<'_>, to: To<'_>, uri: String, options: Options<'_, '_>) -> PyResult<Pending> {
        self.start(py, to, options, |core| Ok(core.read_resource(uri)))
    }

    #[pyo3(signature = (to, name, arguments, options, /))]
    fn get_prompt(
        &self,
        py: Python<'_>,
        to: To<'_>,
        name: String,
        arguments: Option<&Bound<'_, PyAny>>,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.start(py, to, options, |core| {
            Ok(match object(arguments, "arguments")? {
                None => core.get_prompt(name, serde_json::Value::Null),
                Some(arguments) => core.get_prompt_json(name, &arguments),
            })
        })
    }

    #[pyo3(signature = (to, reference, argument, value, options, /))]
    fn complete(
        &self,
        py: Python<'_>,
        to: To<'_>,
        reference: &Bound<'_, PyAny>,
        argument: String,
        value: String,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.start(py, to, options, |core| Ok(core.complete(&json_value("reference", reference)?, argument, value)))
    }

    #[pyo3(signature = (to, options, /))]
    fn ping(&self, py: Python<'_>, to: To<'_>, options: Options<'_, '_>) -> PyResult<Pending> {
        self.start(py, to, options, |core| Ok(core.ping()))
    }

    #[pyo3(signature = (to, level, options, /))]
    fn set_log_level(&self, py: Python<'_>, to: To<'_>, level: String, options: Options<'_, '_>) -> PyResult<Pending> {
        self.start(py, to, options, |core| Ok(core.set_log_level(level)))
    }

    #[pyo3(signature = (to, uri, options, /))]
    fn subscribe(&self, py: Python<'_>, to: To<'_>, uri: String, options: Options<'_, '_>) -> PyResult<Pending> {
        self.start(py, to, options, |core| Ok(core.subscribe(uri)))
    }

    #[pyo3(signature = (to, uri, options, /))]
    fn unsubscribe(&self, py: Python<'_>, to: To<'_>, uri: String, options: Options<'_, '_>) -> PyResult<Pending> {
        self.start(py, to, options, |core| Ok(core.unsubscribe(uri)))
    }

    #[pyo3(signature = (to, method, params, options, /))]
    fn request(
        &self,
        py: Python<'_>,
        to: To<'_>,
        method: String,
        params: Option<&Bound<'_, PyAny>>,
        options: Options<'_, '_>,
    ) -> PyResult<Pending> {
        self.start(py, to, options, |core| {
            Ok(match object(params, "params")? {
                None => core.request(method, serde_json::Value::Null),
                Some(params) => core.request_json(method, &params),
            })
        })
    }

    #[pyo3(signature = (to, /))]
    fn recover(&self, py: Python<'_>, to: To<'_>) -> PyResult<Pending> {
        let core = self.core()?.clone();
        submit(py, &state(py)?, to, None, move |_| async move { core.recover().await })
    }

    #[pyo3(signature = (to, /))]
    fn login(&self, py: Python<'_>, to: To<'_>) -> PyResult<Pending> {
        let core = self.core()?.clone();
        submit(py, &state(py)?, to, None, move |_| async move { core.login().await })
    }

    #[pyo3(signature = (to, /))]
    fn logout(&self, py: Python<'_>, to: To<'_>) -> PyResult<Pending> {
        let core = self.core()?.clone();
        submit(py, &state(py)?, to, None, move |_| async move { core.logout().await })
    }

    #[pyo3(signature = (to, /))]
    fn close(&self, py: Python<'_>, to: To<'_>) -> PyResult<Pending> {
        let core = self.core()?.clone();
        let callbacks = self.shared.callbacks.clone();
        submit(py, &state(py)?, to, None, move |_| async move {
            core.close().await;
            callbacks.iter().for_each(Callback::retire);
        })
    }

    /// Events from now on.
    fn events(&self) -> PyResult<Events> {
        Ok(Events { stream: Arc::new(AsyncMutex::new(self.core()?.events())), pid: process::id() })
    }

    /// What the server said of itself, as it sent it, under the names of `initialize`: JSON.
    #[getter]
    fn initialized(&self) -> PyResult<Option<String>> {
        Ok(self.core()?.initialized().map(|initialized| initialized.to_json()))
    }

    #[getter]
    fn era(&self) -> PyResult<Option<&'static str>> {
        Ok(self.core()?.era().map(oncewire::Lifecycle::as_str))
    }

    #[getter]
    fn state(&self) -> PyResult<&'static str> {
        Ok(self.core()?.state().as_str())
    }

    #[getter]
    fn generation(&self) -> PyResult<u64> {
        Ok(self.core()?.generation())
    }

    #[getter]
    fn is_closed(&self) -> PyResult<bool> {
        Ok(self.core()?.is_closed())
    }
}

/// A stream of events.
#[pyclass(frozen, module = "oncewire._native")]
pub(crate) struct Events {
    stream: Arc<AsyncMutex<EventStream>>,
    pid: u32,
}

#[pymethods]
impl Events {
    /// The next event as JSON; None when the client is gone.
    #[pyo3(signature = (to, /))]
    fn next(&self, py: Python<'_>, to: To<'_>) -> PyResult<Pending> {
        if self.pid != process::id() {
            return Err(PyRuntimeError::new_err(
                "this stream of events belongs to another process: connect again here",
            ));
        }
        let stream = Arc::clone(&self.stream);
        submit(py, &state(py)?, to, None, move |_| async move {
            let event = stream.lock().await.next().await;
            match event.map(|event| serde_json::to_string(&event)) {
                Some(Ok(text)) => Answer::Json(text.into()),
                _ => Answer::Nothing,
            }
        })
    }

    /// How many events this stream lost because nobody read them in time.
    #[getter]
    fn dropped(&self) -> u64 {
        self.stream.try_lock().map_or(0, |stream| stream.dropped())
    }
}
