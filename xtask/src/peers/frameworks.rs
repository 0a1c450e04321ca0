//! Small servers on frameworks, gateways and programs that others publish, each as its users write it: how each is installed and started, and
//! what is known of it. What they have in common, and what is tried, is in `sessions.rs`.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::install::{self, Installed};
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::{About, Peer, Resumption, Sessions, Talks, Tool, python_mcp};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framework {
    /// npm fastmcp
    FastMcp,
    /// npm @hono/mcp
    Hono,
    /// npm tmcp
    Tmcp,
    /// npm @mastra/mcp
    Mastra,
    /// npm mcp-framework
    ByClasses,
    /// npm mcp-framework, plain JSON
    ByClassesJson,
    /// npm n8n-mcp
    N8n,
    /// PyPI aiohttp-mcp
    AiohttpMcp,
    /// PyPI django-mcp-server, whose sessions live through a restart
    DjangoFiles,
    /// PyPI django-mcp-server
    Django,
    /// PyPI gradio
    Gradio,
    /// PyPI litellm
    Litellm,
    /// crates.io pmcp
    Pmcp,
    /// crates.io turbomcp
    Turbomcp,
    /// crates.io rust-mcp-sdk
    RustMcpSdk,
}

/// Where it comes from: packages with their versions, the script that stands on them, and how that is told what it shall be.
enum Source {
    Npm(&'static [&'static str], &'static str, &'static str),
    Pip(&'static [&'static str], &'static str, &'static str),
    /// A cargo project of ours.
    Project(&'static str),
}

impl Framework {
    fn source(self) -> Source {
        match self {
            Self::FastMcp => Source::Npm(&["fastmcp@4.20.16", "zod@4.6.7"], "fastmcp.mjs", ""),
            Self::Hono => Source::Npm(
                &[
                    "@hono/mcp@0.3.2",
                    "@hono/node-server@2.1.9",
                    "@modelcontextprotocol/sdk@1.32.2",
                    "hono@4.13.19",
                    "zod@4.6.7",
                ],
                "hono.mjs",
                "",
            ),
            Self::Tmcp => Source::Npm(
                &["tmcp@1.20.0", "@tmcp/adapter-zod@0.1.7", "@tmcp/transport-http@0.9.0", "zod@4.6.7"],
                "tmcp.mjs",
                "",
            ),
            Self::Mastra => {
                Source::Npm(&["@mastra/mcp@0.14.5", "@mastra/core@0.24.9", "zod@3.25.76"], "mastra.mjs", "")
            }
            Self::ByClasses => Source::Npm(&["mcp-framework@0.2.22", "zod@3.25.76"], "mcp_framework.mjs", "stream"),
            Self::ByClassesJson => Source::Npm(&["mcp-framework@0.2.22", "zod@3.25.76"], "mcp_framework.mjs", "batch"),
            Self::N8n => Source::Npm(&["n8n-mcp@2.87.0"], "n8n_mcp.mjs", "1.5"),
            Self::AiohttpMcp => Source::Pip(&["aiohttp-mcp==0.7.0", "mcp==1.30.0"], "aiohttp_mcp_peer.py", ""),
            Self::DjangoFiles => Source::Pip(DJANGO, "django_peer.py", "files"),
            Self::Django => Source::Pip(DJANGO, "django_peer.py", "memory"),
            Self::Gradio => Source::Pip(&["gradio[mcp]==6.31.0", "mcp==1.30.0"], "gradio_peer.py", ""),
            Self::Litellm => Source::Pip(&["litellm[proxy]==1.108.0", "mcp==2.3.0"], "litellm_peer.py", ""),
            Self::Pmcp => Source::Project("pmcp-server"),
            Self::Turbomcp => Source::Project("turbomcp-server"),
            Self::RustMcpSdk => Source::Project("rust-mcp-sdk-server"),
        }
    }

