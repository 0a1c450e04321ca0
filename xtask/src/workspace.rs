//! Where things are: the root of the workspace, and the folder for what the commands build and install.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The root of the workspace: the folder above this crate's.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.parent().context("the xtask crate has no parent folder")?;
    Ok(root.to_owned())
}

/// The folder that cargo builds into, which is ignored by git and removed by `cargo clean`.
pub(crate) fn target() -> Result<PathBuf> {
    match env::var_os("CARGO_TARGET_DIR") {
        // A relative one is relative to where cargo was started; from there on, so are we.
        Some(folder) => std::path::absolute(PathBuf::from(folder)).context("CARGO_TARGET_DIR is not a usable path"),
        None => Ok(root()?.join("target")),
    }
}

/// The cargo that started us, or the one on the path.
pub(crate) fn cargo() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
