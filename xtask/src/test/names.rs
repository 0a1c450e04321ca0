//! Which tests failed, read from what the runners print of each: whoever sees only the end of a long log must still see the names.
//!
//! | runner | line |
//! | --- | --- |
//! | cargo nextest | `FAIL [   0.035s] (1/9) crate::binary name`, or `TIMEOUT`, or `SIGABRT` and its kin |
//! | cargo test | `test name ... FAILED` |
//! | pytest | `FAILED tests/file.py::name - why`, or `ERROR tests/file.py::name` |
//! | node --test | `✖ name (1.5ms)`, or `not ok 3 - name` |
//! | swift test | `✘ Test name() failed after ..`, and for one of many arguments `✘ Test name(_:) recorded an issue with 1 argument one → ..` |

use super::tally::without_colours;

/// So many names are told; of a run in which everything failed they would bury the rest.
const MOST: usize = 40;

/// The failed tests in the order of the log, each once; the last line says how many more there are.
pub(crate) fn failed(lines: &[String]) -> Vec<String> {
    each_once(lines, failed_test)
}

/// The tests that passed at their second try only: faults of their own, which fail no run, and must not be forgotten for it.
pub(crate) fn unsteady(lines: &[String]) -> Vec<String> {
    each_once(lines, |line| nextest(line.trim(), |word| word.starts_with("FLAKY")))
}

fn each_once(lines: &[String], name_in: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in lines {
        if let Some(name) = name_in(&without_colours(line))
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(MOST);
    if more > 0 {
        names.truncate(MOST);
        names.push(format!("and {more} more"));
    }
    names
}

fn failed_test(line: &str) -> Option<String> {
    let line = line.trim();
    // `TRY 1 FAIL` is followed by the try that counts.
    let ended_badly = |word: &str| {
        matches!(word, "FAIL" | "TIMEOUT" | "ABORT") || word.starts_with("SIG") || word.starts_with("TRY 2 FAIL")
    };
    nextest(line, ended_badly)
        .or_else(|| cargo(line))
        .or_else(|| pytest(line))
        .or_else(|| node(line))
        .or_else(|| swift(line))
}

fn nextest(line: &str, is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let (word, rest) = line.split_once(" [")?;
    let (_elapsed, name) = rest.split_once(']')?;
    let name = name.trim();
    // `(1/9)`, the place in the run.
    let name = if name.starts_with('(') { name.split_once(')')?.1.trim() } else { name };
    (is_meant(word.trim()) && !name.is_empty()).then(|| name.to_owned())
}

fn cargo(line: &str) -> Option<String> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.to_owned())
}

fn pytest(line: &str) -> Option<String> {
    let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
    let name = rest.split(" - ").next()?;
    name.contains(".py").then(|| name.to_owned())
}

fn node(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("not ok ") {
        let (_number, name) = rest.split_once(" - ")?;
        return Some(name.to_owned());
    }
    let name = line.strip_prefix("✖ ")?;
    (name != "failing tests:").then(|| name.rsplit_once(" (").map_or(name, |(name, _elapsed)| name).to_owned())
}

fn swift(line: &str) -> Option<String> {
    let rest = line.strip_prefix("✘ Test ")?;
    if rest.starts_with("run with ") {
        return None;
    }
    if let Some((name, what)) = rest.split_once(" recorded an issue with ") {
        let (_count, arguments) = what.split_once(" → ")?;
        let argument = arguments.split(" at ").next().unwrap_or(arguments);
        return Some(format!("{name} {argument}"));
    }
    rest.split_once(" failed after ").map(|(name, _elapsed)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("        FAIL [   0.212s] (  12/1022) oncewire-tests::vectors s01[poke]", "oncewire-tests::vectors s01[poke]"; "nextest")]
    #[test_case("     TIMEOUT [  60.002s] (12/22) oncewire tests::hangs", "oncewire tests::hangs"; "nextest, one that hung")]
    #[test_case("     SIGABRT [   0.002s] oncewire tests::aborts", "oncewire tests::aborts"; "nextest, one that was aborted")]
    #[test_case("\u{1b}[31;1m        FAIL\u{1b}[0m [   0.2s] (1/2) a b", "a b"; "with colours")]
    #[test_case("test auth::tests::one ... FAILED", "auth::tests::one"; "cargo test")]
    #[test_case("FAILED tests/life_test.py::test_one - AssertionError", "tests/life_test.py::test_one"; "pytest")]
    #[test_case("ERROR tests/life_test.py::test_one", "tests/life_test.py::test_one"; "pytest, a fixture")]
    #[test_case("✖ closes twice (is quiet) (12.5ms)", "closes twice (is quiet)"; "node")]
    #[test_case("    not ok 3 - closes twice", "closes twice"; "node, in TAP")]
    #[test_case("✘ Test everyMethod() failed after 0.5 seconds with 1 issue.", "everyMethod()"; "swift")]
    #[test_case("✘ Test vector(_:) recorded an issue with 1 argument one → s59[close] at VectorTests.swift:33:9: no", "vector(_:) s59[close]"; "swift, one of many arguments")]
    fn the_name_is_read(line: &str, name: &str) {
        assert_eq!(failed(&[line.to_owned()]), [name]);
    }

    #[test_case("        PASS [   0.212s] (12/1022) oncewire-tests::vectors s01[poke]"; "nextest")]
    #[test_case("        SLOW [> 60.000s] oncewire tests::slow"; "nextest, one that is slow")]
    #[test_case("test auth::tests::one ... ok"; "cargo test")]
    #[test_case("ERROR oncewire: the server is away"; "a line of a log")]
    #[test_case("✖ failing tests:"; "a heading of node")]
    #[test_case("✘ Test run with 53 tests failed after 70.9 seconds with 2 issues."; "the closing line of swift")]
    #[test_case("✔ Test everyMethod() passed after 0.5 seconds."; "swift")]
    #[test_case(""; "nothing")]
    fn other_lines_name_none(line: &str) {
        assert!(failed(&[line.to_owned()]).is_empty());
    }

    #[test]
    fn a_test_that_passed_at_the_second_try_is_told_apart() {
        let lines = [
            "  TRY 1 FAIL [   0.045s] ( 1/43) oncewire tests::one",
            "  TRY 2 PASS [   0.031s] ( 1/43) oncewire tests::one",
            "   FLAKY 2/2 [   0.031s] ( 1/43) oncewire tests::one",
            "  TRY 1 FAIL [   0.045s] ( 2/43) oncewire tests::two",
            "  TRY 2 FAIL [   0.045s] ( 2/43) oncewire tests::two",
        ];
        let lines = lines.map(str::to_owned);
        assert_eq!(unsteady(&lines), ["oncewire tests::one"]);
        assert_eq!(failed(&lines), ["oncewire tests::two"]);
    }

    #[test]
    fn each_name_is_told_once_and_the_rest_is_counted() {
        let lines: Vec<String> = (0..50).flat_map(|n| [n, n]).map(|n| format!("test t{n} ... FAILED")).collect();
        let names = failed(&lines);
        assert_eq!(names.len(), MOST + 1);
        assert_eq!(names.last().map(String::as_str), Some("and 10 more"));
    }
}
