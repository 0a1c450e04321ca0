//! What a host says of the login.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use url::Url;

use super::store::LoginStore;
use crate::vocabulary::config::OptionError;

/// What a function of the host fails with; its text may reach errors and logs, so it must hold no secret.
pub(crate) type ProviderError = Box<dyn std::error::Error + Send + Sync>;

/// How long a person has for a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

/// Shows the URL at which a person logs in.
pub(crate) type Open = Arc<dyn Fn(String) -> BoxFuture<'static, Result<(), ProviderError>> + Send + Sync>;
/// Gives the URL that the browser was redirected to. It gets the URL at which the person logs in.
pub(crate) type Receive = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, ProviderError>> + Send + Sync>;
/// Gives an assertion.
pub(crate) type Assertion = Arc<dyn Fn() -> BoxFuture<'static, Result<String, ProviderError>> + Send + Sync>;

/// How tokens are come by.
#[derive(Clone)]
pub(crate) enum Grant {
    /// A person logs in with a browser (RFC 6749, section 4.1, with RFC 7636).
    AuthorizationCode,
    /// The client for itself (RFC 6749, section 4.4), by its secret or by a signed assertion.
    ClientCredentials,
    /// An assertion of the platform that the client runs on (RFC 7523, section 2.1).
    Workload { assertion: Assertion },
    /// The login of the enterprise: its token is exchanged at the identity provider (RFC 8693) for an assertion to our authorization
    /// server (RFC 7523), the ID-JAG.
    Enterprise(Enterprise),
}

/// What is needed of the identity provider of an enterprise.
#[derive(Clone)]
pub(crate) struct Enterprise {
    pub(crate) token_endpoint: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<String>,
    pub(crate) id_token: Assertion,
}

/// A key that the client signs assertions with in the place of a secret (`private_key_jwt`, RFC 7523, section 2.2).
#[derive(Clone)]
pub(crate) struct SigningKey {
    /// PEM of PKCS #8.
    pub(crate) pem: String,
    /// `ES256` or `RS256`.
    pub(crate) algorithm: String,
}

/// How a client logs in (OAuth 2.1, as MCP 2026-07-28, basic, authorization, has it).
///
/// With nothing more said it finds the authorization server, registers, opens the browser, waits on the loopback interface for it to come
/// back, stores the login in a file of the user alone, and refreshes it. Every option has a default; each is checked when the client is
/// made, and a bad one names itself.
///
/// ```no_run
/// # async fn connect() -> Result<(), oncewire::Error> {
/// use oncewire::oauth::OAuth;
/// let client = oncewire::Client::builder("https://example.org/mcp").oauth(OAuth::new()).connect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "it does nothing until it is given to a builder"]
pub struct OAuth {
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<String>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) client_name: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) redirect_uri: Option<String>,
    pub(crate) redirect_port: Option<u16>,
    pub(crate) account: Option<String>,
    pub(crate) store: Option<Arc<dyn LoginStore>>,
    pub(crate) open: Option<Open>,
    pub(crate) receive: Option<Receive>,
    pub(crate) grant: Grant,
    pub(crate) signing_key: Option<SigningKey>,
    pub(crate) dpop: bool,
    pub(crate) wait: bool,
    pub(crate) login_timeout: Duration,
    pub(crate) without_pkce: Vec<String>,
}

impl fmt::Debug for OAuth {
    // The rest is secret, or a function.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OAuth").field("scopes", &self.scopes).field("dpop", &self.dpop).finish_non_exhaustive()
    }
}

impl Default for OAuth {
    fn default() -> Self {
        Self::new()
    }
}

impl OAuth {
    /// Every option at its default.
    pub fn new() -> Self {
        Self {
            client_id: None,
            client_secret: None,
            client_metadata_url: None,
            client_name: None,
            issuer: None,
            scopes: None,
            redirect_uri: None,
            redirect_port: None,
            account: None,
            store: None,
            open: None,
            receive: None,
            grant: Grant::AuthorizationCode,
            signing_key: None,
            dpop: false,
            wait: true,
            login_timeout: LOGIN_TIMEOUT,
            without_pkce: Vec::new(),
        }
    }

