//! The options of a login, and who is asked for one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use oncewire::oauth::{FileStore, OAuth};
use oncewire::{Event, EventName};

use super::value::{duration, text_of, variable};
use crate::failure::BadInput;
use crate::output::{note, person_sees_errors};

/// Is a person asked to log in where the server wants it?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The browser opens, whoever started us: for `login`, and for what hosts start without a terminal.
    Always,
    /// The browser opens if a person sees standard error. Else the error says how to log in.
    IfTerminal,
}

/// How the client logs in. A stored login is used without being asked for; nothing is asked before the server wants it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Login (OAuth)")]
pub(crate) struct LoginOptions {
    /// Log in where the server wants it. It is the default where no token and no Authorization header are given
    #[arg(long)]
    oauth: bool,

    /// Use no login and make none
    #[arg(long, conflicts_with = "oauth")]
    no_oauth: bool,

    /// The id of a client that was registered beforehand
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,

    /// The variable of the environment that holds its secret
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    client_secret_env: Option<String>,

    /// The file that holds its secret
    #[arg(long, value_name = "FILE", requires = "client_id", conflicts_with = "client_secret_env")]
    client_secret_file: Option<PathBuf>,

    /// The client logs in for itself, by its id and its secret or key: no person, no browser
    #[arg(long, requires = "client_id")]
    client_credentials: bool,

    /// A file with a key in the place of the secret, PEM of PKCS #8
    #[arg(long, value_name = "FILE", requires = "client_id")]
    private_key: Option<PathBuf>,

    /// What the key signs with: ES256 or RS256
    #[arg(long, value_name = "ALGORITHM", default_value = "ES256", requires = "private_key")]
    private_key_algorithm: String,

    /// The https URL of a document that describes the client
    #[arg(long, value_name = "URL")]
    client_metadata_url: Option<String>,

    /// The name under which the client registers itself [default: oncewire]
    #[arg(long, value_name = "NAME")]
    client_name: Option<String>,

    /// The authorization server to take [default: the first one that the server names]
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,

    /// A scope to ask for; may be repeated [default: what the server asks for]
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,

    /// Whose login, where you have several with one server
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// The port of this machine that the browser comes back to [default: a free one]
    #[arg(long, value_name = "PORT")]
    redirect_port: Option<u16>,

    /// Open no browser: show the address, and read back from standard input the one that the browser was sent to
    #[arg(long)]
    no_browser: bool,

    /// Bind tokens to a key of this login (DPoP)
    #[arg(long)]
    dpop: bool,

    /// How long a person has to log in [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    login_timeout: Option<Duration>,

    /// The folder that logins are kept in [default: that of the user]
    #[arg(long, value_name = "FOLDER")]
    login_store: Option<PathBuf>,
}

impl LoginOptions {
    /// Was a login asked for in so many words?
    pub(super) fn is_explicit(&self) -> bool {
        self.oauth || self.client_id.is_some() || self.client_metadata_url.is_some()
    }

    /// Does a person paste the address that the browser was sent to?
    pub(super) fn reads_standard_input(&self) -> bool {
        self.no_browser
    }

    /// Must there be none?
    pub(super) fn is_off(&self) -> bool {
        self.no_oauth
    }

    /// The login; `None` if there is nowhere to keep one, and none was asked for.
    pub(crate) fn oauth(&self, ask: Ask) -> Result<Option<OAuth>, BadInput> {
        let mut oauth = OAuth::new();
        if let Some(folder) = &self.login_store {
            oauth = oauth.store(Arc::new(FileStore::new(folder)));
        } else if !self.is_explicit() && FileStore::of_user().is_err() {
            return Ok(None);
        }
        if let Some(id) = &self.client_id {
            oauth = oauth.client_id(id);
        }
        if let Some(name) = &self.client_secret_env {
            oauth = oauth.client_secret(variable("--client-secret-env", name)?.trim());
        }
        if let Some(path) = &self.client_secret_file {
            oauth = oauth.client_secret(text_of("--client-secret-file", path)?.trim());
        }
        if let Some(path) = &self.private_key {
            oauth = oauth.private_key(text_of("--private-key", path)?, &self.private_key_algorithm);
        }
        if self.client_credentials {
            oauth = oauth.client_credentials();
        }
        if let Some(url) = &self.client_metadata_url {
            oauth = oauth.client_metadata_url(url);
        }
        if let Some(name) = &self.client_name {
            oauth = oauth.client_name(name);
        }
        if let Some(issuer) = &self.issuer {
            oauth = oauth.issuer(issuer);
        }
        if !self.scope.is_empty() {
            oauth = oauth.scopes(&self.scope);
        }
        if let Some(account) = &self.account {
            oauth = oauth.account(account);
        }
        if let Some(port) = self.redirect_port {
            oauth = oauth.redirect_port(port);
        }
        if let Some(timeout) = self.login_timeout {
            oauth = oauth.login_timeout(timeout);
        }
        oauth = oauth.dpop(self.dpop);
        Ok(Some(self.shown(oauth, ask)))
    }

    /// How a person comes to the page of the login, and back.
    fn shown(&self, oauth: OAuth, ask: Ask) -> OAuth {
        if self.no_browser {
            // The event tells the address.
            return oauth.open(|_| std::future::ready(Ok(()))).receive(|_| pasted());
        }
        if ask == Ask::Always || person_sees_errors() {
            return oauth;
        }
        oauth.open(|_| {
            std::future::ready(Err("nobody is here to log in: run `oncewire login URL` in a terminal once".into()))
        })
    }
}

/// The line that a person pastes.
async fn pasted() -> Result<String, oncewire::ProviderError> {
    note("paste the address that the browser was sent to, and press Enter:");
    // In a thread of its own: nothing can wake it, and nothing has to wait for it.
    let (sender, line) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).map(|_| line.trim().to_owned());
        let _ = sender.send(read);
    });
    let line = line.await??;
    if line.is_empty() { Err("nothing was pasted".into()) } else { Ok(line) }
}

/// Tells a person what there is to do for a login. For the observer of a client.
pub(crate) fn tell(event: &Event) {
    match (event.event, &event.url) {
        (EventName::LoginNeeded, Some(url)) => note(&format!("to log in, open {url}")),
        (EventName::LoginLost, _) => {
            note(&format!(
                "the login is over: {}",
                event.reason.as_deref().unwrap_or("the server does not honour it any more")
            ));
        }
        _ => {}
    }
}
