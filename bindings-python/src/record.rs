//! One line of the core's log, on its way from `tracing` to `logging`.

use std::collections::VecDeque;
use std::fmt;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// One field of a log line.
enum Content {
    Number(u64),
    Signed(i64),
    Real(f64),
    Truth(bool),
    Text(String),
}

/// One log line.
pub(crate) struct Record {
    level: u8,
    message: String,
    fields: Vec<(&'static str, Content)>,
}

impl Record {
    /// What an event says.
    pub(crate) fn of(event: &Event<'_>) -> Self {
        let mut record = Self { level: level(*event.metadata().level()), message: String::new(), fields: Vec::new() };
        event.record(&mut record);
        record
    }
}

impl Visit for Record {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.push((field.name(), Content::Number(value)));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.push((field.name(), Content::Signed(value)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.fields.push((field.name(), Content::Real(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.push((field.name(), Content::Truth(value)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.push((field.name(), Content::Text(value.to_owned())));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.fields.push((field.name(), Content::Text(format!("{value:?}"))));
        }
    }
}

/// The levels of `logging`.
fn level(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

/// Gives the records to `logging`; whoever handles them there is no reason to stop.
pub(crate) fn hand_over(py: Python<'_>, records: VecDeque<Record>, dropped: u64) {
    static TAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static LEVEL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if records.is_empty() {
        return;
    }
    let given = || -> PyResult<()> {
        let wanted = LEVEL.import(py, "oncewire._logging", "level")?.call0()?.extract::<u8>().unwrap_or(u8::MAX);
        let list = PyList::empty(py);
        for record in records.into_iter().filter(|record| record.level >= wanted) {
            let fields = PyDict::new(py);
            for (name, content) in record.fields {
                match content {
                    Content::Number(value) => fields.set_item(name, value)?,
                    Content::Signed(value) => fields.set_item(name, value)?,
                    Content::Real(value) => fields.set_item(name, value)?,
                    Content::Truth(value) => fields.set_item(name, value)?,
                    Content::Text(value) => fields.set_item(name, value)?,
                }
            }
            list.append((record.level, record.message, fields))?;
        }
        if !list.is_empty() || dropped > 0 {
            TAKE.import(py, "oncewire._logging", "take")?.call1((list, dropped))?;
        }
        Ok(())
    };
    if let Err(error) = given() {
        error.write_unraisable(py, None);
    }
}
