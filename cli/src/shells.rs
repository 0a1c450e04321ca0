//! Completion scripts for shells, and the pages of the manual, both made from what can be typed.

use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::print_bytes;

/// The options of `oncewire completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionOptions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The options of `oncewire man`.
#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// Write all pages into this folder, one for each command [default: the first page, to standard output]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Writes the completion script.
///
/// # Errors
/// Standard output is closed.
pub(crate) fn completions(options: &CompletionOptions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "oncewire", &mut script);
    print_bytes(&script).map(|()| Exit::Success)
}

/// Writes the pages of the manual.
///
/// # Errors
/// Standard output is closed, or the folder cannot be written to.
pub(crate) fn man(options: &ManOptions) -> Result<Exit, Failure> {
    if let Some(folder) = &options.output {
        let failed = |error: io::Error| Failure::Local(format!("write to {}", folder.display()), error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
        return Ok(Exit::Success);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command()).render(&mut page).map_err(Failure::Output)?;
    print_bytes(&page).map(|()| Exit::Success)
}
