//! A server on stdio that fails on purpose: see `oncewire_tests::stdio`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use oncewire_tests::stdio::{StdioLedger, StdioScript, run};

/// Command line.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where it notes what it did.
    #[arg(long)]
    ledger: PathBuf,
    /// What it is to do, as JSON.
    #[arg(long, default_value = "{}")]
    script: String,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let script: StdioScript = serde_json::from_str(&arguments.script)?;
    Ok(run(&script, StdioLedger::at(arguments.ledger))?)
}
