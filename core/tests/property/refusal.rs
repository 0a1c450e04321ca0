//! Refusals: a status and a body that say no. A server says so instead of running a request, or after it has run it; from outside the two
//! look alike. Plain data, and what it looks like on the wire.
//!
//! Words that are said after a run are never those that the same server uses for everything: a tool that ends its own session, or its
//! own login, and then refuses in their words deceives every client (docs, "Limits").

use std::time::Duration;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::script::{Nature, Target};

/// More than the client of these runs takes in one message, and far more than any honest answer here.
pub(crate) const MAX_MESSAGE: usize = 8_192;

/// How our own login would call itself (RFC 9728, section 5.1).
const OUR_METADATA: &str = "http://server.test/.well-known/oauth-protected-resource/mcp";
/// Somebody else's, whose refusal a gateway passes on.
const OTHER_METADATA: &str = "http://upstream.test/.well-known/oauth-protected-resource";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Refuses {
    /// The server had run the request by then.
    pub(crate) executes: bool,
    pub(crate) status: u16,
    pub(crate) demand: Demand,
    pub(crate) words: Words,
    pub(crate) told: Told,
}

/// What the head asks of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Demand {
    Nothing,
    /// `WWW-Authenticate: Bearer`
    Challenge,
    /// A scope, in the name of our own login.
    Scope,
    /// A nonce, in the name of our own login.
    Nonce,
    /// A scope, in the name of a login that is not ours.
    ScopeOfAnother,
    RetryAfter {
        seconds: u64,
    },
}

/// Whose id an error bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Id {
    Ours,
    Null,
    Missing,
    MadeUp,
}

/// What the body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Words {
    Empty,
    Text,
    Html,
    /// `{"error":"…"}`, which is no JSON-RPC.
    GatewayJson,
    /// A session that is lost, as text.
    LostText,
    /// What only sounds so, and is about something of the tool's own.
    SoundsLost,
    /// A JSON-RPC error.
    Error(Id),
    /// A JSON-RPC error that says that the session is lost.
    LostError(Id),
    /// A JSON-RPC error that only sounds so.
    SoundsLostError(Id),
    /// A JSON-RPC error that says that there is no such method.
    NoMethod(Id),
}

/// How the body comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    Whole,
    /// As an event stream, which is a whole answer where the status is a success, and none that a client reads elsewhere.
    Stream,
    /// Ten bytes too few.
    Cut,
    /// In a coding that nobody asked for and nobody knows.
    Coded,
    /// More than the client takes.
    TooLarge,
    /// Head at once, body after this.
    Slow {
        after_ms: u64,
    },
}

impl Words {
    /// Do they tell of a lost session, whatever the status?
    pub(crate) fn tell_of_a_loss(self) -> bool {
        matches!(self, Self::LostText | Self::SoundsLost | Self::LostError(_) | Self::SoundsLostError(_))
    }

    /// The body; `of` is who says it, so that the words of a tool are never those of a ping.
    fn body(self, arrival: &Arrival, of: &str) -> String {
        let error = |id: Id, code: i64, message: String| {
            let mut message = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
            match id {
                Id::Ours => message["id"] = arrival.json_id(),
                Id::Null => message["id"] = Value::Null,
                Id::MadeUp => message["id"] = Value::from("server-error"),
                Id::Missing => {}
            }
            message.to_string()
        };
        match self {
            Self::Empty => String::new(),
            Self::Text => format!("{of} is refused"),
            Self::Html => format!("<!doctype html><title>no</title><h1>{of} is refused</h1>"),
            Self::GatewayJson => json!({ "error": format!("{of}: upstream says no") }).to_string(),
            Self::LostText => format!("{of}: the session was not found"),
            Self::SoundsLost => json!({ "detail": format!("{of}: User session expired") }).to_string(),
            Self::Error(id) => error(id, -32_603, format!("{of} broke")),
            Self::LostError(id) => error(id, -32_000, format!("{of}: the session was not found")),
            Self::SoundsLostError(id) => error(id, -32_002, format!("{of}: session expired for this cart")),
            Self::NoMethod(id) => error(id, -32_601, format!("Method not found: {of}")),
        }
    }
}

