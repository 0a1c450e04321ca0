//! `cargo xtask bench`: what oncewire costs, in an optimised build, against a bare HTTP loop and another client in the same run.
//!
//! It measures and claims nothing: a figure holds for the machine and the moment, a ratio of one run says a little more.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace;

/// The command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Short rounds: shows that it works, not what it costs
    #[arg(long)]
    quick: bool,
}

/// Builds and runs the bench. `Ok(false)` means that it failed.
pub(crate) fn run(options: &Options) -> Result<bool> {
    println!("building the bench, optimised; this takes some minutes the first time");
    let mut command = Command::new(workspace::cargo());
    command.current_dir(workspace::root()?).args(["run", "--release", "--locked", "--package", "oncewire-bench", "--"]);
    if options.quick {
        command.arg("--quick");
    }
    Ok(command.status().context("cannot start cargo")?.success())
}
