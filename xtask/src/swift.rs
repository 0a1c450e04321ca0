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
    /// Build with optimisations and compare calls per second, from Swift and from Rust
    #[arg(long)]
    bench: bool,
}

/// Builds and checks. `Ok(false)` means that the generated sources are not those of the library.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let root = workspace::root()?;
    let release = options.release || options.bench;
    // A folder for each profile: the package manager does not link anew when only the library has changed.
    let (profile, folder) = if release { ("release", "swift/release") } else { ("debug", "swift") };
    let folder = workspace::target()?.join(folder);

    let mut arguments = vec!["build", "-p", "oncewire-swift"];
    if release {
        arguments.push("--release");
    }
    cargo(&root, &arguments)?;
    let library = workspace::target()?.join(profile).join(LIBRARY);

    let generated = generate(&root, &library, &folder)?;
    if !check(&root, &generated, options.write)? {
        return Ok(false);
    }

    if cfg!(target_os = "macos") {
        xcframework::make(&root, &generated, &workspace::target()?.join("swift"))?;
    } else {
        provide(&library, &folder)?;
        println!("XCFramework: made on macOS only, not here");
    }
    if options.bench {
        bench(&root, &folder)?;
    }
    Ok(true)
}

/// Swift with its arguments: on Linux inside the root that the project's script makes, elsewhere that of the system.
pub(crate) fn swift(root: &Path, arguments: &[&str], packages: &Path, scratch: &Path) -> Result<Command> {
    let mut command = in_toolchain(root)?;
    command.arg("swift").args(arguments).arg("--scratch-path").arg(scratch).env("PKG_CONFIG_PATH", packages);
    Ok(command)
}

/// A command that goes on to be one inside the toolchain.
pub(crate) fn in_toolchain(root: &Path) -> Result<Command> {
    let mut command = Command::new(if cfg!(target_os = "linux") { "sh" } else { "env" });
    if cfg!(target_os = "linux") {
        command.arg(root.join("bindings-swift/scripts/in-toolchain.sh"));
    }
    let target = workspace::target()?;
    if !target.starts_with(root) {
        command.env("ONCEWIRE_SWIFT_BIND", target);
    }
    command.current_dir(root);
    Ok(command)
}

/// Calls per second from Swift and from Rust, in one run.
fn bench(root: &Path, folder: &Path) -> Result<()> {
    if cfg!(target_os = "linux") {
        succeed(Command::new("sh").arg(root.join("bindings-swift/scripts/toolchain.sh")))?;
    }
    let scratch = folder.join("examples");
    let arguments =
        ["build", "-c", "release", "--product", "oncewire-bench", "--package-path", "bindings-swift/examples"];
    succeed(&mut swift(root, &arguments, folder, &scratch)?)?;
    let program = scratch.join("release").join("oncewire-bench");
    let program = if cfg!(target_os = "linux") {
        format!("sh {} {}", root.join("bindings-swift/scripts/in-toolchain.sh").display(), program.display())
    } else {
        program.display().to_string()
    };
    let mut command = Command::new(workspace::cargo());
    command.current_dir(root).args(["bench", "--quiet", "-p", "oncewire-swift", "--bench", "calls"]);
    command.env("ONCEWIRE_SWIFT_BENCH", program);
    let target = workspace::target()?;
    if !target.starts_with(root) {
        command.env("ONCEWIRE_SWIFT_BIND", target);
    }
    succeed(&mut command)
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
    workspace::forget_our_crate(command);
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
