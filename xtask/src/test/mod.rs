//! `cargo xtask test`: checks the toolchain of each part, runs its tests, and adds up what the runners say of themselves.
//!
//! A part whose toolchain is missing fails the whole command, since "all passed" must never mean "some were not run";
//! whoever wants less says `--skip NAME`.

mod names;
pub(crate) mod node;
pub(crate) mod python;
pub(crate) mod rust;
mod step;
pub(crate) mod swift;
mod tally;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::ValueEnum;

use self::step::Report;
use self::tally::Tally;
use crate::workspace;

/// A part of the workspace with tests of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// The core, the fault server and the scenario vectors
    Rust,
    /// The Python package
    Python,
    /// The Node package
    Node,
    /// The Swift package
    Swift,
}

impl Target {
    pub(crate) const ALL: [Self; 4] = [Self::Rust, Self::Python, Self::Node, Self::Swift];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Node => "node",
            Self::Swift => "swift",
        }
    }

    const fn folder(self) -> &'static str {
        match self {
            Self::Rust => "core",
            Self::Python => "bindings-python",
            Self::Node => "bindings-node",
            Self::Swift => "bindings-swift",
        }
    }

    fn is_in_tree(self, root: &Path) -> bool {
        root.join(self.folder()).is_dir()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// What to test; all that the tree holds without one
    targets: Vec<Target>,
    /// Leave this one out, for example because its toolchain is not here
    #[arg(long, value_name = "NAME")]
    skip: Vec<Target>,
}

/// One line of the table at the end.
struct Row {
    step: String,
    report: Report,
    elapsed: Duration,
}

/// Runs the tests. `Ok(false)` means that they ran and that not all passed.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let root = workspace::root()?;
    let chosen = choose(options, &root)?;

    check_toolchains(&chosen)?;

    let mut rows = Vec::new();
    for target in &chosen {
        let steps = match target {
            Target::Rust => rust::steps(&root),
            Target::Python => python::steps(&root)?,
            Target::Node => node::steps(&root)?,
            Target::Swift => swift::steps(&root)?,
        };
        for step in steps {
            let name = format!("{target}: {}", step.title);
            println!("==> {name}");
            let started = Instant::now();
            let report = step.run();
            let elapsed = started.elapsed();
            println!("<== {name}: {} ({})", report.outcome, seconds(elapsed));
            rows.push(Row { step: name, report, elapsed });
        }
    }
    Ok(print_summary(&rows, &options.skip))
}

/// The targets to run, in the order of the list; naming one that cannot be run is an error, not an empty success.
fn choose(options: &Options, root: &Path) -> Result<Vec<Target>> {
    for target in &options.targets {
        if !target.is_in_tree(root) {
            bail!("{target}: not part of this tree yet (there is no folder {})", target.folder());
        }
    }
    let wanted = |target: &Target| {
        let named = options.targets.is_empty() || options.targets.contains(target);
        named && target.is_in_tree(root) && !options.skip.contains(target)
    };
    let chosen: Vec<_> = Target::ALL.into_iter().filter(wanted).collect();
    if chosen.is_empty() {
        bail!("nothing is left to test");
    }
    Ok(chosen)
}

/// Looks at all toolchains first: a missing one is told at once, not after minutes of other tests.
pub(crate) fn check_toolchains(targets: &[Target]) -> Result<()> {
    let mut missing = Vec::new();
    for target in targets {
        if let Err(error) = check_toolchain(*target) {
            missing.push(format!("{target}: {error:#} (or leave it out: --skip {target})"));
        }
    }
    if !missing.is_empty() {
        bail!("not everything that the tests need is here\n  {}", missing.join("\n  "));
    }
    Ok(())
}

fn check_toolchain(target: Target) -> Result<()> {
    match target {
        Target::Rust => rust::check_toolchain(),
        Target::Python => python::check_toolchain(),
        Target::Node => node::check_toolchain(),
        Target::Swift => swift::check_toolchain(),
    }
}

/// Builds the fault server, which the tests of every language start; and where it is then.
fn fault_server(root: &Path) -> Result<(Command, PathBuf)> {
    let build = rust::cargo(root, &["build", "-p", "oncewire-tests", "--bin", "fault-server"]);
    let name = format!("fault-server{}", std::env::consts::EXE_SUFFIX);
    Ok((build, workspace::target()?.join("debug").join(name)))
}

/// Does this program start, and end well?
fn quiet_success(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Prints the table and the closing line; true if all went well.
fn print_summary(rows: &[Row], skipped: &[Target]) -> bool {
    let width = rows.iter().map(|row| row.step.len()).max().unwrap_or(0);
    println!();
    println!("Summary");
    for row in rows {
        println!("  {:width$}  {:>7}  {}", row.step, seconds(row.elapsed), row.report.outcome);
        // A log may be cut, and its end is what remains: the names stand here too.
        for name in &row.report.failed {
            println!("    failed: {name}");
        }
        for name in &row.report.unsteady {
            println!("    passed at the second try only: {name}");
        }
    }
    for target in skipped {
        println!("  {target:width$}  {:>7}  left out (--skip {target})", "-");
    }
    let total = rows.iter().fold(Tally::default(), |sum, row| sum + row.report.outcome.tally());
    println!();
    println!("{total}");
    total.failed == 0 && total.passed > 0
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(targets: &[Target], skip: &[Target]) -> Options {
        Options { targets: targets.to_vec(), skip: skip.to_vec() }
    }

    fn tree_with(folders: &[&str]) -> PathBuf {
        let name = folders.join("+");
        let root = std::env::temp_dir().join(format!("xtask-choose-{}-{name}", std::process::id()));
        for folder in folders {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        root
    }

    #[test]
    fn without_an_argument_all_that_the_tree_holds_is_tested() {
        let root = tree_with(&["core", "bindings-node"]);
        assert_eq!(choose(&options(&[], &[]), &root).unwrap(), [Target::Rust, Target::Node]);
        assert_eq!(choose(&options(&[], &[Target::Node]), &root).unwrap(), [Target::Rust]);
    }

    #[test]
    fn a_target_that_the_tree_does_not_hold_is_an_error_when_named() {
        let root = tree_with(&["core"]);
        let error = choose(&options(&[Target::Swift], &[]), &root).unwrap_err().to_string();
        assert!(error.contains("swift: not part of this tree yet"), "{error}");
    }

    #[test]
    fn skipping_everything_is_an_error() {
        let root = tree_with(&["core"]);
        assert!(choose(&options(&[], &[Target::Rust]), &root).is_err());
    }
}
