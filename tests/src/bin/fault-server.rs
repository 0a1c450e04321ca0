//! Hosts fault servers for tests in other languages.
//!
//! Prints one line of JSON, `{"control": "http://127.0.0.1:PORT"}`, and ends when its standard input does, so that it cannot outlive
//! the test that started it.
//!
//! With `--stdio` it is itself one server, on its standard input and output.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use oncewire_tests::stdio::StdioLedger;
use oncewire_tests::{control, stdio, vector};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

/// Command line.
#[derive(Debug, Parser)]
struct Arguments {
    /// Port of the control API; 0 for any.
    #[arg(long, default_value_t = 0)]
    control_port: u16,
    /// Print the vectors of this language (`rust`, `python`, `node`, `swift`), expanded, as one JSON array, and end.
    #[arg(long, value_name = "LANGUAGE")]
    vectors: Option<String>,
    /// Be a server on stdio, and note in this file what it does: see `oncewire_tests::stdio`.
    #[arg(long, value_name = "LEDGER")]
    stdio: Option<PathBuf>,
    /// What that server is to do, as JSON.
    #[arg(long, default_value = "{}", requires = "stdio")]
    script: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout();
    if let Some(language) = arguments.vectors {
        let language = serde_json::from_value(serde_json::Value::from(language))?;
        serde_json::to_writer(&mut out, &vector::for_language(language)?)?;
        return Ok(writeln!(out)?);
    }
    if let Some(ledger) = arguments.stdio {
        let script = serde_json::from_str(&arguments.script)?;
        return Ok(tokio::task::spawn_blocking(move || stdio::run(&script, StdioLedger::at(ledger))).await??);
    }
    let listener = TcpListener::bind(("127.0.0.1", arguments.control_port)).await?;
    let control = format!("http://{}", listener.local_addr()?);
    writeln!(out, "{}", serde_json::json!({ "control": control }))?;
    out.flush()?;
    let mut rest = Vec::new();
    let mut input = tokio::io::stdin();
    tokio::select! {
        served = control::serve(listener) => Ok(served?),
        _ = input.read_to_end(&mut rest) => {
            // Reading standard input holds a thread that nothing can wake; leaving at once is what is wanted here.
            std::process::exit(0)
        }
    }
}
