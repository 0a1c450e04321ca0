//! The server on stdio that the tests of the command start.

use oncewire_tests::stdio::{StdioLedger, StdioScript, run};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let ledger = arguments.next().unwrap_or_default();
    let script: StdioScript = serde_json::from_str(&arguments.next().unwrap_or_else(|| "{}".to_owned()))?;
    run(&script, StdioLedger::at(ledger))
}
