//! The Node part: the packages of the lock file, the addon and the TypeScript built, then the tests of the package by Node's own runner.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::step::Step;
use super::{fault_server, quiet_success};

/// The oldest Node that the package promises to run on.
const NODE: u32 = 20;

/// Is there a Node that the package promises to run on, and npm?
pub(crate) fn check_toolchain() -> Result<()> {
    let output = Command::new("node").arg("--version").output().context("node is not on the path")?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|number| number.parse().ok());
    if major.is_none_or(|major: u32| major < NODE) {
        bail!("node {version} is too old: {NODE} or newer is needed");
    }
    if !quiet_success(Command::new("npm").arg("--version")) {
        bail!("npm is not on the path");
    }
    Ok(())
}

/// What to run.
pub(crate) fn steps(root: &Path) -> Result<Vec<Step>> {
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.current_dir(root.join("bindings-node")).args(arguments);
        command
    };
    let (build, server) = fault_server(root)?;
    let preparations = vec![
        // Without the scripts of the packages: none is needed, ours that builds the addon follows.
        npm(&["ci", "--no-audit", "--no-fund", "--ignore-scripts"]),
        npm(&["run", "build:debug"]),
        npm(&["run", "build:ts"]),
        // Lint, the tests of the types, the reference, and what would be packed.
        npm(&["run", "check"]),
        unchanged(root),
        build,
    ];
    let mut command = npm(&["test"]);
    command.env("ONCEWIRE_FAULT_SERVER", server);
    Ok(vec![Step { title: "node --test", preparations, command, must_find_tests: true }])
}

/// The types of the addon are written by each build; those in the tree must be the same.
fn unchanged(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).args(["diff", "--exit-code", "--", "bindings-node/native.d.ts"]);
    command
}
