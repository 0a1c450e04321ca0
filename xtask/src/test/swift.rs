//! The Swift part: `cargo xtask swift`, then `swift test`. On Linux inside the root
//! that `bindings-swift/scripts/toolchain.sh` makes, elsewhere with the Swift of the system.

use std::path::Path;
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

/// What to run: the example, then the tests, which run it.
pub(crate) fn steps(root: &Path) -> Result<Vec<Step>> {
    let target = workspace::target()?;
    let folder = target.join("swift");
    let scratch = folder.join("test");
    let examples = folder.join("examples");

    let mut preparations = Vec::new();
    if cfg!(target_os = "linux") {
        let mut toolchain = Command::new("sh");
        toolchain.arg(root.join("bindings-swift").join("scripts").join("toolchain.sh"));
        preparations.push(toolchain);
    }
    // The library, and whether the committed sources are those that it generates.
    preparations.push(rust::cargo(root, &["xtask", "swift"]));
    // The package manager does not link anew when only the library has changed.
    let mut unlink = Command::new("sh");
    unlink
        .args(["-c", "rm -rf -- \"$1\"/*/debug/*.xctest \"$2\"/*/debug/oncewire-twin", "sh"])
        .args([&scratch, &examples]);
    preparations.push(unlink);
    let (build, server) = fault_server(root)?;
    preparations.push(build);

    preparations.push(swift(root, &["build", "--package-path", "bindings-swift/examples"], &folder, &examples)?);
    let mut command = swift(root, &["test", "-Xswiftc", "-warnings-as-errors"], &folder, &scratch)?;
    command.env("ONCEWIRE_FAULT_SERVER", &server);
    command.env("ONCEWIRE_TWIN", examples.join("debug").join("oncewire-twin"));
    Ok(vec![Step { title: "swift test", preparations, command, must_find_tests: true }])
}
