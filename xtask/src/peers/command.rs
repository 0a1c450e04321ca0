//! `cargo xtask peers`: real servers, each in every situation: healthy, restarted, killed in mid-call, cut in mid-call, closed.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use tokio::task::LocalSet;

use super::bridges::Bridge;
use super::middleboxes::Middlebox;
use super::python_mcp::{self, Answers};
use super::situations::{self, Outcome, SITUATIONS};
use super::typescript_sdk::{self, Mode};
use super::{Peer, everything, rmcp, table};

/// The longest that one server may take, installation left out.
const SERVER_LIMIT: Duration = Duration::from_secs(600);

/// A real server, or something that stands before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Server {
    /// npm @modelcontextprotocol/server-everything
    Everything,
    /// npm @modelcontextprotocol/sdk 1.x, a transport for each session
    Sdk,
    /// The same with an event store
    SdkEvents,
    /// The same with JSON answers
    SdkJson,
    /// npm @modelcontextprotocol/sdk 1.x, one transport for the process
    SdkBare,
    /// PyPI mcp 1.x
    Mcp1,
    /// The same with an event store
    Mcp1Events,
    /// PyPI mcp 2.x, in the handshake era
    Mcp2,
    /// The same with an event store
    Mcp2Events,
    /// crates.io rmcp
    Rmcp,
    /// npm supergateway
    Supergateway,
    /// npm mcp-proxy
    McpProxy,
    /// nginx before PyPI mcp
    Nginx,
    /// The same with JSON answers
    NginxJson,
    /// haproxy before PyPI mcp
    Haproxy,
    /// The same with JSON answers
    HaproxyJson,
}

impl Server {
    const QUICK: [Self; 6] = [Self::Everything, Self::Sdk, Self::SdkEvents, Self::Mcp1, Self::Mcp2, Self::NginxJson];

    /// In the order of the table.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// Its name on the command line and in the output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Sdk => "sdk",
            Self::SdkEvents => "sdk-events",
            Self::SdkJson => "sdk-json",
            Self::SdkBare => "sdk-bare",
            Self::Mcp1 => "mcp1",
            Self::Mcp1Events => "mcp1-events",
            Self::Mcp2 => "mcp2",
            Self::Mcp2Events => "mcp2-events",
            Self::Rmcp => "rmcp",
            Self::Supergateway => "supergateway",
            Self::McpProxy => "mcp-proxy",
            Self::Nginx => "nginx",
            Self::NginxJson => "nginx-json",
            Self::Haproxy => "haproxy",
            Self::HaproxyJson => "haproxy-json",
        }
    }

    /// What it is called in the table.
    pub(crate) fn title(self) -> String {
        let sdk = format!("npm @modelcontextprotocol/sdk {}", typescript_sdk::VERSION);
        let (first, second) = (python_mcp::V1, python_mcp::V2);
        match self {
            Self::Everything => format!("npm @modelcontextprotocol/server-everything {}", everything::VERSION),
            Self::Sdk => sdk,
            Self::SdkEvents => format!("{sdk}, event store"),
            Self::SdkJson => format!("{sdk}, JSON answers"),
            Self::SdkBare => format!("{sdk}, one transport for the process"),
            Self::Mcp1 => format!("PyPI mcp {first}"),
            Self::Mcp1Events => format!("PyPI mcp {first}, event store"),
            Self::Mcp2 => format!("PyPI mcp {second}"),
            Self::Mcp2Events => format!("PyPI mcp {second}, event store"),
            Self::Rmcp => rmcp::title(),
            Self::Supergateway => Bridge::Supergateway.title(),
            Self::McpProxy => Bridge::McpProxy.title(),
            Self::Nginx => Middlebox::Nginx.title(Answers::Streams),
            Self::NginxJson => Middlebox::Nginx.title(Answers::Json),
            Self::Haproxy => Middlebox::Haproxy.title(Answers::Streams),
            Self::HaproxyJson => Middlebox::Haproxy.title(Answers::Json),
        }
    }

    /// Installs it if need be and starts it; the text says why there is none.
    async fn start(self) -> Result<Result<Peer, String>> {
        let (title, name) = (self.title(), self.name());
        match self {
            Self::Everything => everything::start().await,
            Self::Sdk => typescript_sdk::start(title, Mode::Sessions, name).await,
            Self::SdkEvents => typescript_sdk::start(title, Mode::Events, name).await,
            Self::SdkJson => typescript_sdk::start(title, Mode::Json, name).await,
            Self::SdkBare => typescript_sdk::start(title, Mode::Bare, name).await,
            Self::Mcp1 => python(title, python_mcp::V1, Answers::Streams, name).await,
            Self::Mcp1Events => python(title, python_mcp::V1, Answers::Events, name).await,
            Self::Mcp2 => python(title, python_mcp::V2, Answers::Streams, name).await,
            Self::Mcp2Events => python(title, python_mcp::V2, Answers::Events, name).await,
            Self::Rmcp => rmcp::start(name).await,
            Self::Supergateway => Bridge::Supergateway.start(name).await,
            Self::McpProxy => Bridge::McpProxy.start(name).await,
            Self::Nginx => Middlebox::Nginx.start(Answers::Streams, name).await,
            Self::NginxJson => Middlebox::Nginx.start(Answers::Json, name).await,
            Self::Haproxy => Middlebox::Haproxy.start(Answers::Streams, name).await,
            Self::HaproxyJson => Middlebox::Haproxy.start(Answers::Json, name).await,
        }
    }
}

