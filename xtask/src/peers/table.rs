//! `docs/servers.md`: every server in every situation, generated. What was not run keeps the lines that it has.

use std::path::PathBuf;

use anyhow::Result;

use super::rows::{ROWS, Row, Table};
use super::situations::Outcome;
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

## Servers of the handshake era

A client asks these servers once which era they speak, is refused, and begins with the handshake. Those that speak both eras are tried with `era = legacy`.

";

const MODERN: &str = "
## Servers of the modern era

The servers that speak MCP 2026-07-28, as a client finds them that was told nothing. There is no session that could be lost, and nothing is read on. On the wire there
is nothing but `POST`: no handshake, no session id, no `GET`, no `DELETE`, no notification.

- *every method*: as above; the era was found by one question.
- *talk*: what a server may say while it works: progress, in order and before the result; a changed list of tools, on the stream of `subscriptions/listen`, also after a
  restart; a question to the caller, which is answered once and ends the call.
- *restarted, then each method*: as above, without a handshake or another question. A tool that is called while nobody listens on the port waits, and runs once.
- *killed*, *stopped*, *cut in mid-call*: as above; what becomes of a tool whose connection is cut is the server's, and in the table.
- *cancelled in mid-call*: the caller gives up while a tool runs. The client closes the stream of its answer and sends nothing; the table says again
  what becomes of the tool.
- *closed*: the client is closed; nothing is sent.

";

const CHANGE: &str = "
## A server whose place one of another era takes

One client, and a server that is stopped and replaced on the same port, as by a new release (or by going back to the one before it).

- *reads*: the first call is a list; it is answered, with at most one new handshake or question, and so are the calls of 16 callers at once.
- *a tool with leave*: the first call is a tool that may be repeated (`resend = always`); it is answered, and ran once.
- *a tool without leave*: the first call is a tool that may not; it ran at most once, and what the caller is told is true. The call after it is answered.
- *in mid-call*: the server is replaced while a tool runs. The caller is told that it may have run, and the call after it is answered.

";

const FRAMEWORKS: &str = "
## Servers on other frameworks

Small servers on frameworks that others publish, each written as its documentation shows, and two programs as they are. The tools say nothing of themselves, but for those of n8n-mcp,
which say that they only read. `poke` is called without leave to repeat it.

- *what it answers to a lost session*: the server is killed and started anew before a tool, a list and a ping, and once before 16 callers at once, and this is what it says to the session
  from before. Each time the caller gets the answer, over one handshake, and the tool runs once for each call; where the server does not look, without a handshake.
- *killed*, *session ended in mid-call*: as for the servers of the handshake era.
- *replicas in turn*: a balancer without affinity sends each request to the next of two processes. No tool runs twice for one call, and what the caller is told is true: where the
  sessions are looked at, half of the requests are refused, and no client can do much. When one is left, the second call at the latest is answered.
- *closed*: the client is closed; the session gets one `DELETE`, and this is what the server answers to it.

";

const HOSTS: &str = "
## Hosts before `oncewire proxy`

Clients that others publish, each as its documentation shows, over standard input and output to `oncewire proxy`, and from there to a real server ([proxy.md](proxy.md)). Tools that say
nothing of themselves are called. The host sees no error but the one in *killed in mid-call*, and no tool runs twice for one call.

- *calls*: a list and a tool are answered.
- *restarted before each*: the server is killed and started anew, three times before a list and a tool, three times before a tool.
- *session ended before each*: somebody else deletes the session before a tool, three times.
- *killed in mid-call*: the server is killed while a tool runs. The host gets an error at once, whose words say that the tool may have run and has to be looked after, and whose data has the
  verdict; when the server is back the next calls are answered.
- *closed*: the host closes its client. The proxy ends, and the session gets its `DELETE`.

";

const STDIO: &str = "
## Servers on stdio

Servers that the client starts and speaks to over their pipes; what that means is on [stdio.md](stdio.md). The client is told nothing of the era. Tools that say nothing of
themselves are called, without leave to repeat them; the slow one of server-everything with `resend = never`.

- *calls*: tools are listed and called, also by 16 callers at once, by one process; and the version that both speak.
- *killed in mid-call*: the process is killed (SIGKILL) while a tool runs. The caller is told at once that the tool may have run; the server's own log says that it began once,
  also after the next call was answered, by a new process.
- *killed between calls*: the process is killed while nobody calls. 16 callers at once are answered, by one new process, and the tool runs once for each.
- *closed*: the client is closed, and no process is left; and whether it ended by itself at the end of its stdin.

";

const PROXIES: &str = "
## Proxies before a backend that fails

A proxy stands between the client and a backend which a script makes fail, and which notes all that it runs. The backend speaks HTTP/1.1 and answers with plain JSON,
so that nothing has arrived of an answer that was lost. Tools that say nothing of themselves are called, without leave to repeat them.

- *closes without a byte*: the backend runs the tool, and closes the connection without a byte of an answer: on a connection to it that the proxy has just made, and on
  one that it had kept. The tool ran once, and the caller is told that it may have run. A tool that says that it only reads is sent again, and answered.
