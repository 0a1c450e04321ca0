//! The Python part: a virtual environment of its own, the extension built by maturin into the source tree, the checks of style, types, stub
//! and reference, then pytest.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::step::Step;
use super::{fault_server, quiet_success};
use crate::peers::install::python_of;
use crate::workspace;

/// The group of `pyproject.toml` that holds what the tests need.
const GROUP: &str = "test";
/// Groups are read by pip from this version on.
const PIP: &str = "pip>=25.1";

/// Is there a Python that the package promises to run on, with what makes virtual environments?
pub(crate) fn check_toolchain() -> Result<()> {
    let asks = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))";
    if !quiet_success(Command::new("python3").args(["-c", asks])) {
        bail!("python3 (3.10 or newer, with venv and ensurepip) is not on the path");
    }
    Ok(())
}

/// The virtual environment of the tests.
fn environment() -> Result<PathBuf> {
    Ok(workspace::target()?.join("test-python"))
}

/// The interpreter of the environment, in which the package is installed once it is built.
pub(crate) fn interpreter() -> Result<PathBuf> {
    Ok(python_of(&environment()?))
}

/// A command of that interpreter.
fn inside(root: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(interpreter()?);
    command.current_dir(root.join("bindings-python")).args(arguments).env("VIRTUAL_ENV", environment()?);
    Ok(command)
}

/// Makes the environment, installs into it what tests and checks need, and builds the extension.
pub(crate) fn build(root: &Path) -> Result<Vec<Command>> {
    let python = interpreter()?;
    let scripts = python.parent().context("the interpreter is in no folder")?.to_owned();
    let mut commands = Vec::new();
    if !python.is_file() {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(environment()?);
        commands.push(make);
    }
    let pip = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
    commands.push(inside(root, &[&pip[..], &[PIP]].concat())?);
    commands.push(inside(root, &[&pip[..], &["--group", GROUP]].concat())?);
    let mut develop = Command::new(scripts.join("maturin"));
    develop.current_dir(root.join("bindings-python")).arg("develop").env("VIRTUAL_ENV", environment()?);
    commands.push(develop);
    Ok(commands)
}

/// What to run.
pub(crate) fn steps(root: &Path) -> Result<Vec<Step>> {
    let inside = |arguments: &[&str]| inside(root, arguments);
    let mut preparations = build(root)?;
    // Style; types by two checkers; the stub against the module; the reference.
    let reference = workspace::target()?.join("doc-python");
    preparations.extend([
        inside(&["-m", "ruff", "check", "--no-cache"])?,
        inside(&["-m", "ruff", "format", "--check", "--no-cache"])?,
        inside(&["-m", "mypy", "--no-incremental"])?,
        {
            // It looks for packages where the `python` of the path has them, unless told.
            let mut pyright = inside(&["-m", "pyright", "--pythonpath"])?;
            pyright.arg(interpreter()?);
            pyright
        },
        inside(&["-m", "mypy.stubtest", "oncewire._native"])?,
    ]);
    // What pdoc cannot tell of a typed dict is harmless; an annotation that it cannot read is not.
    let warnings = ["-W", "error", "-W", "ignore:Cannot determine where:UserWarning"];
    let mut pdoc =
        inside(&[&warnings[..], &["-m", "pdoc", "oncewire", "oncewire.errors", "--no-show-source", "-o"]].concat())?;
    pdoc.arg(reference);
    preparations.push(pdoc);
    let (build, server) = fault_server(root)?;
    preparations.push(build);
    let mut command = inside(&["-m", "pytest", "--color=no"])?;
    command.env("ONCEWIRE_FAULT_SERVER", server);
    Ok(vec![Step { title: "pytest", preparations, command, must_find_tests: true }])
}
