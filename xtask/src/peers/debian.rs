//! A program of another Debian release than the machine's: its package and all that it needs, from where this machine gets its own packages,
//! unpacked into a folder of ours and run by the loader that came with them. Nothing is installed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

use super::install::Installed;
use super::install::{finish, once, runs};

/// A folder that holds a package and what it needs.
#[derive(Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// The words that start a program of `/usr/sbin` in it.
    pub(crate) fn program(&self, name: &str) -> Vec<OsString> {
        let usr = self.0.join("root").join("usr");
        let libraries = usr.join("lib").join("x86_64-linux-gnu");
        vec![
            usr.join("lib64").join("ld-linux-x86-64.so.2").into(),
            "--library-path".into(),
            libraries.into(),
            usr.join("sbin").join(name).into(),
        ]
    }
}

/// Gets a package of this release, once; the text says why it is not to be had here.
pub(crate) async fn unpacked(package: &str, release: &str) -> Result<Result<Root, String>> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !runs("apt-get", &["--version"]).await {
        return Ok(Err(format!("{package} of Debian's {release} is got by apt-get on x86-64 alone")));
    }
    let Some(source) = source().await? else {
        return Ok(Err("apt-get knows no source of Debian's packages on this machine".into()));
    };
    let specifier = format!("{package} of {release}");
    let installed = once("apt-get", &[&specifier], async |folder| get(folder, &source, package, release).await).await?;
    Ok(match installed {
        Installed::Here(folder) => Ok(Root(folder)),
        Installed::NoInstaller(problem) => Err(problem),
    })
}

/// Where this machine gets Debian's own packages from.
async fn source() -> Result<Option<String>> {
    let words = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian", "Component: main"];
    let output = Command::new("apt-get").args(words).output().await.context("cannot start apt-get")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned))
}

async fn get(folder: &Path, source: &str, package: &str, release: &str) -> Result<()> {
    // An apt of its own, which believes that nothing is installed, and so gets all that the package needs.
    for name in ["etc", "state/lists/partial", "cache/archives/partial", "root"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    let (list, status) = (folder.join("etc/sources.list"), folder.join("state/status"));
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    std::fs::write(&list, format!("deb [signed-by={keys}] {source} {release} main\n"))?;
    std::fs::write(&status, "")?;
    let option = |name: &str, path: PathBuf| format!("-o{name}={}", path.display());
    let options = [
        option("Dir::Etc", folder.join("etc")),
        option("Dir::Etc::sourcelist", list),
        "-oDir::Etc::sourceparts=-".into(),
        option("Dir::State", folder.join("state")),
        option("Dir::State::status", status),
        option("Dir::Cache", folder.join("cache")),
        "-oDebug::NoLocking=1".into(),
    ];
    let download = ["install", "--quiet", "--yes", "--no-install-recommends", "--download-only", package];
    for words in [&["update", "--quiet"][..], &download] {
        finish(Command::new("apt-get").args(&options).args(words)).await?;
    }
    let mut packages = 0_usize;
    for entry in std::fs::read_dir(folder.join("cache/archives"))? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            finish(Command::new("dpkg-deb").arg("--extract").arg(&file).arg(folder.join("root"))).await?;
            packages += 1;
        }
    }
    if packages == 0 {
        bail!("apt-get brought no package");
    }
    std::fs::remove_dir_all(folder.join("cache")).context("cannot remove what was unpacked")
}
