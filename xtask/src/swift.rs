//! `cargo xtask swift`: what the Swift package links, and whether its generated sources are those of this library.
//!
//! On Linux that is the static library in a folder of its own, and the file by which pkg-config finds it. On macOS it is an XCFramework with
//! slices for macOS, iOS and its simulator, zipped and with the checksum that the manifest of a release needs.

mod xcframework;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// What a static library of Rust needs besides itself on Linux (`rustc --print native-static-libs`).
const NATIVE_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc";

const LIBRARY: &str = "liboncewire_swift.a";

/// The generated files, and where they are kept.
const GENERATED: [(&str, &str); 2] = [
    ("oncewire_swift.swift", "bindings-swift/Sources/OncewireNative"),
    ("oncewire_swiftFFI.h", "bindings-swift/Sources/oncewire_swiftFFI"),
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build the library with optimisations
    #[arg(long)]
    release: bool,
    /// Write the generated sources in place of comparing them
    #[arg(long)]
    write: bool,
}

/// Builds and checks. `Ok(false)` means that the generated sources are not those of the library.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let root = workspace::root()?;
    let folder = workspace::target()?.join("swift");
    let profile = if options.release { "release" } else { "debug" };

    let mut arguments = vec!["build", "-p", "oncewire-swift"];
    if options.release {
        arguments.push("--release");
    }
    cargo(&root, &arguments)?;
    let library = workspace::target()?.join(profile).join(LIBRARY);

    let generated = generate(&root, &library, &folder)?;
    if !check(&root, &generated, options.write)? {
        return Ok(false);
    }

    if cfg!(target_os = "macos") {
        xcframework::make(&root, &generated, &folder)?;
    } else {
        provide(&library, &folder)?;
        println!("XCFramework: made on macOS only, not here");
    }
    Ok(true)
}

/// The sources that belong to this library, in a folder of their own. They are made from the library itself, so they cannot describe another.
fn generate(root: &Path, library: &Path, folder: &Path) -> Result<PathBuf> {
    let generated = folder.join("generated");
    if generated.exists() {
        fs::remove_dir_all(&generated).context("cannot remove the old generated sources")?;
    }
    fs::create_dir_all(&generated).context("cannot make a folder for the generated sources")?;
    let mut arguments: Vec<OsString> =
        ["run", "--quiet", "-p", "oncewire-swift-bindgen", "--", "--swift-sources", "--headers", "--metadata-no-deps"]
            .map(OsString::from)
            .into();
    arguments.extend([library.into(), generated.clone().into()]);
    cargo(root, &arguments)?;
    Ok(generated)
}

/// Are the committed sources the generated ones?
fn check(root: &Path, generated: &Path, write: bool) -> Result<bool> {
    let mut same = true;
    for (name, kept) in GENERATED {
        let new = fs::read(generated.join(name)).with_context(|| format!("{name} was not generated"))?;
        let place = root.join(kept).join(name);
        if fs::read(&place).is_ok_and(|old| old == new) {
            continue;
        }
        if write {
            fs::write(&place, new).with_context(|| format!("cannot write {}", place.display()))?;
            println!("written: {kept}/{name}");
        } else {
            println!("{kept}/{name} is not what the library generates: run `cargo xtask swift --write` and commit it");
            same = false;
        }
    }
    Ok(same)
}

/// Puts the library where the linker finds it and no other, and says where that is.
fn provide(library: &Path, folder: &Path) -> Result<()> {
    let place = folder.join("lib");
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let part = place.join(format!("{LIBRARY}.part"));
    fs::copy(library, &part).context("cannot copy the library")?;
    fs::rename(&part, place.join(LIBRARY)).context("cannot put the library in its place")?;
    let description = format!(
        "Name: oncewire_swift\nDescription: the Rust core of the Swift package\nVersion: {}\nLibs: -L{} -loncewire_swift {NATIVE_LIBRARIES}\n",
        env!("CARGO_PKG_VERSION"),
        place.display(),
    );
    fs::write(folder.join("oncewire_swift.pc"), description).context("cannot write oncewire_swift.pc")?;
    println!("the package links it with PKG_CONFIG_PATH={}", folder.display());
    Ok(())
}

fn cargo(root: &Path, arguments: &[impl AsRef<std::ffi::OsStr>]) -> Result<()> {
    let mut command = Command::new(workspace::cargo());
    command.current_dir(root).args(arguments);
    succeed(&mut command)
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str) -> (PathBuf, PathBuf) {
        let root = std::env::temp_dir().join(format!("xtask-swift-{}-{name}", std::process::id()));
        let generated = root.join("generated");
        for folder in [&generated, &root.join(GENERATED[0].1), &root.join(GENERATED[1].1)] {
            fs::create_dir_all(folder).unwrap();
        }
        for (name, _) in GENERATED {
            fs::write(generated.join(name), name).unwrap();
        }
        (root, generated)
    }

    #[test]
    fn sources_that_differ_are_told_and_written_only_if_asked() {
        let (root, generated) = tree("differ");
        assert!(!check(&root, &generated, false).unwrap());
        assert!(check(&root, &generated, true).unwrap());
        assert!(check(&root, &generated, false).unwrap());
        fs::write(root.join(GENERATED[1].1).join(GENERATED[1].0), "another").unwrap();
        assert!(!check(&root, &generated, false).unwrap());
    }

    #[test]
    fn the_library_is_described_where_it_is() {
        let (root, _) = tree("provide");
        fs::write(root.join("built.a"), "library").unwrap();
        provide(&root.join("built.a"), &root).unwrap();
        let description = fs::read_to_string(root.join("oncewire_swift.pc")).unwrap();
        assert!(description.contains(&format!("-L{}/lib -loncewire_swift", root.display())), "{description}");
        assert_eq!(fs::read_to_string(root.join("lib").join(LIBRARY)).unwrap(), "library");
    }
}
