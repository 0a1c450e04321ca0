//! Bridges from HTTP to a server on standard input and output: npm `supergateway` and npm `mcp-proxy`. In the handshake era the bridge holds
//! the sessions.

use std::ffi::OsString;

use anyhow::Result;

use super::install::{self, Installed};
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::{About, Changes, Reports, Resumption, Talks, server_package, typescript_sdk};

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

    /// What it is called before a server that speaks both eras.
    pub(crate) fn modern_title(self) -> String {
        let (package, version) = self.package();
        format!("npm {package} {version} before npm @modelcontextprotocol/server {}", server_package::VERSION)
    }

    /// What is known of it in the handshake era.
    pub(crate) fn about(self, title: String) -> About {
        let resumption = if self == Self::McpProxy { Resumption::Works } else { Resumption::NotOffered };
        typescript_sdk::small(title, resumption)
    }

    /// What is known of it in the modern era.
    pub(crate) fn modern_about(self, title: String) -> About {
        let talks = match self {
            // Each request has a process of its own, which knows of no other's changes.
            Self::Supergateway => Talks { changes: Changes::Unheard, ..Talks::ALL },
            // It speaks the handshake era to the server, which asks nothing there.
            Self::McpProxy => Talks { reports: Reports::Some, asks: false, ..Talks::ALL },
        };
        About { offers: Offers::small(true), talks, ..server_package::about(title) }
    }

    /// Installs it if need be, and says how to start it before a small server: one of the handshake era, or one of both. The text says why
    /// there is none.
    pub(crate) async fn launch(self, place: &Place, modern: bool) -> Result<Result<Launch, String>> {
        let (package, version) = self.package();
        let folder = match install::npm(package, version).await? {
            Installed::Here(folder) => folder,
            Installed::NoInstaller(problem) => return Ok(Err(problem)),
        };
        let packages = if modern { server_package::folder().await? } else { typescript_sdk::folder().await? };
        let packages = match packages {
            Ok(packages) => packages,
            Err(problem) => return Ok(Err(problem)),
        };
        let scripts = super::scripts()?;
        let script = scripts.join(if modern { "server_stdio_peer.mjs" } else { "stdio_peer.mjs" });
        let distributed = folder.join("node_modules").join(package).join("dist");
        // Neither reads its standard input, and one has no option for its address: the script does both.
        let mut arguments: Vec<OsString> = vec!["--import".into(), scripts.join("loopback.mjs").into()];
        let port = place.port.to_string();
        match self {
            Self::Supergateway => {
                arguments.push(distributed.join("index.js").into());
                let command = format!("node \"{}\"", script.display());
                arguments.extend(["--stdio".into(), command.into()]);
                let words = ["--outputTransport", "streamableHttp", "--stateful", "--streamableHttpPath", "/mcp"];
                arguments.extend(words.map(OsString::from));
                arguments.extend(["--port".into(), port.into()]);
            }
            Self::McpProxy => {
                arguments.push(distributed.join("bin").join("mcp-proxy.mjs").into());
                arguments.extend(["--host", "127.0.0.1", "--port", &port, "--", "node"].map(OsString::from));
                arguments.push(script.into());
            }
        }
        // The bridge passes its own environment on.
        let environment = vec![("PEER_LEDGER", place.ledger.clone().into()), ("PEER_PACKAGES", packages.into())];
        Ok(Ok(Launch { program: "node".into(), arguments, environment, port: place.port, log: place.log.clone() }))
    }
}
