//! Where things are: the root of the workspace, and the folder for what the commands build and install.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// The root of the workspace: the folder above this crate's.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.parent().context("the xtask crate has no parent folder")?;
    Ok(root.to_owned())
}

/// A page of the documentation as it is committed; empty if there is none.
pub(crate) fn page(file: &Path) -> Result<String> {
    if !file.exists() {
        return Ok(String::new());
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    // A checkout may end lines otherwise.
    Ok(text.replace("\r\n", "\n"))
}

/// The folder that cargo builds into, which is ignored by git and removed by `cargo clean`.
pub(crate) fn target() -> Result<PathBuf> {
    match env::var_os("CARGO_TARGET_DIR") {
        // A relative one is relative to where cargo was started; from there on, so are we.
        Some(folder) => std::path::absolute(PathBuf::from(folder)).context("CARGO_TARGET_DIR is not a usable path"),
        None => Ok(root()?.join("target")),
    }
}

/// Cargo tells a program that it runs which crate it is of. A cargo that is started in turn must not hear that: build scripts read the same
/// variables, and would run again, and all that depends on them would be built again, each time.
pub(crate) fn forget_our_crate(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
}

/// The cargo that started us, or the one on the path.
pub(crate) fn cargo() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
