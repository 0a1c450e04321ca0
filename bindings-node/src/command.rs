//! The command `oncewire`, for the `bin` of the package.

use napi_derive::napi;

/// Runs the command with these arguments, the first of which is its name; gives the exit code. Nothing else of this thread runs meanwhile.
#[napi]
#[must_use]
pub fn run_command(arguments: Vec<String>) -> u8 {
    oncewire_cli::run(arguments)
}
