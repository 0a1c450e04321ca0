//! One server process. It listens on one loopback port for its whole life, through any number of restarts, and ends with us on every
//! path: dropping a [`Process`] kills it, and if we are killed ourselves, the end of its standard input ends it.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::place::Place;

/// Where the ports of servers are taken from.
const PORTS: Range<u16> = 20_000..32_000;
/// How long a server may take until it accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a server may take to end when it is asked to.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// The gap between two tries to connect to a server that starts; there is no event to wait for.
const START_PROBE: Duration = Duration::from_millis(25);

/// How to start a server. It reads its standard input and ends when that ends.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
    pub(crate) port: u16,
    /// Where its output goes; each start begins the file anew.
    pub(crate) log: PathBuf,
}

impl Launch {
    /// One of our small servers for Node, with the packages in this folder; `mode` is what it makes of itself.
    pub(crate) fn node(place: &Place, script: PathBuf, mode: &str, packages: PathBuf) -> Self {
        Self {
            program: "node".into(),
            arguments: vec![script.into()],
            environment: vec![
                ("PORT", place.port.to_string().into()),
                ("PEER_MODE", mode.into()),
                ("PEER_LEDGER", place.ledger.clone().into()),
                ("PEER_PACKAGES", packages.into()),
            ],
            port: place.port,
            log: place.log.clone(),
        }
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }
}

/// A server that was started.
#[derive(Debug)]
pub(crate) struct Process {
    launch: Launch,
    child: Child,
}

impl Process {
    /// Starts it, and waits until it accepts connections.
    pub(crate) async fn start(launch: Launch) -> Result<Self> {
        let child = spawn(&launch).await?;
        Ok(Self { launch, child })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.launch.address()
    }

    /// Ends it at once, as a crash would (on Unix by SIGKILL), and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.context("cannot kill the server")
    }

    /// Asks it to end (on Unix by SIGTERM), and waits until it has; one that does not is killed.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        if cfg!(unix)
            && let Some(id) = self.child.id()
        {
            let asked = Command::new("kill").args(["-TERM", &id.to_string()]).status().await;
            if !asked.context("cannot start kill")?.success() {
                bail!("cannot ask the server to end");
            }
            // Waiting closes its standard input, unless that is held: a server must not end for that reason.
            let _held = self.child.stdin.take();
            if let Ok(ended) = timeout(STOP_TIMEOUT, self.child.wait()).await {
                return ended.map(drop).context("cannot wait for the server");
            }
        }
        self.kill().await
    }

    /// From the next start on it is another one; on the same port.
    pub(crate) fn becomes(&mut self, launch: Launch) {
        self.launch = launch;
    }

    /// Starts it again on the same port; it must have been killed.
    pub(crate) async fn start_again(&mut self) -> Result<()> {
        self.child = spawn(&self.launch).await?;
        Ok(())
    }
}

async fn spawn(launch: &Launch) -> Result<Child> {
    let log = File::create(&launch.log).with_context(|| format!("cannot write {}", launch.log.display()))?;
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments).envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", launch.program.display()))?;
    let deadline = Instant::now() + START_TIMEOUT;
    while TcpStream::connect(launch.address()).await.is_err() {
        if let Some(status) = child.try_wait()? {
            bail!("the server ended with {status} before it listened; its output is in {}", launch.log.display());
        }
        if Instant::now() > deadline {
            bail!("the server does not listen on {}; its output is in {}", launch.address(), launch.log.display());
        }
        sleep(START_PROBE).await;
    }
    Ok(child)
}

/// A port for one server, which nobody listens on now. It is none that the system gives out by itself (Linux from 32768 on, others from
/// 49152 on): while the server is down between two starts, no other program on this machine must get it by chance.
pub(crate) fn free_port() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..1_000 {
        let random = RandomState::new().build_hasher().finish() % u64::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(random)?;
        if !given.contains(&port) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            given.insert(port);
            return Ok(port);
        }
    }
    bail!("no port from {} to {} is free on 127.0.0.1", PORTS.start, PORTS.end)
}
