//! An [`OAuth`] as the other languages hand it over: what is plain as one JSON object, and what is a function as one function that is asked
//! questions. So each option is read in one place, and the bindings only carry it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::options::{OAuth, ProviderError};
use super::store::{FileStore, LoginStore, MemoryStore, StoreError, StoreErrorKind};
use crate::vocabulary::config::OptionError;

/// Answers a question, a JSON object whose `ask` says which function is meant, with JSON.
///
/// | `ask` | besides | answer |
/// | --- | --- | --- |
/// | `open` | `url` | null |
/// | `receive` | `url` | the URL that the browser was redirected to |
/// | `workload_identity`, `id_token` | | the assertion, the token |
/// | `load` | `key` | the value, or null |
/// | `save` | `key`, `value` (may be null) | null |
/// | `lock`, `unlock` | `key` | null |
pub type Asked = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, ProviderError>> + Send + Sync>;

/// The options, by their names in Rust.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Given {
    client_id: Option<String>,
    client_secret: Option<String>,
    client_metadata_url: Option<String>,
    client_name: Option<String>,
    issuer: Option<String>,
    scopes: Option<Vec<String>>,
    redirect_uri: Option<String>,
    redirect_port: Option<u16>,
    account: Option<String>,
    /// `memory`, or `host` if the four functions of a store are the host's.
    store: Option<Place>,
    /// A folder for files of logins.
    folder: Option<String>,
    /// The host has these functions.
    open: bool,
    receive: bool,
    workload_identity: bool,
    client_credentials: bool,
    private_key: Option<Key>,
    enterprise: Option<Enterprise>,
    dpop: bool,
    wait_for_login: Option<bool>,
    login_timeout_ms: Option<u64>,
    allow_unlisted_pkce: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Memory,
    Host,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    pem: String,
    algorithm: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Enterprise {
    token_endpoint: String,
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
}

impl OAuth {
    /// For bindings: the options as a JSON object, under their names here; `login_timeout` as `login_timeout_ms`, a store as `memory`, `host`
    /// or a `folder`, and of a function whether there is one.
    ///
    /// # Errors
    /// Names what cannot be used. No value is repeated.
    #[doc(hidden)]
    pub fn of_binding(options: &str, asked: Asked) -> Result<Self, OptionError> {
        let given: Given = serde_json::from_str(options).map_err(|error| OptionError::new("oauth", problem(&error)))?;
        let mut oauth = Self::new();
        oauth.client_id = given.client_id;
        oauth.client_secret = given.client_secret;
        oauth.client_metadata_url = given.client_metadata_url;
        oauth.client_name = given.client_name;
        oauth.issuer = given.issuer;
        oauth.scopes = given.scopes;
        oauth.redirect_uri = given.redirect_uri;
        oauth.redirect_port = given.redirect_port;
        oauth.account = given.account;
        oauth.dpop = given.dpop;
        oauth.wait = given.wait_for_login.unwrap_or(oauth.wait);
        oauth.login_timeout = given.login_timeout_ms.map_or(oauth.login_timeout, Duration::from_millis);
        oauth.without_pkce = given.allow_unlisted_pkce;
        oauth = match (given.store, given.folder) {
            (Some(Place::Memory), None) => oauth.store(Arc::new(MemoryStore::new())),
            (Some(Place::Host), None) => oauth.store(Arc::new(OfHost(Arc::clone(&asked)))),
            (None, Some(folder)) => oauth.store(Arc::new(FileStore::new(folder))),
            (None, None) => oauth,
            (Some(_), Some(_)) => {
                return Err(OptionError::new("oauth", "store stands beside folder: give the one or the other"));
            }
        };
        if given.open {
            let asked = Arc::clone(&asked);
            oauth = oauth.open(move |url| {
                let asked = Arc::clone(&asked);
                async move { ask(&asked, &json!({ "ask": "open", "url": url })).await.map(drop) }
            });
        }
        if given.receive {
            let asked = Arc::clone(&asked);
            oauth = oauth.receive(move |url| {
                let asked = Arc::clone(&asked);
                async move { text(ask(&asked, &json!({ "ask": "receive", "url": url })).await?) }
            });
        }
        if given.client_credentials {
            oauth = oauth.client_credentials();
        }
        if let Some(Key { pem, algorithm }) = given.private_key {
            oauth = oauth.private_key(pem, algorithm);
        }
        let assertion = |name: &'static str| {
            let asked = Arc::clone(&asked);
            move || {
                let asked = Arc::clone(&asked);
                async move { text(ask(&asked, &json!({ "ask": name })).await?) }
            }
        };
        if given.workload_identity {
            oauth = oauth.workload_identity(assertion("workload_identity"));
        }
        if let Some(Enterprise { token_endpoint, client_id, client_secret }) = given.enterprise {
            oauth = oauth.enterprise(token_endpoint, client_id, client_secret, assertion("id_token"));
        }
        Ok(oauth)
    }
}

