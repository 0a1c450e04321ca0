//! One run of one test runner: its output is passed on line by line, and its own summary is read from it.
//!
//! The exit code and the summary must agree. A runner that exits well and says of no test that it passed did not test anything, and
//! one that exits badly without a summary (it did not compile, it crashed) counts as one failure.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::names;
use super::tally::{Tally, read_summaries};
use crate::workspace;

/// A runner to start.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) title: &'static str,
    /// What it needs first, in order; if one of these fails, the runner is not started.
    pub(crate) preparations: Vec<Command>,
    pub(crate) command: Command,
    /// Is it wrong if the runner found no test?
    pub(crate) must_find_tests: bool,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The runner closed with its summary.
    Ran(Tally),
    /// It did not get that far, or contradicts itself.
    Broken {
        /// What it did count.
        tally: Tally,
        /// What is wrong with it.
        problem: String,
    },
}

impl Outcome {
    /// What the runner counted; a broken run has at least one failure.
    pub(crate) fn tally(&self) -> Tally {
        match self {
            Self::Ran(tally) => *tally,
            Self::Broken { tally, .. } => Tally { failed: tally.failed.max(1), ..*tally },
        }
    }
}

/// What is told of a step in the end.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    /// The tests that failed, as far as the runner names them.
    pub(crate) failed: Vec<String>,
    /// Those that failed and passed when they were run again.
    pub(crate) unsteady: Vec<String>,
}

impl From<Outcome> for Report {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, failed: Vec::new(), unsteady: Vec::new() }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ran(tally) => tally.fmt(formatter),
            Self::Broken { problem, .. } => write!(formatter, "FAILED: {problem}"),
        }
    }
}

impl Step {
    /// Runs it to its end.
    pub(crate) fn run(self) -> Report {
        for preparation in self.preparations {
            let words = in_words(&preparation);
            println!("--> {words}");
            match pass_through(preparation) {
                Ok((_, status)) if status.success() => {}
                Ok((_, status)) => return broken(Tally::default(), format!("{words}: {status}")).into(),
                Err(problem) => return broken(Tally::default(), problem).into(),
            }
        }
        println!("--> {}", in_words(&self.command));
        match pass_through(self.command) {
            Ok((lines, status)) => Report {
                outcome: judge(&lines, status.success(), &status.to_string(), self.must_find_tests),
                failed: names::failed(&lines),
                unsteady: names::unsteady(&lines),
            },
            Err(problem) => broken(Tally::default(), problem).into(),
        }
    }
}

/// A command as a person would write it, without the folders of its program.
fn in_words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    for argument in command.get_args() {
        words.push(' ');
        words.push_str(&argument.to_string_lossy());
    }
    words
}

/// Runs a command to its end, with its output passed on; gives back the lines.
fn pass_through(mut command: Command) -> Result<(Vec<String>, ExitStatus), String> {
    let program = in_words(&command);
    workspace::forget_our_crate(&mut command);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("cannot start {program}: {error}"))?;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let out = child.stdout.take().map(|pipe| pass_on(pipe, Arc::clone(&lines)));
    let err = child.stderr.take().map(|pipe| pass_on(pipe, Arc::clone(&lines)));
    let status = child.wait().map_err(|error| format!("cannot wait for {program}: {error}"))?;
    for thread in [out, err].into_iter().flatten() {
        // The threads end with the pipes and cannot panic.
        let _ = thread.join();
    }
    let lines = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((lines, status))
}

/// Does the summary agree with the exit code?
fn judge(lines: &[String], success: bool, status: &str, must_find_tests: bool) -> Outcome {
    let Some(tally) = read_summaries(lines) else {
        return broken(Tally::default(), format!("no summary ({status})"));
    };
    match (success, tally.failed) {
        (true, 0) if tally.passed == 0 && must_find_tests => broken(tally, "no test was run".into()),
        (true, 0) => Outcome::Ran(tally),
        (true, _) => broken(tally, format!("{tally}, but {status}")),
        (false, 0) => broken(tally, format!("{tally}, and then {status}")),
        (false, _) => Outcome::Ran(tally),
    }
}

fn broken(tally: Tally, problem: String) -> Outcome {
    Outcome::Broken { tally, problem }
}

/// Copies a pipe to our output, line by line, and keeps the lines.
fn pass_on(pipe: impl Read + Send + 'static, lines: Arc<Mutex<Vec<String>>>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            // A closed output is no reason to stop reading: the runner would block on its pipe.
            let _ = writeln!(std::io::stdout(), "{text}");
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            line.clear();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSED: &str = "     Summary [   0.035s] 3 tests run: 3 passed, 0 skipped";
    const FAILED: &str = "     Summary [   0.035s] 3 tests run: 2 passed, 1 failed, 0 skipped";

    fn judged(line: &str, success: bool) -> Outcome {
        judge(&[line.to_owned()], success, "exit status", true)
    }

    #[test]
    fn a_summary_that_agrees_with_the_exit_code_is_believed() {
        assert_eq!(judged(PASSED, true), Outcome::Ran(Tally { passed: 3, failed: 0, skipped: 0 }));
        assert_eq!(judged(FAILED, false), Outcome::Ran(Tally { passed: 2, failed: 1, skipped: 0 }));
    }

    #[test]
    fn a_summary_that_contradicts_the_exit_code_is_a_failure() {
        assert_eq!(judged(PASSED, false).tally(), Tally { passed: 3, failed: 1, skipped: 0 });
        assert!(matches!(judged(FAILED, true), Outcome::Broken { .. }));
    }

    #[test]
    fn a_run_without_a_summary_or_without_a_test_is_a_failure() {
        assert_eq!(judged("error: could not compile", false).tally().failed, 1);
        assert_eq!(judged("", true).tally().failed, 1);
        let nothing = judged("Summary [ 0.000s] 0 tests run: 0 passed, 0 skipped", true);
        assert_eq!(nothing.tally().failed, 1);
    }

    #[test]
    fn a_preparation_that_fails_is_a_failure_and_the_runner_is_not_started() {
        let mut command = Command::new("sh");
        command.arg("-c").arg("echo 'test result: ok. 2 passed; 0 failed;'");
        let step = Step { title: "sh", preparations: vec![Command::new("false")], command, must_find_tests: true };
        let outcome = step.run().outcome;
        assert_eq!(outcome.tally(), Tally { passed: 0, failed: 1, skipped: 0 });
        assert!(outcome.to_string().contains("false"), "{outcome}");
    }

    #[test]
    fn output_is_read_from_both_pipes() {
        let mut command = Command::new("sh");
        command.arg("-c").arg("echo 'test result: ok. 2 passed; 0 failed; 1 ignored;' >&2; echo 'test result: ok. 3 passed; 0 failed; 0 ignored;'");
        let outcome = Step { title: "sh", preparations: Vec::new(), command, must_find_tests: true }.run().outcome;
        assert_eq!(outcome, Outcome::Ran(Tally { passed: 5, failed: 0, skipped: 1 }));
    }

    #[test]
    fn the_tests_that_failed_are_named() {
        let mut command = Command::new("sh");
        command.arg("-c").arg("echo 'test one ... FAILED'; echo 'test result: FAILED. 0 passed; 1 failed;'; exit 1");
        let report = Step { title: "sh", preparations: Vec::new(), command, must_find_tests: true }.run();
        assert_eq!(report.outcome, Outcome::Ran(Tally { passed: 0, failed: 1, skipped: 0 }));
        assert_eq!(report.failed, ["one"]);
    }
}
