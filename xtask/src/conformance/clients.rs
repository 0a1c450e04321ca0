//! The clients that the suite drives, one in each language, each with the public names of that language only.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::peers::install::finish;
use crate::peers::{hosts, typescript_sdk};
use crate::test::{Target, node, python, rust, swift};
use crate::workspace;

const EXAMPLE: &str = "conformance-client";

/// A client that is built.
#[derive(Debug)]
pub(crate) struct Client {
    /// What it is called in the names of files.
    pub(crate) name: String,
    /// For a shell; the suite adds the URL.
    pub(crate) command: String,
    /// What the command needs to be told.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Client {
    /// Builds it, by the commands that build what the tests of that language need.
    pub(crate) async fn build(language: Target) -> Result<Self> {
        let root = workspace::root()?;
        let commands = match language {
            Target::Rust => vec![rust::cargo(&root, &["build", "--quiet", "-p", "xtask", "--example", EXAMPLE])],
            Target::Python => python::build(&root)?,
            Target::Node => node_package(&root),
            Target::Swift => swift::build(&root)?,
        };
        for command in commands {
            finish(&mut command.into()).await.with_context(|| format!("the client in {language} cannot be built"))?;
        }
        let command = start(language, &root)?;
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let environment = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        Ok(Self {
            name: language.to_string(),
            command: words.map(quoted).collect::<Vec<_>>().join(" "),
            environment: environment.collect(),
        })
    }
}

impl Client {
    /// An official client on standard input and output, and `oncewire proxy` in front of the URL. `None` if it cannot be installed here; the text
    /// says why.
    pub(crate) async fn behind_the_proxy() -> Result<Result<Self, String>> {
        let packages = match typescript_sdk::folder().await? {
            Ok(packages) => packages,
            Err(problem) => return Ok(Err(problem)),
        };
        let script = workspace::root()?.join("xtask").join("conformance").join("proxy.mjs");
        let words = [OsString::from("node"), script.into(), hosts::oncewire().await?.into()];
        Ok(Ok(Self {
            name: "proxy".to_owned(),
            command: words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            environment: vec![("CONFORMANCE_PACKAGES".into(), packages.into())],
        }))
    }
}

/// What starts it.
fn start(language: Target, root: &Path) -> Result<Command> {
    let scripts = root.join("xtask").join("conformance");
    let (mut command, program) = match language {
        Target::Rust => {
            let program = format!("{EXAMPLE}{}", std::env::consts::EXE_SUFFIX);
            return Ok(Command::new(workspace::target()?.join("debug").join("examples").join(program)));
        }
        Target::Python => (Command::new(python::interpreter()?), scripts.join("client.py")),
        Target::Node => (Command::new("node"), scripts.join("client.mjs")),
        Target::Swift => (crate::swift::in_toolchain(root)?, swift::example("oncewire-conformance")?),
    };
    command.arg(program);
    Ok(command)
}

/// The packages of the lock file, unless they are there, and the package.
fn node_package(root: &Path) -> Vec<Command> {
    let folder = root.join("bindings-node");
    let changed = |file: &str| folder.join(file).metadata().and_then(|metadata| metadata.modified()).ok();
    // What npm writes last; nothing is older than what is not there.
    let installed = changed("node_modules/.package-lock.json") >= changed("package-lock.json");
    let mut commands = if installed { Vec::new() } else { vec![node::install(root)] };
    commands.extend(node::build(root));
    commands
}

/// A word for a shell. The suite takes the command apart at blanks and puts it together again before the shell sees it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy().into_owned();
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-:\\".contains(character);
    match (word.chars().all(plain), cfg!(windows)) {
        (true, _) => word,
        (false, true) => format!("\"{word}\""),
        (false, false) => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        for word in ["/usr/bin/node", "/tmp/a  folder/client's.py", "/tmp/$HOME;"] {
            let command = format!("printf %s {}", quoted(OsStr::new(word)));
            // As the suite does.
            let command = command.split(' ').collect::<Vec<_>>().join(" ");
            let said = Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
