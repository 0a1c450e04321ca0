//! What the authorization server, and the resource that is protected by one, are told to be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An authorization server. Its issuer is the origin of its URL, without a slash, and `issuer_path`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Authorization {
    /// The path of the issuer: `/tenant1`, for instance.
    pub issuer_path: String,
    /// Where the metadata is found.
    pub metadata_paths: Vec<String>,
    /// Members of the metadata that are other than they would be; null takes one away.
    pub metadata: Map<String, Value>,
    /// How long an access token is good.
    pub access_token_ms: u64,
    /// Whether `expires_in` says so.
    pub tells_expiry: bool,
    /// What becomes of refresh tokens.
    pub refresh_tokens: RefreshTokens,
    /// For so long after it was exchanged a refresh token can be exchanged again.
    pub grace_ms: u64,
    /// Whether one that is exchanged twice ends the login that it is of (RFC 9700, section 4.14.2).
    pub revoke_on_reuse: bool,
    /// How a refresh token that is not good is told.
    pub dead_token: TokenRefusal,
    /// Whether clients can register (RFC 7591).
    pub registration: bool,
    /// Whether the URL of a metadata document is a client id. It is not fetched.
    pub client_id_metadata: bool,
    /// Clients that it knows from the start, by id.
    pub clients: BTreeMap<String, KnownClient>,
    /// `token_endpoint_auth_methods_supported`.
    pub auth_methods: Vec<String>,
    /// `scopes_supported`; absent if empty.
    pub scopes: Vec<String>,
    /// Whether the redirect carries `iss` (RFC 9207), and the metadata says so.
    pub tells_issuer: bool,
    /// Parameters of the redirect that are other than they would be; null takes one away.
    pub redirect: Map<String, Value>,
    /// Whether tokens are bound to a key (RFC 9449), where the request proves one.
    pub dpop: bool,
    /// Whether proofs must carry the nonce of the day.
    pub dpop_nonce: bool,
}

impl Default for Authorization {
    fn default() -> Self {
        Self {
            issuer_path: String::new(),
            metadata_paths: vec!["/.well-known/oauth-authorization-server".to_owned()],
            metadata: Map::new(),
            access_token_ms: 3_600_000,
            tells_expiry: true,
            refresh_tokens: RefreshTokens::Rotating,
            grace_ms: 0,
            revoke_on_reuse: true,
            dead_token: TokenRefusal::default(),
            registration: true,
            client_id_metadata: false,
            clients: BTreeMap::new(),
            auth_methods: vec!["none".to_owned()],
            scopes: Vec::new(),
            tells_issuer: true,
            redirect: Map::new(),
            dpop: false,
            dpop_nonce: false,
        }
    }
}

/// What becomes of refresh tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshTokens {
    /// There are none.
    None,
    /// One for the whole login, told once.
    Kept,
    /// Each is good once, and gives the next.
    Rotating,
}

/// A client that needs no registration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnownClient {
    /// Its secret; a public client has none.
    pub secret: Option<String>,
    /// Where it may be redirected; anywhere if empty.
    pub redirect_uris: Vec<String>,
}

/// An error of the token endpoint, as servers in the field word it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenRefusal {
    /// HTTP status.
    pub status: u16,
    /// `error`.
    pub error: String,
}

impl Default for TokenRefusal {
    fn default() -> Self {
        Self { status: 400, error: "invalid_grant".to_owned() }
    }
}

/// A resource that takes the tokens of an authorization server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Protected {
    /// The name of the server of the scenario whose tokens these are.
    pub by: String,
    /// Scopes that every request needs.
    pub scopes: Vec<String>,
    /// Scopes that a call of this tool needs besides.
    pub tools: BTreeMap<String, Vec<String>>,
    /// Where the metadata of the resource is found; the challenge names the first, if `challenge` is so.
    pub metadata_paths: Vec<String>,
    /// Members of that metadata that are other than they would be; null takes one away.
    pub metadata: Map<String, Value>,
    /// Whether the challenge names the metadata.
    pub names_metadata: bool,
    /// Whether the challenge names the scopes that are needed.
    pub names_scopes: bool,
    /// JSON-RPC methods that need no token.
    pub open: Vec<String>,
    /// Whether proofs of possession must carry the nonce of the day.
    pub dpop_nonce: bool,
}

impl Default for Protected {
    fn default() -> Self {
        Self {
            by: "main".to_owned(),
            scopes: Vec::new(),
            tools: BTreeMap::new(),
            metadata_paths: vec!["/.well-known/oauth-protected-resource/mcp".to_owned()],
            metadata: Map::new(),
            names_metadata: true,
            names_scopes: true,
            open: Vec::new(),
            dpop_nonce: false,
        }
    }
}
