//! Every server that can be started: what it is called, what is known of it, and how it is started at a place.

use anyhow::Result;

use super::bridges::Bridge;
use super::ledger::Ledger;
use super::middleboxes::Middlebox;
use super::place::Place;
use super::process::Launch;
use super::python_mcp::{self, Answers};
use super::server_package::Eras;
use super::typescript_sdk::Mode;
use super::{About, Peer, everything, python_fastmcp, rmcp, server_package, typescript_sdk};

/// How one server is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recipe {
    /// npm @modelcontextprotocol/server-everything
    Everything,
    /// npm @modelcontextprotocol/sdk 1.x
    Sdk(Mode),
    /// npm @modelcontextprotocol/server 2.x
    Server(Eras),
    /// PyPI mcp 1.x
    Mcp1(Answers),
    /// PyPI mcp 2.x
    Mcp2(Answers),
    /// PyPI fastmcp 4.x
    FastMcp,
    /// crates.io rmcp
    Rmcp,
    /// A bridge before a server of the handshake era on standard input and output
    Bridge(Bridge),
    /// A bridge before a server of both eras
    ModernBridge(Bridge),
    /// A middlebox before PyPI mcp 1.x
    Before(Middlebox, Answers),
    /// A middlebox before PyPI mcp 2.x
    BeforeModern(Middlebox),
}

/// What is started: a server, and what stands before it.
#[derive(Debug)]
pub(crate) struct Launches {
    pub(crate) server: Launch,
    pub(crate) front: Option<Launch>,
}

impl From<Launch> for Launches {
    fn from(server: Launch) -> Self {
        Self { server, front: None }
    }
}

impl Recipe {
    /// Package and version, and what is special.
    pub(crate) fn title(self) -> String {
        match self {
            Self::Everything => format!("npm @modelcontextprotocol/server-everything {}", everything::VERSION),
            Self::Sdk(mode) => typescript_sdk::title(mode),
            Self::Server(eras) => server_package::title(eras),
            Self::Mcp1(answers) => python_mcp::package(python_mcp::V1, answers),
            Self::Mcp2(answers) => python_mcp::package(python_mcp::V2, answers),
            Self::FastMcp => python_fastmcp::title(),
            Self::Rmcp => rmcp::title(),
            Self::Bridge(bridge) => bridge.title(),
            Self::ModernBridge(bridge) => bridge.modern_title(),
            Self::Before(middlebox, answers) => middlebox.title(python_mcp::V1, answers),
            Self::BeforeModern(middlebox) => middlebox.title(python_mcp::V2, Answers::Streams),
        }
    }

    /// What is known of it in the handshake era.
    pub(crate) fn about(self) -> About {
        match self {
            Self::Everything => everything::about(self.title()),
            Self::Sdk(mode) => typescript_sdk::about(self.title(), mode),
            Self::Mcp1(answers) | Self::Mcp2(answers) | Self::Before(_, answers) => {
                python_mcp::about(self.title(), answers)
            }
            Self::Rmcp => rmcp::about(),
            Self::Bridge(bridge) => bridge.about(self.title()),
            Self::Server(_) | Self::FastMcp | Self::ModernBridge(_) | Self::BeforeModern(_) => self.modern_about(),
        }
    }

    /// What is known of it in the modern era.
    pub(crate) fn modern_about(self) -> About {
        match self {
            Self::Server(_) => server_package::about(self.title()),
            Self::Mcp2(answers) => python_mcp::modern_about(self.title(), answers),
            Self::BeforeModern(_) => python_mcp::modern_about(self.title(), Answers::Streams),
            Self::FastMcp => python_fastmcp::about(self.title()),
            Self::Bridge(bridge) | Self::ModernBridge(bridge) => bridge.modern_about(self.title()),
            Self::Rmcp => rmcp::modern_about(),
            Self::Everything | Self::Sdk(_) | Self::Mcp1(_) | Self::Before(..) => self.about(),
        }
    }

    /// Installs it if need be, and says how to start it at this place; the text says why there is none.
    pub(crate) async fn launches(self, place: &Place) -> Result<Result<Launches, String>> {
        let launch = match self {
            Self::Everything => everything::launch(place).await?,
            Self::Sdk(mode) => typescript_sdk::launch(place, mode).await?,
            Self::Server(eras) => server_package::launch(place, eras).await?,
            Self::Mcp1(answers) => python_mcp::launch(place, python_mcp::V1, answers).await?,
            Self::Mcp2(answers) => python_mcp::launch(place, python_mcp::V2, answers).await?,
            Self::FastMcp => python_fastmcp::launch(place).await?,
            Self::Rmcp => Ok(rmcp::launch(place).await?),
            Self::Bridge(bridge) => bridge.launch(place, false).await?,
            Self::ModernBridge(bridge) => bridge.launch(place, true).await?,
            Self::Before(middlebox, answers) => return middlebox.launches(place, python_mcp::V1, answers).await,
            Self::BeforeModern(middlebox) => {
                return middlebox.launches(place, python_mcp::V2, Answers::Streams).await;
            }
        };
        Ok(launch.map(Launches::from))
    }

    /// Starts it; the text says why there is none.
    pub(crate) async fn start(self, about: About, name: &str) -> Result<Result<Peer, String>> {
        let place = Place::free(name)?;
        let ledger: Ledger = place.open_ledger()?;
        match self.launches(&place).await? {
            Ok(launches) => Peer::start(about, launches, ledger).await.map(Ok),
            Err(problem) => Ok(Err(problem)),
        }
    }
}
