//! `docs/servers.md`: every server in every situation, generated. What was not run keeps the lines that it has.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::command::Server;
use super::situations::{Outcome, SITUATIONS};
use crate::workspace;

const HEAD: &str = "\
# Real servers

What oncewire does on servers that others wrote, each in its published form, run on one machine. Written by `cargo xtask peers --write-docs` from what was seen;
`cargo xtask peers` checks it again, and `cargo xtask peers --quick`, which is part of every check of a change, does so for some of them.

- *every method*: each method that the server offers is called and answered, over one handshake.
- *restarted, then each method*: the server is killed and started anew before each method, and once before 16 callers at once. Each time the caller gets
  the answer, with one handshake, and the tool runs once for each call.
- *killed in mid-call*: the server is killed (SIGKILL) while a tool runs. The caller is told at once that the tool may have run (where there are event ids:
  after three tries to read on); the server's own log says that it began once, also after the server is back and the next call was answered.
- *stopped in mid-call*: the server is asked to end (SIGTERM) while a tool runs, as for a new release; it has ten seconds. Servers differ in what they make of the
  call. The caller is never told that the tool did not run, and after the server is back the next call is answered, over one handshake.
- *cut in mid-call*: both sides of the connection are reset while a tool runs, and the server lives on. Where the server gives event ids, the answer is
  read on; where it does not, the caller is told at once that the tool may have run. It began once either way.
- *session ended in mid-call*: somebody else deletes the session while a tool runs. Servers differ again; the caller is never told that the tool did not run, and
  the next call is answered, over one handshake. (A server with one transport for the whole process takes no other session: it is restarted.)
- *closed*: the client is closed; the session gets one `DELETE`, and this is what the server answers to it.

Tools that say nothing of themselves are called, without leave to repeat them. The one slow tool of server-everything says that it only reads; it is called with
`resend = never`.

";

/// The page of the committed lines, with those of the servers that were run in place of theirs.
pub(crate) fn page(committed: &str, outcomes: &[(Server, Outcome)]) -> String {
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for server in Server::all() {
        match outcomes.iter().find(|(run, outcome)| *run == server && whole(outcome)) {
            Some((_, outcome)) => {
                rows.push(row(server, outcome));
                notes.extend(notes_of(server, outcome));
            }
            None => {
                let first = format!("| {} |", server.title());
                rows.extend(committed.lines().find(|line| line.starts_with(&first)).map(str::to_owned));
                notes.extend(committed.lines().filter(|line| is_note_of(server, line)).map(str::to_owned));
            }
        }
    }
    let heads = format!("| server | {} |", SITUATIONS.join(" | "));
    let rule = format!("| --- |{}", " --- |".repeat(SITUATIONS.len()));
    format!("{HEAD}{heads}\n{rule}\n{}\n\n{}\n", rows.join("\n"), notes.join("\n"))
}

fn whole(outcome: &Outcome) -> bool {
    outcome.failed == 0 && outcome.cells.len() == SITUATIONS.len()
}

fn row(server: Server, outcome: &Outcome) -> String {
    let mut row = format!("| {} |", server.title());
    for (index, cell) in outcome.cells.iter().enumerate() {
        let mark = cell.note.as_ref().map(|_| format!("[^{}-{index}]", server.name())).unwrap_or_default();
        row.push_str(&format!(" {}{mark} |", cell.words));
    }
    row
}

fn notes_of(server: Server, outcome: &Outcome) -> Vec<String> {
    let notes = outcome.cells.iter().enumerate().filter_map(|(index, cell)| Some((index, cell.note.as_ref()?)));
    notes.map(|(index, note)| format!("[^{}-{index}]: {note}", server.name())).collect()
}

/// The name of one server may be the beginning of another's.
fn is_note_of(server: Server, line: &str) -> bool {
    let rest = line.strip_prefix("[^").and_then(|line| line.strip_prefix(server.name()));
    rest.and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Where the page is.
pub(crate) fn file() -> Result<PathBuf> {
    Ok(workspace::root()?.join("docs").join("servers.md"))
}

/// The page as it is committed; empty if there is none.
pub(crate) fn committed() -> Result<String> {
    let file = file()?;
    if !file.exists() {
        return Ok(String::new());
    }
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    // A checkout may end lines otherwise.
    Ok(text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::super::situations::Cell;
    use super::*;

    fn outcome(words: &str, failed: usize) -> Outcome {
        let cell = |note: Option<&str>| Cell { words: words.into(), note: note.map(str::to_owned), failed: 0 };
        let cells = vec![cell(None), cell(Some("seen")), cell(None), cell(None), cell(None), cell(None), cell(None)];
        Outcome { cells, passed: 1, failed }
    }

    #[test]
    fn what_was_not_run_or_did_not_hold_keeps_its_lines() {
        // The name of the one is the beginning of the other's.
        let first = page("", &[(Server::Sdk, outcome("one", 0)), (Server::SdkEvents, outcome("one", 0))]);
        assert!(first.contains("[^sdk-events-1]: seen"), "{first}");
        let again = page(&first, &[(Server::Sdk, outcome("two", 0)), (Server::SdkEvents, outcome("two", 1))]);
        assert_eq!(again.matches("two").count(), SITUATIONS.len(), "{again}");
        assert_eq!(again.matches("| one").count(), SITUATIONS.len(), "{again}");
        assert_eq!(page(&again, &[]), again);
    }
}
