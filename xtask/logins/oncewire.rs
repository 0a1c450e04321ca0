//! One process of `cargo xtask logins` on oncewire: `logins-client login|use URL FOLDER`. It says `ready`, waits for a line, does it, and says
//! `ok`, `login: why` if a person would have to log in, or `failed: why`.

use std::env;
use std::io::{Write as _, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use oncewire::oauth::{FileStore, OAuth};
use oncewire::{Client, EventName};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [mode, url, folder] = arguments.as_slice() else { anyhow::bail!("login|use URL FOLDER") };
    let asked = Arc::new(AtomicBool::new(false));
    let interactive = mode == "login";
    let noted = Arc::clone(&asked);
    let oauth = OAuth::new()
        .store(Arc::new(FileStore::new(folder)))
        .redirect_uri("http://127.0.0.1:1234/callback")
        .open(move |_| {
            noted.store(true, Ordering::SeqCst);
            async move { if interactive { Ok(()) } else { Err("a person would have to log in".into()) } }
        })
        .receive(|url| async move { redirect_of(&url).await.map_err(Into::into) });
    say("ready")?;
    stdin().read_line(&mut String::new())?;
    let one_line = |error: oncewire::Error| error.to_string().replace('\n', " ");
    let lost = Arc::new(Mutex::new(None));
    let called = call(url, oauth, Arc::clone(&lost)).await;
    // Why the login is over says more than that there is none.
    let lost = lost.lock().unwrap_or_else(PoisonError::into_inner).take();
    match called {
        Ok(()) => say("ok"),
        Err(error) if asked.load(Ordering::SeqCst) => {
            say(&format!("login: {}", lost.unwrap_or_else(|| one_line(error))))
        }
        Err(error) => say(&format!("failed: {}", one_line(error))),
    }
}

fn say(word: &str) -> Result<()> {
    writeln!(stdout(), "{word}")?;
    Ok(stdout().flush()?)
}

async fn call(url: &str, oauth: OAuth, lost: Arc<Mutex<Option<String>>>) -> Result<(), oncewire::Error> {
    let builder = Client::builder(url).oauth(oauth).on_event(move |event| {
        if event.event == EventName::LoginLost {
            *lost.lock().unwrap_or_else(PoisonError::into_inner) = event.reason.clone();
        }
    });
    let client = builder.connect().await?;
    let called = client.call_tool("peek", json!({})).await;
    client.close().await;
    called.map(drop)
}

/// Where the authorization server leads, which asks nobody.
async fn redirect_of(url: &str) -> Result<String> {
    let rest = url.strip_prefix("http://").context("it is no http URL")?;
    let (host, path) = rest.split_once('/').context("it has no path")?;
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let location =
        answer.lines().find_map(|line| line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("location")));
    Ok(location.context("there was no redirect")?.1.to_owned())
}
