//! A host as a process of its own: it takes one order a line, and says in one line what came of it.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::super::install::{self, Installed};
use super::super::trial::STEP;
use super::super::{Tool, python_mcp, scripts, server_package, typescript_sdk};
use crate::workspace;

/// Which client the host is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// npm @modelcontextprotocol/sdk 1.x
    Sdk,
    /// npm @modelcontextprotocol/client 2.x, which finds the era out
    Client,
    /// PyPI mcp 1.x
    Mcp1,
    /// PyPI mcp 2.x, which finds the era out
    Mcp2,
    /// crates.io rmcp
    Rmcp,
}

impl Kind {
    /// What it is called in the output.
    pub(crate) fn title(self) -> String {
        match self {
            Self::Sdk => format!("npm @modelcontextprotocol/sdk {}", typescript_sdk::VERSION),
            Self::Client => format!("npm @modelcontextprotocol/client {}", server_package::VERSION),
            Self::Mcp1 => format!("PyPI mcp {}", python_mcp::V1),
            Self::Mcp2 => format!("PyPI mcp {}", python_mcp::V2),
            Self::Rmcp => "crates.io rmcp 3.11.0".to_owned(),
        }
    }

    /// Installs it if need be, and says how to start it; the text says why there is none.
    async fn command(self) -> Result<Result<Command, String>> {
        let hosts = scripts()?.join("hosts");
        let python = async |version, script| -> Result<Result<Command, String>> {
            Ok(match install::pip("mcp", version).await? {
                Installed::Here(folder) => {
                    let mut command = Command::new(install::python_of(&folder));
                    command.arg(hosts.join(script));
                    Ok(command)
                }
                Installed::NoInstaller(problem) => Err(problem),
            })
        };
        let node = async |package, version, which| -> Result<Result<Command, String>> {
            Ok(match install::npm(package, version).await? {
                Installed::Here(folder) => {
                    let mut command = Command::new("node");
                    command.arg(hosts.join("host.mjs")).env("PEER_PACKAGES", folder).env("PEER_CLIENT", which);
                    Ok(command)
                }
                Installed::NoInstaller(problem) => Err(problem),
            })
        };
        match self {
            Self::Sdk => node("@modelcontextprotocol/sdk", typescript_sdk::VERSION, "sdk").await,
            Self::Client => node("@modelcontextprotocol/client", server_package::VERSION, "client").await,
            Self::Mcp1 => python(python_mcp::V1, "host1.py").await,
            Self::Mcp2 => python(python_mcp::V2, "host2.py").await,
            Self::Rmcp => {
                let program = install::cargo_project(&hosts.join("rmcp-host"), "rmcp-host").await?;
                Ok(Ok(Command::new(program)))
            }
        }
    }
}

/// The command, built once.
pub(crate) async fn oncewire() -> Result<PathBuf> {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    let built = BUILT.get_or_try_init(async || {
        let mut cargo = Command::new(workspace::cargo());
        cargo
            .args(["build", "--quiet", "-p", "oncewire-cli", "--manifest-path"])
            .arg(workspace::root()?.join("Cargo.toml"));
        install::finish(&mut cargo).await.context("the command cannot be built")?;
        anyhow::Ok(workspace::target()?.join("debug").join(format!("oncewire{}", std::env::consts::EXE_SUFFIX)))
    });
    built.await.cloned()
}

/// What came of one order.
#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    #[serde(default)]
    ok: Option<Value>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    data: Option<Value>,
}

impl Reply {
    pub(super) fn is_ok(&self) -> bool {
        self.ok.is_some()
    }

    pub(super) fn data(&self) -> Option<&Value> {
        self.data.as_ref()
    }

    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.ok, &self.message) {
            (Some(ok), _) => write!(formatter, "answered ({ok})"),
            (None, message) => formatter.write_str(message.as_deref().unwrap_or("no answer")),
        }
    }
}

/// A host that runs, and its proxy below it.
pub(super) struct Host {
    child: Child,
    orders: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Host {
    /// Starts it, with the proxy before this URL, and waits until it is connected; the text says why there is none.
    pub(super) async fn start(kind: Kind, url: &str) -> Result<Result<Self, String>> {
        let mut command = match kind.command().await? {
            Ok(command) => command,
            Err(problem) => return Ok(Err(problem)),
        };
        let proxy: [OsString; 4] = ["proxy".into(), url.into(), "--no-oauth".into(), "--no-proxy".into()];
        command.arg(oncewire().await?).args(proxy);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = command.spawn().context("the host cannot be started")?;
        let (orders, replies) = (child.stdin.take().context("no pipe")?, child.stdout.take().context("no pipe")?);
        let mut host = Self { child, orders, replies: BufReader::new(replies).lines() };
        let connected = host.reply().await.context("the host does not connect")?;
        if !connected.is_ok() {
            bail!("the host does not connect: {connected}");
        }
        Ok(Ok(host))
    }

    async fn order(&mut self, order: &Value) -> Result<()> {
        self.orders.write_all(format!("{order}\n").as_bytes()).await.context("the host takes no order")
    }

    pub(super) async fn reply(&mut self) -> Result<Reply> {
        let line = timeout(STEP, self.replies.next_line()).await.context("the host does not reply")??;
        let line = line.context("the host has ended")?;
        serde_json::from_str(&line).with_context(|| format!("no reply: {line}"))
    }

    pub(super) async fn list(&mut self) -> Result<Reply> {
        self.order(&json!({ "do": "list" })).await?;
        self.reply().await
    }

    pub(super) async fn order_call(&mut self, tool: &Tool) -> Result<()> {
        self.order(&json!({ "do": "call", "tool": tool.name, "arguments": tool.arguments })).await
    }

    pub(super) async fn call(&mut self, tool: &Tool) -> Result<Reply> {
        self.order_call(tool).await?;
        self.reply().await
    }

    /// Ends it, and with it its proxy.
    pub(super) async fn close(&mut self) -> Result<ExitStatus> {
        self.order(&json!({ "do": "close" })).await?;
        self.reply().await?;
        timeout(STEP, self.child.wait()).await.context("the host does not end")?.context("cannot wait for the host")
    }
}
