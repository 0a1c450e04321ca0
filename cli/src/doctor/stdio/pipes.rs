//! A process and its pipes, as they are: what it writes besides messages is what a doctor wants to see.

use std::collections::BTreeMap;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use oncewire::INHERITED;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::super::answer::one_line;

/// The longest line that is read, in bytes: as long as the longest message of the client.
const LINE: u64 = 32 * 1024 * 1024;
/// How long a process that was told to end may take, before it is killed.
const TO_END: Duration = Duration::from_secs(2);

/// What is started.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
}

/// How a process ended, and what it had written besides messages.
pub(super) struct End {
    /// By itself: after how long, and with what; none if it was ended.
    pub(super) ended: Option<(Duration, ExitStatus)>,
    /// Lines on stdout.
    pub(super) stray: usize,
    pub(super) first_stray: Option<String>,
    /// Lines on stderr.
    pub(super) stderr_lines: usize,
}

/// A process that runs.
pub(super) struct Pipes {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// Half of a line may have been read when a wait was over.
    line: Vec<u8>,
    stderr: JoinHandle<usize>,
    ids: u64,
    stray: usize,
    first_stray: Option<String>,
}

impl Pipes {
    /// Starts it.
    ///
    /// # Errors
    /// Why it does not start.
    pub(super) fn start(program: &Program) -> Result<Self, String> {
        let mut command = Command::new(&program.program);
        // As the client starts it: with the few variables that every program needs, and those that are given.
        command.args(&program.arguments).env_clear();
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(inherited).envs(&program.environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // In a group of its own: its children end with it.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| format!("it does not start: {error}"))?;
        let missing = || "it has no pipes".to_owned();
        let stdout = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let mut errors = BufReader::new(child.stderr.take().ok_or_else(missing)?);
        let stderr = tokio::spawn(async move {
            let (mut lines, mut line) = (0, Vec::new());
            while matches!((&mut errors).take(LINE).read_until(b'\n', &mut line).await, Ok(read) if read > 0) {
                lines += 1;
                line.clear();
            }
            lines
        });
        let stdin = child.stdin.take();
        Ok(Self { child, stdin, stdout, line: Vec::new(), stderr, ids: 0, stray: 0, first_stray: None })
    }

    /// Sends a request, and gives the message that answers it; none if none came, or if the process is gone.
    pub(super) async fn ask(&mut self, method: &str, params: Value, patience: Duration) -> Option<Value> {
        self.ids += 1;
        let id = self.ids;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        let deadline = Instant::now() + patience;
        timeout_at(deadline, self.write(&message)).await.ok()??;
        loop {
            let message = timeout_at(deadline, self.read()).await.ok()??;
            if message.get("method").is_none() && message["id"] == id {
                return Some(message);
            }
            if let (Some(method), Some(theirs)) = (message["method"].as_str(), message.get("id")) {
                let reply = match method {
                    "ping" => json!({ "jsonrpc": "2.0", "id": theirs, "result": {} }),
                    _ => {
                        json!({ "jsonrpc": "2.0", "id": theirs, "error": { "code": -32601, "message": "Method not found" } })
                    }
                };
                timeout_at(deadline, self.write(&reply)).await.ok()??;
            }
        }
    }

    pub(super) async fn tell(&mut self, method: &str, patience: Duration) -> Option<()> {
        timeout(patience, self.write(&json!({ "jsonrpc": "2.0", "method": method }))).await.ok()?
    }

    async fn write(&mut self, message: &Value) -> Option<()> {
        let stdin = self.stdin.as_mut()?;
        stdin.write_all(format!("{message}\n").as_bytes()).await.ok()?;
        stdin.flush().await.ok()
    }

    /// The next message. Lines that are none are counted.
    async fn read(&mut self) -> Option<Value> {
        loop {
            let room = LINE.saturating_sub(self.line.len() as u64);
            let read = (&mut self.stdout).take(room).read_until(b'\n', &mut self.line).await.ok()?;
            if read == 0 {
                return None;
            }
            let line = std::mem::take(&mut self.line);
            let text = String::from_utf8_lossy(&line);
            if text.trim().is_empty() {
                continue;
            }
            match serde_json::from_str::<Value>(&text) {
                Ok(message) if message.is_object() => return Some(message),
                _ => {
                    self.stray += 1;
                    self.first_stray.get_or_insert_with(|| one_line(&text));
                }
            }
        }
    }

    /// Has it ended?
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Closes its stdin, and waits for its end. One that does not end is ended.
    pub(super) async fn close(mut self, patience: Duration) -> End {
        let begun = Instant::now();
        drop(self.stdin.take());
        let draining = async { while self.read().await.is_some() {} };
        // Whoever waits for its end without reading waits for ever, if it writes more than the pipe holds.
        let _ = timeout(patience, draining).await;
        let left = patience.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
        let ended = match timeout(left, self.child.wait()).await {
            Ok(Ok(status)) => Some((begun.elapsed(), status)),
            _ => None,
        };
        if ended.is_none() {
            self.signal(true);
            if timeout(TO_END, self.child.wait()).await.is_err() {
                self.signal(false);
                let _ = self.child.kill().await;
            }
        }
        // Children that live on hold it open.
        let stderr_lines = timeout(TO_END, &mut self.stderr).await.ok().and_then(Result::ok).unwrap_or_default();
        End { ended, stray: self.stray, first_stray: self.first_stray.take(), stderr_lines }
    }

    /// Asks the process and its children to end, or ends them.
    #[cfg(unix)]
    fn signal(&self, asks: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = if asks { Signal::TERM } else { Signal::KILL };
        if let Some(group) = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
            // It may have ended meanwhile.
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&self, _asks: bool) {}
}
