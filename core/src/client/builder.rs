//! How a client is made: one method for each option. The checks stand in `draft.rs`.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::Client;
use super::assembly::assemble;
use super::draft::{Draft, Target};
use crate::auth::ProviderError;
use crate::call::options::CallOptions;
use crate::oauth::OAuth;
#[cfg(feature = "testing")]
use crate::transport::exchange::Exchange;
use crate::transport::http::{ClientIdentity, Http2Ping, HttpSettings, HttpVersion, ProxySetting, TcpKeepAlive};
use crate::transport::stdio::ServerCommand;
use crate::vocabulary::config::{Era, Recovery, Resend, TrustAnnotations};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::handler::{HandlerError, ServerNotification, boxed};
use crate::vocabulary::method::Method;

/// Makes a [`Client`]. Every option has a default; each is checked when the client is made, and a bad one names itself.
#[derive(Clone)]
#[must_use = "a builder does nothing until connect() or build()"]
pub struct ClientBuilder {
    draft: Draft,
    lazy: bool,
}

impl fmt::Debug for ClientBuilder {
    // The URL, headers, proxy and key may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientBuilder").field("settings", &self.draft.settings).finish_non_exhaustive()
    }
}

impl Client {
    /// Begins to make a client of the server at this URL.
    pub fn builder(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(Target::Url(url.into()))
    }

    /// Begins to make a client of a server that is started by this command, and spoken to over its stdin and stdout.
    ///
    /// The process is the session: a lost one is replaced by a new process, within the same bounds as over HTTP, and `close()` ends it with all
    /// its children. Options of HTTP that the server would never hear of (`token`, `oauth`, headers, certificates, `proxy`) are refused.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), oncewire::Error> {
    /// use oncewire::{Client, ServerCommand};
    ///
    /// let command = ServerCommand::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]).env("API_KEY", "…");
    /// let client = Client::stdio(command).connect().await?;
    /// # client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stdio(command: impl Into<ServerCommand>) -> ClientBuilder {
        ClientBuilder::new(Target::Command(command.into()))
    }
}

impl ClientBuilder {
    /// What is set about connections.
    pub(crate) fn http(&self) -> &HttpSettings {
        &self.draft.http
    }

    pub(crate) fn new(target: Target) -> Self {
        Self { draft: Draft::new(target), lazy: false }
    }

