//! What an authorization server was asked, and what it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that an authorization server noted. Times are milliseconds since it was started.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AuthorizationLedger {
    /// Clients that registered.
    pub registrations: Vec<Registration>,
    /// Requests to `/authorize`.
    pub authorizations: Vec<Asked>,
    /// Requests to `/token`, in order.
    pub token_requests: Vec<TokenRequest>,
    /// Every login, by which a family of tokens came to be.
    pub logins: Vec<Login>,
    /// Requests to resources whose token was good.
    pub accepted: u64,
    /// Why tokens were refused at resources, in order: `none`, `unknown`, `expired`, `revoked`, `scope`, `resource`, `proof`, `nonce`.
    pub refused: Vec<String>,
}

/// A client that registered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Registration {
    /// When.
    pub at_ms: u64,
    /// The id that it got.
    pub client_id: String,
    /// What it said of itself.
    pub metadata: Value,
}

/// A request to `/authorize`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Asked {
    /// When.
    pub at_ms: u64,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
    /// Why it was refused, if so.
    pub refused: Option<String>,
}

/// A request to `/token`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TokenRequest {
    /// When.
    pub at_ms: u64,
    /// `grant_type`.
    pub grant: String,
    /// Who asked, as far as it is known.
    pub client_id: Option<String>,
    /// The other parameters, but for the secret ones.
    pub parameters: BTreeMap<String, String>,
    /// `issued`, or the error.
    pub outcome: String,
    /// The login that it was about: its place in `logins`.
    pub login: Option<usize>,
    /// The refresh token was exchanged before: a replay.
    pub reused: bool,
}

/// A login: a family of tokens.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Login {
    /// Whose.
    pub client_id: String,
    /// What it may.
    pub scope: String,
    /// For which resource.
    pub resource: Option<String>,
    /// How often its tokens were refreshed.
    pub refreshed: u64,
    /// Why it is over, if it is.
    pub revoked: Option<String>,
}