impl Refuses {
    /// What goes out. `of` is who is refused.
    pub(crate) fn reply(&self, arrival: &Arrival, of: &str) -> Reply {
        let body = self.words.body(arrival, of);
        let content_type = match self.words {
            Words::Html => "text/html",
            Words::Empty | Words::Text | Words::LostText => "text/plain",
            _ => "application/json",
        };
        let reply = self.demand.of(Reply::new(self.status));
        match self.told {
            Told::Stream => reply.header("content-type", "text/event-stream").chunk(format!("data: {body}\n\n")),
            Told::Whole => reply.header("content-type", content_type).chunk(body),
            Told::Cut => {
                let kept = body.len().saturating_sub(10);
                reply
                    .header("content-type", content_type)
                    .chunk(body.get(..kept).unwrap_or_default().to_owned())
                    .broken(Cause::Closed)
            }
            Told::Coded => reply.header("content-encoding", "x-quux").header("content-type", content_type).chunk(body),
            Told::TooLarge => {
                let much = " ".repeat(MAX_MESSAGE + 1);
                reply.header("content-type", content_type).chunk(much).chunk(body)
            }
            Told::Slow { after_ms } => {
                reply.header("content-type", content_type).wait(Duration::from_millis(after_ms)).chunk(body)
            }
        }
    }

    /// May the client let go of it before its end?
    pub(crate) fn may_be_left(&self) -> bool {
        !matches!(self.told, Told::Whole | Told::Cut)
    }

    /// The same, in words that this server has for nothing else: what it says of a tool that ran it says of nothing that did not run.
    pub(crate) fn of_its_own(&self, nature: &Nature, target: Target) -> Self {
        let mut own = self.clone();
        // To say nothing is to say the same of everything.
        let of_all = own.executes && nature.refusal.is_empty_with(own.status);
        if own.words == Words::Empty && (of_all || matches!(target, Target::Ping | Target::Discover)) {
            own.words = Words::Text;
        }
        // What only our own login can say is said by it alone, and it says so before anything runs.
        if own.executes && matches!(own.demand, Demand::Scope | Demand::Nonce) {
            own.demand = Demand::ScopeOfAnother;
        }
        own
    }
}

impl Demand {
    fn of(self, reply: Reply) -> Reply {
        let scope =
            |of: &str| format!("Bearer error=\"insufficient_scope\", scope=\"files\", resource_metadata=\"{of}\"");
        match self {
            Self::Nothing => reply,
            Self::Challenge => reply.header("www-authenticate", "Bearer"),
            Self::Scope => reply.header("www-authenticate", &scope(OUR_METADATA)),
            Self::ScopeOfAnother => reply.header("www-authenticate", &scope(OTHER_METADATA)),
            Self::Nonce => {
                let challenge = format!("DPoP error=\"use_dpop_nonce\", resource_metadata=\"{OUR_METADATA}\"");
                reply.header("www-authenticate", &challenge).header("dpop-nonce", "n-1")
            }
            Self::RetryAfter { seconds } => reply.header("retry-after", &seconds.to_string()),
        }
    }
}

/// A refusal of everything, for a while: nothing is run, whoever asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gate {
    pub(crate) for_ms: u64,
    pub(crate) status: u16,
    pub(crate) words: Words,
}

impl Gate {
    pub(crate) fn reply(&self, arrival: &Arrival) -> Reply {
        let (status, words) = (self.status, self.words);
        let demand = if status == 429 { Demand::RetryAfter { seconds: 1 } } else { Demand::Nothing };
        // A gateway numbers and dates what it says.
        let of = format!("request {} at closed gate", arrival.number);
        Refuses { executes: false, status, demand, words, told: Told::Whole }.reply(arrival, &of)
    }
}
