//! `oncewire login`, `logout` and `status`: the login that is stored for a server, and shared by all programs of the user.

use std::time::SystemTime;

use clap::Args;
use oncewire::Client;
use oncewire::oauth::{OAuth, StoredLogin};
use serde_json::json;

use crate::Context;
use crate::connection::{Ask, ConnectionOptions, Server, until_interrupted};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::output::{harmless, print};

/// The options of all three.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The URL of the server
    url: String,

    #[command(flatten)]
    connection: ConnectionOptions,
}

/// Makes sure of a login: the stored one, refreshed if need be, or a new one. Then says what it is.
///
/// # Errors
/// Bad input, a login that failed, or a signal.
pub(crate) async fn log_in(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let oauth = options.oauth()?;
    let client = options.client()?;
    let done = until_interrupted(&client, &context.interrupt, client.login()).await;
    client.close().await;
    done?;
    let server = options.server()?;
    let login = stored(&oauth, &server).await?;
    if context.json {
        return print(&json(&server, login.as_ref())).map(|()| Exit::Success);
    }
    print(&text(login.as_ref())).map(|()| Exit::Success)
}

/// Ends the login, for every program of the user.
///
/// # Errors
/// Bad input, a store that failed, or a signal.
pub(crate) async fn log_out(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let oauth = options.oauth()?;
    let server = options.server()?;
    let there_was = stored(&oauth, &server).await?.is_some();
    let client = options.client()?;
    let done = until_interrupted(&client, &context.interrupt, client.logout()).await;
    client.close().await;
    done?;
    let said = if there_was { "logged out" } else { "there was no login" };
    print(&if context.json { json(&server, None) } else { said.to_owned() }).map(|()| Exit::Success)
}

/// Says what is stored. Nothing is sent.
///
/// # Errors
/// Bad input, or a store that cannot be read.
pub(crate) async fn status(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let server = options.server()?;
    let login = stored(&options.oauth()?, &server).await?;
    print(&if context.json { json(&server, login.as_ref()) } else { text(login.as_ref()) })?;
    let is_usable = login.is_some_and(|login| login.is_usable());
    Ok(if is_usable { Exit::Success } else { Exit::Failure })
}

impl Options {
    fn server(&self) -> Result<String, BadInput> {
        Server::new(Some(&self.url))?.url()
    }

    fn oauth(&self) -> Result<OAuth, BadInput> {
        let oauth = self.connection.oauth(Ask::Always)?;
        oauth.ok_or_else(|| BadInput::new("--login-store", "this user has no folder to keep logins in: name one"))
    }

    /// A client that was not connected yet: nothing but the login needs a server.
    fn client(&self) -> Result<Client, Failure> {
        let server = Server::new(Some(&self.url))?;
        let builder = self.connection.builder(&server, Ask::Always)?.listen(false);
        crate::connection::build(builder)
    }
}

async fn stored(oauth: &OAuth, server: &str) -> Result<Option<StoredLogin>, Failure> {
    let failed = |error| Failure::Local("read the stored login".to_owned(), std::io::Error::other(error));
    oauth.stored(server).await.map_err(failed)
}

/// `{"logged_in": …, "login": …}`
fn json(server: &str, login: Option<&StoredLogin>) -> String {
    let server = server.split(['?', '#']).next().unwrap_or_default();
    let is_usable = login.is_some_and(StoredLogin::is_usable);
    let mut value = json!({ "server": server, "logged_in": is_usable });
    if let Some(login) = login {
        value["login"] = serde_json::to_value(login).unwrap_or_default();
    }
    value.to_string()
}

fn text(login: Option<&StoredLogin>) -> String {
    let Some(login) = login else { return "not logged in".to_owned() };
    let mut lines = vec![match (&login.lost, login.is_usable()) {
        (Some(reason), false) => format!("the login is over: {reason}"),
        (_, false) => "the login is over: its token ended, and it cannot be refreshed".to_owned(),
        (_, true) => format!("logged in by {}", login.issuer),
    }];
    if let Some(client) = &login.client_id {
        lines.push(format!("client: {client}"));
    }
    if !login.scopes.is_empty() {
        lines.push(format!("scopes: {}", login.scopes.join(" ")));
    }
    lines.push(match login.expires_at {
        Some(expires) => {
            format!("token: {}{}", until(expires), if login.refreshable { ", refreshed by itself" } else { "" })
        }
        None => "token: without an end that is known".to_owned(),
    });
    if login.bound {
        lines.push("bound to a key of this login (DPoP)".to_owned());
    }
    harmless(&lines.join("\n"))
}

fn until(expires: SystemTime) -> String {
    let at = humantime::format_rfc3339_seconds(expires);
    match expires.duration_since(SystemTime::now()) {
        Ok(left) => {
            let left = std::time::Duration::from_secs(left.as_secs());
            format!("until {at} ({} from now)", humantime::format_duration(left))
        }
        Err(_) => format!("ended {at}"),
    }
}
