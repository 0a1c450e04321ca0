//! The command `oncewire`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(oncewire_cli::run(std::env::args_os()))
}
