//! The command as a process, and the server that it is run against.

use std::process::Stdio;
use std::time::Duration;

use oncewire_tests::server::{FaultServer, Options, Script};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Nothing here takes as long; if it does, the command hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A fault server with these options and rules.
pub(crate) async fn server(options: Options, rules: Value) -> FaultServer {
    let rules = serde_json::from_value(rules).unwrap();
    FaultServer::start(Script { options, rules }).await.unwrap()
}

/// How a run ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The command, not started yet. It uses no login of whoever runs the tests, and no proxy.
pub(crate) fn oncewire(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncewire"));
    command.args(arguments).env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("NO_COLOR");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs it to its end.
pub(crate) async fn run(arguments: &[&str]) -> Ran {
    ended(oncewire(arguments).spawn().unwrap()).await
}

/// Waits for its end.
pub(crate) async fn ended(child: Child) -> Ran {
    let output = timeout(PATIENCE, child.wait_with_output()).await.expect("the command hangs").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Waits for something that the server sees.
pub(crate) async fn seen(what: impl Future<Output = ()>) {
    timeout(PATIENCE, what).await.expect("the server waits in vain");
}

/// Runs it with this on its standard input.
pub(crate) async fn run_with_input(arguments: &[&str], input: &str) -> Ran {
    let mut child = oncewire(arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    ended(child).await
}
