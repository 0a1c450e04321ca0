//! The options as they were given, and as they are once they are checked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;
use url::Url;

use crate::auth::TokenProvider;
use crate::call::options::{CallOptions, above_zero};
use crate::call::settings::Settings;
use crate::exchange::answer::Limits;
use crate::exchange::wire::HeaderProvider;
use crate::oauth::{Fetch, LoginParts, OAuth};
use crate::policy::backoff::{self, BackoffBounds};
use crate::policy::budget::{self, BudgetSize};
use crate::transport::exchange::Exchange;
use crate::transport::headers;
use crate::transport::http::no_proxy::is_exempt;
use crate::transport::http::{HttpExchange, HttpSettings, ProxySetting};
use crate::transport::stdio::ServerCommand;
use crate::vocabulary::config::{Era, OptionError, Recovery, TrustAnnotations};
use crate::vocabulary::event::Observer;
use crate::vocabulary::handler::Handlers;
use crate::vocabulary::redact::{Secrets, address};

/// 32 MiB
const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// The parts that a client is put together from.
pub(crate) struct Parts {
    pub(crate) url: Url,
    /// The server, in texts.
    pub(crate) server: String,
    pub(crate) settings: Settings,
    pub(crate) exchange: Over,
    pub(crate) headers: http::HeaderMap,
    pub(crate) header_provider: Option<HeaderProvider>,
    pub(crate) secrets: Secrets,
    pub(crate) token: Tokens,
    pub(crate) handlers: Handlers,
    pub(crate) observer: Option<Observer>,
}

/// What everything goes over.
pub(crate) enum Over {
    Exchange(Arc<dyn Exchange>),
    /// The pipes of the process that this starts.
    Process(ServerCommand),
}

/// What a client is made for.
#[derive(Clone)]
pub(crate) enum Target {
    Url(String),
    Command(ServerCommand),
}

/// Where tokens come from.
pub(crate) enum Tokens {
    None,
    Provider(TokenProvider),
    Login(Box<LoginParts>),
}

/// The options as they were given.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) target: Target,
    pub(crate) settings: Settings,
    pub(crate) backoff: (Duration, Duration),
    pub(crate) retry_budget: (f64, u32),
    pub(crate) http: HttpSettings,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) header_provider: Option<HeaderProvider>,
    pub(crate) token: Option<TokenProvider>,
    pub(crate) oauth: Option<OAuth>,
    pub(crate) handlers: Handlers,
    pub(crate) observer: Option<Observer>,
    pub(crate) exchange: Option<Arc<dyn Exchange>>,
}

