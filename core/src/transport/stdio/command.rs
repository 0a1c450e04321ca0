//! What is started: a program, its arguments, its environment and its folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::error::Category;

use crate::vocabulary::config::OptionError;

/// The variables of its own environment that a host passes on unless it says otherwise: what programs need to find themselves, their files
/// and the language of the person, and no keys of other programs. The official clients pass on the first six (on Windows, theirs).
pub const INHERITED: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"]
};

/// Which variables of the host's environment the server gets. What [`ServerCommand::env`] sets is set in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inherit {
    /// Those of [`INHERITED`].
    #[default]
    Listed,
    /// All of them, keys of other programs included.
    All,
    /// These alone, in place of the list.
    Only(Vec<OsString>),
}

impl Inherit {
    /// These alone.
    pub fn only<I, S>(names: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        Self::Only(names.into_iter().map(Into::into).collect())
    }
}

/// The command that starts a server: for [`Client::stdio`](crate::Client::stdio). No shell reads it: each argument reaches the program as it
/// is.
///
/// Arguments can be seen by every user of the machine (`ps`): keys belong into [`Self::env`].
#[derive(Clone, PartialEq, Eq)]
#[must_use = "a command does nothing until a client is made with it"]
pub struct ServerCommand {
    program: OsString,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    folder: Option<PathBuf>,
    inherit: Inherit,
}

impl fmt::Debug for ServerCommand {
    // Arguments and values of the environment may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env.keys())
            .field("folder", &self.folder)
            .field("inherit", &self.inherit)
            .finish()
    }
}

impl<S: Into<OsString>> From<S> for ServerCommand {
    /// A program without arguments; it is no command line.
    fn from(program: S) -> Self {
        Self::new(program)
    }
}

/// A command as JSON has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    folder: Option<String>,
    inherit: Option<Inherited>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Inherited {
    Word(Word),
    Only(Vec<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Listed,
    All,
}

impl ServerCommand {
    /// The command that this JSON describes, as bindings and configurations have it: an object with `command`, and if need be `args` (a list),
    /// `env` (an object of texts), `folder`, and `inherit`: `"listed"`, `"all"` or a list of names.
    ///
    /// # Errors
    /// Names what is wrong with it; no value is repeated.
    pub fn from_json(json: &str) -> Result<Self, OptionError> {
        let described: Described = serde_json::from_str(json).map_err(|error| {
            // The text of the error may repeat a value.
            let what = match error.classify() {
                Category::Data => "it is not an object with command (a text), args (a list of texts), env (an object of texts), folder (a text) and inherit (\"listed\", \"all\" or a list of names)",
                Category::Io | Category::Syntax | Category::Eof => "it is no JSON",
            };
            OptionError::new("command", what)
        })?;
        let Described { command, args, env, folder, inherit } = described;
        Ok(Self {
            program: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            folder: folder.map(Into::into),
            inherit: match inherit {
                None | Some(Inherited::Word(Word::Listed)) => Inherit::Listed,
                Some(Inherited::Word(Word::All)) => Inherit::All,
                Some(Inherited::Only(names)) => Inherit::only(names),
            },
        })
    }

    /// A program, by its path, or by its name if it stands in a folder of `PATH`.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            folder: None,
            inherit: Inherit::default(),
        }
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable of the server's environment. Its value is taken for a secret: it is cut out of every text of the client's if it has eight
    /// bytes or more.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Variables of the server's environment; see [`Self::env`].
    pub fn envs<I, K, V>(mut self, variables: I) -> Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<OsString>,
        V: Into<OsString>,
    {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// The folder that the server is started in. Default: that of the host.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Which variables of the host's environment the server gets. Default: [`Inherit::Listed`].
    pub fn inherit(mut self, inherit: Inherit) -> Self {
        self.inherit = inherit;
        self
    }

    /// The name of the program, which is how texts and events name the server.
    #[must_use]
    pub fn name(&self) -> String {
        let name = Path::new(&self.program).file_name().unwrap_or(&self.program);
        name.to_string_lossy().into_owned()
    }

    /// # Errors
    /// Names the part that no operating system takes.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        if self.program.is_empty() {
            return Err(OptionError::new("command", "it is empty"));
        }
        let texts = std::iter::once(&self.program).chain(&self.args);
        if texts.into_iter().any(|text| has_zero(text)) {
            return Err(OptionError::new("command", "the program or an argument has a zero byte in it"));
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.as_encoded_bytes().contains(&b'=') || has_zero(name) || has_zero(value) {
                let name = name.to_string_lossy();
                return Err(OptionError::new("env", format!("{name:?} cannot be set in an environment")));
            }
        }
        if let Some(folder) = &self.folder
            && !folder.is_dir()
        {
            return Err(OptionError::new("folder", "there is no such folder"));
        }
        Ok(())
    }

    /// The values that are set for the server, which may be secret.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.env.values().filter_map(|value| value.to_str())
    }

    /// To be started: without pipes yet.
    pub(super) fn prepared(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args);
        match &self.inherit {
            Inherit::All => {}
            Inherit::Listed => pass_on(&mut command, INHERITED.iter().map(OsStr::new)),
            Inherit::Only(names) => pass_on(&mut command, names.iter().map(OsString::as_os_str)),
        }
        command.envs(&self.env);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }
}

