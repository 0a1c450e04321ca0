//! Which server, and how the client reaches it: the options that every command shares, and the client that comes of them.

mod headers;
mod login;
mod process;
pub(crate) mod value;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use oncewire::oauth::OAuth;
use oncewire::{Client, ClientBuilder, Era, Error, ServerCommand, TrustAnnotations};
use serde::de::DeserializeOwned;

use self::headers::HeaderOptions;
use self::login::LoginOptions;
pub(crate) use self::login::{Ask, tell};
pub(crate) use self::process::{ProcessOptions, named_twice};
use self::value::{bytes_of, duration, expanded};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::interrupt::Interrupt;

/// How the client reaches the server, and who it is there.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionOptions {
    /// The longest that a call may take, all of it [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,

    /// The longest silence of the server in a call [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    idle_timeout: Option<Duration>,

    /// The longest that one connection may take [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    connect_timeout: Option<Duration>,

    /// How long a server that is not up is waited for, where no --timeout says it; 0 not at all [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    connect_patience: Option<Duration>,

    /// Which era of MCP to speak: auto, legacy (with a handshake) or modern (2026-07-28)
    #[arg(long, value_name = "ERA", default_value = "auto", value_parser = word::<Era>)]
    era: Era,

    /// Which hints of the server are leave to repeat a tool: none, read_only or hinted
    #[arg(long, value_name = "HINTS", default_value = "hinted", value_parser = word::<TrustAnnotations>)]
    trust_annotations: TrustAnnotations,

    /// A file of root certificates (PEM) that count besides those of the machine; may be repeated
    #[arg(long, value_name = "FILE")]
    root_certificate: Vec<PathBuf>,

    /// A file with the certificate (PEM) that the client shows, and its chain
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,

    /// A file with its key (PEM)
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,

    /// The proxy; `${NAME}` is read from the environment [default: that of the environment]
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,

    /// No proxy, whatever the environment says
    #[arg(long, conflicts_with = "proxy")]
    no_proxy: bool,

    /// Speak HTTP/1.1 only
    #[arg(long, conflicts_with = "http2_only")]
    http1_only: bool,

    /// Speak HTTP/2 only, also without TLS
    #[arg(long)]
    http2_only: bool,

    #[command(flatten)]
    headers: HeaderOptions,

    #[command(flatten)]
    login: LoginOptions,
}

/// Which server.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// Streamable HTTP at this URL; `${NAME}` in it is read from the environment.
    Url(String),
    /// A program that is started, and spoken to over its stdin and stdout.
    Command(ServerCommand),
}

impl Server {
    /// The server that was named.
    pub(crate) fn new(url: Option<&str>) -> Result<Self, BadInput> {
        match url {
            Some(url) => Ok(Self::Url(url.to_owned())),
            None => Err(BadInput::new("URL", "it is missing: name the server")),
        }
    }

    /// Its URL.
    pub(crate) fn url(&self) -> Result<String, BadInput> {
        match self {
            Self::Url(url) => expanded("URL", url),
            Self::Command(_) => Err(BadInput::new("COMMAND", "a server on stdio has no URL")),
        }
    }
}

impl ConnectionOptions {
    /// Is it said how long a server that is not up is waited for?
    pub(crate) fn says_patience(&self) -> bool {
        self.connect_patience.is_some()
    }

    /// Would a login be read from standard input?
    pub(crate) fn reads_standard_input(&self) -> bool {
        self.login.reads_standard_input()
    }

    /// A builder with all of these options. Whoever sets another observer calls [`tell`] from it.
    ///
    /// # Errors
    /// Names the option that cannot be used.
    pub(crate) fn builder(&self, server: &Server, ask: Ask) -> Result<ClientBuilder, BadInput> {
        let builder = self.without_login(server)?;
        // Nobody logs in to a program of one's own; who says so is told by the core.
        let may_log_in = matches!(server, Server::Url(_)) || self.login.is_explicit();
        if may_log_in
            && !self.login.is_off()
            && !self.headers.logs_in()
            && let Some(oauth) = self.login.oauth(ask)?
        {
            return Ok(builder.oauth(oauth));
        }
        Ok(builder)
    }

