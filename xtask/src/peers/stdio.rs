//! Real servers on stdio: what the end of their process means for calls, and what is left of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use oncewire::{Client, Execution, Kind, Resend, ServerCommand};
use serde_json::json;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::install::{self, Installed};
use super::ledger::Ledger;
use super::place::Place;
use super::situations::{CALLERS, Outcome, UNKNOWN, broken};
use super::{Peer, Tool, everything, python_fastmcp, python_mcp, rmcp};

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 4] = ["calls", "killed in mid-call", "killed between calls", "closed"];

/// How long one step may take; a busy machine starts an interpreter in seconds.
const STEP: Duration = Duration::from_secs(60);
/// A verdict that is told by the end of the process comes within this.
const AT_ONCE: Duration = Duration::from_secs(5);
/// The gap between two looks at what the system tells nobody of.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

const FILESYSTEM: &str = "@modelcontextprotocol/server-filesystem";
const FILESYSTEM_VERSION: &str = "2026.8.31";

/// A server that is started and spoken to over its pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnStdio {
    Everything,
    /// Its tools are not noted by anybody, but for the files that they write.
    Filesystem,
    Mcp1,
    Mcp2,
    FastMcp,
    Rmcp,
}

/// How it is started, and what is called.
struct Server {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    quick: Tool,
    /// One that takes [`Peer::SLOW`], if there is one.
    slow: Option<Tool>,
}

impl OnStdio {
    /// What it is called in the table.
    pub(crate) fn title(self) -> String {
        match self {
            Self::Everything => format!("npm server-everything {}", everything::VERSION),
            Self::Filesystem => format!("npm server-filesystem {FILESYSTEM_VERSION}"),
            Self::Mcp1 => format!("PyPI mcp {}", python_mcp::V1),
            Self::Mcp2 => format!("PyPI mcp {}", python_mcp::V2),
            Self::FastMcp => python_fastmcp::title(),
            Self::Rmcp => rmcp::title(),
        }
    }

    /// Installs it if need be, and says how to start it; the text says why it is not there.
    async fn server(self, place: &Place) -> Result<Result<Server, String>> {
        Ok(match self {
            Self::Everything => everything::launch(place).await?.map(|launch| Server {
                program: launch.program.clone(),
                // All but the script that binds it to an address, and the word for HTTP.
                args: {
                    let mut args = launch.arguments.get(2..).unwrap_or_default().to_vec();
                    args.pop();
                    args.push("stdio".into());
                    args
                },
                env: launch.environment.into_iter().filter(|(name, _)| *name != "PORT").collect(),
                quick: Tool { name: "echo", arguments: json!({ "message": "hello" }) },
                slow: Some(Tool {
                    name: "trigger-long-running-operation",
                    arguments: json!({ "duration": Peer::SLOW, "steps": 3 }),
                }),
            }),
            Self::Filesystem => self.filesystem(place).await?,
            Self::Mcp1 => python(place, install::pip("mcp", python_mcp::V1).await?, "mcp_peer.py")?,
            Self::Mcp2 => python(place, install::pip("mcp", python_mcp::V2).await?, "mcp_peer.py")?,
            Self::FastMcp => python_fastmcp::launch(place).await?.map(|launch| on_stdio(&launch)),
            Self::Rmcp => {
                let mut server = on_stdio(&rmcp::launch(place).await?);
                server.args.clear();
                server.env = vec![("PEER_STDIO", "1".into()), ("PEER_LEDGER", place.ledger.clone().into())];
                Ok(server)
            }
        })
    }

    async fn filesystem(self, place: &Place) -> Result<Result<Server, String>> {
        let folder = match install::npm(FILESYSTEM, FILESYSTEM_VERSION).await? {
            Installed::Here(folder) => folder,
            Installed::NoInstaller(problem) => return Ok(Err(problem)),
        };
        let script = folder.join("node_modules").join(FILESYSTEM).join("dist").join("index.js");
        let files = place.front()?;
        std::fs::create_dir_all(&files).with_context(|| format!("cannot make {}", files.display()))?;
        let files = files.canonicalize()?;
        Ok(Ok(Server {
            program: "node".into(),
            args: vec![script.into(), files.clone().into()],
            env: Vec::new(),
            quick: Tool { name: "list_directory", arguments: json!({ "path": files }) },
            slow: None,
        }))
    }
}

fn python(place: &Place, installed: Installed, script: &str) -> Result<Result<Server, String>> {
    Ok(match installed {
        Installed::Here(folder) => Ok(on_stdio(&python_mcp::script(place, &folder, script)?)),
        Installed::NoInstaller(problem) => Err(problem),
    })
}

/// A small server of ours, told to speak over its pipes.
fn on_stdio(launch: &super::process::Launch) -> Server {
    let mut args = launch.arguments.clone();
    args.push("--stdio".into());
    Server {
        program: launch.program.clone(),
        args,
        env: launch.environment.clone(),
        quick: Tool::quick(),
        slow: Some(Tool::slow()),
    }
}

/// Runs the row; the text says why the server is not there.
pub(crate) async fn all(name: &'static str, which: OnStdio) -> Result<Result<Outcome, String>> {
    let place = Place::free(name)?;
    let ledger = place.open_ledger()?;
    let server = match which.server(&place).await? {
        Ok(server) => server,
        Err(problem) => return Ok(Err(problem)),
    };
    let pid = place.log.with_extension("pid");
    // The number of a process stays over `exec`.
    let mut command = ServerCommand::new("/bin/sh").args(["-c", "echo $$ > \"$PEER_PID\"; exec \"$@\"", "sh"]);
    command = command.arg(&server.program).args(&server.args).envs(server.env.clone()).env("PEER_PID", &pid);
    let connecting = timeout(STEP, Client::stdio(command).connect()).await;
    let client = match connecting.context("it does not connect in time").and_then(|client| Ok(client?)) {
        Ok(client) => client,
        Err(error) => return Ok(Ok(broken(name, &format!("{error:#}")))),
    };
    let mut trial = StdioTrial { name, client, server, ledger, pid, outcome: Outcome::default() };
    if let Err(error) = trial.all().await {
        trial.outcome.check(name, format_args!("it broke off: {error:#}"), false);
    }
    trial.client.close().await;
    Ok(Ok(trial.outcome))
}

