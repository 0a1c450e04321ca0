//! The options of `oncewire serve`, and how it is carried out.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::guard::Guard;
use super::serve;
use crate::Context;
use crate::connection::value::{duration, text_of, variable};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::output::note;

/// The options of `oncewire serve`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where to listen. Port 0 is a free one; which, stands in the first line on standard error
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,

    /// The path of the endpoint
    #[arg(long, value_name = "PATH", default_value = "/mcp")]
    path: String,

    /// The variable of the environment that holds the bearer token that clients must have
    #[arg(long, value_name = "VARIABLE", conflicts_with = "token_file")]
    token_env: Option<String>,

    /// The file that holds it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Let everybody in who reaches the address. Needed where that is not of this machine alone and there is no token
    #[arg(long, conflicts_with_all = ["token_env", "token_file"])]
    no_token: bool,

    /// A name under which the server may be asked for, besides those of this machine; may be repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,

    /// An origin whose pages may ask, besides those of this machine (`https://app.example.org`); may be repeated
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// One process for all sessions, in the place of one for each. What it asks of its client is refused then
    #[arg(long)]
    shared: bool,

    /// How long a session may be unused before it is ended
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30m")]
    session_idle: Duration,

    /// The command of the server, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Serves until it is told to end.
///
/// # Errors
/// Bad input, or an address that cannot be listened on.
pub(crate) async fn run(options: Options, context: &Context) -> Result<Exit, Failure> {
    if !options.path.starts_with('/') {
        return Err(BadInput::new("--path", "it must begin with /").into());
    }
    let token = match (&options.token_env, &options.token_file) {
        (Some(name), _) => Some(("--token-env", variable("--token-env", name)?)),
        (None, Some(path)) => Some(("--token-file", text_of("--token-file", path)?)),
        (None, None) => None,
    };
    let token = match token {
        Some((argument, token)) if token.trim().is_empty() => {
            return Err(BadInput::new(argument, "the token is empty").into());
        }
        Some((_, token)) => Some(token.trim().to_owned()),
        None => None,
    };
    let mut hosts = options.allow_host;
    if !options.listen.ip().is_loopback() {
        if token.is_none() && !options.no_token {
            let problem = "others than this machine can reach it, and the command does whatever they ask: give a token (--token-env, --token-file), or --no-token";
            return Err(BadInput::new("--listen", problem).into());
        }
        hosts.push(options.listen.ip().to_string());
    }
    let address = options.listen;
    let cannot = |error| Failure::Local(format!("listen on {address}"), error);
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    note(&format!("listening on http://{bound}{}", options.path));
    let endpoint = Endpoint {
        path: options.path,
        guard: Guard { hosts, origins: options.allow_origin, token },
        command: options.command,
        idle: options.session_idle,
        sessions: std::sync::Mutex::default(),
        shared: options.shared.then(tokio::sync::Mutex::default),
    };
    let stop = CancellationToken::new();
    let serving = serve(listener, endpoint, stop.clone());
    tokio::pin!(serving);
    let exit = tokio::select! {
        () = &mut serving => return Ok(Exit::Success),
        exit = context.interrupt.given() => exit,
    };
    stop.cancel();
    serving.await;
    Ok(exit)
}