async fn python(title: String, version: &str, answers: Answers, name: &str) -> Result<Result<Peer, String>> {
    let (launch, ledger) = match python_mcp::launch(version, answers, name).await? {
        Ok(launch) => launch,
        Err(problem) => return Ok(Err(problem)),
    };
    Peer::start(python_mcp::about(title, answers), launch, ledger).await.map(Ok)
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only some servers, for every check of a change
    #[arg(long)]
    quick: bool,
    /// Only these servers
    #[arg(long, value_name = "NAME")]
    only: Vec<Server>,
    /// Write docs/servers.md, instead of checking it
    #[arg(long)]
    write_docs: bool,
    /// So many servers at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

impl Options {
    fn servers(&self) -> Vec<Server> {
        let wanted = |server: &Server| match (self.only.is_empty(), self.quick) {
            (false, _) => self.only.contains(server),
            (true, true) => Server::QUICK.contains(server),
            (true, false) => true,
        };
        Server::all().filter(wanted).collect()
    }
}

/// What came of one server.
enum Ran {
    Tried(Outcome),
    LeftOut(String),
}

/// Runs the servers. `Ok(false)` means that something did not hold.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    // The servers live in tasks of this thread. When a signal comes first, they are dropped with it, which kills them.
    let ran = LocalSet::new().block_on(&runtime, async {
        tokio::select! {
            ran = try_all(options) => ran,
            signal = crate::demo::told_to_stop() => {
                signal.context("cannot wait for signals")?;
                bail!("stopped by a signal")
            }
        }
    })?;
    close(options, ran)
}

async fn try_all(options: &Options) -> Result<Vec<(Server, Ran)>> {
    let mut waiting = options.servers().into_iter();
    let mut running = tokio::task::JoinSet::new();
    let mut done = Vec::new();
    for server in waiting.by_ref().take(options.jobs.max(1)) {
        running.spawn_local(async move { (server, try_one(server).await) });
    }
    while let Some(ended) = running.join_next().await {
        done.push(ended.context("a server's task broke off")?);
        if let Some(server) = waiting.next() {
            running.spawn_local(async move { (server, try_one(server).await) });
        }
    }
    done.sort_by_key(|(server, _)| Server::all().position(|other| other == *server));
    Ok(done)
}

async fn try_one(server: Server) -> Ran {
    let name = server.name();
    let mut peer = match server.start().await {
        Ok(Ok(peer)) => peer,
        Ok(Err(problem)) => {
            println!("[{name}] left out, since {problem}");
            return Ran::LeftOut(problem);
        }
        Err(error) => return Ran::Tried(situations::broken(name, &format!("it does not start: {error:#}"))),
    };
    println!("[{name}] {} on {}", server.title(), peer.url());
    let started = Instant::now();
    let tried = tokio::time::timeout(SERVER_LIMIT, situations::all(&mut peer, name)).await;
    let outcome = tried.unwrap_or_else(|_| situations::broken(name, "it did not end in time"));
    let (passed, failed) = (outcome.passed, outcome.failed);
    println!("[{name}] {passed} passed, {failed} failed, in {:.1} s", started.elapsed().as_secs_f64());
    if let Err(error) = peer.end().await {
        println!("[{name}] {error:#}");
    }
    Ran::Tried(outcome)
}

/// The summary, the page, and the last line.
fn close(options: &Options, ran: Vec<(Server, Ran)>) -> Result<bool> {
    println!();
    for (server, ran) in &ran {
        println!("{}", summary(*server, ran));
    }
    let tried: Vec<_> = ran
        .into_iter()
        .filter_map(|(server, ran)| match ran {
            Ran::Tried(outcome) => Some((server, outcome)),
            Ran::LeftOut(_) => None,
        })
        .collect();
    let mut passed: usize = tried.iter().map(|(_, outcome)| outcome.passed).sum();
    let mut failed: usize = tried.iter().map(|(_, outcome)| outcome.failed).sum();
    let committed = table::committed()?;
    let page = table::page(&committed, &tried);
    if options.write_docs {
        let file = table::file()?;
        std::fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))?;
        println!("wrote {}", file.display());
    } else if page == committed {
        passed += 1;
    } else {
        failed += 1;
        println!("WRONG  docs/servers.md is not as it would be generated; `cargo xtask peers --write-docs` does that:");
        for line in page.lines().filter(|line| !committed.lines().any(|other| other == *line)) {
            println!("  + {line}");
        }
        for line in committed.lines().filter(|line| !page.lines().any(|other| other == *line)) {
            println!("  - {line}");
        }
    }
    println!("peers: {passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

fn summary(server: Server, ran: &Ran) -> String {
    let mut line = format!("{:<13}", server.name());
    match ran {
        Ran::LeftOut(problem) => line.push_str(&format!(" left out: {problem}")),
        Ran::Tried(outcome) => {
            for (index, situation) in SITUATIONS.iter().enumerate() {
                let word = match outcome.cells.get(index) {
                    Some(cell) if cell.failed == 0 => "ok",
                    Some(_) => "WRONG",
                    None => "broke off",
                };
                line.push_str(&format!(" | {situation}: {word}"));
            }
        }
    }
    line
}