    /// Package and version, and what is special.
    pub(crate) fn title(self) -> String {
        let how = match self {
            Self::ByClassesJson | Self::AiohttpMcp => ", JSON answers",
            Self::DjangoFiles => ", sessions in files",
            Self::Django => ", sessions in memory",
            Self::Litellm => " before PyPI mcp 2.3.0",
            _ => "",
        };
        let package = match self.source() {
            Source::Npm(packages, ..) => {
                let (name, version) = packages.first().and_then(|package| package.rsplit_once('@')).unwrap_or_default();
                format!("npm {name} {version}")
            }
            Source::Pip(packages, ..) => {
                let (name, version) = packages.first().and_then(|package| package.split_once("==")).unwrap_or_default();
                format!("PyPI {} {version}", name.split('[').next().unwrap_or_default())
            }
            Source::Project("pmcp-server") => "crates.io pmcp 2.23.0".into(),
            Source::Project("turbomcp-server") => "crates.io turbomcp 3.6.0".into(),
            Source::Project(_) => "crates.io rust-mcp-sdk 2.0.0".into(),
        };
        package + how
    }

    /// What is known of it.
    pub(crate) fn about(self) -> About {
        let slow = |name| Tool { name, arguments: json!({ "seconds": Peer::SLOW }) };
        let (quick, slow) = match self {
            Self::N8n => (
                Tool { name: "tools_documentation", arguments: json!({}) },
                Tool { name: "search_nodes", arguments: json!({ "query": "webhook" }) },
            ),
            Self::Litellm => (Tool { name: "peer-poke", arguments: json!({}) }, slow("peer-slow")),
            _ => (Tool { name: "poke", arguments: json!({}) }, slow("slow")),
        };
        About {
            title: self.title(),
            quick,
            slow,
            slow_reads: self == Self::N8n,
            resumption: if self == Self::FastMcp { Resumption::Works } else { Resumption::NotOffered },
            opens_again: true,
            retry: Duration::ZERO,
            offers: Offers::nothing(),
            talks: Talks::NONE,
            sessions: match self {
                Self::DjangoFiles => Sessions::OutliveTheProcess,
                Self::Tmcp | Self::Litellm => Sessions::NotLookedAt,
                Self::Gradio | Self::RustMcpSdk => Sessions::None,
                _ => Sessions::InMemory,
            },
            path: if self == Self::Pmcp { "/" } else { "/mcp" },
            token: match self {
                Self::N8n => Some("0123456789abcdef0123456789abcdef"),
                Self::Litellm => Some("sk-0123456789abcdef0123456789abcdef"),
                _ => None,
            },
        }
    }

    /// A tool that says that it only reads, if there is one.
    pub(crate) fn peek(self) -> Option<&'static str> {
        match self {
            // Its tools all say so; these two carry no hints.
            Self::N8n | Self::Gradio | Self::Mastra => None,
            Self::Litellm => Some("peer-peek"),
            _ => Some("peek"),
        }
    }

    /// Installs it if need be, and says how to start it; the text says why there is none.
    pub(crate) async fn launch(self, place: &Place) -> Result<Result<Launch, String>> {
        let scripts = super::scripts()?;
        match self.source() {
            Source::Npm(packages, script, mode) => {
                let folder = match install::npm_all(packages).await? {
                    Installed::Here(folder) => folder,
                    Installed::NoInstaller(problem) => return Ok(Err(problem)),
                };
                // A module finds packages beside itself alone.
                let from = scripts.join("frameworks");
                for file in [scripts.join("common.mjs"), from.join("tools.mjs"), from.join(script)] {
                    let name = file.file_name().context("a script has a name")?;
                    std::fs::copy(&file, folder.join(name))
                        .with_context(|| format!("cannot copy {}", file.display()))?;
                }
                Ok(Ok(Launch::node(place, folder.join(script), mode, folder)))
            }
            Source::Pip(packages, script, mode) => {
                let folder = match install::pip_all(packages).await? {
                    Installed::Here(folder) => folder,
                    Installed::NoInstaller(problem) => return Ok(Err(problem)),
                };
                let mut launch = python_mcp::script(place, &folder, &format!("frameworks/{script}"))?;
                launch.arguments.extend(["--mode".into(), mode.into()]);
                launch.environment.push(("PYTHONPATH", scripts.into()));
                Ok(Ok(launch))
            }
            Source::Project(project) => {
                let program = install::cargo_project(&scripts.join("crates").join(project), project).await?;
                let environment =
                    vec![("PORT", place.port.to_string().into()), ("PEER_LEDGER", place.ledger.clone().into())];
                let (port, log) = (place.port, place.log.clone());
                Ok(Ok(Launch { program: program.into(), arguments: Vec::new(), environment, port, log }))
            }
        }
    }
}

const DJANGO: &[&str] = &["django-mcp-server==0.5.7", "Django==5.2.19", "mcp==1.30.0", "uvicorn==0.54.0"];