struct StdioTrial {
    name: &'static str,
    client: Client,
    server: Server,
    ledger: Ledger,
    /// The file with the number of the process that was started last.
    pid: PathBuf,
    outcome: Outcome,
}

impl StdioTrial {
    async fn all(&mut self) -> Result<()> {
        let words = self.calls().await?;
        self.outcome.close_cell((words, None));
        let words = self.killed_in_mid_call().await?;
        self.outcome.close_cell((words, None));
        let words = self.killed_between_calls().await?;
        self.outcome.close_cell((words, None));
        let words = self.closed().await?;
        self.outcome.close_cell((words, None));
        Ok(())
    }

    async fn call(&self, tool: &Tool) -> Result<(), oncewire::Error> {
        self.client.call_tool(tool.name, tool.arguments.clone()).timeout(STEP).await.map(drop)
    }

    /// Is everybody answered, of so many callers at once?
    async fn callers(&self, tool: &Tool) -> bool {
        let mut calls = JoinSet::new();
        for _ in 0..CALLERS {
            calls.spawn(self.client.call_tool(tool.name, tool.arguments.clone()).timeout(STEP).into_future());
        }
        calls.join_all().await.iter().all(Result::is_ok)
    }

    async fn calls(&mut self) -> Result<String> {
        let (name, client) = (self.name, self.client.clone());
        let tools = timeout(STEP, client.list_tools().into_future()).await??;
        self.outcome.check(
            name,
            "it lists its tools",
            tools.items.iter().any(|tool| tool.name == self.server.quick.name),
        );
        self.call(&self.server.quick.clone()).await?;
        client.ping().await?;
        let answered = self.callers(&self.server.quick).await;
        self.outcome.check(name, "16 callers at once are answered", answered);
        self.outcome.check_equal(name, "generation", client.generation(), 1);
        let version = client.protocol_version().unwrap_or_default();
        Ok(format!("answered, {version}"))
    }

    async fn killed_in_mid_call(&mut self) -> Result<String> {
        let Some(slow) = self.server.slow.clone() else { return Ok("it has no slow tool".to_owned()) };
        let before = self.ledger.runs(slow.name)?.started;
        let client = self.client.clone();
        let arguments = slow.arguments.clone();
        let calling = tokio::spawn(client.call_tool(slow.name, arguments).resend(Resend::Never).into_future());
        self.ledger.until(slow.name, |runs| runs.started > before, STEP).await?;
        let killed = Instant::now();
        kill(self.running()?).await?;
        let ended = timeout(STEP, calling).await??;
        self.outcome.check(self.name, "it is told at once", killed.elapsed() < AT_ONCE);
        let told = ended.as_ref().err().map(|error| (error.execution(), error.kind()));
        let right = Some((Execution::MayHaveExecuted, Kind::ConnectionClosed));
        self.outcome.check_equal(self.name, "the verdict", told, right);
        self.call(&self.server.quick.clone()).await?;
        let runs = self.ledger.runs(slow.name)?.started - before;
        self.outcome.check_equal(self.name, "it began, by the server's own ledger", runs, 1);
        self.outcome.check_equal(self.name, "generation", self.client.generation(), 2);
        Ok(format!("{UNKNOWN}, the next call is answered by a new process"))
    }

    async fn killed_between_calls(&mut self) -> Result<String> {
        let (quick, generation) = (self.server.quick.clone(), self.client.generation());
        let before = self.ledger.runs(quick.name)?.started;
        let pid = self.running()?;
        kill(pid).await?;
        gone(pid).await?;
        let answered = self.callers(&quick).await;
        self.outcome.check(self.name, "16 callers at once are answered", answered);
        self.outcome.check_equal(self.name, "new processes", self.client.generation() - generation, 1);
        if self.server.slow.is_some() {
            let runs = self.ledger.runs(quick.name)?.started - before;
            self.outcome.check_equal(self.name, "runs, by the server's own ledger", runs, CALLERS);
        }
        Ok("answered, by one new process".to_owned())
    }

    async fn closed(&mut self) -> Result<String> {
        let pid = self.running()?;
        let begun = Instant::now();
        self.client.close().await;
        let took = begun.elapsed();
        gone(pid).await?;
        // A fifth of `close_timeout` is what the end of its stdin may take.
        let by = if took < Duration::from_secs(1) { "it ends by itself" } else { "it is ended by SIGTERM or SIGKILL" };
        Ok(by.to_owned())
    }

    fn running(&self) -> Result<u32> {
        let text = std::fs::read_to_string(&self.pid).context("the server wrote no number of its process")?;
        text.trim().parse().context("that is no number of a process")
    }
}

async fn kill(pid: u32) -> Result<()> {
    install::finish(Command::new("kill").args(["-s", "KILL", &pid.to_string()])).await
}

/// Waits until there is no such process; the system tells nobody but its parent.
async fn gone(pid: u32) -> Result<()> {
    let end = Instant::now() + STEP;
    while Path::new("/proc").join(pid.to_string()).exists() {
        if Instant::now() > end {
            bail!("process {pid} is still there");
        }
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}