- *each time*: the same, but every time that the tool is called. One that only reads runs three times at most.
- *runs, then refuses*: the backend runs the tool, and then answers with a status and the words that otherwise say that nothing was run: 400, 401, 403, 404, 410 and 429. The tool ran
  once, and the caller is told that it may have run.
- *down*: nobody listens behind the proxy, and this is what the caller is told; later calls work when it is up again.
- *restarted*: the backend has forgotten all sessions; the call is answered, over one handshake, and runs once.
- *login ends, rate limit*: the backend refuses every request with 401 until it sees a new token, then with 429 for a second. Both calls are answered, and run once.
- *idle connections*: the proxy has cut the idle connections of the client: the next call is answered, and runs once. Then the backend cuts those of the proxy, at about the time of
  six calls: each of them runs once at most, and what the caller is told is true.

What they send, seen frame by frame: `RST_STREAM(REFUSED_STREAM)`, which says that a request was not processed (RFC 9113, section 8.7), comes from HAProxy 2.6 for each end of the
backend's connection before a whole head, and from HAProxy 3.0 where that connection had been used before, in both cases after the backend had run the tool. It proves nothing.
`GOAWAY` with a last stream below ours does: none of these six forwarded such a request, in 34,177 of them that crossed an idle time-out, a reload, a graceful stop or a limit of
requests for each connection. Two of them come one after the other where a proxy ends gracefully (h2o, Apache: first 2^31-1); the last one counts. Apache puts a number into it
that is no error code, and ends a connection with too many streams so that those below that stream have run and are not answered.

";

const REPEATS: &str = "
## Proxies that repeat requests by themselves

With these settings, none of which is a default, a proxy sends a request to the backend again when the backend is gone without an answer: also a `POST`, also a tool. The client's first
attempt, sent once, arrives twice. Where the second is run and answered, all looks well. Where the backend was restarted under the call, the second is told that the session is not known,
and so is a harmless request after it: the client takes the call as not executed, opens a session, and sends it again. **No client can help that.** A backend can, by the idempotency key
in `_meta`, which is the same each time.

";

