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

/// The packages of the lock file.
pub(crate) fn install(root: &Path) -> Command {
    // Without the scripts of the packages: none is needed, ours that builds the addon follows.
    npm(root, &["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
}

/// The addon, then the package.
pub(crate) fn build(root: &Path) -> [Command; 2] {
    [npm(root, &["run", "build:debug"]), npm(root, &["run", "build:ts"])]
}

/// What to run.
pub(crate) fn steps(root: &Path) -> Result<Vec<Step>> {
    let mut preparations = vec![install(root)];
    preparations.extend(build(root));
    // Lint, the tests of the types, the reference, and what would be packed.
    preparations.extend([npm(root, &["run", "check"]), unchanged(root)]);
    let (build, server) = fault_server(root)?;
    preparations.push(build);
    let mut command = npm(root, &["test"]);
    command.env("ONCEWIRE_FAULT_SERVER", server);
    Ok(vec![Step { title: "node --test", preparations, command, must_find_tests: true }])
}

fn npm(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(root.join("bindings-node")).args(arguments);
    command
}

/// The types of the addon are written by each build; those in the tree must be the same.
fn unchanged(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).args(["diff", "--exit-code", "--", "bindings-node/native.d.ts"]);
    command
}
