//! What must be true when a scenario is over.
//!
//! Besides what is written here the judge holds every scenario to the promises that have no exception; `Expect` can only
//! say which of them a scenario makes impossible to keep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::main;

/// Expectations of one scenario.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// By the name of the call; `a` also stands for `a.0`, `a.1`, …. A call that no name stands for must succeed.
    pub calls: BTreeMap<String, CallExpect>,
    /// Of the servers' ledgers.
    pub ledger: Vec<LedgerExpect>,
    /// Of the client's events.
    pub events: EventsExpect,
    /// Words that must not be in any text (error, representation, event, log).
    pub texts_lack: Vec<String>,
    /// How often the token provider was asked.
    pub tokens_asked: Option<u64>,
    /// Unhinted tools may run twice for one call here, since the caller said so.
    pub repeats_allowed: bool,
    /// Sessions may be alive after `close`, since the server does not let the client delete them.
    pub sessions_may_stay: bool,
    /// Requests may be refused as too early here.
    pub too_early_allowed: bool,
    /// Requests of the modern era may be other than they must be here, since the client cannot know better.
    pub malformed_allowed: bool,
}

/// How one call must end. All members that are present must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallExpect {
    /// It succeeds, and the result (as on the wire) has at least this.
    pub ok: Option<Value>,
    /// It fails.
    pub error: Option<ErrorExpect>,
    /// It ends with the host language's own cancellation.
    pub cancelled: bool,
    /// One of these holds.
    pub any_of: Vec<CallExpect>,
    /// It ends in this time; 5,000 if absent.
    pub within_ms: Option<u64>,
    /// It takes at least this time.
    pub at_least_ms: Option<u64>,
    /// The callback got at least so many progress notifications.
    pub progress: Option<usize>,
}

/// How an error must look.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorExpect {
    /// `not_executed`, `may_have_executed` or `answered`, or one of these: both the class and the field.
    pub class: Option<OneOrMoreWords>,
    /// One of these.
    pub kind: Option<OneOrMoreWords>,
    /// The proof.
    pub proof: Option<OneOrMoreWords>,
    /// One of these.
    pub phase: Option<OneOrMoreWords>,
    /// The HTTP status.
    pub http_status: Option<u16>,
    /// The JSON-RPC code.
    pub code: Option<i64>,
    /// How many attempts there were.
    pub attempts: Option<usize>,
    /// Each attempt in order has at least this.
    pub attempt: Vec<Value>,
    /// Parts of the text.
    pub text_has: Vec<String>,
    /// What must not be in the text.
    pub text_lacks: Vec<String>,
    /// The error as JSON has at least this.
    pub fields: Value,
}

/// A word or several to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMoreWords {
    /// This.
    One(String),
    /// One of these.
    More(Vec<String>),
}

impl OneOrMoreWords {
    pub(crate) fn allows(&self, word: Option<&str>) -> bool {
        word.is_some_and(|word| match self {
            Self::One(wanted) => wanted == word,
            Self::More(wanted) => wanted.iter().any(|wanted| wanted == word),
        })
    }
}

/// A number in a ledger, and its bounds. Exactly one of `count`, `distinct`, `value`, `order` and `gaps` says which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerExpect {
    /// Which server.
    #[serde(default = "main")]
    pub on: String,
    /// How many entries of this table are as `where` says.
    #[serde(default)]
    pub count: Option<Table>,
    /// Of those: how many different values this member has (with `count`).
    #[serde(default)]
    pub distinct: Option<String>,
    /// The number under this name in the ledger, with slashes for members of members.
    #[serde(default)]
    pub value: Option<String>,
    /// Arrivals that must be there in this order, others between them allowed.
    #[serde(default)]
    pub order: Option<Vec<Order>>,
    /// The shortest time in milliseconds between one arrival as `where` says and the next, and the number of the bounds.
    #[serde(default)]
    pub gaps: bool,
    /// What an entry has at least.
    #[serde(default, rename = "where")]
    pub matching: Map<String, Value>,
    /// Bound.
    #[serde(default)]
    pub is: Option<u64>,
    /// Bound.
    #[serde(default)]
    pub at_least: Option<u64>,
    /// Bound.
    #[serde(default)]
    pub at_most: Option<u64>,
}

/// An arrival in an order.
pub type Order = Map<String, Value>;

/// A table of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// HTTP requests.
    Arrivals,
    /// Runs.
    Executions,
    /// Sessions.
    Sessions,
    /// `notifications/cancelled`.
    Cancelled,
    /// Answers to requests of the server.
    Responses,
    /// Clients that registered at the authorization server.
    Registrations,
    /// Requests to `/authorize`.
    Authorizations,
    /// Requests to `/token`.
    TokenRequests,
    /// Logins that it gave.
    Logins,
}

/// What the client's events must have been.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventsExpect {
    /// These in this order, others between them allowed. A word stands for `{"event": word}`.
    pub order: Vec<Value>,
    /// None of these.
    pub never: Vec<Value>,
    /// Exactly so many of these.
    pub count: BTreeMap<String, usize>,
    /// Between the first of these and the next of those, none of the third: `[from, to, none]`.
    pub none_between: Vec<[Value; 3]>,
}
