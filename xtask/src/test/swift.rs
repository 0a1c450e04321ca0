//! The Swift part: `cargo xtask swift`, then `swift test`. On Linux inside the root
//! that `bindings-swift/scripts/toolchain.sh` makes, elsewhere with the Swift of the system.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::step::Step;
use super::{fault_server, quiet_success, rust};
use crate::swift::swift;
use crate::workspace;

/// Can there be a Swift here? On Linux a script makes one, as root and on a Debian.
pub(crate) fn check_toolchain() -> Result<()> {
    if !cfg!(target_os = "linux") {
        if !quiet_success(Command::new("swift").arg("--version")) {
            bail!("swift is not on the path");
        }
        return Ok(());
    }
    if !quiet_success(Command::new("sh").args(["-c", "[ \"$(id -u)\" = 0 ] && command -v apt-get unshare chroot"])) {
        bail!("on Linux the Swift toolchain is set up in a root of its own, which needs root and a Debian");
    }
    Ok(())
}

/// The folder of what the package links.
fn folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("swift"))
}

/// The programs of the examples, once they are built.
pub(crate) fn example(name: &str) -> Result<PathBuf> {
    Ok(folder()?.join("examples").join("debug").join(name))
}

/// The toolchain, the library, whether the committed sources are those that it generates, and the examples.
pub(crate) fn build(root: &Path) -> Result<Vec<Command>> {
    let folder = folder()?;
    let examples = folder.join("examples");
    let mut commands = Vec::new();
    if cfg!(target_os = "linux") {
        let mut toolchain = Command::new("sh");
        toolchain.arg(root.join("bindings-swift").join("scripts").join("toolchain.sh"));
        commands.push(toolchain);
    }
    commands.push(rust::cargo(root, &["xtask", "swift"]));
    // The package manager does not link anew when only the library has changed.
    let mut unlink = Command::new("sh");
    let script = "rm -f -- \"$1\"/*/debug/oncewire-twin \"$1\"/*/debug/oncewire-conformance";
    unlink.args(["-c", script, "sh"]).arg(&examples);
    commands.push(unlink);
    commands.push(swift(root, &["build", "--package-path", "bindings-swift/examples"], &folder, &examples)?);
    Ok(commands)
}

/// What to run: the examples, then the tests, which run one.
pub(crate) fn steps(root: &Path) -> Result<Vec<Step>> {
    let folder = folder()?;
    let scratch = folder.join("test");
    let mut preparations = build(root)?;
    // As with the examples.
    let mut unlink = Command::new("sh");
    unlink.args(["-c", "rm -rf -- \"$1\"/*/debug/*.xctest", "sh"]).arg(&scratch);
    preparations.push(unlink);
    let (build, server) = fault_server(root)?;
    preparations.push(build);

    let mut command = swift(root, &["test", "-Xswiftc", "-warnings-as-errors"], &folder, &scratch)?;
    command.env("ONCEWIRE_FAULT_SERVER", &server);
    command.env("ONCEWIRE_TWIN", example("oncewire-twin")?);
    Ok(vec![Step { title: "swift test", preparations, command, must_find_tests: true }])
}
