//! The options of `oncewire proxy`, and how it is carried out on the standard input and output of this process.

use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use super::notes::{Notes, Verbosity};
use super::{MAX_LINE, Settings, serve_host};
use crate::Context;
use crate::connection::{Ask, ConnectionOptions, Server};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::rpc::lines::read_lines;

/// How long a server that is not up is waited for: most hosts give one a minute to answer `initialize`, and each call a minute.
const PATIENCE: Duration = Duration::from_secs(30);

/// The options of `oncewire proxy`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The URL of the server; `${NAME}` in it is read from the environment
    url: String,

    /// Hide tools: they are in no list, and a call of one is refused. `*` stands for any characters; may be repeated
    #[arg(long, value_name = "PATTERN")]
    ignore_tool: Vec<String>,

    /// Send calls that must not be repeated on connections that were used before: one that the server has just closed may cost the call
    #[arg(long)]
    reuse_connections: bool,

    /// Nothing on standard error but what a person has to do
    #[arg(long, conflicts_with = "events")]
    silent: bool,

    /// Every event of the client on standard error, as a line of JSON
    #[arg(long)]
    events: bool,

    /// Taken for the sake of configurations of mcp-remote; http URLs need no leave
    #[arg(long, hide = true)]
    allow_http: bool,

    /// Taken for the same sake
    #[arg(long, hide = true, value_enum)]
    transport: Option<Transport>,

    #[command(flatten)]
    connection: ConnectionOptions,
}

/// The transports that mcp-remote names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    HttpOnly,
    HttpFirst,
    SseOnly,
    SseFirst,
}

/// Serves the host that started us, until it closes its end.
///
/// # Errors
/// Bad input, a signal, or a host that does not read any more.
pub(crate) async fn run(options: Options, context: &Context) -> Result<Exit, Failure> {
    if matches!(options.transport, Some(Transport::SseOnly | Transport::SseFirst)) {
        let problem = "HTTP+SSE of MCP 2024-11-05 is not spoken: give the URL of the server's Streamable HTTP endpoint, most often /mcp";
        return Err(BadInput::new("--transport", problem).into());
    }
    if options.connection.reads_standard_input() {
        let problem = "standard input belongs to the host: log in beforehand, with `oncewire login` in a terminal";
        return Err(BadInput::new("--no-browser", problem).into());
    }
    let server = Server::new(Some(&options.url))?;
    let mut builder = options.connection.builder(&server, Ask::Always)?.fresh_connection(!options.reuse_connections);
    if !options.connection.says_patience() {
        builder = builder.connect_patience(PATIENCE);
    }
    // What is wrong with an option is told at once, and not to the host.
    drop(builder.clone().build()?);
    let verbosity = match (options.silent, options.events) {
        (true, _) => Verbosity::Silent,
        (_, true) => Verbosity::Events,
        _ => Verbosity::Normal,
    };
    let settings = Settings { ignored_tools: options.ignore_tool };
    let no_input = |error| Failure::Local("read standard input".to_owned(), error);
    let input = read_lines(std::io::stdin(), MAX_LINE).map_err(no_input)?;
    let stop = CancellationToken::new();
    let serving = serve_host(builder, settings, input, tokio::io::stdout(), Notes::new(verbosity), stop.clone());
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => served.map(|()| Exit::Success).map_err(Failure::Output),
        exit = context.interrupt.given() => {
            stop.cancel();
            // The host is gone or will be; what it was told last does not matter any more.
            let _ = serving.await;
            Ok(exit)
        }
    }
}
