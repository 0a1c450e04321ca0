//! One process that shares the login.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Nothing takes this long; a process that does hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// How a client's process is started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The tool was called.
    Called,
    /// A person would have to log in, or has been asked to.
    AsksForLogin(String),
    Failed(String),
    Killed,
}

/// A process that waits for its word to begin.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts it; when this returns it is ready.
    pub(crate) async fn start(launch: &Launch, mode: &str, url: &str, folder: &Path, writes: bool) -> Result<Self> {
        let mut command = if writes {
            Command::new(&launch.program)
        } else {
            // A file of any length is too long, and the process is told so by an error, not by a signal.
            let mut shell = Command::new("sh");
            shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]).arg(&launch.program);
            shell
        };
        command.args(&launch.arguments).args([mode, url]).arg(folder);
        command.envs(launch.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("{} was not started", launch.program.display()))?;
        let input = child.stdin.take().context("no standard input")?;
        let output = BufReader::new(child.stdout.take().context("no standard output")?).lines();
        let mut process = Self { child, input, output };
        let ready = timeout(PATIENCE, process.output.next_line()).await.context("it is never ready")??;
        anyhow::ensure!(ready.as_deref() == Some("ready"), "it said {ready:?}");
        Ok(process)
    }

    /// Says the word.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        Ok(self.input.write_all(b"\n").await?)
    }

    /// `SIGKILL`, whatever it does.
    pub(crate) fn kill(&mut self) -> Result<()> {
        Ok(self.child.start_kill()?)
    }

    /// Waits for what it says, and for its end.
    pub(crate) async fn ended(mut self) -> Result<Ended> {
        let said = timeout(PATIENCE, self.output.next_line()).await.context("it hangs")?.unwrap_or_default();
        let _ = timeout(PATIENCE, self.child.wait()).await.context("it does not end")?;
        let Some(said) = said else { return Ok(Ended::Killed) };
        Ok(match said.split_once(": ") {
            None if said == "ok" => Ended::Called,
            Some(("login", why)) => Ended::AsksForLogin(why.to_owned()),
            _ => Ended::Failed(said),
        })
    }
}
