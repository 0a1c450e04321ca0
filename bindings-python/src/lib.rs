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
mod delivery;
mod given;
mod json;
mod logs;
mod pending;
mod state;

use pyo3::prelude::*;

/// The module `oncewire._native`.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::callbacks::Reply;
    #[pymodule_export]
    use crate::client::{Client, Events, connect};
    #[pymodule_export]
    use crate::delivery::Batch;
    #[pymodule_export]
    use crate::json::to_json;
    #[pymodule_export]
    use crate::pending::Pending;
    #[pymodule_export]
    use crate::state::shutdown;
}
