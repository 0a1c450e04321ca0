//! Bridges from HTTP to a server on standard input and output: npm `supergateway` and npm `mcp-proxy`. The bridge holds the sessions.

use std::ffi::OsString;

use anyhow::Result;

use super::install::{self, Installed};
use super::process::{self, Launch};
use super::{Peer, Resumption, typescript_sdk};

/// A bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bridge {
    Supergateway,
    McpProxy,
}

impl Bridge {
    fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::Supergateway => ("supergateway", "4.0.0"),
            Self::McpProxy => ("mcp-proxy", "6.7.19"),
        }
    }

    /// What it is called in the output.
    pub(crate) fn title(self) -> String {
        let (package, version) = self.package();
        let how = if self == Self::Supergateway { ", stateful" } else { "" };
        format!("npm {package} {version}{how}")
    }

    /// Installs it if need be and starts it; the text says why there is none.
    pub(crate) async fn start(self, name: &str) -> Result<Result<Peer, String>> {
        let (package, version) = self.package();
        let folder = match install::npm(package, version).await? {
            Installed::Here(folder) => folder,
            Installed::NoInstaller(problem) => return Ok(Err(problem)),
        };
        let stdio = match typescript_sdk::stdio(name).await? {
            Ok(stdio) => stdio,
            Err(problem) => return Ok(Err(problem)),
        };
        let port = process::free_port()?;
        let distributed = folder.join("node_modules").join(package).join("dist");
        // Neither reads its standard input, and one has no option for its address: the script does both.
        let mut arguments: Vec<OsString> = vec!["--import".into(), super::scripts()?.join("loopback.mjs").into()];
        let port_word = port.to_string();
        match self {
            Self::Supergateway => {
                arguments.push(distributed.join("index.js").into());
                let command = format!("node \"{}\"", stdio.script.display());
                arguments.extend(["--stdio".into(), command.into()]);
                let words = ["--outputTransport", "streamableHttp", "--stateful", "--streamableHttpPath", "/mcp"];
                arguments.extend(words.map(OsString::from));
                arguments.extend(["--port".into(), port_word.into()]);
            }
            Self::McpProxy => {
                arguments.push(distributed.join("bin").join("mcp-proxy.mjs").into());
                arguments.extend(["--host", "127.0.0.1", "--port", &port_word, "--", "node"].map(OsString::from));
                arguments.push(stdio.script.clone().into());
            }
        }
        let launch = Launch {
            program: "node".into(),
            arguments,
            environment: stdio.environment,
            port,
            log: super::folder()?.join(format!("{name}.log")),
        };
        let resumption = if self == Self::McpProxy { Resumption::Works } else { Resumption::NotOffered };
        Peer::start(typescript_sdk::about(self.title(), resumption), launch, stdio.ledger).await.map(Ok)
    }
}
