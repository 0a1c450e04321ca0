//! How many tests passed and failed, read from the closing lines of the runners:
//!
//! | runner | line |
//! | --- | --- |
//! | cargo nextest | `Summary [   0.035s] 3 tests run: 3 passed, 0 skipped` |
//! | cargo test | `test result: ok. 3 passed; 0 failed; 0 ignored; ..` |
//! | pytest | `===== 3 passed, 1 skipped in 0.12s =====` |
//! | node --test | `# pass 3`, `# fail 0`, .., or the same after `ℹ` |
//! | swift test, XCTest | `Executed 3 tests, with 0 failures (0 unexpected) in ..`, once for each suite; the last is the sum |
//! | swift test, Swift Testing | `✔ Test run with 3 tests in 1 suite passed after ..` |

use std::fmt;
use std::ops::Add;

/// Counts of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(formatter, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// The sum of all closing lines; `None` if there is none.
pub(crate) fn read_summaries(lines: &[String]) -> Option<Tally> {
    let lines: Vec<String> = lines.iter().map(|line| without_colours(line)).collect();
    // nextest shows what a failed test printed, and the harness in each test binary closes with a line of its own: counted once already.
    let nextest = lines.iter().any(|line| is_nextest(line));
    let counts = |line: &&String| !nextest || is_nextest(line);
    let once = lines.iter().filter(counts).filter_map(|line| read_summary(line)).reduce(Add::add);
    // XCTest counts each suite, and then all of them once more.
    let xctest = lines.iter().filter_map(|line| read_xctest(line)).next_back();
    let swift_testing = lines.iter().filter_map(|line| read_swift_testing(line)).next_back();
    [once, xctest, swift_testing].into_iter().flatten().reduce(Add::add)
}

fn is_nextest(line: &str) -> bool {
    line.trim().starts_with("Summary [")
}

fn read_summary(line: &str) -> Option<Tally> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("test result: ") {
        let (_verdict, counts) = rest.split_once(". ")?;
        return Some(read_counts(counts, ';'));
    }
    if let Some(count) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) {
        return read_node(count);
    }
    if line.starts_with('=') && line.ends_with('=') {
        return read_pytest(line.trim_matches(['=', ' ']));
    }
    let rest = line.strip_prefix("Summary [")?;
    let (_, rest) = rest.split_once(']')?;
    let (run, counts) = rest.split_once("run:")?;
    let mut tally = read_counts(counts, ',');
    // "2/3 tests run" of a run that was cut short: the third is neither passed nor failed, and must not vanish.
    if let Some((ran, planned)) = run.split_whitespace().next().and_then(|figure| figure.split_once('/'))
        && let (Ok(ran), Ok(planned)) = (ran.parse::<u64>(), planned.parse::<u64>())
    {
        tally.failed += planned.saturating_sub(ran);
    }
    Some(tally)
}

/// Reads `pass 3` and its kin; `tests 3`, their sum, and the rest say nothing new.
fn read_node(line: &str) -> Option<Tally> {
    let (word, count) = line.split_once(' ')?;
    let count = count.parse().ok()?;
    match word {
        "pass" => Some(Tally { passed: count, ..Tally::default() }),
        "fail" | "cancelled" => Some(Tally { failed: count, ..Tally::default() }),
        "skipped" | "todo" => Some(Tally { skipped: count, ..Tally::default() }),
        _ => None,
    }
}

/// Reads `3 passed, 1 skipped in 0.12s`; other rulers of pytest have no such end.
fn read_pytest(line: &str) -> Option<Tally> {
    let (counts, elapsed) = line.rsplit_once(" in ")?;
    elapsed.starts_with(|c: char| c.is_ascii_digit()).then(|| read_counts(counts, ','))
}

/// Reads `Executed 3 tests, with 1 test skipped and 0 failures (0 unexpected) in ..`.
fn read_xctest(line: &str) -> Option<Tally> {
    let (executed, rest) = line.trim().strip_prefix("Executed ")?.split_once(" test")?;
    let executed: u64 = executed.parse().ok()?;
    let count_before = |word: &str| {
        let (before, _) = rest.split_once(word)?;
        before.split_whitespace().next_back()?.parse().ok()
    };
    let failed: u64 = count_before(" failure")?;
    let skipped: u64 = count_before(" test skipped").or_else(|| count_before(" tests skipped")).unwrap_or(0);
    Some(Tally { passed: executed.saturating_sub(failed + skipped), failed, skipped })
}

/// Reads `Test run with 3 tests in 1 suite passed after ..` or `.. failed after 0.1 seconds with 2 issues.`: how many tests had an issue
/// is not told, so a failed run counts as one failure.
fn read_swift_testing(line: &str) -> Option<Tally> {
    let (_, rest) = line.split_once("Test run with ")?;
    let ran: u64 = rest.split_whitespace().next()?.parse().ok()?;
    let failed = u64::from(rest.contains(" failed after "));
    Some(Tally { passed: ran.saturating_sub(failed), failed, skipped: 0 })
}

