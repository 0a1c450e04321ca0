//! The rows of the tables of `docs/servers.md`.

use oncewire::Era;

use super::bridges::Bridge;
use super::frameworks::Framework;
use super::hosts::Kind;
use super::middleboxes::Middlebox;
use super::proxies::{self, Proxy, Repeating, Wire};
use super::python_mcp::Answers;
use super::recipe::Recipe;
use super::server_package::Eras;
use super::stdio::{self, OnStdio};
use super::typescript_sdk::Mode;
use super::{change, hosts, modern, sessions, situations};

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name on the command line and in the output.
    pub(crate) name: &'static str,
    pub(crate) what: What,
    /// Tried with every check of a change.
    pub(crate) quick: bool,
}

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A server in the handshake era, which the client is told or finds out.
    Handshake(Recipe, Era),
    /// A server in the modern era.
    Modern(Recipe),
    /// A server whose place another one takes; the client ends in this era.
    Change { from: Recipe, to: Recipe, ends: &'static str },
    /// A server on what others publish, in this era.
    Framework(Framework, Era),
    /// A host before `oncewire proxy` before a server.
    Host(Kind, Recipe),
    /// A server on stdio.
    Stdio(OnStdio),
    /// A proxy before a backend that fails by a script.
    Proxy(Proxy, Wire),
    /// A proxy that was told to repeat requests.
    Repeats(Proxy, Repeating),
}

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Handshake,
    Modern,
    Change,
    Frameworks,
    Hosts,
    Stdio,
    Proxies,
    Repeats,
}

impl Table {
    pub(crate) const ALL: [Self; 8] = [
        Self::Handshake,
        Self::Modern,
        Self::Change,
        Self::Frameworks,
        Self::Hosts,
        Self::Stdio,
        Self::Proxies,
        Self::Repeats,
    ];

    /// The heads of its columns.
    pub(crate) fn situations(self) -> &'static [&'static str] {
        match self {
            Self::Handshake => &situations::SITUATIONS,
            Self::Modern => &modern::SITUATIONS,
            Self::Change => &change::SITUATIONS,
            Self::Frameworks => &sessions::SITUATIONS,
            Self::Hosts => &hosts::SITUATIONS,
            Self::Stdio => &stdio::SITUATIONS,
            Self::Proxies => &proxies::SITUATIONS,
            Self::Repeats => &proxies::REPEATS,
        }
    }
}

impl Row {
    pub(crate) fn table(&self) -> Table {
        match self.what {
            What::Handshake(..) => Table::Handshake,
            What::Modern(..) => Table::Modern,
            What::Change { .. } => Table::Change,
            What::Framework(..) => Table::Frameworks,
            What::Host(..) => Table::Hosts,
            What::Stdio(..) => Table::Stdio,
            What::Proxy(..) => Table::Proxies,
            What::Repeats(..) => Table::Repeats,
        }
    }

    /// What it is called in the table.
    pub(crate) fn title(&self) -> String {
        match self.what {
            What::Handshake(recipe, _) | What::Modern(recipe) => recipe.title(),
            What::Change { from, to, .. } => format!("{}, then {}", from.title(), to.title()),
            What::Framework(framework, _) => framework.title(),
            What::Host(kind, recipe) => format!("{}, before {}", kind.title(), recipe.title()),
            What::Stdio(server) => server.title(),
            What::Proxy(proxy, wire) => format!("{}, {}", proxy.title(), wire.title()),
            What::Repeats(proxy, repeating) => repeating.title(proxy),
        }
    }
}

const fn row(name: &'static str, what: What) -> Row {
    Row { name, what, quick: false }
}

const fn quick(name: &'static str, what: What) -> Row {
    Row { name, what, quick: true }
}

/// A server of the handshake era alone: the client asks, and falls back.
const fn alone(recipe: Recipe) -> What {
    What::Handshake(recipe, Era::Auto)
}

/// A server of both eras: the client is told not to ask.
const fn both(recipe: Recipe) -> What {
    What::Handshake(recipe, Era::Legacy)
}

const fn upgrade(from: Recipe, to: Recipe) -> What {
    What::Change { from, to, ends: "modern" }
}

