//! One process of `cargo xtask logins` on rmcp: `rmcp-client login|use URL FOLDER`. It says `ready`, waits for a line, does it, and says `ok`,
//! `login: why` if a person would have to log in, or `failed: why`. With `GUARD` in the environment its store has the lock that rmcp asks
//! stores for, and that no store of its own has.

use std::error::Error;
use std::fs::{self, File};
use std::io::{Write, stdin};
use std::path::PathBuf;

use async_trait::async_trait;
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationCallback, AuthorizationManager, CredentialRefreshGuard, CredentialStore,
    StoredCredentials,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

const REDIRECT: &str = "http://127.0.0.1:1234/callback";

/// As careful as a file can be written: whole, or not at all.
struct FileStore {
    folder: PathBuf,
}

fn store_error(error: impl Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for FileStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match fs::read(self.folder.join("login.json")) {
            Ok(json) => serde_json::from_slice(&json).map(Some).map_err(store_error),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(store_error(error)),
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let json = serde_json::to_vec(&credentials).map_err(store_error)?;
        let unfinished = self.folder.join(format!("login.{}", std::process::id()));
        let write = || {
            let mut file = File::create(&unfinished)?;
            file.write_all(&json)?;
            file.sync_all()?;
            fs::rename(&unfinished, self.folder.join("login.json"))
        };
        write().map_err(store_error)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        fs::remove_file(self.folder.join("login.json")).map_err(store_error)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        if std::env::var_os("GUARD").is_none() {
            return Ok(None);
        }
        let lock = File::create(self.folder.join("login.lock")).map_err(store_error)?;
        let locked = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await;
        Ok(Some(CredentialRefreshGuard::new(locked.map_err(store_error)?.map_err(store_error)?)))
    }
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

async fn manager(url: &str, folder: &str) -> Outcome<AuthorizationManager> {
    let mut manager = AuthorizationManager::new(url).await?;
    manager.set_credential_store(FileStore { folder: folder.into() });
    Ok(manager)
}

async fn log_in(url: &str, folder: &str) -> Outcome<()> {
    fs::create_dir_all(folder)?;
    let mut manager = manager(url, folder).await?;
    let found = manager.resolve_metadata().await?;
    manager.set_metadata(found.metadata);
    let client = manager.register_client("logins", REDIRECT, &[]).await?;
    manager.configure_client(client)?;
    let to = manager.get_authorization_url(&[]).await?;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let answer = http.get(to).send().await?;
    let location = answer.headers().get("location").ok_or("there was no redirect")?.to_str()?.to_owned();
    let callback = AuthorizationCallback::from_redirect_url(&location)?;
    let AuthorizationCallback { code, csrf_token, issuer, .. } = callback;
    manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await?;
    Ok(())
}

/// Whether a person would have to log in, if it fails.
async fn call(url: &str, folder: &str) -> Result<(), (bool, String)> {
    let mut manager = manager(url, folder).await.map_err(|error| (false, error.to_string()))?;
    match manager.initialize_from_store().await {
        Ok(true) => {}
        Ok(false) => return Err((true, "there is no login".to_owned())),
        Err(error) => return Err((asks(&error.to_string()), error.to_string())),
    }
    let client = AuthClient::new(reqwest::Client::default(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let failed = |error: String| (asks(&error), error);
    let service = ().serve(transport).await.map_err(|error| failed(format!("{error:?}")))?;
    let result = service.call_tool(CallToolRequestParams::new("peek")).await;
    result.map_err(|error| failed(format!("{error:?}")))?;
    let _ = service.cancel().await;
    Ok(())
}

/// Whether rmcp says by this that the host has to authorize anew.
fn asks(text: &str) -> bool {
    ["AuthorizationRequired", "AuthRequired", "TokenRefreshRejected", "OAuth authorization required", "was rejected"]
        .iter()
        .any(|word| text.contains(word))
}

#[tokio::main]
async fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, mode, url, folder] = arguments.as_slice() else { return };
    println!("ready");
    let _ = stdin().read_line(&mut String::new());
    if mode == "login"
        && let Err(error) = log_in(url, folder).await
    {
        println!("failed: {}", error.to_string().replace('\n', " "));
        return;
    }
    match call(url, folder).await {
        Ok(()) => println!("ok"),
        Err((asks, why)) => println!("{}: {}", if asks { "login" } else { "failed" }, why.replace('\n', " ")),
    }
}