    /// The same without a login of OAuth, whether there is one or not.
    ///
    /// # Errors
    /// Names the option that cannot be used.
    pub(crate) fn without_login(&self, server: &Server) -> Result<ClientBuilder, BadInput> {
        let builder = match server {
            Server::Url(_) => Client::builder(server.url()?),
            Server::Command(command) => Client::stdio(command.clone()),
        };
        let mut builder = builder.on_event(tell);
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(timeout);
        }
        if let Some(timeout) = self.idle_timeout {
            builder = builder.idle_timeout(timeout);
        }
        if let Some(timeout) = self.connect_timeout {
            builder = builder.connect_timeout(timeout);
        }
        if let Some(patience) = self.connect_patience {
            builder = builder.connect_patience(patience);
        }
        builder = builder.era(self.era).trust_annotations(self.trust_annotations);
        let mut certificates = Vec::new();
        for path in &self.root_certificate {
            certificates.extend(bytes_of("--root-certificate", path)?);
            certificates.push(b'\n');
        }
        if !certificates.is_empty() {
            builder = builder.root_certificates(certificates);
        }
        if let (Some(certificate), Some(key)) = (&self.client_certificate, &self.client_key) {
            let certificate = bytes_of("--client-certificate", certificate)?;
            builder = builder.client_certificate(certificate, bytes_of("--client-key", key)?);
        }
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(expanded("--proxy", proxy)?);
        }
        if self.no_proxy {
            builder = builder.no_proxy();
        }
        if self.http1_only {
            builder = builder.http1_only();
        }
        if self.http2_only {
            builder = builder.http2_only();
        }
        self.headers.apply(builder)
    }

    /// The longest that all of it may take, if it was said.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// The era that was named.
    pub(crate) fn era(&self) -> Era {
        self.era
    }

    /// Is a token given, or a header that stands for one?
    pub(crate) fn has_token(&self) -> bool {
        self.headers.logs_in()
    }

    /// The login that these options describe, whether it is used or not; `None` if there is nowhere to keep one.
    ///
    /// # Errors
    /// Names the option that cannot be used.
    pub(crate) fn oauth(&self, ask: Ask) -> Result<Option<OAuth>, BadInput> {
        self.login.oauth(ask)
    }
}

/// Makes the client; nothing is sent.
///
/// # Errors
/// An option that cannot be used, under the name by which it is typed.
pub(crate) fn build(builder: ClientBuilder) -> Result<Client, Failure> {
    builder.build().map_err(named)
}

/// Makes the client and waits for its handshake; a signal ends both.
///
/// # Errors
/// An option that cannot be used, a handshake that failed, or a signal.
pub(crate) async fn connect(builder: ClientBuilder, interrupt: &Interrupt) -> Result<Client, Failure> {
    let client = build(builder)?;
    let ready = until_interrupted(&client, interrupt, client.ready()).await;
    if ready.is_err() {
        client.close().await;
    }
    ready.map(|()| client)
}

/// Waits for a call. A signal closes the client: the server is told, and the call ends with the verdict on what is known of it.
///
/// # Errors
/// The call failed, or a signal came.
pub(crate) async fn until_interrupted<T>(
    client: &Client,
    interrupt: &Interrupt,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    let mut call = std::pin::pin!(call);
    let exit: Exit = tokio::select! {
        biased;
        result = &mut call => return result.map_err(Failure::Call),
        exit = interrupt.given() => exit,
    };
    let (result, ()) = tokio::join!(call, client.close());
    // An answer that came at the last moment is an answer.
    result.map_err(|error| Failure::Interrupted(exit, error))
}

/// An option that the core refuses, under the name by which it is typed.
pub(crate) fn named(error: Error) -> Failure {
    let reason = error.failure().map(|failure| failure.reason.clone()).unwrap_or_default();
    match reason.split_once(": ") {
        Some(("url", problem)) => BadInput::new("URL", problem).into(),
        Some((field, problem)) => BadInput::new(format!("--{}", field.replace('_', "-")), problem).into(),
        None => Failure::Call(error),
    }
}

/// One of the words that the core knows for this option.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}
