//! How many tests passed and failed, read from the closing lines of the runners: nextest's `Summary [..] 3 tests run: ..` and the
//! `test result: ..` of cargo test.

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
    lines.iter().filter_map(|line| read_summary(line)).reduce(Add::add)
}

fn read_summary(line: &str) -> Option<Tally> {
    let line = without_colours(line);
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("test result: ") {
        let (_verdict, counts) = rest.split_once(". ")?;
        return Some(read_counts(counts, ';'));
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

/// Reads `3 passed (1 slow), 1 failed, 1 timed out, 0 skipped` and the like.
fn read_counts(counts: &str, separator: char) -> Tally {
    let mut tally = Tally::default();
    for part in counts.split(separator) {
        let mut words = part.split_whitespace();
        let Some(count) = words.next().and_then(|figure| figure.parse::<u64>().ok()) else { continue };
        match words.next() {
            Some("passed") => tally.passed += count,
            // "failed", "timed out", "exec failed"
            Some("failed" | "timed" | "exec") => tally.failed += count,
            Some("skipped" | "ignored") => tally.skipped += count,
            _ => {}
        }
    }
    tally
}

/// Removes the colour codes (`ESC [ .. m`) that a runner may write.
fn without_colours(line: &str) -> String {
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
        assert_eq!(
            read_summary(
                "\u{1b}[32;1m     Summary\u{1b}[0m [   0.035s] \u{1b}[1m1\u{1b}[0m test run: \u{1b}[1m1\u{1b}[0m passed, 0 skipped"
            ),
            tally(1, 0, 0)
        );
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
