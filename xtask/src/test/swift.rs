//! The Swift part: the static library of the core, what tells the package manager where it is, then `swift test`. On Linux inside the root
//! that `bindings-swift/scripts/toolchain.sh` makes, elsewhere with the Swift of the system.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::step::Step;
use super::{fault_server, quiet_success, rust};
use crate::workspace;

/// What a static library of Rust needs besides itself on Linux (`rustc --print native-static-libs`).
const NATIVE_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc";

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

/// What to run.
pub(crate) fn steps(root: &Path) -> Result<Vec<Step>> {
    let scripts = root.join("bindings-swift").join("scripts");
    let target = workspace::target()?;
    let folder = target.join("swift");
    let library = folder.join("lib");
    let scratch = folder.join("test");
    fs::create_dir_all(&library).with_context(|| format!("cannot make {}", library.display()))?;
    let description = format!(
        "Name: oncewire_swift\nDescription: the Rust core of the Swift package\nVersion: {}\nLibs: -L{} -loncewire_swift {NATIVE_LIBRARIES}\n",
        env!("CARGO_PKG_VERSION"),
        library.display(),
    );
    fs::write(folder.join("oncewire_swift.pc"), description).context("cannot write oncewire_swift.pc")?;

    let mut preparations = Vec::new();
    if cfg!(target_os = "linux") {
        let mut toolchain = Command::new("sh");
        toolchain.arg(scripts.join("toolchain.sh"));
        preparations.push(toolchain);
    }
    preparations.push(rust::cargo(root, &["build", "-p", "oncewire-swift"]));
    // Into a folder of its own, so that the linker finds the static library and no other.
    let mut copy = Command::new("cp");
    copy.arg(target.join("debug").join("liboncewire_swift.a")).arg(&library);
    preparations.push(copy);
    // The package manager does not link anew when only the library has changed.
    let mut unlink = Command::new("sh");
    unlink.args(["-c", "rm -rf -- \"$1\"/*/debug/*.xctest", "sh"]).arg(&scratch);
    preparations.push(unlink);
    let (build, server) = fault_server(root)?;
    preparations.push(build);

    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("sh");
        command.arg(scripts.join("in-toolchain.sh")).arg("swift");
        command
    } else {
        Command::new("swift")
    };
    command.current_dir(root).arg("test").arg("--scratch-path").arg(&scratch);
    command.env("PKG_CONFIG_PATH", &folder).env("ONCEWIRE_FAULT_SERVER", server);
    if !target.starts_with(root) {
        command.env("ONCEWIRE_SWIFT_BIND", &target);
    }
    Ok(vec![Step { title: "swift test", preparations, command, must_find_tests: true }])
}
