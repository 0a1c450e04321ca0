//! What the user gave, and nothing else: options of a call, durations, words. Names are those of the core.

use std::time::Duration;

use oncewire::{Call, CallOptions, ListCall, Progress};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::json::to_json;

/// Tells progress, as JSON.
pub(crate) type Teller = Box<dyn Fn(String) + Send + Sync>;

/// The options of one call.
#[derive(Default)]
pub(crate) struct Given {
    options: CallOptions,
    key: Option<Key>,
    meta: Vec<(String, Value)>,
    param: Vec<(String, Box<RawValue>)>,
    pub(crate) on_progress: Option<Py<PyAny>>,
}

enum Key {
    Given(String),
    Off,
}

impl Given {
    pub(crate) fn read(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut read = Self::default();
        for (name, value) in given.into_iter().flatten() {
            let name = name.extract::<String>()?;
            match name.as_str() {
                _ if value.is_none() => {}
                "idempotency_key" => read.key = Some(key(&value)?),
                "on_progress" => read.on_progress = Some(callable(&name, &value)?),
                "meta" => read.meta = members(&name, &value)?.into_iter().collect(),
                "param" => read.param = params(&name, &value)?,
                _ => option(&mut read.options, &name, &value)?,
            }
        }
        Ok(read)
    }

    /// Puts the options on a call.
    pub(crate) fn on<T>(self, call: Call<T>, progress: Option<Teller>) -> Call<T> {
        let mut call = call.options(&self.options);
        call = match self.key {
            None => call,
            Some(Key::Given(key)) => call.idempotency_key(key),
            Some(Key::Off) => call.without_idempotency_key(),
        };
        for (key, value) in self.meta {
            call = call.meta(key, value);
        }
        for (name, value) in self.param {
            call = call.param(&name, value);
        }
        match progress {
            None => call,
            Some(tell) => call.on_progress(move |progress| tell(progress_json(progress))),
        }
    }

    /// Puts the options on a list.
    pub(crate) fn on_list<T>(self, call: ListCall<T>, progress: Option<Teller>) -> ListCall<T> {
        let mut call = call.options(&self.options);
        for (name, value) in self.param {
            call = call.param(&name, value);
        }
        match progress {
            None => call,
            Some(tell) => call.on_progress(move |progress| tell(progress_json(progress))),
        }
    }

    /// # Errors
    /// An option that a list does not take.
    pub(crate) fn for_a_list(self) -> PyResult<Self> {
        let other = match (&self.key, self.meta.first()) {
            (Some(_), _) => "idempotency_key",
            (_, Some(_)) => "meta",
            _ => return Ok(self),
        };
        Err(PyTypeError::new_err(format!("a list takes no option {other:?}")))
    }
}

fn progress_json(progress: &Progress) -> String {
    json!({ "progress": progress.progress, "total": progress.total, "message": progress.message }).to_string()
}

/// The options of a tool.
pub(crate) fn call_options(name: &str, given: &Bound<'_, PyAny>) -> PyResult<CallOptions> {
    let given = given.cast::<PyDict>().map_err(|_| PyTypeError::new_err(format!("{name}: a dict of options")))?;
    let mut options = CallOptions::default();
    for (name, value) in given {
        if !value.is_none() {
            option(&mut options, &name.extract::<String>()?, &value)?;
        }
    }
    Ok(options)
}

fn option(options: &mut CallOptions, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match name {
        "timeout" => options.timeout = Some(seconds(name, value)?),
        "idle_timeout" => options.idle_timeout = Some(seconds(name, value)?),
        "reset_on_progress" => options.reset_on_progress = Some(truth(name, value)?),
        "max_total_timeout" => options.max_total_timeout = Some(seconds(name, value)?),
        "resend" => options.resend = Some(word(name, value)?),
        _ => return Err(unknown(name)),
    }
    Ok(())
}

fn key(value: &Bound<'_, PyAny>) -> PyResult<Key> {
    match value.extract::<bool>() {
        Ok(false) => Ok(Key::Off),
        _ => text("idempotency_key", value).map(Key::Given),
    }
}

/// Nobody knows an option with this name.
pub(crate) fn unknown(name: &str) -> PyErr {
    PyTypeError::new_err(format!("there is no option {name:?}"))
}

fn wrong(name: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    // The type only: the value may be a secret.
    let found = value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{name}: must be {wanted}, not {found}"))
}

/// A duration: seconds, or a timedelta.
pub(crate) fn seconds(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong(name, "seconds or a timedelta", value));
    }
    if let Ok(duration) = value.extract::<Duration>() {
        return Ok(duration);
    }
    let seconds = match value.extract::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => value
            .call_method0("total_seconds")
            .and_then(|seconds| seconds.extract::<f64>())
            .map_err(|_| wrong(name, "seconds or a timedelta", value))?,
    };
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// Yes or no, and nothing that is merely true or false in Python.
pub(crate) fn truth(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().map_err(|_| wrong(name, "a bool", value))
}

/// A count.
pub(crate) fn count<T>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T>
where
    T: for<'a, 'py> FromPyObject<'a, 'py>,
{
    if value.is_instance_of::<PyBool>() {
        return Err(wrong(name, "a number", value));
    }
    value.extract().map_err(|_| wrong(name, "a number that is not negative and not too large", value))
}

/// Text.
pub(crate) fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| wrong(name, "a str", value))
}

/// Text or bytes.
pub(crate) fn bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if value.is_instance_of::<PyString>() {
        return text(name, value).map(String::into_bytes);
    }
    value.extract().map_err(|_| wrong(name, "bytes or a str", value))
}

/// One of the words that the core knows.
pub(crate) fn word<T: DeserializeOwned>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let word = text(name, value)?;
    serde_json::from_value(Value::String(word)).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// Two things.
pub(crate) fn pair<'py>(
    name: &str,
    value: &Bound<'py, PyAny>,
    of: &str,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    value.extract().map_err(|_| wrong(name, of, value))
}

/// Something that can be called.
pub(crate) fn callable(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if value.is_callable() { Ok(value.clone().unbind()) } else { Err(wrong(name, "callable", value)) }
}

/// A JSON object.
pub(crate) fn members(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
    match json_value(name, value)? {
        Value::Object(members) => Ok(members),
        _ => Err(wrong(name, "a mapping", value)),
    }
}

/// Members in their order, exact.
fn params(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Box<RawValue>)>> {
    let items = value.call_method0("items").map_err(|_| wrong(name, "a mapping", value))?;
    let member = |item: Bound<'_, PyAny>| {
        let (key, content) = pair(name, &item, "a mapping")?;
        let key = text(name, &key)?;
        let content = RawValue::from_string(to_json(&content, &format!("{name}.{key}"))?);
        Ok((key, content.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?))
    };
    items.try_iter()?.map(|item| member(item?)).collect()
}

/// A JSON value.
pub(crate) fn json_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text = to_json(value, name)?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}
