//! The process behind: its lines in and out, and its end with all its children.
//!
//! What it must not do costs itself: a line that is too long or no JSON is dropped and told. Its end is told to everybody who waits for it.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Messages that wait to be written to a process that does not read; then whoever has more waits.
const MESSAGES: usize = 256;
/// Lines of a process that wait for the session; then the process waits.
const LINES: usize = 256;
/// The longest line of a process, in bytes.
pub(super) const MAX_LINE: usize = 32 * 1024 * 1024;
/// How long a process may take to end by itself once its input has ended, and again after SIGTERM.
const STEP: Duration = Duration::from_secs(2);

/// A process that runs. Dropped, it is told to end.
#[derive(Debug)]
pub(super) struct Process {
    input: mpsc::Sender<Bytes>,
    /// Cancelled when nobody wants it any more.
    unwanted: CancellationToken,
    /// Cancelled when it is gone, with its children.
    pub(super) gone: CancellationToken,
}

impl Process {
    /// Starts it; its lines come on the channel, which ends with it.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(command: &[OsString]) -> io::Result<(Self, mpsc::Receiver<Bytes>)> {
        let (program, arguments) = command.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let mut prepared = Command::new(program);
        prepared.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        prepared.kill_on_drop(true);
        #[cfg(unix)]
        prepared.process_group(0);
        let mut child = prepared.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = pipes else { return Err(io::Error::other("it has no pipes")) };
        let (input, messages) = mpsc::channel(MESSAGES);
        let (lines, read) = mpsc::channel(LINES);
        let (unwanted, gone) = (CancellationToken::new(), CancellationToken::new());
        let process = Self { input, unwanted: unwanted.clone(), gone: gone.clone() };
        tokio::spawn(async move {
            let family = Family::of(&child);
            let ended = CancellationToken::new();
            let writing = tokio::spawn(write(stdin, messages, unwanted.clone(), ended.clone()));
            tokio::select! {
                () = read_lines(stdout, lines) => {}
                _ = child.wait() => {}
                () = unwanted.cancelled() => {}
            }
            // The end of its input is the first thing that it is told.
            ended.cancel();
            drop(writing.await);
            end(&mut child, &family).await;
            gone.cancel();
        });
        Ok((process, read))
    }

    /// Nobody wants it any more: it is told to end, and made to if it does not.
    pub(super) fn end(&self) {
        self.unwanted.cancel();
    }

    /// Sends it a message. False if it is gone.
    pub(super) async fn send(&self, message: Bytes) -> bool {
        self.input.send(message).await.is_ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.unwanted.cancel();
    }
}

async fn write(
    mut stdin: ChildStdin,
    mut messages: mpsc::Receiver<Bytes>,
    unwanted: CancellationToken,
    ended: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = unwanted.cancelled() => return,
            message = messages.recv() => message,
        };
        let Some(message) = message else { return };
        let written = async {
            stdin.write_all(&message).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        let written = tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = unwanted.cancelled() => return,
            written = written => written,
        };
        if written.is_err() {
            return;
        }
    }
}

async fn read_lines(stdout: ChildStdout, lines: mpsc::Sender<Bytes>) {
    let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let Ok(buffer) = stdout.fill_buf().await else { return };
        if buffer.is_empty() {
            return;
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        too_long |= line.len() + piece.len() > MAX_LINE;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let taken = piece.len() + usize::from(end.is_some());
        stdout.consume(taken);
        if end.is_some() {
            if std::mem::take(&mut too_long) {
                tracing::warn!(target: "oncewire", bound = MAX_LINE, "a line of the server was dropped: it is too long");
            } else if lines.send(Bytes::from(std::mem::take(&mut line))).await.is_err() {
                return;
            }
        }
    }
}

/// Its input has ended: it has a while to end by itself, then it gets SIGTERM, then SIGKILL, its children with it.
async fn end(child: &mut Child, family: &Family) {
    if timeout(STEP, child.wait()).await.is_err() {
        family.terminate();
        if timeout(STEP, child.wait()).await.is_err() {
            // Only a process that has ended cannot be killed.
            let _ = child.start_kill();
        }
    }
    family.kill();
    drop(timeout(STEP, child.wait()).await);
}

/// The process group that it leads.
#[cfg(unix)]
struct Family(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Family {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw))
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.0 {
            // A group that is no more needs no signal.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

/// Nothing is known of its children.
#[cfg(not(unix))]
struct Family;

#[cfg(not(unix))]
impl Family {
    fn of(_: &Child) -> Self {
        Self
    }

    fn terminate(&self) {}

    fn kill(&self) {}
}