const fn rollback(from: Recipe, to: Recipe) -> What {
    What::Change { from, to, ends: "legacy" }
}

const SDK: Recipe = Recipe::Sdk(Mode::Sessions);
const SERVER: Recipe = Recipe::Server(Eras::Both);
const SERVER_MODERN: Recipe = Recipe::Server(Eras::Modern);
const MCP1: Recipe = Recipe::Mcp1(Answers::Streams);
const MCP2: Recipe = Recipe::Mcp2(Answers::Streams);

/// In the order of the tables.
pub(crate) static ROWS: &[Row] = &[
    quick("everything", alone(Recipe::Everything)),
    quick("sdk", alone(SDK)),
    quick("sdk-events", alone(Recipe::Sdk(Mode::Events))),
    row("sdk-json", alone(Recipe::Sdk(Mode::Json))),
    row("sdk-bare", alone(Recipe::Sdk(Mode::Bare))),
    quick("mcp1", alone(MCP1)),
    row("mcp1-events", alone(Recipe::Mcp1(Answers::Events))),
    quick("mcp2", both(MCP2)),
    row("mcp2-events", both(Recipe::Mcp2(Answers::Events))),
    row("rmcp", both(Recipe::Rmcp)),
    row("supergateway", both(Recipe::Bridge(Bridge::Supergateway))),
    row("mcp-proxy", both(Recipe::Bridge(Bridge::McpProxy))),
    row("nginx", alone(Recipe::Before(Middlebox::Nginx, Answers::Streams))),
    quick("nginx-json", alone(Recipe::Before(Middlebox::Nginx, Answers::Json))),
    row("haproxy", alone(Recipe::Before(Middlebox::Haproxy, Answers::Streams))),
    row("haproxy-json", alone(Recipe::Before(Middlebox::Haproxy, Answers::Json))),
    quick("modern-server", What::Modern(SERVER)),
    quick("modern-server-alone", What::Modern(SERVER_MODERN)),
    quick("modern-mcp2", What::Modern(MCP2)),
    row("modern-mcp2-json", What::Modern(Recipe::Mcp2(Answers::Json))),
    row("modern-fastmcp", What::Modern(Recipe::FastMcp)),
    row("modern-rmcp", What::Modern(Recipe::Rmcp)),
    row("modern-supergateway", What::Modern(Recipe::ModernBridge(Bridge::Supergateway))),
    row("modern-mcp-proxy", What::Modern(Recipe::Bridge(Bridge::McpProxy))),
    row("modern-nginx", What::Modern(Recipe::BeforeModern(Middlebox::Nginx))),
    row("modern-haproxy", What::Modern(Recipe::BeforeModern(Middlebox::Haproxy))),
    quick("upgrade-sdk-server", upgrade(SDK, SERVER_MODERN)),
    quick("rollback-server-sdk", rollback(SERVER_MODERN, SDK)),
    row("upgrade-mcp1-server", upgrade(MCP1, SERVER_MODERN)),
    row("rollback-server-mcp1", rollback(SERVER_MODERN, MCP1)),
    row("upgrade-mcp1-mcp2", What::Change { from: MCP1, to: MCP2, ends: "legacy" }),
    row("rollback-mcp2-mcp1", rollback(MCP2, MCP1)),
    row("upgrade-sdk-both", What::Change { from: SDK, to: SERVER, ends: "legacy" }),
    row("upgrade-mcp1-rmcp", What::Change { from: MCP1, to: Recipe::Rmcp, ends: "legacy" }),
    row("rollback-rmcp-mcp1", rollback(Recipe::Rmcp, MCP1)),
    row("upgrade-rmcp-server", What::Change { from: Recipe::Rmcp, to: SERVER_MODERN, ends: "modern" }),
    row("fastmcp-npm", What::Framework(Framework::FastMcp, Era::Legacy)),
    row("hono", What::Framework(Framework::Hono, Era::Auto)),
    row("mcp-framework", What::Framework(Framework::ByClasses, Era::Auto)),
    quick("mcp-framework-json", What::Framework(Framework::ByClassesJson, Era::Auto)),
    row("mastra", What::Framework(Framework::Mastra, Era::Auto)),
    row("n8n-mcp", What::Framework(Framework::N8n, Era::Auto)),
    row("tmcp", What::Framework(Framework::Tmcp, Era::Legacy)),
    row("aiohttp-mcp", What::Framework(Framework::AiohttpMcp, Era::Auto)),
    row("django", What::Framework(Framework::Django, Era::Auto)),
    row("django-files", What::Framework(Framework::DjangoFiles, Era::Auto)),
    row("gradio", What::Framework(Framework::Gradio, Era::Auto)),
    row("litellm", What::Framework(Framework::Litellm, Era::Legacy)),
    row("pmcp", What::Framework(Framework::Pmcp, Era::Legacy)),
    row("turbomcp", What::Framework(Framework::Turbomcp, Era::Auto)),
    row("rust-mcp-sdk", What::Framework(Framework::RustMcpSdk, Era::Auto)),
    quick("host-sdk", What::Host(Kind::Sdk, MCP1)),
    row("host-sdk-modern", What::Host(Kind::Sdk, SERVER_MODERN)),
    row("host-client", What::Host(Kind::Client, SDK)),
    quick("host-client-modern", What::Host(Kind::Client, SERVER_MODERN)),
    row("host-mcp1", What::Host(Kind::Mcp1, SDK)),
    row("host-mcp1-modern", What::Host(Kind::Mcp1, MCP2)),
    quick("host-mcp2", What::Host(Kind::Mcp2, MCP1)),
    row("host-mcp2-modern", What::Host(Kind::Mcp2, MCP2)),
    row("host-rmcp", What::Host(Kind::Rmcp, SDK)),
    row("host-rmcp-modern", What::Host(Kind::Rmcp, MCP2)),
    quick("stdio-everything", What::Stdio(OnStdio::Everything)),
    row("stdio-filesystem", What::Stdio(OnStdio::Filesystem)),
    row("stdio-mcp1", What::Stdio(OnStdio::Mcp1)),
    row("stdio-mcp2", What::Stdio(OnStdio::Mcp2)),
    row("stdio-fastmcp", What::Stdio(OnStdio::FastMcp)),
    row("stdio-rmcp", What::Stdio(OnStdio::Rmcp)),
    quick("proxy-haproxy-h2", What::Proxy(Proxy::Haproxy, Wire::Http2)),
    row("proxy-haproxy", What::Proxy(Proxy::Haproxy, Wire::Http1)),
    quick("proxy-haproxy3-h2", What::Proxy(Proxy::Haproxy3, Wire::Http2)),
    row("proxy-haproxy3", What::Proxy(Proxy::Haproxy3, Wire::Http1)),
    row("proxy-nginx-h2", What::Proxy(Proxy::Nginx, Wire::Http2)),
    row("proxy-nginx", What::Proxy(Proxy::Nginx, Wire::Http1)),
    row("proxy-apache-h2", What::Proxy(Proxy::Apache, Wire::Http2)),
    row("proxy-apache", What::Proxy(Proxy::Apache, Wire::Http1)),
    row("proxy-h2o-h2", What::Proxy(Proxy::H2o, Wire::Http2)),
    row("proxy-h2o", What::Proxy(Proxy::H2o, Wire::Http1)),
    row("proxy-caddy-h2", What::Proxy(Proxy::Caddy, Wire::Http2)),
    row("proxy-caddy", What::Proxy(Proxy::Caddy, Wire::Http1)),
    row("repeats-nginx", What::Repeats(Proxy::Nginx, Repeating::NonIdempotent)),
    row("repeats-haproxy-empty", What::Repeats(Proxy::Haproxy, Repeating::EmptyResponse)),
    row("repeats-haproxy-all", What::Repeats(Proxy::Haproxy, Repeating::AllRetryable)),
    row("repeats-haproxy3-empty", What::Repeats(Proxy::Haproxy3, Repeating::EmptyResponse)),
    row("repeats-haproxy3-all", What::Repeats(Proxy::Haproxy3, Repeating::AllRetryable)),
];
