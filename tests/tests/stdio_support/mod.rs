//! The scripted server on stdio, as the tests start it, and what they ask of the system.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use oncewire::{Client, ServerCommand};
use oncewire_tests::stdio::{Note, StdioLedger, StdioScript};

const PATIENCE: Duration = Duration::from_secs(20);

/// A scripted server that is not started yet, and its ledger.
pub(crate) struct Server {
    folder: tempfile::TempDir,
    ledger: StdioLedger,
    script: String,
}

impl Server {
    pub(crate) fn new(script: &StdioScript) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = StdioLedger::at(folder.path().join("ledger"));
        Self { folder, ledger, script: serde_json::to_string(script).unwrap() }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The program and its arguments.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let ledger = self.ledger.path().to_str().unwrap();
        [env!("CARGO_BIN_EXE_fault-server"), "--stdio", ledger, "--script", &self.script].map(str::to_owned).into()
    }

    pub(crate) fn command(&self) -> ServerCommand {
        let arguments = self.arguments();
        ServerCommand::new(&arguments[0]).args(&arguments[1..])
    }

    /// What is ignored stays ignored over `exec`.
    pub(crate) fn command_deaf_to_sigterm(&self) -> ServerCommand {
        ServerCommand::new("/bin/sh").args(["-c", "trap '' TERM; exec \"$@\"", "sh"]).args(self.arguments())
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::stdio(self.command()).connect().await.unwrap()
    }

    pub(crate) fn notes(&self) -> Vec<Note> {
        self.ledger.read().unwrap()
    }

    pub(crate) fn starts(&self) -> usize {
        self.notes().iter().filter(|note| matches!(note, Note::Started(_))).count()
    }

    pub(crate) fn runs(&self, tool: &str) -> usize {
        self.notes().iter().filter(|note| matches!(note, Note::Ran(ran) if ran == tool)).count()
    }

    /// The processes that there were, with their children.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let pid = |note| match note {
            Note::Started(pid) | Note::Child(pid) => Some(pid),
            _ => None,
        };
        self.notes().into_iter().filter_map(pid).collect()
    }

    /// Kills the process that was started last.
    pub(crate) fn kill_last(&self) {
        let last = self.notes().into_iter().rev().find_map(|note| match note {
            Note::Started(pid) => Some(pid),
            _ => None,
        });
        let killed = Command::new("kill").args(["-s", "KILL", &last.unwrap().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    pub(crate) async fn until(&self, wanted: impl Fn(&[Note]) -> bool) {
        until(|| wanted(&self.notes())).await;
    }
}

/// Nobody tells of files and processes, so this looks until it is so.
pub(crate) async fn until(wanted: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !wanted() {
        assert!(Instant::now() < end, "it did not come to that");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Is it there, and no zombie?
pub(crate) fn is_alive(pid: u32) -> bool {
    state(&format!("{pid}")).is_some_and(|state| !state.starts_with('Z'))
}

fn state(pid: &str) -> Option<String> {
    let out = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The children of this process that nobody has waited for.
pub(crate) fn zombies() -> usize {
    let out = Command::new("ps").args(["-o", "stat=", "--ppid", &std::process::id().to_string()]).output().unwrap();
    String::from_utf8_lossy(&out.stdout).lines().filter(|line| line.trim().starts_with('Z')).count()
}