/// The command gets these variables of ours, and no other.
fn pass_on<'a>(command: &mut std::process::Command, names: impl Iterator<Item = &'a OsStr>) {
    command.env_clear();
    for name in names {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

fn has_zero(text: &OsStr) -> bool {
    text.as_encoded_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(command: &ServerCommand) -> Vec<String> {
        let prepared = command.prepared();
        prepared.get_envs().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_server_gets_the_listed_variables_and_what_is_set_for_it() {
        let names = variables(&ServerCommand::new("server").env("API_KEY", "k"));
        assert!(names.contains(&"PATH".to_owned()) && names.contains(&"API_KEY".to_owned()));
        assert!(names.iter().all(|name| name == "API_KEY" || INHERITED.contains(&name.as_str())), "{names:?}");
        let none = ServerCommand::new("server").inherit(Inherit::only(["NO_SUCH_VARIABLE"])).env("A", "b");
        assert_eq!(variables(&none), ["A"]);
    }

    #[test]
    fn what_no_system_takes_is_named() {
        assert_eq!(ServerCommand::new("").check().unwrap_err().field, "command");
        assert_eq!(ServerCommand::new("a").arg("b\0c").check().unwrap_err().field, "command");
        assert_eq!(ServerCommand::new("a").env("B=C", "d").check().unwrap_err().field, "env");
        assert_eq!(ServerCommand::new("a").folder("/no/such/folder").check().unwrap_err().field, "folder");
        assert!(ServerCommand::new("a").env("B", "").check().is_ok());
    }

    #[test]
    fn json_describes_a_command() {
        let described = ServerCommand::from_json(
            r#"{"command": "npx", "args": ["-y", "a"], "env": {"K": "v"}, "folder": "/tmp", "inherit": ["PATH"]}"#,
        );
        let made =
            ServerCommand::new("npx").args(["-y", "a"]).env("K", "v").folder("/tmp").inherit(Inherit::only(["PATH"]));
        assert_eq!(described, Ok(made));
        assert_eq!(
            ServerCommand::from_json(r#"{"command": "a", "inherit": "all"}"#),
            Ok(ServerCommand::new("a").inherit(Inherit::All))
        );
        for wrong in [
            r#"{"command": "a", "args": "hunter22"}"#,
            r#"{"command": "a", "cwd": "/"}"#,
            "[",
            r#"{"command": "a", "inherit": "some"}"#,
        ] {
            let error = ServerCommand::from_json(wrong).unwrap_err();
            assert!(error.field == "command" && !error.problem.contains("hunter22"), "{error}");
        }
    }

    #[test]
    fn no_argument_and_no_value_is_shown() {
        let command = ServerCommand::new("/usr/bin/npx").arg("--key=hunter22").env("TOKEN", "hunter33");
        let shown = format!("{command:?}");
        assert!(!shown.contains("hunter"), "{shown}");
        assert!(shown.contains("TOKEN"));
        assert_eq!(command.name(), "npx");
    }
}
