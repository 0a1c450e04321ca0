//! `oncewire proxy URL`: a server on the standard input and output that is the one behind the URL.
//!
//! The host's `initialize`, or its first request of the modern era, makes the client: what the host can do is what the client declares. Its
//! session is the client's business from then on. A request of the host becomes a call of the client; ids are kept apart, for each attempt of
//! a call has one of its own.

mod answers;
mod calls;
pub(crate) mod command;
mod dispatch;
mod era;
mod filter;
mod hearing;
mod host;
mod legs;
pub(crate) mod notes;
mod progress;
mod questions;
mod requests;
mod upstream;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use oncewire::ClientBuilder;
use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::calls::{Calls, Refused};
use self::filter::Filter;
use self::host::Host;
use self::legs::Legs;
use self::notes::Notes;
use self::requests::Incoming;
use self::upstream::Upstream;
use crate::rpc::error::{INVALID_REQUEST, RpcError};
use crate::rpc::lines::Line as RawLine;
use crate::rpc::message::{Line, Message, Wrong, read};

/// Requests of the host that run at once; one past them is answered with an error.
pub(crate) const REQUESTS: usize = 1_024;
/// The longest line of the host, in bytes, unless it is said otherwise.
pub(crate) const MAX_LINE: usize = 32 * 1024 * 1024;
/// How long requests that run may go on after the host has closed its end: a host that waits for more has not closed it.
const LAST_REQUESTS: Duration = Duration::from_secs(1);
/// How long the last answers may take to be read.
const LAST_LINES: Duration = Duration::from_secs(1);

/// What the command line says of it.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// Patterns of the names of tools that the host does not get to see.
    pub(crate) ignored_tools: Vec<String>,
}

/// Serves one host from its first line to the end of its input, or until `stop` is cancelled; then the client is closed.
///
/// # Errors
/// The host does not read any more.
pub(crate) async fn serve_host(
    builder: ClientBuilder,
    settings: Settings,
    mut input: mpsc::Receiver<RawLine>,
    output: impl AsyncWrite + Unpin + Send + 'static,
    notes: Notes,
    stop: CancellationToken,
) -> io::Result<()> {
    let (host, lines) = Host::new();
    let gone = CancellationToken::new();
    let writing = tokio::spawn({
        let gone = gone.clone();
        async move {
            let written = host::write(lines, output).await;
            gone.cancel();
            written
        }
    });
    let proxy = Proxy::new(builder, Filter::new(settings.ignored_tools), host, notes);
    let stopped = loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break true,
            () = gone.cancelled() => break true,
            line = input.recv() => match line {
                Some(line) => proxy.take(line).await,
                None => break false,
            },
        }
    };
    proxy.end(if stopped { Duration::ZERO } else { LAST_REQUESTS }).await;
    match timeout(LAST_LINES, writing).await {
        Ok(Ok(written)) => written,
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// One host, and the server behind.
#[derive(Clone)]
pub(super) struct Proxy {
    host: Host,
    upstream: Arc<Upstream>,
    calls: Arc<Calls>,
    filter: Arc<Filter>,
    legs: Legs,
}

impl Proxy {
    fn new(builder: ClientBuilder, filter: Filter, host: Host, notes: Notes) -> Self {
        let upstream = Arc::new(Upstream::new(builder, host.clone(), notes));
        Self { host, upstream, calls: Arc::default(), filter: Arc::new(filter), legs: Legs::default() }
    }

    async fn take(&self, line: RawLine) {
        let line = match line {
            RawLine::Whole(line) => read(&line),
            RawLine::TooLong { bytes, id } => {
                let message = format!(
                    "the line has {bytes} bytes, more than the {MAX_LINE} that are taken; nothing was sent to the server"
                );
                let error = RpcError::new(INVALID_REQUEST, message);
                return self.host.refuse(id.as_ref(), &error).await;
            }
        };
        match line {
            Line::Blank => {}
            Line::One(Ok(Message::Request { id, method, params })) => match self.calls.begin(&id, REQUESTS) {
                Ok(call) => self.request(call, Incoming { id, method, params }).await,
                Err(refused) => self.host.refuse(Some(&id), &refusal(refused)).await,
            },
            Line::One(Ok(Message::Notification { method, params })) => {
                let params =
                    params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok()).unwrap_or_default();
                self.notification(&method, params);
            }
            Line::One(Ok(Message::Answer { id, outcome })) => self.upstream.questions().answered(&id, outcome),
            Line::One(Err(Wrong { id, error })) => self.host.refuse(id.as_ref(), &error).await,
            Line::Batch(ids) => {
                let text = "a batch is no message of MCP since 2025-06-18: send each message on a line of its own; nothing was sent to the server";
                let error = RpcError::new(INVALID_REQUEST, text);
                if ids.is_empty() {
                    self.host.refuse(None, &error).await;
                } else {
                    self.host.refuse_all(&ids, &error).await;
                }
            }
        }
    }

    fn notification(&self, method: &str, params: Value) {
        match method {
            "notifications/cancelled" => {
                let id = params.get("requestId").map(crate::rpc::members::raw);
                if let Some(id) = id.and_then(|id| crate::rpc::message::Id::of(&id)) {
                    self.calls.cancel(&id);
                }
            }
            // The client has sent its own.
            "notifications/initialized" => {}
            _ => self.upstream.notify(method, params),
        }
    }

    async fn end(&self, patience: Duration) {
        self.calls.end(patience).await;
        self.legs.clear();
        self.upstream.close().await;
        // They have their verdicts by now.
        self.calls.end(LAST_LINES).await;
        self.host.end();
    }
}

fn refusal(refused: Refused) -> RpcError {
    let text = match refused {
        Refused::Twice => "a request with this id is under way already".to_owned(),
        Refused::TooMany => format!("{REQUESTS} requests are under way already"),
        Refused::Ended => "the proxy ends".to_owned(),
    };
    RpcError::new(INVALID_REQUEST, format!("{text}; this one was not sent to the server"))
}
