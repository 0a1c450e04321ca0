//! Servers on stdio, named by `-- COMMAND`.

use std::path::PathBuf;

use oncewire_tests::stdio::{Note, StdioLedger};

use crate::support::{Ran, ended, oncewire};

/// The scripted server, beside the command among what was built.
fn program() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_BIN_EXE_oncewire")).parent().unwrap().join("examples");
    folder.join(format!("server-on-stdio{}", std::env::consts::EXE_SUFFIX))
}

/// Runs the command on it; what the server noted, too.
async fn run(arguments: &[&str]) -> (Ran, Vec<Note>) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger");
    let mut command = oncewire(arguments);
    command.arg("--").arg(program()).arg(&ledger);
    let ran = ended(command.spawn().unwrap()).await;
    let notes = if ledger.exists() { StdioLedger::at(ledger).read().unwrap() } else { Vec::new() };
    (ran, notes)
}

fn runs(notes: &[Note]) -> usize {
    notes.iter().filter(|note| matches!(note, Note::Ran(_))).count()
}

#[tokio::test]
async fn a_tool_of_a_program_is_listed_and_called() {
    let (ran, notes) = run(&["list", "tools"]).await;
    assert_eq!((ran.code, runs(&notes)), (Some(0), 0), "{ran:?}");
    assert!(ran.out.lines().any(|line| line.starts_with("poke\t")), "{ran:?}");
    let (ran, notes) = run(&["call", "poke"]).await;
    assert_eq!((ran.code, ran.err.as_str(), runs(&notes)), (Some(0), "", 1), "{ran:?}");
}

#[tokio::test]
async fn what_cannot_be_used_starts_no_program() {
    let faults: [(&[&str], &str); 6] = [
        (&["call", "poke", "ada"], "\"ada\": it is no argument"),
        (&["call"], "TOOL: it is missing"),
        (&["list", "everything"], "WHAT: "),
        (&["watch", "http://127.0.0.1:9/"], "URL: the server is named twice"),
        (&["list", "--env", "API_KEY=s3cret"], "--env: the value of API_KEY is a secret"),
        (&["list", "--header", "x-team: blue"], "--header: a server on stdio"),
    ];
    for (arguments, says) in faults {
        let (ran, notes) = run(arguments).await;
        assert_eq!((ran.code, notes.len()), (Some(2), 0), "{ran:?} {notes:?}");
        assert!(ran.err.starts_with(&format!("error: {says}")) && !ran.err.contains("s3cret"), "{ran:?}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_was_not_executed() {
    let ran =
        ended(oncewire(&["call", "poke", "--connect-patience", "0", "--", "/surely/not/there"]).spawn().unwrap()).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{ran:?}");
}