/// What is wrong, without what was given: that may be a secret.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
    match text.split_once(", expected ") {
        Some((what, expected)) if what.starts_with("invalid ") => format!("something is not {expected}"),
        _ => text.to_owned(),
    }
}

async fn ask(asked: &Asked, question: &Value) -> Result<Value, ProviderError> {
    let answer = asked(question.to_string()).await?;
    // What serde says of a text quotes it.
    serde_json::from_str(&answer).map_err(|_| "its answer is no JSON".into())
}

fn text(answer: Value) -> Result<String, ProviderError> {
    match answer {
        Value::String(text) => Ok(text),
        _ => Err("its answer is no text".into()),
    }
}

/// A store whose four functions are the host's.
struct OfHost(Asked);

impl OfHost {
    async fn ask(&self, question: Value) -> Result<Value, StoreError> {
        let answer = ask(&self.0, &question).await;
        answer.map_err(|error| StoreError::new(StoreErrorKind::Other, error.to_string()))
    }
}

#[async_trait]
impl LoginStore for OfHost {
    async fn load(&self, key: &str) -> Result<Option<String>, StoreError> {
        match self.ask(json!({ "ask": "load", "key": key })).await? {
            Value::Null => Ok(None),
            Value::String(value) => Ok(Some(value)),
            _ => Err(StoreError::new(StoreErrorKind::Corrupt, "load gave no text")),
        }
    }

    async fn save(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.ask(json!({ "ask": "save", "key": key, "value": value })).await.map(drop)
    }

    async fn lock(&self, key: &str) -> Result<(), StoreError> {
        self.ask(json!({ "ask": "lock", "key": key })).await.map(drop)
    }

    async fn unlock(&self, key: &str) -> Result<(), StoreError> {
        self.ask(json!({ "ask": "unlock", "key": key })).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::FutureExt;

    use super::*;

    /// Answers with what is given, in turn, and keeps the questions.
    fn answering(answers: &[&str]) -> (Asked, Arc<Mutex<Vec<Value>>>) {
        let answers = Mutex::new(answers.iter().rev().map(|answer| (*answer).to_owned()).collect::<Vec<_>>());
        let questions: Arc<Mutex<Vec<Value>>> = Arc::default();
        let kept = Arc::clone(&questions);
        let asked: Asked = Arc::new(move |question| {
            kept.lock().unwrap().push(serde_json::from_str(&question).unwrap());
            let answer = answers.lock().unwrap().pop().ok_or_else(|| ProviderError::from("nothing left"));
            async move { answer }.boxed()
        });
        (asked, questions)
    }

    #[test]
    fn each_option_has_a_name() {
        let text = r#"{"client_id":"c","client_secret":"s","client_metadata_url":"https://a.example/c","client_name":"n",
            "issuer":"https://i.example","scopes":["a"],"redirect_uri":"app://back","redirect_port":1,"account":"me","store":"memory",
            "open":true,"receive":true,"private_key":{"pem":"p","algorithm":"ES256"},"dpop":true,"wait_for_login":false,
            "login_timeout_ms":1500,"allow_unlisted_pkce":["https://i.example"],"client_credentials":true}"#;
        let oauth = OAuth::of_binding(text, answering(&[]).0).unwrap();
        assert!(oauth.check().is_ok());
        assert!(oauth.dpop && !oauth.wait && oauth.open.is_some() && oauth.store.is_some());
        assert_eq!(oauth.login_timeout, Duration::from_millis(1_500));
    }

    #[test]
    fn what_cannot_be_read_is_named_and_not_repeated() {
        for (given, said) in [
            (r#"{"client_secret":123456}"#, "not a string"),
            (r#"{"clientId":"c"}"#, "unknown field `clientId`"),
            (r#"{"store":"s3cret"}"#, "`memory`"),
        ] {
            let error = OAuth::of_binding(given, answering(&[]).0).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("123456"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_store_of_the_host_is_asked_by_name() {
        let (asked, questions) = answering(&["null", "\"v\"", "null", "null", "null", "[]"]);
        let store = OfHost(asked);
        assert_eq!(store.load("k").await.unwrap(), None);
        assert_eq!(store.load("k").await.unwrap().as_deref(), Some("v"));
        store.lock("k").await.unwrap();
        store.save("k", None).await.unwrap();
        store.unlock("k").await.unwrap();
        assert_eq!(store.load("k").await.unwrap_err().kind(), StoreErrorKind::Corrupt);
        assert_eq!(store.save("k", Some("v")).await.unwrap_err().to_string(), "nothing left");
        let asks: Vec<_> = questions.lock().unwrap().iter().map(|question| question["ask"].clone()).collect();
        assert_eq!(asks, ["load", "load", "lock", "save", "unlock", "load", "save"]);
    }
}