    /// The whole of each call: queueing, recovery, refresh, all pages. Default: none; a tool may take its time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.draft.settings.defaults.timeout = Some(timeout);
        self
    }

    /// No byte of an answer for that long ends the attempt. Default: none.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.draft.settings.defaults.idle_timeout = Some(timeout);
        self
    }

    /// Progress starts `timeout` anew. Default: false.
    pub fn reset_on_progress(mut self, reset: bool) -> Self {
        self.draft.settings.defaults.reset_on_progress = Some(reset);
        self
    }

    /// The cap that progress cannot move. Default: none.
    pub fn max_total_timeout(mut self, timeout: Duration) -> Self {
        self.draft.settings.defaults.max_total_timeout = Some(timeout);
        self
    }

    /// The caller's word on sending calls again after an ambiguous loss. Default: [`Resend::Default`].
    pub fn resend(mut self, resend: Resend) -> Self {
        self.draft.settings.defaults.resend = Some(resend);
        self
    }

    /// Options of one tool; what they leave out is taken from the client.
    pub fn tool_options(mut self, tool: impl Into<String>, options: CallOptions) -> Self {
        self.draft.settings.tools.insert(tool.into(), options);
        self
    }

    /// How long silence is borne on a resumed stream, or on an attempt whose session the server declared gone. Default: 60 s.
    pub fn orphan_timeout(mut self, timeout: Duration) -> Self {
        self.draft.settings.orphan_timeout = timeout;
        self
    }

    /// Making one connection, TLS included. Default: 10 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.draft.http.connect_timeout = timeout;
        self
    }

    /// How long attempts that were never sent are repeated when no deadline says, and handshakes that a gateway answered with 502, 503, 504
    /// or 429 because the server is not up. Default: 10 s; zero: not at all.
    pub fn connect_patience(mut self, patience: Duration) -> Self {
        self.draft.settings.connect_patience = patience;
        self
    }

    /// One try of a handshake; there are two, besides those that found no server. Default: 30 s.
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.draft.settings.handshake_timeout = timeout;
        self
    }

    /// All of `close()`, the DELETE of the session included, or the end of its process: a fifth of this after the end of its stdin that gets
    /// `SIGTERM`, another fifth later `SIGKILL`. Default: 5 s.
    pub fn close_timeout(mut self, timeout: Duration) -> Self {
        self.draft.settings.close_timeout = timeout;
        self
    }

    /// The longest `Retry-After` that is waited for; a longer one surfaces at once with the figure. Default: 60 s.
    pub fn retry_after_max(mut self, max: Duration) -> Self {
        self.draft.settings.retry_after_max = max;
        self
    }

    /// The bound of the first delay, doubling up to the largest, each delay drawn evenly below it. Default: 100 ms, 5 s.
    pub fn backoff(mut self, first: Duration, max: Duration) -> Self {
        self.draft.backoff = (first, max);
        self
    }

    /// Resends after ambiguous losses: a share of the calls in percent, and so many a second. Default: 20 %, 10.
    pub fn retry_budget(mut self, percent: f64, per_second: u32) -> Self {
        self.draft.retry_budget = (percent, per_second);
        self
    }

    /// The largest message, in bytes: all of a JSON body, envelope and escapes included, but not the framing of HTTP. Default: 32 MiB.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.draft.settings.limits.max_message = bytes;
        self
    }

    /// The largest single event of a stream, in bytes: all its lines, `data: ` and line ends included; at most `max_message`. Default:
    /// 32 MiB.
    pub fn max_event(mut self, bytes: usize) -> Self {
        self.draft.settings.limits.max_event = bytes;
        self
    }

    /// The pages that one list may have. Default: 1,000.
    pub fn max_pages(mut self, pages: usize) -> Self {
        self.draft.settings.max_pages = pages;
        self
    }

    /// How long an idle connection is kept. Default: 4 s, below the 5 s after which Node and uvicorn close theirs.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.draft.http.pool_idle_timeout = timeout;
        self
    }

    /// Never reuse a connection for a call that has no leave to be repeated. Default: false.
    pub fn fresh_connection(mut self, fresh: bool) -> Self {
        self.draft.settings.fresh_connection = fresh;
        self
    }

    /// TCP keep-alive: the silence before a probe and between probes, and the probes that may go unanswered. Default: 15 s, 3.
    pub fn tcp_keep_alive(mut self, interval: Duration, retries: u32) -> Self {
        self.draft.http.tcp_keep_alive = TcpKeepAlive { interval, retries };
        self
    }

    /// HTTP/2 ping: the silence before it, and how long its answer may take. Default: 30 s, 20 s.
    pub fn http2_ping(mut self, interval: Duration, timeout: Duration) -> Self {
        self.draft.http.http2_ping = Http2Ping { interval, timeout };
        self
    }

    /// Which tool hints of the server are believed. Default: [`TrustAnnotations::Hinted`].
    pub fn trust_annotations(mut self, trust: TrustAnnotations) -> Self {
        self.draft.settings.trust_annotations = trust;
        self
    }

    /// What to do about a lost session. Default: [`Recovery::Auto`].
    pub fn recovery(mut self, recovery: Recovery) -> Self {
        self.draft.settings.recovery = recovery;
        self
    }

    /// Which era to speak. Default: [`Era::Auto`].
    pub fn era(mut self, era: Era) -> Self {
        self.draft.settings.era = era;
        self
    }

    /// Extensions of the protocol that the host speaks, by id, each with a JSON object of settings. They are declared to the server, and
    /// what it does because of them is handed through. Default: none.
    pub fn extensions(mut self, extensions: Map<String, Value>) -> Self {
        self.draft.settings.extensions = extensions;
        self
    }

    /// More of what the client declares that it can do, by the names of the capabilities: details of one that has a handler
    /// (`{"elicitation": {"url": {}}, "roots": {"listChanged": true}}`), or one that the host serves by itself (`experimental`). What has a
    /// handler is declared without it. Default: none.
    pub fn capabilities(mut self, capabilities: Map<String, Value>) -> Self {
        self.draft.handlers.declared = capabilities;
        self
    }

    /// Answer lists and reads from memory as long as the server allows it (`ttlMs`, modern era). Default: false.
    pub fn cache(mut self, cache: bool) -> Self {
        self.draft.settings.cache = cache;
        self
    }

    /// Cookies that the server, or a balancer in front of it, sets go back to it, and nowhere else (RFC 6265). There is one jar for the
    /// client, in memory, of at most 50 cookies. Default: true.
    pub fn cookies(mut self, cookies: bool) -> Self {
        self.draft.settings.cookies = cookies;
        self
    }

    /// [`Self::connect`] returns without a handshake; the first call makes it. Default: false.
    pub fn lazy(mut self, lazy: bool) -> Self {
        self.lazy = lazy;
        self
    }

    /// Keep the server's optional GET stream open, on which it may speak unasked. Default: true.
    pub fn listen(mut self, listen: bool) -> Self {
        self.draft.settings.listen = listen;
        self
    }

    /// Every tool call carries an idempotency key in `_meta`. Default: true.
    pub fn idempotency_keys(mut self, keys: bool) -> Self {
        self.draft.settings.idempotency_keys = keys;
        self
    }

    /// A bearer token that does not change.
    pub fn token(self, token: impl Into<String>) -> Self {
        let token = token.into();
        self.token_provider(move |_| std::future::ready(Ok(token.clone())))
    }

    /// Asked for the bearer token the first time, and once more with the refused one after a 401, however many calls saw it; 30 s at
    /// most. A failure stands for 5 s: so long it is not asked about the same token again. Default: none.
    pub fn token_provider<F, R>(mut self, provider: F) -> Self
    where
        F: Fn(Option<String>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, ProviderError>> + Send + 'static,
    {
        self.draft.token = Some(Arc::new(move |refused| Box::pin(provider(refused))));
        self
    }

    /// The client logs in by itself, and stays logged in (OAuth 2.1, as MCP has it). It stands in the place of a token. Default: none.
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        self.draft.oauth = Some(oauth);
        self
    }

    /// One more header on every request.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.draft.headers.push((name.into(), value.into()));
        self
    }

    /// Asked for headers before each attempt; they take the place of equal names given by [`Self::header`].
    pub fn header_provider<F, R>(mut self, provider: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<(String, String)>, ProviderError>> + Send + 'static,
    {
        self.draft.header_provider = Some(Arc::new(move || Box::pin(provider())));
        self
    }

    /// Answers `sampling/createMessage`. Default: not advertised.
    pub fn on_sampling<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        self.draft.handlers.sampling = Some(boxed(handler));
        self
    }

    /// Answers `elicitation/create`; what an accepting answer leaves out is filled with the defaults of the schema. Default: not
    /// advertised.
    pub fn on_elicitation<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        self.draft.handlers.elicitation = Some(boxed(handler));
        self
    }

    /// Answers `roots/list`. Default: not advertised.
    pub fn on_roots<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        self.draft.handlers.roots = Some(boxed(handler));
        self
    }

    /// Called for each notification of the server but progress, in order; it must not block.
    pub fn on_notification(mut self, handler: impl Fn(&ServerNotification) + Send + Sync + 'static) -> Self {
        self.draft.handlers.notification = Some(Arc::new(handler));
        self
    }

    /// Called for each event, in order; it must not block.
    pub fn on_event(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.draft.observer = Some(Arc::new(observer));
        self
    }

    /// The name and version that the client gives of itself. Default: oncewire and its version.
    pub fn client_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.draft.settings.client_name = name.into();
        self.draft.settings.client_version = version.into();
        self
    }

    /// More root certificates, PEM, besides those of the machine.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.draft.http.root_certificates_pem = Some(pem.into());
        self
    }

    /// PEM files, or folders of such, of certificates that the other programs of the host trust: they count besides those of the machine and
    /// [`Self::root_certificates`]. They are read at the first TLS handshake; what is missing, cannot be read or is no root is passed over,
    /// as those programs do. For bindings, which pass on what the environment of their language names. Default: none.
    pub fn trusted_files<I>(mut self, files: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<PathBuf>,
    {
        self.draft.http.trusted_files.extend(files.into_iter().map(Into::into));
        self
    }

    /// The certificate that the client shows, with its chain, and its key, both PEM.
    pub fn client_certificate(mut self, chain_pem: impl Into<Vec<u8>>, key_pem: impl Into<Vec<u8>>) -> Self {
        self.draft.http.client_identity =
            Some(ClientIdentity { certificate_chain_pem: chain_pem.into(), private_key_pem: key_pem.into() });
        self
    }

    /// The proxy, for example `http://127.0.0.1:3128`. Default: the one of the environment, but for the machine itself and what `NO_PROXY`
    /// names.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.draft.http.proxy = ProxySetting::Url(url.into());
        self
    }

    /// No proxy, whatever the environment says.
    pub fn no_proxy(mut self) -> Self {
        self.draft.http.proxy = ProxySetting::None;
        self
    }

    /// Speak HTTP/1.1 only.
    pub fn http1_only(mut self) -> Self {
        self.draft.http.http_version = HttpVersion::Http1;
        self
    }

    /// Speak HTTP/2 without asking, also without TLS.
    pub fn http2_only(mut self) -> Self {
        self.draft.http.http_version = HttpVersion::Http2;
        self
    }

    /// Sends over this exchange in place of the network.
    #[cfg(feature = "testing")]
    pub fn exchange(mut self, exchange: Arc<dyn Exchange>) -> Self {
        self.draft.exchange = Some(exchange);
        self
    }

    /// Makes the client and, unless `lazy`, waits for its handshake. Dropping the future ends the session that the handshake brings.
    ///
    /// # Errors
    /// An option that cannot be used, or a handshake that failed.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(self) -> Result<Client, Error> {
        let lazy = self.lazy;
        let client = self.build()?;
        if !lazy {
            client.ready().await?;
        }
        Ok(client)
    }

    /// Makes the client without sending anything.
    ///
    /// # Errors
    /// An option that cannot be used.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn build(self) -> Result<Client, Error> {
        let parts = self.draft.check().map_err(|error| Error::config(&Method::raw("initialize"), None, error))?;
        Ok(Client::of(assemble(parts)))
    }
}