/// The page of the committed lines, with those of the rows that were run in place of theirs.
pub(crate) fn page(committed: &str, outcomes: &[(&'static Row, Outcome)]) -> String {
    let texts = Table::ALL.map(|table| match table {
        Table::Handshake => HEAD,
        Table::Modern => MODERN,
        Table::Change => CHANGE,
        Table::Frameworks => FRAMEWORKS,
        Table::Hosts => HOSTS,
        Table::Stdio => STDIO,
        Table::Proxies => PROXIES,
        Table::Repeats => REPEATS,
    });
    let tables = Table::ALL.into_iter().zip(texts);
    tables.map(|(table, text)| format!("{text}{}", lines(table, committed, outcomes))).collect()
}

/// One table, and its notes.
fn lines(table: Table, committed: &str, outcomes: &[(&'static Row, Outcome)]) -> String {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    let committed_lines = section(table, committed);
    for row in ROWS.iter().filter(|row| row.table() == table) {
        match outcomes.iter().find(|(run, outcome)| run.name == row.name && whole(row, outcome)) {
            Some((_, outcome)) => {
                let seen = line(row, outcome);
                let known = committed_lines.iter().find(|committed| is_part_of(&seen, committed));
                lines.push(known.map_or(seen, |known| (*known).to_owned()));
                notes.extend(notes_of(row, outcome));
            }
            None => {
                let first = format!("| {} |", row.title());
                lines.extend(
                    committed_lines.iter().find(|line| line.starts_with(&first)).map(|line| (*line).to_owned()),
                );
                notes
                    .extend(committed_lines.iter().filter(|line| is_note_of(row, line)).map(|line| (*line).to_owned()));
            }
        }
    }
    let situations = table.situations();
    let first = match table {
        Table::Handshake | Table::Modern | Table::Frameworks | Table::Stdio => "server",
        Table::Change => "the one, then the other",
        Table::Hosts => "host, and the server",
        Table::Proxies | Table::Repeats => "proxy",
    };
    let heads = format!("| {first} | {} |", situations.join(" | "));
    let rule = format!("| --- |{}", " --- |".repeat(situations.len()));
    let notes = if notes.is_empty() { String::new() } else { format!("\n{}\n", notes.join("\n")) };
    format!("{heads}\n{rule}\n{}\n{notes}", lines.join("\n"))
}

/// Does a line say nothing but what another says too? Where a race decides what a proxy sends, a cell has all that was ever seen, `A or B`,
/// and one run may see one of them.
fn is_part_of(seen: &str, committed: &str) -> bool {
    let (seen, committed): (Vec<_>, Vec<_>) = (seen.split(" | ").collect(), committed.split(" | ").collect());
    seen.len() == committed.len() && seen.iter().zip(committed).all(|(seen, committed)| is_cell_of(seen, committed))
}

fn is_cell_of(seen: &str, committed: &str) -> bool {
    let alternatives = |cell: &str| -> Vec<String> {
        // What stands before the colon holds for all of them.
        let (verdict, what) = cell.split_once(": ").unwrap_or(("", cell));
        what.split(" or ").map(|what| format!("{verdict}: {what}")).collect()
    };
    let committed = alternatives(committed);
    alternatives(seen).iter().all(|seen| committed.contains(seen))
}

/// The lines of a page that belong to one table.
fn section(table: Table, page: &str) -> Vec<&str> {
    let heading = |text: &'static str| text.lines().find(|line| line.starts_with("## ")).unwrap_or_default();
    let begins = match table {
        Table::Handshake => heading(HEAD),
        Table::Modern => heading(MODERN),
        Table::Change => heading(CHANGE),
        Table::Frameworks => heading(FRAMEWORKS),
        Table::Hosts => heading(HOSTS),
        Table::Stdio => heading(STDIO),
        Table::Proxies => heading(PROXIES),
        Table::Repeats => heading(REPEATS),
    };
    let lines = page.lines().skip_while(|line| *line != begins).skip(1);
    lines.take_while(|line| !line.starts_with("## ")).collect()
}

fn whole(row: &Row, outcome: &Outcome) -> bool {
    outcome.failed == 0 && outcome.cells.len() == row.table().situations().len()
}

fn line(row: &Row, outcome: &Outcome) -> String {
    let mut line = format!("| {} |", row.title());
    for (index, cell) in outcome.cells.iter().enumerate() {
        let mark = cell.note.as_ref().map(|_| format!("[^{}-{index}]", row.name)).unwrap_or_default();
        line.push_str(&format!(" {}{mark} |", cell.words));
    }
    line
}

fn notes_of(row: &Row, outcome: &Outcome) -> Vec<String> {
    let notes = outcome.cells.iter().enumerate().filter_map(|(index, cell)| Some((index, cell.note.as_ref()?)));
    notes.map(|(index, note)| format!("[^{}-{index}]: {note}", row.name)).collect()
}

/// The name of one row may be the beginning of another's.
fn is_note_of(row: &Row, line: &str) -> bool {
    let rest = line.strip_prefix("[^").and_then(|line| line.strip_prefix(row.name));
    rest.and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Where the page is.
pub(crate) fn file() -> Result<PathBuf> {
    Ok(workspace::root()?.join("docs").join("servers.md"))
}

/// The page as it is committed; empty if there is none.
pub(crate) fn committed() -> Result<String> {
    workspace::page(&file()?)
}

#[cfg(test)]
mod tests {
    use super::super::situations::Cell;
    use super::*;

    fn named(name: &str) -> &'static Row {
        ROWS.iter().find(|row| row.name == name).unwrap()
    }

    fn outcome(row: &Row, words: &str, failed: usize) -> Outcome {
        let cell = |note: Option<&str>| Cell { words: words.into(), note: note.map(str::to_owned), failed: 0 };
        let cells = (0..row.table().situations().len()).map(|index| cell((index == 1).then_some("seen")));
        Outcome { cells: cells.collect(), passed: 1, failed }
    }

    #[test]
    fn what_was_not_run_or_did_not_hold_keeps_its_lines() {
        // The name of the one is the beginning of the other's, and the title of the third is that of a row of another table.
        let [sdk, events, mcp2, modern] = ["sdk", "sdk-events", "mcp2", "modern-mcp2"].map(named);
        let all = [sdk, events, mcp2, modern].map(|row| (row, outcome(row, "one", 0)));
        let first = page("", &all);
        assert!(first.contains("[^sdk-events-1]: seen"), "{first}");
        let again = page(&first, &[(sdk, outcome(sdk, "two", 0)), (events, outcome(events, "two", 1))]);
        assert_eq!(again.matches("| two").count(), sdk.table().situations().len(), "{again}");
        let others: usize = [events, mcp2, modern].map(|row| row.table().situations().len()).iter().sum();
        assert_eq!(again.matches("| one").count(), others, "{again}");
        assert_eq!(page(&again, &[]), again);
    }

    #[test]
    fn one_run_may_see_a_part_of_what_a_race_decides() {
        let committed = "| HAProxy | `may_have_executed`: 502 or the end of the connection | recovers |";
        for (seen, expected) in [
            ("| HAProxy | `may_have_executed`: 502 or the end of the connection | recovers |", true),
            ("| HAProxy | `may_have_executed`: 502 | recovers |", true),
            ("| HAProxy | `may_have_executed`: the end of the connection | recovers |", true),
            ("| HAProxy | `not_executed`: 502 | recovers |", false),
            ("| HAProxy | `may_have_executed`: 503 | recovers |", false),
            ("| HAProxy | `may_have_executed`: 502 or 503 | recovers |", false),
            ("| HAProxy | `may_have_executed`: 502 | does not recover |", false),
            ("| HAProxy | `may_have_executed`: 502 |", false),
        ] {
            assert_eq!(is_part_of(seen, committed), expected, "{seen}");
        }
    }

    #[test]
    fn each_row_has_a_name_and_a_line_of_its_own() {
        for (index, row) in ROWS.iter().enumerate() {
            for other in ROWS.iter().skip(index + 1) {
                assert_ne!(row.name, other.name);
                assert!(row.table() != other.table() || row.title() != other.title(), "{}", row.title());
            }
        }
    }
}
