//! The native module of the Python package: the core, reachable from Python. It decides nothing.
//!
//! Names and order are those of the core, so that the two can be read side by side. What Python gives is passed on, and what it does not
//! give is not said; results and errors cross as JSON text, which Python reads without loss. Dataclasses, exceptions and
//! documentation live in `python/oncewire`; this module is private to it.

#![deny(unsafe_code)]

mod answer;
mod builder;
mod callbacks;
mod client;
mod command;
mod delivery;
mod given;
mod json;
mod lock;
mod logs;
mod pending;
mod process;
mod queue;
mod record;
mod state;

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Which interpreter has the module: the address of its `sys`.
static INTERPRETER: AtomicUsize = AtomicUsize::new(0);

/// The runtime and its threads belong to one interpreter. From 3.12 on Python itself refuses the others, before that nobody does.
fn one_interpreter(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let here = module.py().import("sys")?.as_ptr() as usize;
    match INTERPRETER.compare_exchange(0, here, Ordering::AcqRel, Ordering::Acquire) {
        Err(other) if other != here => Err(PyImportError::new_err("oncewire does not support subinterpreters")),
        _ => Ok(()),
    }
}

/// The module `oncewire._native`.
#[pymodule(gil_used = true)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::one_interpreter(module)
    }

    #[pymodule_export]
    use crate::callbacks::Reply;
    #[pymodule_export]
    use crate::client::{Client, Events, connect, connect_stdio};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::json::to_json;
    #[pymodule_export]
    use crate::pending::Pending;
    #[pymodule_export]
    use crate::state::shutdown;
}
