//! A server on stdio: what is started, and with which environment.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use oncewire::{Inherit, ServerCommand};

use super::Server;
use super::headers::is_secret;
use super::value::{expanded, variable};
use crate::failure::BadInput;

/// A server that is a program: the client starts it, speaks to it over its stdin and stdout, and ends it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Server on stdio")]
pub(crate) struct ProcessOptions {
    /// A variable for the environment of the server: NAME passes on ours, NAME=VALUE sets it; `${OTHER}` in the value is read from ours
    #[arg(long, value_name = "NAME[=VALUE]", requires = "command")]
    env: Vec<String>,

    /// Pass on our whole environment, in place of the few variables that programs need
    #[arg(long, requires = "command")]
    inherit_env: bool,

    /// The folder that the server is started in [default: this one]
    #[arg(long, value_name = "FOLDER", requires = "command")]
    folder: Option<PathBuf>,

    /// In the place of a URL: the program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A word is left over in front of `-- COMMAND`, where a URL would stand.
pub(crate) fn named_twice() -> BadInput {
    BadInput::new("URL", "the server is named twice: by a URL and by -- COMMAND")
}

impl ProcessOptions {
    /// The server, and the first word if that is not its URL: a server that is a program is named at the end.
    ///
    /// # Errors
    /// No server is named, or a variable cannot be used.
    pub(crate) fn server(&self, first: Option<String>) -> Result<(Server, Option<String>), BadInput> {
        let Some((program, arguments)) = self.command.split_first() else {
            let missing = || BadInput::new("URL", "it is missing: name the server by its URL, or by -- COMMAND");
            return first.map(|url| (Server::Url(url), None)).ok_or_else(missing);
        };
        let mut command = ServerCommand::new(program).args(arguments);
        for text in &self.env {
            let (name, value) = match text.split_once('=') {
                None => (text.as_str(), variable("--env", text)?),
                Some((name, value)) if is_secret(name) && !value.contains("${") => {
                    let problem = format!(
                        "the value of {name} is a secret, and every user of this machine can read it here; put it into the environment and \
                         pass that on: --env {name}, or --env '{name}=${{VARIABLE}}'"
                    );
                    return Err(BadInput::new("--env", problem));
                }
                Some((name, value)) => (name, expanded("--env", value)?),
            };
            command = command.env(name, value);
        }
        if self.inherit_env {
            command = command.inherit(Inherit::All);
        }
        if let Some(folder) = &self.folder {
            command = command.folder(folder);
        }
        Ok((Server::Command(command), first))
    }
}
