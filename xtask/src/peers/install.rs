//! Installs packages at pinned versions into a folder under cargo's target folder: once, and anew if the first time was cut short.
//!
//! A missing installer is not an error: whoever asks is told, and goes on without.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::workspace;

/// Two servers may need the same package at the same time.
static INSTALLING: Mutex<()> = Mutex::const_new(());

/// What came of an installation.
#[derive(Debug)]
pub(crate) enum Installed {
    /// It is in this folder.
    Here(PathBuf),
    /// The installer is not on this machine; the text says which.
    NoInstaller(String),
}

/// Installs a package of the npm registry.
pub(crate) async fn npm(package: &str, version: &str) -> Result<Installed> {
    npm_all(&[&format!("{package}@{version}")]).await
}

/// Installs some packages of the npm registry, each with its version, into one folder.
pub(crate) async fn npm_all(specifiers: &[&str]) -> Result<Installed> {
    for program in ["node", "npm"] {
        if !runs(program, &["--version"]).await {
            return Ok(Installed::NoInstaller(format!("{program} is not on this machine")));
        }
    }
    once("npm", specifiers, async |folder| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix"]);
        finish(npm.arg(folder).args(specifiers)).await
    })
    .await
}

/// Installs a package of PyPI into a virtual environment of its own.
pub(crate) async fn pip(package: &str, version: &str) -> Result<Installed> {
    pip_all(&[&format!("{package}=={version}")]).await
}

/// Installs some packages of PyPI, each with its version, into one virtual environment.
pub(crate) async fn pip_all(specifiers: &[&str]) -> Result<Installed> {
    if !runs("python3", &["-c", "import ensurepip, venv"]).await {
        return Ok(Installed::NoInstaller("python3 with pip and venv is not on this machine".into()));
    }
    once("pip", specifiers, async |folder| {
        finish(Command::new("python3").args(["-m", "venv"]).arg(folder)).await?;
        let mut pip = Command::new(python_of(folder));
        pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
        finish(pip.args(specifiers)).await
    })
    .await
}

/// Builds a cargo project that stands outside of the workspace, in a folder of ours, and says where its program is.
pub(crate) async fn cargo_project(project: &Path, program: &str) -> Result<PathBuf> {
    let target = super::folder()?.join(program);
    let built = target.join("debug").join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    if !built.is_file() {
        println!("building {program}, once, into {} ...", target.display());
    }
    let mut cargo = Command::new(workspace::cargo());
    cargo.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(project.join("Cargo.toml"));
    let _one_at_a_time = INSTALLING.lock().await;
    finish(cargo.arg("--target-dir").arg(&target)).await.with_context(|| format!("{program} could not be built"))?;
    Ok(built)
}

/// Makes sure that a program of a Debian package is there. It is installed only by root, and only where that starts no service: the
/// text says why it is not there.
pub(crate) async fn apt(package: &str, program: &str) -> Result<Option<String>> {
    let _one_at_a_time = INSTALLING.lock().await;
    if tells_its_version(program).await && runs("setpriv", &["--version"]).await {
        return Ok(None);
    }
    let missing = format!("{program} is not on this machine: install the Debian package {package}");
    let root = Command::new("id").arg("-u").output().await.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !root || !runs("apt-get", &["--version"]).await || Path::new("/run/systemd/system").exists() {
        return Ok(Some(missing));
    }
    println!("installing {package} by apt-get, once ...");
    for words in [&["update", "--quiet"][..], &["install", "--quiet", "--yes", "--no-install-recommends", package]] {
        // In runlevel 1 no service is started.
        let mut apt = Command::new("apt-get");
        apt.args(words).env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
        finish(&mut apt).await.with_context(|| format!("{package} could not be installed by apt-get"))?;
    }
    Ok((!tells_its_version(program).await).then_some(missing))
}

/// Is it there? Some say so in one word, some in another.
async fn tells_its_version(program: &str) -> bool {
    runs(program, &["-v"]).await || runs(program, &["version"]).await
}

/// The interpreter of a virtual environment.
pub(crate) fn python_of(folder: &Path) -> PathBuf {
    if cfg!(windows) { folder.join("Scripts").join("python.exe") } else { folder.join("bin").join("python") }
}

/// Runs the installation unless an earlier one ended well, which a marker file in the folder says.
pub(crate) async fn once(
    installer: &str,
    specifiers: &[&str],
    install: impl AsyncFnOnce(&Path) -> Result<()>,
) -> Result<Installed> {
    let specifier = specifiers.join(" ");
    let name: String = specifier.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = super::folder()?.join(format!("{installer}-{}", name.trim_matches('-')));
    let marker = folder.join(".installed");
    let _one_at_a_time = INSTALLING.lock().await;
    if marker.is_file() {
        return Ok(Installed::Here(folder));
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    println!("installing {specifier} by {installer}, once, into {} ...", folder.display());
    let started = Instant::now();
    install(&folder).await.with_context(|| format!("{specifier} could not be installed by {installer}"))?;
    std::fs::write(&marker, &specifier).with_context(|| format!("cannot write {}", marker.display()))?;
    println!("installed in {:.1} s", started.elapsed().as_secs_f64());
    Ok(Installed::Here(folder))
}

/// Does this program start and end well?
pub(crate) async fn runs(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.status().await.is_ok_and(|status| status.success())
}

/// Runs a program that installs or builds to its end; what it says is shown only if it fails.
pub(crate) async fn finish(command: &mut Command) -> Result<()> {
    let program = command.as_std().get_program().to_owned();
    workspace::forget_our_crate(command.as_std_mut());
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        // Some compilers complain on standard output.
        let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{} ended with {}:\n{said}{}", program.display(), output.status, complained.trim_end());
    }
    Ok(())
}
