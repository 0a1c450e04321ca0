//! The Rust part: all crates of the workspace by cargo-nextest where it is installed, else by cargo test; then the examples in the docs,
//! which nextest does not run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::quiet_success;
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
    let step = |title, arguments: &[&str], must_find_tests| {
        let command = cargo(root, &[arguments, &["--workspace", "--all-features", "--no-fail-fast"]].concat());
        Step { title, preparations: Vec::new(), command, must_find_tests }
    };
    if quiet_success(Command::new(workspace::cargo()).args(["nextest", "--version"])) {
        vec![
            step("tests (cargo nextest)", &["nextest", "run"], true),
            step("examples in the docs (cargo test --doc)", &["test", "--doc"], false),
        ]
    } else {
        println!("cargo-nextest is not installed: cargo test runs the tests, one binary after the other");
        vec![step("tests and examples in the docs (cargo test)", &["test"], true)]
    }
}

/// A cargo command in the workspace.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
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
