//! The process of a server: how it is started, and how it ends with all its children.
//!
//! On Unix it leads a process group of its own, so that its children can be ended with it, and so that `Ctrl+C` in a terminal is the host's to
//! deal with. A second process stands in that group, a shell of one line: the *keeper*. It waits for the end of a pipe whose other end only
//! the host has, so it wakes when the host is gone, however that came about (`SIGKILL` too), and ends the group. `PR_SET_PDEATHSIG` would
//! spare that process on Linux, but it has to be set between fork and exec, which cannot be done without unsafe code, and it asks for the end
//! of a thread, not of a process. A child that has left the group for one of its own is not found by any of this.
//!
//! Elsewhere the process alone is ended.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::command::ServerCommand;

/// The share of the time for its end that each step may take: reading the end of stdin, then `SIGTERM`. What is left is for `SIGKILL`, which
/// needs none.
const STEPS: u32 = 5;

/// A process that runs, and its pipes.
pub(super) struct Process {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    pub(super) life: Life,
}

/// A process that runs, and its family. Killed when this is dropped.
pub(super) struct Life {
    child: Child,
    family: Family,
}

/// Starts it. Has to be called within a runtime.
pub(super) fn start(command: &ServerCommand) -> io::Result<Process> {
    let mut command = Command::from(command.prepared());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let family = Family::of(&child);
    let gone = || io::Error::other("it has no pipes");
    Ok(Process {
        stdin: child.stdin.take().ok_or_else(gone)?,
        stdout: child.stdout.take().ok_or_else(gone)?,
        stderr: child.stderr.take().ok_or_else(gone)?,
        life: Life { child, family },
    })
}

impl Life {
    /// Completes when the process has ended. Cancel-safe. Nothing if the system does not tell how.
    pub(super) async fn ended(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    /// The process has been told to leave, by the end of its stdin. If it stays it gets `SIGTERM`, and then `SIGKILL`, its children with it.
    pub(super) async fn leave(&mut self, patience: Duration) -> Option<ExitStatus> {
        let step = patience / STEPS;
        if let Ok(status) = timeout(step, self.child.wait()).await {
            return status.ok();
        }
        self.family.terminate();
        if let Ok(status) = timeout(step, self.child.wait()).await {
            return status.ok();
        }
        self.kill(step).await
    }

    /// Ends what there is of it. Nothing if the system needs longer than that.
    pub(super) async fn kill(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.family.kill();
        // Only a process that has ended cannot be killed.
        let _ = self.child.start_kill();
        let status = timeout(patience, self.child.wait()).await.ok()?.ok();
        self.family.kept(patience).await;
        status
    }
}

/// The process group of a server.
#[cfg(unix)]
struct Family {
    group: Option<rustix::process::Pid>,
    /// The keeper is told by the end of its stdin, which is held here.
    keeper: Option<Child>,
}

#[cfg(unix)]
impl Family {
    /// What a keeper does: it wakes at the end of its stdin, leaves the server the time to end by itself, since its stdin has ended too, and
    /// then ends the group, itself included.
    const KEEPING: &str = "trap '' HUP INT TERM; read -r _; sleep 1; kill -s TERM 0; sleep 1; kill -s KILL 0";

    fn of(child: &Child) -> Self {
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let keeper = group.and_then(|group| {
            // The group is there as long as the process is, and if it has ended by now there is nothing to keep.
            Command::new("/bin/sh")
                .args(["-c", Self::KEEPING])
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .current_dir("/")
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(group)
                .kill_on_drop(true)
                .spawn()
                .ok()
        });
        Self { group: group.and_then(rustix::process::Pid::from_raw), keeper }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // A group that is no more needs no signal.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
        // The number may be another's from now on.
        if let Some(keeper) = &mut self.keeper {
            let _ = keeper.start_kill();
        }
        self.group = None;
    }

    /// Leaves no zombie of the keeper.
    async fn kept(&mut self, patience: Duration) {
        if let Some(mut keeper) = self.keeper.take() {
            let _ = timeout(patience, keeper.wait()).await;
        }
    }
}

#[cfg(unix)]
impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Nothing is known of the children of a server.
#[cfg(not(unix))]
struct Family;

#[cfg(not(unix))]
impl Family {
    fn of(_: &Child) -> Self {
        Self
    }

    fn terminate(&self) {}

    fn kill(&mut self) {}

    async fn kept(&mut self, _: Duration) {}
}
