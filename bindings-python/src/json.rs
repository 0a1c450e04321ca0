//! Python objects to JSON text, exactly: integers of any size, the order of the members. What is not JSON is named by its path.

use std::fmt::Write as _;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

/// Deeper than this is taken for a circle.
const DEPTH: usize = 1_000;

/// What is wrong, and where: from the inside out.
struct Problem {
    path: Vec<Step>,
    what: String,
}

enum Step {
    Member(String),
    Item(usize),
}

impl Problem {
    fn new(what: impl Into<String>) -> Self {
        Self { path: Vec::new(), what: what.into() }
    }

    fn within(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }

    fn into_error(self, name: &str) -> PyErr {
        let mut text = name.to_owned();
        for step in self.path.iter().rev() {
            // Writing to a string cannot fail.
            let _ = match step {
                Step::Item(index) => write!(text, "[{index}]"),
                Step::Member(key) if is_plain(key) => write!(text, ".{key}"),
                Step::Member(key) => write!(text, "[{key:?}]"),
            };
        }
        PyTypeError::new_err(format!("{text}: {}", self.what))
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && !key.starts_with(|c: char| c.is_ascii_digit())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The JSON text of a Python object; `name` is what a TypeError begins its path with.
#[pyfunction]
#[pyo3(signature = (value, name, /))]
pub(crate) fn to_json(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let mut text = String::new();
    write(value, &mut text, 0).map_err(|problem| problem.into_error(name))?;
    Ok(text)
}

fn write(value: &Bound<'_, PyAny>, out: &mut String, depth: usize) -> Result<(), Problem> {
    if depth > DEPTH {
        return Err(Problem::new(format!("nested more than {DEPTH} deep, or in a circle")));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return write_text(text, out);
    }
    if let Ok(members) = value.cast::<PyDict>() {
        return write_members(members.iter().map(Ok), out, depth);
    }
    if value.is_none() {
        out.push_str("null");
        return Ok(());
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        out.push_str(if truth.is_true() { "true" } else { "false" });
        return Ok(());
    }
    if value.is_instance_of::<PyInt>() {
        return write_integer(value, out);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        if !number.is_finite() {
            return Err(Problem::new(format!("{number} is not JSON")));
        }
        out.push_str(&serde_json::to_string(&number).map_err(|error| Problem::new(error.to_string()))?);
        return Ok(());
    }
    if let Ok(items) = value.cast::<PyList>() {
        return write_items(items.iter(), out, depth);
    }
    if let Ok(items) = value.cast::<PyTuple>() {
        return write_items(items.iter(), out, depth);
    }
    if let Ok(members) = value.cast::<PyMapping>() {
        let items = members.items().map_err(|error| Problem::new(error.to_string()))?;
        return write_members(items.iter().map(|item| item.extract()), out, depth);
    }
    Err(Problem::new(format!("{} is not JSON", type_name(value))))
}

fn write_text(text: &Bound<'_, PyString>, out: &mut String) -> Result<(), Problem> {
    let plain = text.to_str().map_err(|_| Problem::new("a str with a lone surrogate is not JSON"))?;
    let quoted = serde_json::to_string(plain).map_err(|error| Problem::new(error.to_string()))?;
    out.push_str(&quoted);
    Ok(())
}

fn write_integer(value: &Bound<'_, PyAny>, out: &mut String) -> Result<(), Problem> {
    if let Ok(number) = value.extract::<i64>() {
        let _ = write!(out, "{number}");
        return Ok(());
    }
    // Not `str()`: a subclass, for example an enumeration, may print itself as it likes.
    let digits = value.py().get_type::<PyInt>().call_method1("__repr__", (value,));
    let digits =
        digits.and_then(|digits| digits.extract::<String>()).map_err(|error| Problem::new(error.to_string()))?;
    out.push_str(&digits);
    Ok(())
}

fn write_items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    out: &mut String,
    depth: usize,
) -> Result<(), Problem> {
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(&item, out, depth + 1).map_err(|problem| problem.within(Step::Item(index)))?;
    }
    out.push(']');
    Ok(())
}

fn write_members<'py>(
    members: impl Iterator<Item = PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)>>,
    out: &mut String,
    depth: usize,
) -> Result<(), Problem> {
    out.push('{');
    for (index, member) in members.enumerate() {
        let (key, value) = member.map_err(|error| Problem::new(error.to_string()))?;
        if index > 0 {
            out.push(',');
        }
        let Ok(key) = key.cast::<PyString>() else {
            return Err(Problem::new(format!("the key {key} is {}, and must be a str", type_name(&key))));
        };
        write_text(key, out)?;
        out.push(':');
        write(&value, out, depth + 1).map_err(|problem| problem.within(Step::Member(key.to_string())))?;
    }
    out.push('}');
    Ok(())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().fully_qualified_name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    format!("a {name}")
}