    /// The id of a client that was registered with the authorization server beforehand. Default: the client names itself by
    /// [`Self::client_metadata_url`], or registers itself.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// Its secret. It is sent to the issuer that it was first used with, or to [`Self::issuer`], and to no other.
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client_secret = Some(secret.into());
        self
    }

    /// The https URL of a document that describes the client, which is its id where the authorization server takes such
    /// (client ID metadata documents). Default: none.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// The name under which the client registers itself, shown to the person who logs in. Default: `oncewire`.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// The authorization server to take, by its issuer: where the server names several, and the only one that `client_id` and
    /// `client_secret` are used with. Default: the first one that the server names.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// The scopes to ask for. Default: those that the server's challenge names, else those that its metadata lists, else none; and
    /// `offline_access` where the authorization server knows it.
    pub fn scopes<I>(mut self, scopes: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Where the browser is sent after the login. Default: `http://127.0.0.1:PORT/callback`, where this process listens as long as the
    /// login takes. One that is not on the loopback interface needs [`Self::receive`].
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// The port of the default redirect URI, for authorization servers that take only what was registered. Default: a free one, and again
    /// the one that the client registered itself with.
    pub fn redirect_port(mut self, port: u16) -> Self {
        self.redirect_port = Some(port);
        self
    }

    /// Whose login, where one user has several with the same server. Default: one for each server and client.
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }

    /// Where logins are kept. Default: a file of the user alone.
    pub fn store(mut self, store: Arc<dyn LoginStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Shows the URL at which a person logs in. Default: opens the browser.
    pub fn open<F, R>(mut self, open: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), ProviderError>> + Send + 'static,
    {
        self.open = Some(Arc::new(move |url| Box::pin(open(url))));
        self
    }

    /// Gives the URL that the browser was redirected to, whole: for a host that pastes it, or has a callback of its own. It gets the URL at
    /// which the person logs in. Default: a listener on the loopback interface.
    pub fn receive<F, R>(mut self, receive: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, ProviderError>> + Send + 'static,
    {
        self.receive = Some(Arc::new(move |url| Box::pin(receive(url))));
        self
    }

    /// The client logs in for itself, by `client_id` and `client_secret` or [`Self::private_key`]: no person, no browser.
    pub fn client_credentials(mut self) -> Self {
        self.grant = Grant::ClientCredentials;
        self
    }

    /// A key in the place of `client_secret`: PEM of PKCS #8, and `ES256` or `RS256`.
    pub fn private_key(mut self, pem: impl Into<String>, algorithm: impl Into<String>) -> Self {
        self.signing_key = Some(SigningKey { pem: pem.into(), algorithm: algorithm.into() });
        self
    }

    /// The platform vouches for the client (workload identity): the function gives its assertion, a JWT, each time a token is asked for.
    /// A refused one is not tried again.
    pub fn workload_identity<F, R>(mut self, assertion: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, ProviderError>> + Send + 'static,
    {
        self.grant = Grant::Workload { assertion: Arc::new(move || Box::pin(assertion())) };
        self
    }

    /// The person is logged in with the identity provider of an enterprise, which decides: its ID token, given by the function, is
    /// exchanged there for an assertion to the authorization server (enterprise-managed authorization). `client_id` and `client_secret`
    /// are those at the authorization server; here are those at the identity provider.
    pub fn enterprise<F, R>(
        mut self,
        token_endpoint: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: Option<String>,
        id_token: F,
    ) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, ProviderError>> + Send + 'static,
    {
        self.grant = Grant::Enterprise(Enterprise {
            token_endpoint: token_endpoint.into(),
            client_id: client_id.into(),
            client_secret,
            id_token: Arc::new(move || Box::pin(id_token())),
        });
        self
    }

    /// Bind tokens to a key of this login (DPoP, RFC 9449, ES256): a token that is stolen is worth nothing. An authorization server that
    /// does not offer it is refused. Default: false.
    pub fn dpop(mut self, dpop: bool) -> Self {
        self.dpop = dpop;
        self
    }

    /// Calls wait for a person to log in, within their deadline; if not they fail at once, as `auth` and `not_executed`, while the login
    /// goes on. Default: true.
    pub fn wait_for_login(mut self, wait: bool) -> Self {
        self.wait = wait;
        self
    }

    /// How long a person has. Default: 5 minutes.
    pub fn login_timeout(mut self, timeout: Duration) -> Self {
        self.login_timeout = timeout;
        self
    }

    /// The authorization server with this issuer is used although its metadata does not list PKCE with S256. PKCE is used all the same.
    /// Default: it is refused, for a code that is stolen on the way could be used by whoever stole it.
    pub fn allow_unlisted_pkce(mut self, issuer: impl Into<String>) -> Self {
        self.without_pkce.push(issuer.into());
        self
    }

    /// # Errors
    /// Names the first option that cannot be used.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let bad = |problem: &str| Err(OptionError::new("oauth", problem));
        if self.login_timeout.is_zero() {
            return bad("login_timeout must be above zero");
        }
        if self.client_id.is_none() && (self.client_secret.is_some() || self.signing_key.is_some()) {
            return bad("client_secret and private_key need client_id");
        }
        if let Some(url) = &self.client_metadata_url {
            // A bare origin is no document.
            if !Url::parse(url)
                .is_ok_and(|url| url.scheme() == "https" && url.path() != "/" && url.fragment().is_none())
            {
                return bad("client_metadata_url must be the https URL of a document");
            }
        }
        if let Some(uri) = &self.redirect_uri {
            let Ok(uri) = Url::parse(uri) else { return bad("redirect_uri is not a URL") };
            if uri.fragment().is_some() {
                return bad("redirect_uri must have no fragment");
            }
            if self.receive.is_none() && !is_listenable(&uri) {
                return bad("redirect_uri is not http on the loopback interface, so receive is needed");
            }
        }
        if let Some(key) = &self.signing_key
            && !matches!(key.algorithm.as_str(), "ES256" | "RS256")
        {
            return bad("the algorithm of private_key must be ES256 or RS256");
        }
        let has_secret = self.client_secret.is_some() || self.signing_key.is_some();
        match &self.grant {
            Grant::ClientCredentials if !has_secret => bad("client_credentials needs client_secret or private_key"),
            Grant::Enterprise(_) | Grant::Workload { .. } if self.client_id.is_none() => {
                bad("this grant needs client_id")
            }
            Grant::Enterprise(enterprise) if Url::parse(&enterprise.token_endpoint).is_err() => {
                bad("the token endpoint of the identity provider is not a URL")
            }
            _ => Ok(()),
        }
    }

    /// Does a person have to log in?
    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self.grant, Grant::AuthorizationCode)
    }

    /// What no text may show.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let enterprise = match &self.grant {
            Grant::Enterprise(enterprise) => enterprise.client_secret.as_deref(),
            _ => None,
        };
        self.client_secret.as_deref().into_iter().chain(enterprise)
    }
}

