//! What is stored of a login, for a person who asks; nothing of it is secret.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use url::Url;

use super::options::OAuth;
use super::record::{Record, key};
use super::store::{FileStore, LoginStore, StoreError, StoreErrorKind};

/// A login as it is stored. It holds no token, no secret and no key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoredLogin {
    /// Who gave it.
    pub issuer: String,
    /// As which client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// What it is good for, as far as the authorization server said.
    pub scopes: Vec<String>,
    /// When its access token was granted, in seconds of the Unix epoch where it is serialised.
    #[serde(serialize_with = "seconds")]
    pub granted_at: SystemTime,
    /// When that ends, if the authorization server said; in the same seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_seconds")]
    pub expires_at: Option<SystemTime>,
    /// It can be refreshed, so that the end of the access token is not that of the login.
    pub refreshable: bool,
    /// Its tokens are bound to a key of this login (DPoP).
    pub bound: bool,
    /// Why it is over: a new one is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl StoredLogin {
    /// Is it good for something still, as far as its own dates and the last answers say?
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let holds = self.expires_at.is_none_or(|expires| expires > SystemTime::now());
        holds || (self.refreshable && self.lost.is_none())
    }
}

impl OAuth {
    /// What is stored of the login of this client with the server at this URL; `None` if there is none. Nothing is sent, and nothing changes.
    ///
    /// # Errors
    /// The store failed; or what it holds cannot be read, [`StoreErrorKind::Corrupt`]; or the URL is none, [`StoreErrorKind::Other`].
    pub async fn stored(&self, url: &str) -> Result<Option<StoredLogin>, StoreError> {
        let url =
            Url::parse(url).map_err(|error| StoreError::new(StoreErrorKind::Other, format!("no URL: {error}")))?;
        let store: Arc<dyn LoginStore> = match &self.store {
            Some(store) => Arc::clone(store),
            None => Arc::new(FileStore::of_user()?),
        };
        let text = store.load(&key(&url, self)).await?;
        let record = Record::read(text.as_deref())
            .map_err(|error| StoreError::new(StoreErrorKind::Corrupt, error.to_string()))?;
        Ok(shown(&record))
    }
}

fn shown(record: &Record) -> Option<StoredLogin> {
    let tokens = record.tokens.as_ref()?;
    Some(StoredLogin {
        issuer: record.origin.issuer.clone(),
        client_id: record.clients.get(&record.origin.issuer).map(|client| client.client_id.clone()),
        scopes: tokens.scopes.clone(),
        granted_at: UNIX_EPOCH.checked_add(Duration::from_secs(tokens.granted_at)).unwrap_or(UNIX_EPOCH),
        expires_at: tokens.expires(),
        refreshable: tokens.refresh_token.is_some(),
        bound: tokens.bound,
        lost: record.dead.as_ref().map(|dead| dead.reason.clone()),
    })
}

fn seconds<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(super::record::seconds_of(*time))
}

#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn maybe_seconds<S: serde::Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => seconds(time, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::MemoryStore;
    use super::*;

    const URL: &str = "https://a.example/mcp";

    async fn stored(text: Option<&str>) -> Result<Option<StoredLogin>, StoreError> {
        let store = MemoryStore::new();
        let oauth = OAuth::new().store(Arc::new(store.clone()));
        store.save(&key(&Url::parse(URL).unwrap(), &oauth), text).await.unwrap();
        oauth.stored(URL).await
    }

    #[tokio::test]
    async fn what_is_stored_is_shown_without_what_is_secret() {
        let login = stored(Some(
            r#"{"version":1,"origin":{"issuer":"https://i.example","token_endpoint":"t"},
                "clients":{"https://i.example":{"client_id":"us","client_secret":"s3cret"}},
                "tokens":{"access_token":"s3cret","refresh_token":"s3cret","granted_at":5,"expires_at":6,"scopes":["a"],"serial":1}}"#,
        ));
        let login = login.await.unwrap().unwrap();
        assert!(login.is_usable(), "it can be refreshed");
        let json = serde_json::to_string(&login).unwrap();
        assert_eq!(
            json,
            r#"{"issuer":"https://i.example","client_id":"us","scopes":["a"],"granted_at":5,"expires_at":6,"refreshable":true,"bound":false}"#
        );
        assert!(!format!("{login:?}").contains("s3cret"));
    }

    #[tokio::test]
    async fn a_login_that_is_over_says_so_and_none_is_none() {
        let login = stored(Some(
            r#"{"version":1,"dead":{"reason":"invalid_grant","at":7},
                "tokens":{"access_token":"a","refresh_token":"r","granted_at":5,"expires_at":6,"serial":1}}"#,
        ));
        let login = login.await.unwrap().unwrap();
        assert_eq!((login.is_usable(), login.lost.as_deref()), (false, Some("invalid_grant")));
        assert_eq!(stored(None).await, Ok(None));
        assert_eq!(stored(Some("rubbish")).await.unwrap_err().kind(), StoreErrorKind::Corrupt);
    }
}