/// Reads `3 passed (1 slow), 1 failed, 1 timed out, 0 skipped` and the like.
fn read_counts(counts: &str, separator: char) -> Tally {
    let mut tally = Tally::default();
    for part in counts.split(separator) {
        let mut words = part.split_whitespace();
        let Some(count) = words.next().and_then(|figure| figure.parse::<u64>().ok()) else { continue };
        match words.next() {
            Some("passed") => tally.passed += count,
            // "failed", "timed out", "exec failed"
            Some("failed" | "timed" | "exec" | "error" | "errors" | "xpassed") => tally.failed += count,
            Some("skipped" | "ignored" | "xfailed") => tally.skipped += count,
            _ => {}
        }
    }
    tally
}

/// Removes the colour codes (`ESC [ .. m`) that a runner may write.
pub(crate) fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_code, text)| text));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, skipped: u64) -> Option<Tally> {
        Some(Tally { passed, failed, skipped })
    }

    #[test]
    fn the_closing_line_of_nextest_is_read() {
        assert_eq!(read_summary("     Summary [   0.035s] 3 tests run: 3 passed, 2 skipped"), tally(3, 0, 2));
        assert_eq!(
            read_summary(
                "     Summary [   1.2s] 9 tests run: 5 passed (1 slow, 1 leaky), 3 failed, 1 timed out, 0 skipped"
            ),
            tally(5, 4, 0)
        );
    }

    #[test]
    fn a_failure_that_nextest_shows_is_counted_once() {
        let lines = [
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.30s",
            "     Summary [   1.2s] 9 tests run: 8 passed, 1 failed, 0 skipped",
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.30s",
        ];
        assert_eq!(read_summaries(&lines.map(str::to_owned)), tally(8, 1, 0));
    }

    #[test]
    fn colours_do_not_hide_a_closing_line() {
        let line = "\u{1b}[32;1m     Summary\u{1b}[0m [   0.035s] \u{1b}[1m1\u{1b}[0m test run: \u{1b}[1m1\u{1b}[0m passed, 0 skipped";
        assert_eq!(read_summaries(&[line.to_owned()]), tally(1, 0, 0));
    }

    #[test]
    fn the_closing_line_of_pytest_is_read() {
        assert_eq!(read_summary("======= 1 failed, 3 passed, 1 skipped, 2 errors in 0.12s ======="), tally(3, 3, 1));
        assert_eq!(read_summary("===== 40 passed in 65.31s (0:01:05) ====="), tally(40, 0, 0));
        assert_eq!(read_summary("======= test session starts ======="), None);
        assert_eq!(read_summary("======= no tests ran in 0.01s ======="), tally(0, 0, 0));
    }

    #[test]
    fn the_closing_lines_of_node_add_up() {
        for mark in ["#", "ℹ"] {
            let lines =
                ["tests 7", "suites 1", "pass 4", "fail 1", "cancelled 1", "skipped 1", "todo 0", "duration_ms 12"];
            let lines = lines.map(|line| format!("{mark} {line}"));
            assert_eq!(read_summaries(&lines), tally(4, 2, 1));
        }
    }

    #[test]
    fn the_last_closing_line_of_xctest_is_the_sum_and_swift_testing_has_its_own() {
        let lines = [
            "\t Executed 2 tests, with 0 failures (0 unexpected) in 0.004 (0.004) seconds",
            "\t Executed 5 tests, with 1 test skipped and 1 failure (0 unexpected) in 0.004 (0.004) seconds",
            "✔ Test run with 3 tests in 1 suite passed after 0.001 seconds.",
        ];
        assert_eq!(read_summaries(&lines.map(str::to_owned)), tally(6, 1, 1));
        let failed = "✘ Test run with 3 tests in 1 suite failed after 0.001 seconds with 2 issues.";
        assert_eq!(read_summaries(&[failed.to_owned()]), tally(2, 1, 0));
    }

    #[test]
    fn tests_that_a_cut_run_did_not_reach_count_as_failed() {
        assert_eq!(read_summary("     Summary [   0.1s] 2/5 tests run: 1 passed, 1 failed, 0 skipped"), tally(1, 4, 0));
    }

    #[test]
    fn the_closing_line_of_cargo_test_is_read() {
        let line = "test result: FAILED. 5 passed; 1 failed; 2 ignored; 0 measured; 7 filtered out; finished in 0.30s";
        assert_eq!(read_summary(line), tally(5, 1, 2));
    }

    #[test]
    fn other_lines_are_no_summary() {
        for line in ["", "running 3 tests", "test result", "Summary of the run", "3 passed, 1 failed"] {
            assert_eq!(read_summary(line), None, "{line}");
        }
    }

    #[test]
    fn several_summaries_add_up() {
        let lines = [
            "test result: ok. 1 passed; 0 failed; 0 ignored;",
            "noise",
            "test result: ok. 2 passed; 0 failed; 0 ignored;",
        ];
        assert_eq!(read_summaries(&lines.map(str::to_owned)), tally(3, 0, 0));
        assert_eq!(read_summaries(&[]), None);
    }

    #[test]
    fn the_closing_line_of_ours_is_plain() {
        assert_eq!(Tally { passed: 3, failed: 0, skipped: 0 }.to_string(), "3 passed, 0 failed");
        assert_eq!(Tally { passed: 3, failed: 1, skipped: 2 }.to_string(), "3 passed, 1 failed, 2 skipped");
    }
}