/// Can this process listen there?
fn is_listenable(uri: &Url) -> bool {
    uri.scheme() == "http" && super::addresses::zone_of(uri) == Some(super::addresses::Zone::Loopback)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(OAuth::new(), None; "nothing said")]
    #[test_case(OAuth::new().client_secret("s"), Some("need client_id"); "a secret of nobody")]
    #[test_case(OAuth::new().client_metadata_url("http://a.example/client.json"), Some("https URL"); "a document without TLS")]
    #[test_case(OAuth::new().client_metadata_url("https://a.example/"), Some("https URL"); "an origin in the place of a document")]
    #[test_case(OAuth::new().redirect_uri("my-app://callback"), Some("receive is needed"); "a scheme of an app")]
    #[test_case(OAuth::new().redirect_uri("my-app://callback").receive(|_| async { Ok(String::new()) }), None; "a scheme of an app that receives")]
    #[test_case(OAuth::new().redirect_uri("http://localhost:7000/back"), None; "a fixed place to listen")]
    #[test_case(OAuth::new().client_credentials(), Some("needs client_secret"); "a client without a secret")]
    #[test_case(OAuth::new().client_id("a").client_secret("s").client_credentials(), None; "a client with one")]
    #[test_case(OAuth::new().client_id("a").private_key("pem", "HS256"), Some("ES256 or RS256"); "another algorithm")]
    #[test_case(OAuth::new().login_timeout(Duration::ZERO), Some("above zero"); "no time at all")]
    fn what_cannot_be_used_names_itself(oauth: OAuth, problem: Option<&str>) {
        let said = oauth.check().err().map(|error| error.to_string());
        match (said, problem) {
            (Some(said), Some(problem)) => assert!(said.contains(problem), "{said}"),
            (said, problem) => assert_eq!(said.as_deref(), problem),
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let oauth = OAuth::new().client_id("a").client_secret("s3cret").private_key("k3y", "ES256");
        let shown = format!("{oauth:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("k3y"), "{shown}");
    }
}
