//! A login as it is stored: one JSON document, versioned, that holds what every process needs to use and refresh it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::LoginError;
use super::options::{Grant, OAuth};

/// The version that this one writes; a later one is not read, and not overwritten.
const VERSION: u32 = 1;

/// A client as an authorization server knows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// How the client shows that it is the one, if the registration said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auth_method: Option<String>,
    /// Where it registered itself to be redirected to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) redirect_uri: Option<String>,
    /// When the secret ends, in seconds of the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret_expires_at: Option<u64>,
}

impl Registration {
    /// A public client whose id is the URL of the document that describes it (CIMD).
    pub(crate) fn by_document(url: &str) -> Self {
        Self {
            client_id: url.to_owned(),
            client_secret: None,
            auth_method: Some("none".to_owned()),
            redirect_uri: None,
            secret_expires_at: None,
        }
    }
}

/// What tokens were granted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access_token: String,
    /// The token is bound to the key of the record (DPoP).
    #[serde(default)]
    pub(crate) bound: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// When they were granted, in seconds of the Unix epoch.
    pub(crate) granted_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    /// What they are good for, as far as the authorization server said.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// How often tokens were granted to this login.
    pub(crate) serial: u64,
}

/// A refresh that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// A digest of the refresh token that is sent.
    pub(crate) of: String,
    /// When it was sent the first time.
    pub(crate) since: u64,
    /// How often it was sent without an answer that tells what became of it.
    pub(crate) tries: u32,
    /// How often it was refused in words that do not say that the token is dead.
    #[serde(default)]
    pub(crate) refusals: u32,
}

/// Why a login is dead. It is kept, so that somebody can see what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dead {
    pub(crate) reason: String,
    pub(crate) at: u64,
}

/// Where tokens come from: the part of the metadata that a refresh needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) issuer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    pub(crate) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    /// How clients may authenticate; `None` if the metadata does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auth_methods: Option<Vec<String>>,
}

/// A login.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) version: u32,
    #[serde(default)]
    pub(crate) origin: Origin,
    /// The clients, by issuer: nothing of one is ever sent to another.
    #[serde(default)]
    pub(crate) clients: BTreeMap<String, Registration>,
    /// The issuer that the secret of the options was first used with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret_of: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<Tokens>,
    /// The scopes that the latest login asked for.
    #[serde(default)]
    pub(crate) asked: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) intent: Option<Intent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dead: Option<Dead>,
    /// The key that tokens are bound to: PKCS #8 in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// How often tokens were granted.
    #[serde(default)]
    pub(crate) serials: u64,
}

impl fmt::Debug for Record {
    // Nearly all of it is secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Record")
            .field("issuer", &self.origin.issuer)
            .field("tokens", &self.tokens.is_some())
            .field("intent", &self.intent)
            .field("dead", &self.dead)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registration").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokens").field("serial", &self.serial).finish_non_exhaustive()
    }
}

impl Record {
    /// What was stored, or an empty one.
    ///
    /// # Errors
    /// It is of a later version, or no record at all; both stay as they are.
    pub(crate) fn read(stored: Option<&str>) -> Result<Self, LoginError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Some(stored) = stored else { return Ok(Self { version: VERSION, ..Self::default() }) };
        // What serde says of a text quotes it.
        let unreadable =
            |_| LoginError::lasting("the stored login cannot be read; removing it makes room for a new one");
        let Version { version } = serde_json::from_str(stored).map_err(unreadable)?;
        if version > VERSION {
            return Err(LoginError::lasting(format!(
                "the stored login is of version {version}, and this oncewire reads {VERSION}"
            )));
        }
        serde_json::from_str(stored).map_err(unreadable)
    }

    /// As it is stored.
    pub(crate) fn write(&self) -> Result<String, LoginError> {
        serde_json::to_string(self).map_err(|error| LoginError::lasting(format!("the login cannot be stored: {error}")))
    }

    /// Tokens that may still be good.
    pub(crate) fn usable(&self, now: SystemTime) -> Option<&Tokens> {
        self.tokens.as_ref().filter(|tokens| !tokens.have_expired(now))
    }

    /// The refresh token, unless it is known to be good for nothing.
    pub(crate) fn refresh_token(&self) -> Option<&str> {
        if self.dead.is_some() {
            return None;
        }
        self.tokens.as_ref()?.refresh_token.as_deref()
    }
}

