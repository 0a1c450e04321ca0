//! The Rust part: all crates of the workspace by cargo-nextest where it is installed, else by cargo test; then the examples in the docs,
//! which nextest does not run.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::step::Step;
use crate::workspace;

/// The oldest compiler that the workspace promises to build with.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Is there a compiler, and is it new enough?
pub(crate) fn check_toolchain() -> Result<()> {
    let output = Command::new("rustc").arg("--version").output().context("rustc is not on the path")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().nth(1).context("rustc does not tell its version")?;
    if !is_at_least(version, RUST_VERSION) {
        bail!("rustc {version} is too old: {RUST_VERSION} or newer is needed");
    }
    Ok(())
}

/// What to run, in order.
pub(crate) fn steps(root: &Path) -> Vec<Step> {
    let tests = if has_nextest() {
        let arguments = ["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"];
        Step { title: "tests (cargo nextest)", command: cargo(root, &arguments), must_find_tests: true }
    } else {
        println!("cargo-nextest is not installed; cargo test runs the tests one binary after the other");
        // Not --doc: the examples in the docs are a step of their own.
        let arguments =
            ["test", "--workspace", "--all-features", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"];
        Step { title: "tests (cargo test)", command: cargo(root, &arguments), must_find_tests: true }
    };
    let arguments = ["test", "--workspace", "--all-features", "--no-fail-fast", "--doc"];
    let examples = Step { title: "examples in the docs", command: cargo(root, &arguments), must_find_tests: false };
    vec![tests, examples]
}

fn has_nextest() -> bool {
    let mut command = Command::new(workspace::cargo());
    command.args(["nextest", "--version"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace::cargo());
    command.current_dir(root).args(arguments);
    // The summary is read from the output; a fixed shape of it is easier to read, also for people in a log.
    command.env("CARGO_TERM_COLOR", "never");
    command
}

/// Compares the numbers of two versions; what follows a hyphen (nightly, beta) is left out.
fn is_at_least(version: &str, least: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let plain = text.split('-').next().unwrap_or_default();
        plain.split('.').map(|number| number.parse().unwrap_or(0)).collect()
    };
    numbers(version) >= numbers(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_at_least("1.95.0", "1.89"));
        assert!(is_at_least("1.89.0-nightly", "1.89"));
        assert!(!is_at_least("1.9.0", "1.89"));
        assert!(!is_at_least("1.88.9", "1.89"));
    }

    #[test]
    fn the_toolchain_that_builds_this_is_new_enough() {
        check_toolchain().unwrap();
    }
}