impl Draft {
    /// Every option at its default.
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            settings: Settings {
                defaults: CallOptions::default(),
                tools: HashMap::new(),
                orphan_timeout: Duration::from_secs(60),
                connect_patience: Duration::from_secs(10),
                handshake_timeout: Duration::from_secs(30),
                close_timeout: Duration::from_secs(5),
                retry_after_max: Duration::from_secs(60),
                backoff: BackoffBounds::default(),
                budget: BudgetSize::default(),
                limits: Limits { max_message: MAX_MESSAGE, max_event: MAX_MESSAGE },
                max_pages: 1_000,
                fresh_connection: false,
                trust_annotations: TrustAnnotations::default(),
                recovery: Recovery::default(),
                listen: true,
                idempotency_keys: true,
                client_name: "oncewire".to_owned(),
                client_version: env!("CARGO_PKG_VERSION").to_owned(),
                era: Era::default(),
                cache: false,
                cookies: true,
                extensions: Map::new(),
            },
            backoff: (backoff::FIRST, backoff::MAX),
            retry_budget: (budget::PERCENT, budget::PER_SECOND),
            http: HttpSettings::default(),
            headers: Vec::new(),
            header_provider: None,
            token: None,
            oauth: None,
            handlers: Handlers::default(),
            observer: None,
            exchange: None,
        }
    }

    /// # Errors
    /// Names the first option that cannot be used.
    pub(crate) fn check(self) -> Result<Parts, OptionError> {
        let url = match &self.target {
            Target::Url(text) => url(text)?,
            Target::Command(command) => {
                command.check()?;
                self.means_nothing_to_a_process()?;
                pipes()?
            }
        };
        let mut settings = self.settings;
        settings.defaults.validate()?;
        for options in settings.tools.values() {
            options.validate()?;
        }
        for (field, duration) in [
            ("orphan_timeout", settings.orphan_timeout),
            ("connect_timeout", self.http.connect_timeout),
            ("handshake_timeout", settings.handshake_timeout),
            ("close_timeout", settings.close_timeout),
            ("pool_idle_timeout", self.http.pool_idle_timeout),
            ("tcp_keep_alive", self.http.tcp_keep_alive.interval),
            ("http2_ping", self.http.http2_ping.interval),
            ("http2_ping", self.http.http2_ping.timeout),
        ] {
            above_zero(field, Some(duration))?;
        }
        for (field, count) in [
            ("max_message", settings.limits.max_message),
            ("max_event", settings.limits.max_event),
            ("max_pages", settings.max_pages),
        ] {
            if count == 0 {
                return Err(OptionError::new(field, "it must be above zero"));
            }
        }
        if let Some((id, _)) = settings.extensions.iter().find(|(_, settings)| !settings.is_object()) {
            return Err(OptionError::new("extensions", format!("the settings of {id:?} are no JSON object")));
        }
        if let Some(problem) = self.handlers.problem() {
            return Err(OptionError::new("capabilities", problem));
        }
        settings.backoff = BackoffBounds::new(self.backoff.0, self.backoff.1)?;
        settings.budget = BudgetSize::new(self.retry_budget.0, self.retry_budget.1)?;
        let headers = headers::from_caller(self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        let proxy = if let ProxySetting::Url(proxy) = &self.http.proxy { Some(&**proxy) } else { None };
        let secrets = match &self.target {
            Target::Url(_) => Secrets::new(&url, &headers, proxy),
            Target::Command(command) => Secrets::default().and_environment(command.values()),
        };
        let mut http = self.http;
        // A client speaks to one origin: what holds for its URL holds for all that it sends.
        if matches!(http.proxy, ProxySetting::Environment) && is_exempt(&url) {
            http.proxy = ProxySetting::None;
        }
        let token = match (self.token, self.oauth) {
            (Some(_), Some(_)) => {
                return Err(OptionError::new("oauth", "it stands beside token: give the one or the other"));
            }
            (Some(provider), None) => Tokens::Provider(provider),
            (None, Some(oauth)) => Tokens::Login(Box::new(login(oauth, &url, &http, self.exchange.as_ref())?)),
            (None, None) => Tokens::None,
        };
        let (server, exchange) = match (self.target, self.exchange) {
            (Target::Command(command), _) => (command.name(), Over::Process(command)),
            (Target::Url(_), Some(exchange)) => (address(&url), Over::Exchange(exchange)),
            (Target::Url(_), None) => (address(&url), Over::Exchange(Arc::new(HttpExchange::new(http)?))),
        };
        Ok(Parts {
            url,
            server,
            settings,
            exchange,
            headers,
            header_provider: self.header_provider,
            secrets,
            token,
            handlers: self.handlers,
            observer: self.observer,
        })
    }
}

impl Draft {
    /// # Errors
    /// Names the first option that a server on stdio never hears of: whoever gives it believes that it does something.
    fn means_nothing_to_a_process(&self) -> Result<(), OptionError> {
        let http = &self.http;
        let given = [
            ("token", self.token.is_some()),
            ("oauth", self.oauth.is_some()),
            ("header", !self.headers.is_empty()),
            ("header_provider", self.header_provider.is_some()),
            ("root_certificates", http.root_certificates_pem.is_some()),
            ("client_certificate", http.client_identity.is_some()),
            ("proxy", matches!(http.proxy, ProxySetting::Url(_))),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((field, _)) => Err(OptionError::new(
                field,
                "a server on stdio gets no requests over HTTP: what it has to know goes into its environment or its arguments",
            )),
            None => Ok(()),
        }
    }
}

/// What stands for the URL of a server that has none.
fn pipes() -> Result<Url, OptionError> {
    Url::parse("stdio:").map_err(|error| OptionError::new("command", error.to_string()))
}

/// The parts of the login. Its requests go out over the same exchange, or over connections of their own with the same settings.
fn login(
    oauth: OAuth,
    url: &Url,
    http: &HttpSettings,
    exchange: Option<&Arc<dyn Exchange>>,
) -> Result<LoginParts, OptionError> {
    oauth.check()?;
    let fetch = match exchange {
        Some(exchange) => Fetch::over(Arc::clone(exchange), url),
        None => Fetch::over_network(http, url)?,
    };
    LoginParts::new(oauth, fetch)
}

/// The URL, checked; its text is never repeated, because it may hold a secret.
fn url(text: &str) -> Result<Url, OptionError> {
    let url = Url::parse(text).map_err(|error| OptionError::new("url", format!("it is not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(OptionError::new("url", "its scheme must be http or https"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(OptionError::new("url", "it names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(OptionError::new("url", "it must not hold credentials: give them as token or header"));
    }
    Ok(url)
}