impl Tokens {
    pub(crate) fn have_expired(&self, now: SystemTime) -> bool {
        self.expires().is_some_and(|expires| expires <= now)
    }

    pub(crate) fn expires(&self) -> Option<SystemTime> {
        self.expires_at.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
    }
}

/// Seconds of the Unix epoch.
pub(crate) fn seconds_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A digest that tells nothing of what it is of.
pub(crate) fn digest_of(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

/// The key under which the login of this client with this server is stored: the host, for a person who looks for it, and a digest of all
/// that makes it another login.
pub(crate) fn key(server: &Url, oauth: &OAuth) -> String {
    let grant = match oauth.grant {
        Grant::AuthorizationCode => "code",
        Grant::ClientCredentials => "client",
        Grant::Workload { .. } => "workload",
        Grant::Enterprise(_) => "enterprise",
    };
    let parts = [
        Some(server.as_str()),
        Some(grant),
        oauth.client_id.as_deref(),
        oauth.client_metadata_url.as_deref(),
        oauth.issuer.as_deref(),
        oauth.account.as_deref(),
        oauth.dpop.then_some("dpop"),
    ];
    // No part holds a zero byte, so that no two lists read alike.
    let text = parts.map(Option::unwrap_or_default).join("\0");
    let digest: String = digest_of(&text).chars().take(22).collect();
    format!("{}-{digest}", server.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut record = Record::read(None).unwrap();
        record.tokens = Some(Tokens {
            access_token: "a".into(),
            bound: true,
            refresh_token: Some("r".into()),
            granted_at: 1,
            expires_at: Some(2),
            scopes: vec!["s".into()],
            serial: 3,
        });
        record.intent = Some(Intent { of: digest_of("r"), since: 4, tries: 1, refusals: 0 });
        assert_eq!(Record::read(Some(&record.write().unwrap())).unwrap(), record);
    }

    #[test]
    fn a_later_version_and_a_broken_one_are_errors_that_quote_nothing() {
        for stored in [r#"{"version":2,"tokens":"s3cret"}"#, r#"{"version":1,"tokens":"s3cret"}"#, "s3cret", ""] {
            let error = Record::read(Some(stored)).unwrap_err().to_string();
            assert!(error.contains("the stored login") && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let record = Record::read(Some(
            r#"{"version":1,"tokens":{"access_token":"s3cret","granted_at":1,"serial":1},"key":"s3cret",
               "clients":{"i":{"client_id":"c","client_secret":"s3cret"}}}"#,
        ));
        let record = record.unwrap();
        let shown = format!("{record:?} {:?} {:?}", record.tokens, record.clients);
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_dead_login_has_nothing_to_refresh_with() {
        let mut record = Record::read(Some(
            r#"{"version":1,"tokens":{"access_token":"a","refresh_token":"r","granted_at":1,"serial":1}}"#,
        ))
        .unwrap();
        assert_eq!(record.refresh_token(), Some("r"));
        record.dead = Some(Dead { reason: "invalid_grant".into(), at: 2 });
        assert_eq!(record.refresh_token(), None);
    }

    #[test]
    fn each_login_has_a_key_of_its_own_without_a_secret() {
        let plain = OAuth::new();
        let keys = [
            key(&url("https://a.example/mcp?token=s3cret"), &plain),
            key(&url("https://a.example/mcp"), &plain),
            key(&url("https://a.example/other"), &plain),
            key(&url("https://a.example/mcp"), &plain.clone().client_id("c")),
            key(&url("https://a.example/mcp"), &plain.clone().account("b")),
            key(&url("https://a.example/mcp"), &plain.clone().dpop(true)),
        ];
        for (number, one) in keys.iter().enumerate() {
            assert!(one.starts_with("a.example-") && !one.contains("s3cret"), "{one}");
            assert!(!keys.iter().skip(number + 1).any(|other| other == one), "{keys:?}");
        }
    }
}
