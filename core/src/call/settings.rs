//! The options, checked, as the client's calls and what lies below them read them.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::options::CallOptions;
use crate::exchange::answer::Limits;
use crate::policy::backoff::BackoffBounds;
use crate::policy::budget::BudgetSize;
use crate::vocabulary::config::{Era, Recovery, TrustAnnotations};

/// What the rest of the client reads of the options.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) defaults: CallOptions,
    pub(crate) tools: HashMap<String, CallOptions>,
    pub(crate) orphan_timeout: Duration,
    pub(crate) connect_patience: Duration,
    pub(crate) handshake_timeout: Duration,
    pub(crate) close_timeout: Duration,
    pub(crate) retry_after_max: Duration,
    pub(crate) backoff: BackoffBounds,
    pub(crate) budget: BudgetSize,
    pub(crate) limits: Limits,
    pub(crate) max_pages: usize,
    pub(crate) fresh_connection: bool,
    pub(crate) trust_annotations: TrustAnnotations,
    pub(crate) recovery: Recovery,
    pub(crate) listen: bool,
    pub(crate) idempotency_keys: bool,
    pub(crate) client_name: String,
    pub(crate) client_version: String,
    pub(crate) era: Era,
    /// Keep the results that the server allows to be kept.
    pub(crate) cache: bool,
    /// Cookies go back to where they are from.
    pub(crate) cookies: bool,
    /// What the host declares besides what this client does by itself, by the id of the extension.
    pub(crate) extensions: Map<String, Value>,
}

impl Settings {
    pub(crate) fn declares_extensions(&self) -> bool {
        !self.extensions.is_empty()
    }
}
