//! The XCFramework: one static library for each kind of Apple device, with the header and a module map.
//!
//! Not run on this project's own machines, which are Linux: the commands are put together by [`plan`], and the tests look at them. They
//! follow the manual page of `xcodebuild -create-xcframework` (one `-library` with its `-headers` for each slice; architectures of one slice
//! are joined by `lipo`) and the Swift chapter of uniffi's book (a static library needs a plain `module`, not a `framework module`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{LIBRARY, cargo, succeed};
use crate::workspace;

const NAME: &str = "OncewireFFI.xcframework";
const MODULE: &str = "oncewire_swiftFFI";

/// As `platforms` in Package.swift.
const DEPLOYMENT: [(&str, &str); 2] = [("MACOSX_DEPLOYMENT_TARGET", "13.0"), ("IPHONEOS_DEPLOYMENT_TARGET", "16.0")];

/// The slices: a name, and the targets of Rust that are joined into it.
const SLICES: [(&str, &[&str]); 3] = [
    ("macos", &["aarch64-apple-darwin", "x86_64-apple-darwin"]),
    ("ios", &["aarch64-apple-ios"]),
    ("ios-simulator", &["aarch64-apple-ios-sim", "x86_64-apple-ios"]),
];

/// Without `link`: the package manager links the library of the slice by its path.
const MODULE_MAP: &str = "module oncewire_swiftFFI {\n    header \"oncewire_swiftFFI.h\"\n    export *\n}\n";

/// Builds every slice and joins them, always with optimisations.
pub(super) fn make(root: &Path, generated: &Path, folder: &Path) -> Result<()> {
    for target in SLICES.iter().flat_map(|(_, targets)| *targets) {
        let mut command = Command::new(workspace::cargo());
        command.current_dir(root).args(["build", "--release", "-p", "oncewire-swift", "--target", target]);
        command.envs(DEPLOYMENT).env("RUSTFLAGS", format!("--remap-path-prefix={}=.", root.display()));
        succeed(&mut command)?;
    }

    // In a folder of its own: two packages with a `module.modulemap` at the same place would be in each other's way.
    let headers = folder.join("headers").join(MODULE);
    fs::create_dir_all(&headers).context("cannot make a folder for the headers")?;
    let header = format!("{MODULE}.h");
    fs::copy(generated.join(&header), headers.join(&header)).context("cannot copy the header")?;
    fs::write(headers.join("module.modulemap"), MODULE_MAP).context("cannot write the module map")?;

    for (slice, _) in SLICES {
        fs::create_dir_all(folder.join("slices").join(slice)).context("cannot make a folder for a slice")?;
    }
    for old in [folder.join(NAME), archive(folder)] {
        if old.is_dir() {
            fs::remove_dir_all(&old)?;
        } else if old.exists() {
            fs::remove_file(&old)?;
        }
    }
    for words in plan(&workspace::target()?, folder) {
        let mut command = Command::new(&words[0]);
        succeed(command.args(&words[1..]))?;
    }
    println!(
        "made {}; the last line above is the checksum of {}",
        folder.join(NAME).display(),
        archive(folder).display()
    );
    // What the manifest links besides: it should name no less than this.
    cargo(
        root,
        &[
            "rustc",
            "--quiet",
            "--release",
            "-p",
            "oncewire-swift",
            "--crate-type",
            "staticlib",
            "--",
            "--print",
            "native-static-libs",
        ],
    )
}

fn archive(folder: &Path) -> PathBuf {
    folder.join(format!("{NAME}.zip"))
}

/// What is run once the libraries are built: join the architectures, make the XCFramework, zip it, tell its checksum.
fn plan(target: &Path, folder: &Path) -> Vec<Vec<String>> {
    let text = |path: &Path| path.display().to_string();
    let joined = |slice: &str| text(&folder.join("slices").join(slice).join(LIBRARY));
    let mut commands = Vec::new();
    for (slice, targets) in SLICES {
        let mut words = vec!["lipo".to_owned(), "-create".to_owned()];
        words.extend(targets.iter().map(|of| text(&target.join(of).join("release").join(LIBRARY))));
        words.extend(["-output".to_owned(), joined(slice)]);
        commands.push(words);
    }
    let mut words = vec!["xcodebuild".to_owned(), "-create-xcframework".to_owned()];
    for (slice, _) in SLICES {
        words.extend(["-library".to_owned(), joined(slice), "-headers".to_owned(), text(&folder.join("headers"))]);
    }
    words.extend(["-output".to_owned(), text(&folder.join(NAME))]);
    commands.push(words);
    // The package manager remembers what a manifest said by its text alone: that there was no XCFramework, too.
    commands.push(["swift", "package", "purge-cache"].map(str::to_owned).into());
    // ditto keeps what zip would lose, and --keepParent puts the folder itself into the archive, as the package manager wants it.
    let zip = ["ditto", "-c", "-k", "--sequesterRsrc", "--keepParent"].map(str::to_owned);
    commands.push([&zip[..], &[text(&folder.join(NAME)), text(&archive(folder))]].concat());
    commands
        .push(["swift".to_owned(), "package".to_owned(), "compute-checksum".to_owned(), text(&archive(folder))].into());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_is_joined_and_goes_in_with_its_headers() {
        let commands = plan(Path::new("/t"), Path::new("/t/swift"));
        let commands: Vec<_> = commands.iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            commands[0],
            "lipo -create /t/aarch64-apple-darwin/release/liboncewire_swift.a /t/x86_64-apple-darwin/release/liboncewire_swift.a \
             -output /t/swift/slices/macos/liboncewire_swift.a"
        );
        let made = &commands[SLICES.len()];
        assert_eq!(made.matches("-library ").count(), SLICES.len(), "{made}");
        assert_eq!(made.matches("-headers /t/swift/headers").count(), SLICES.len(), "{made}");
        assert!(made.ends_with("-output /t/swift/OncewireFFI.xcframework"), "{made}");
        assert!(commands.last().unwrap().ends_with("compute-checksum /t/swift/OncewireFFI.xcframework.zip"));
    }

    #[test]
    fn the_oldest_systems_are_those_of_the_manifest() {
        let manifest = fs::read_to_string(workspace::root().unwrap().join("Package.swift")).unwrap();
        for (_, version) in DEPLOYMENT {
            let major = version.split('.').next().unwrap();
            assert!(manifest.contains(&format!("(.v{major})")), "{manifest}");
        }
        assert!(manifest.contains(&format!("target/swift/{NAME}")));
    }

    #[test]
    fn the_module_is_the_one_that_the_generated_sources_import() {
        let sources = "bindings-swift/Sources/OncewireNative/oncewire_swift.swift";
        let sources = fs::read_to_string(workspace::root().unwrap().join(sources)).unwrap();
        assert!(sources.contains(&format!("import {MODULE}")));
        assert!(MODULE_MAP.starts_with(&format!("module {MODULE} {{")));
    }
}
