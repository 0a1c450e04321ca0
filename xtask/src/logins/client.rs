//! The clients, and how a process of each is started.

use std::env;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use tokio::process::Command;

use super::process::Launch;
use crate::peers::install::{self, Installed};
use crate::workspace;

/// The example that is a process of ours.
const EXAMPLE: &str = "logins-client";

const TYPESCRIPT: &str = "2.4.0";
const PYTHON: &str = "2.3.0";
const RMCP: &str = "3.11.0";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    Oncewire,
    Typescript,
    Python,
    Rmcp,
    /// With the lock that rmcp asks its store for
    RmcpGuard,
}

impl Client {
    pub(crate) const ALL: [Self; 5] = [Self::Oncewire, Self::Typescript, Self::Python, Self::Rmcp, Self::RmcpGuard];

    pub(crate) fn title(self) -> String {
        match self {
            Self::Oncewire => "oncewire, its own file store".to_owned(),
            Self::Typescript => format!("npm @modelcontextprotocol/client {TYPESCRIPT}"),
            Self::Python => format!("PyPI mcp {PYTHON}, told when the stored token expires"),
            Self::Rmcp => format!("rmcp {RMCP}"),
            Self::RmcpGuard => format!("rmcp {RMCP}, its store with a lock"),
        }
    }

    /// Builds or installs it if need be. The text says why there is none.
    pub(crate) async fn launch(self) -> Result<Result<Launch, String>> {
        let scripts = workspace::root()?.join("xtask").join("logins");
        Ok(match self {
            Self::Oncewire => {
                let mut cargo = Command::new(workspace::cargo());
                cargo.args(["build", "--quiet", "-p", "xtask", "--example", EXAMPLE]).current_dir(workspace::root()?);
                let built = cargo.status().await?;
                ensure!(built.success(), "{EXAMPLE} could not be built");
                let program = workspace::target()?.join("debug").join("examples").join(EXAMPLE);
                Ok(Launch {
                    program: program.with_extension(env::consts::EXE_EXTENSION),
                    arguments: Vec::new(),
                    environment: Vec::new(),
                })
            }
            Self::Typescript => {
                install::npm("@modelcontextprotocol/client", TYPESCRIPT).await?.map_launch(|folder| Launch {
                    program: "node".into(),
                    arguments: vec![scripts.join("typescript.mjs").into()],
                    environment: vec![("MODULES", folder.into())],
                })
            }
            Self::Python => install::pip("mcp", PYTHON).await?.map_launch(|folder| Launch {
                program: install::python_of(&folder),
                arguments: vec![scripts.join("python.py").into()],
                environment: Vec::new(),
            }),
            Self::Rmcp | Self::RmcpGuard => {
                let program = install::cargo_project(&scripts.join("rmcp-client"), "rmcp-client").await?;
                let guard = (self == Self::RmcpGuard).then(|| ("GUARD", "1".into()));
                Ok(Launch { program, arguments: Vec::new(), environment: guard.into_iter().collect() })
            }
        })
    }
}

impl Installed {
    fn map_launch(self, launch: impl FnOnce(std::path::PathBuf) -> Launch) -> Result<Launch, String> {
        match self {
            Self::Here(folder) => Ok(launch(folder)),
            Self::NoInstaller(problem) => Err(problem),
        }
    }
}
