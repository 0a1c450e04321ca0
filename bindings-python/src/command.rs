//! The command `oncewire`, for the script of the package.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the first of which is its name; gives the exit code. Other threads of Python go on meanwhile.
#[pyfunction]
#[pyo3(signature = (arguments, /))]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| oncewire_cli::run(arguments))
}
