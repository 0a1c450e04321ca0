//! `cargo xtask wheel`: the release wheel of the Python package and its source distribution, and the proof that both are whole.
//!
//! The wheel is linked by zig against the oldest glibc that manylinux knows of (2.17), whatever this machine has. The source distribution is built in
//! a folder far from the tree, so that a file that it lacks is missed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::peers::install::python_of;
use crate::workspace;

/// The group of `pyproject.toml` that holds what building needs.
const GROUP: &str = "wheel";
/// Groups are read by pip from this version on.
const PIP: &str = "pip>=25.1";
/// What the wheel promises to run on.
const COMPATIBILITY: &str = "manylinux_2_17";
/// The wheel stays below this.
const LARGEST: u64 = 4_000_000;

/// The command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Leave out the source distribution, and building from it
    #[arg(long)]
    no_sdist: bool,
}

/// Builds and checks. `Ok(true)`: all is well.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let folder = workspace::root()?.join("bindings-python");
    let target = workspace::target()?;
    let tools = environment(&target.join("wheel-tools"))?;
    pip(&tools, &folder, &[PIP])?;
    pip(&tools, &folder, &["--group", GROUP])?;
    let out = target.join("wheels");
    if out.is_dir() {
        fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))?;
    }

    let started = Instant::now();
    let mut build = maturin(&tools, &folder, "build")?;
    build.args(["--release", "--locked", "--zig", "--compatibility", COMPATIBILITY, "--out"]).arg(&out);
    finish(&mut build)?;
    let wheel = only(&out, "whl")?;
    let size = fs::metadata(&wheel)?.len();
    println!("{}: {size} bytes, built in {:.1} s", shown(&wheel), started.elapsed().as_secs_f64());
    if size >= LARGEST {
        bail!("the wheel must stay below {LARGEST} bytes");
    }
    try_out(&target.join("wheel-try"), &wheel)?;

    if !options.no_sdist {
        finish(maturin(&tools, &folder, "sdist")?.arg("--out").arg(&out))?;
        let sdist = only(&out, "gz")?;
        println!("{}: {} bytes; building it where nothing else is", shown(&sdist), fs::metadata(&sdist)?.len());
        try_out(&target.join("sdist-try"), &sdist)?;
    }
    println!("both are in {}", out.display());
    Ok(true)
}

/// Installs it into a bare environment, and imports it there.
fn try_out(folder: &Path, package: &Path) -> Result<()> {
    if folder.is_dir() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let python = environment(folder)?;
    let package = package.to_str().context("the path is not text")?;
    pip(&python, folder, &["--no-cache-dir", package])?;
    let mut import = Command::new(&python);
    import.current_dir(folder).args(["-c", "import oncewire; oncewire.connect; print('imported', oncewire.__file__)"]);
    finish(&mut import)
}

/// A virtual environment; its interpreter.
fn environment(folder: &Path) -> Result<PathBuf> {
    let python = python_of(folder);
    if !python.is_file() {
        finish(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    Ok(python)
}

fn pip(python: &Path, folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(python);
    command.current_dir(folder).args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
    // What pip builds must not find our build folder: it would not show what a stranger's machine does.
    finish(command.args(arguments).env_remove("CARGO_TARGET_DIR"))
}

fn maturin(python: &Path, folder: &Path, what: &str) -> Result<Command> {
    let scripts = python.parent().context("the interpreter is in no folder")?;
    let environment = scripts.parent().context("the interpreter is in no environment")?;
    let mut command = Command::new(scripts.join("maturin"));
    command.current_dir(folder).arg(what).env("VIRTUAL_ENV", environment);
    // zig is a module of the environment: it is found by the interpreter that is first on the path.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(scripts.to_owned()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(paths).context("PATH cannot be extended")?);
    Ok(command)
}

/// The one file there with this extension.
fn only(folder: &Path, extension: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([path]) => Ok(path),
        Err(found) => bail!("{} files .{extension} in {}", found.len(), folder.display()),
    }
}

fn shown(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

fn finish(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("{} ended with {status}", program.display());
    }
    Ok(())
}
