//! What became of a call: the words of the verdict, and how the attempts of one call merge into it.
//!
//! The rule that everything rests on: `not_executed` is said only with a [`Proof`], and a proof belongs to one
//! attempt. Once one attempt of a call is ambiguous, the whole call may have executed, whatever later attempts
//! prove about themselves.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// The verdict on a call or on one attempt: did the server carry it out?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Execution {
    /// Proven: the server did not run it. Calling again is safe.
    NotExecuted,
    /// No proof either way. Verify before calling again.
    MayHaveExecuted,
    /// The server answered, with a result or with an error.
    Answered,
}

/// Why [`Execution::NotExecuted`] is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Proof {
    /// The request body never left this process.
    NeverSent,
    /// The server refused the session that the request carried (MCP 2025-11-25, transports, session management).
    SessionRejected,
    /// 401: the request "has not been applied" (RFC 9110, section 15.5.2).
    Unauthorized,
    /// A GOAWAY below our stream (RFC 9113, section 6.8). A stream that was reset with REFUSED_STREAM is none of it: proxies send
    /// that also for requests that they have forwarded.
    RefusedStream,
    /// The server refused to process the request, for example 405 or 413 (RFC 9110, section 15.5).
    Rejected,
    /// 429: the request was turned away (RFC 6585, section 4).
    RateLimited,
}

/// What a [`Proof`] rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProofBasis {
    /// It cannot be otherwise: the request never left this process, or HTTP/2 said that it was not processed.
    Certain,
    /// A harmless request of ours on the same session, with the same identity, was refused in the same words: the server refuses
    /// everything of ours.
    Confirmed,
    /// A challenge that only our own login can have caused: no token was sent, or one that had expired by its own date, or the server
    /// asked for another scope or for a nonce, each naming our own resource (RFC 9728, section 5.1; RFC 9449, section 8).
    Protocol,
}

/// What went wrong, greppable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// No connection could be made.
    Connect,
    /// The connection ended before the head of the answer.
    ConnectionClosed,
    /// The body of the answer ended before the answer was whole.
    StreamEnded,
    /// A time-out of the caller's choice passed.
    Timeout,
    /// The server does not know the session any more.
    SessionLost,
    /// The session was lost and the handshake for a new one failed.
    RecoveryFailed,
    /// A gateway answered in place of the server: 502, 503 or 504.
    Gateway,
    /// A status that is no answer to a call.
    HttpStatus,
    /// 429, and the wait was too long or too often.
    RateLimited,
    /// 401 or 403, or the token provider failed.
    Auth,
    /// A redirect that is not followed.
    Redirect,
    /// The peer broke the protocol: not JSON, no answer, wrong shape.
    Protocol,
    /// A message past `max_message` or `max_event`.
    TooLarge,
    /// The caller cancelled.
    Cancelled,
    /// The client is closed.
    Closed,
    /// An option or an argument is not usable.
    Config,
    /// The server answered with a JSON-RPC error.
    Rpc,
}

/// Where a call was when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Before an attempt was started: waiting for a session, a token or back-off.
    Queued,
    /// The body was not asked for yet: looking up, connecting, shaking hands.
    Connecting,
    /// The body was being handed over.
    Sending,
    /// The body was handed over; no head of an answer yet.
    AwaitingHeaders,
    /// The head of the answer had arrived.
    Streaming,
    /// Reading on with GET and `Last-Event-ID`.
    Resuming,
}

macro_rules! snake_case_words {
    ($($name:ident { $($variant:ident => $word:literal),+ $(,)? })+) => {$(
        impl $name {
            /// The word used in logs, events and every language's errors.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    )+};
}

snake_case_words! {
    Execution {
        NotExecuted => "not_executed",
        MayHaveExecuted => "may_have_executed",
        Answered => "answered",
    }
    Proof {
        NeverSent => "never_sent",
        SessionRejected => "session_rejected",
        Unauthorized => "unauthorized",
        RefusedStream => "refused_stream",
        Rejected => "rejected",
        RateLimited => "rate_limited",
    }
    ProofBasis {
        Certain => "certain",
        Confirmed => "confirmed",
        Protocol => "protocol",
    }
    Kind {
        Connect => "connect",
        ConnectionClosed => "connection_closed",
        StreamEnded => "stream_ended",
        Timeout => "timeout",
        SessionLost => "session_lost",
        RecoveryFailed => "recovery_failed",
        Gateway => "gateway",
        HttpStatus => "http_status",
        RateLimited => "rate_limited",
        Auth => "auth",
        Redirect => "redirect",
        Protocol => "protocol",
        TooLarge => "too_large",
        Cancelled => "cancelled",
        Closed => "closed",
        Config => "config",
        Rpc => "rpc",
    }
    Phase {
        Queued => "queued",
        Connecting => "connecting",
        Sending => "sending",
        AwaitingHeaders => "awaiting_headers",
        Streaming => "streaming",
        Resuming => "resuming",
    }
}

/// One HTTP request that tried to carry out a call, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The JSON-RPC id of this attempt; no two attempts of a client share one.
    pub id: u64,
    /// The generation that carried it; counted also where the server gives no session id.
    pub generation: Option<u64>,
    /// What went wrong; `None` for an attempt that was answered with a result.
    pub kind: Option<Kind>,
    /// The verdict on this attempt alone.
    pub execution: Execution,
    /// Why this attempt is `not_executed`.
    pub proof: Option<Proof>,
    /// What that rests on; there exactly if `proof` is.
    #[serde(default)]
    pub proof_basis: Option<ProofBasis>,
    /// Where it failed.
    pub phase: Phase,
    /// The status of the answer, if its head arrived.
    pub http_status: Option<u16>,
    /// When it started, in milliseconds since the Unix epoch.
    #[serde(rename = "started_ms", with = "unix_milliseconds")]
    pub started: SystemTime,
    /// How long it took, in milliseconds on the wire of serialisation.
    #[serde(rename = "elapsed_ms", with = "milliseconds")]
    pub elapsed: Duration,
    /// Evidence: the head of an answer had arrived.
    pub response_started: bool,
    /// Evidence: a progress notification of this attempt, or a request or log of it, had arrived, so it was running.
    pub progress_seen: bool,
}

/// The verdict on a whole call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Did the server carry it out?
    pub execution: Execution,
    /// Why it did not; only with [`Execution::NotExecuted`].
    pub proof: Option<Proof>,
    /// What that rests on; there exactly if `proof` is.
    pub basis: Option<ProofBasis>,
}

impl Verdict {
    /// No proof either way.
    pub(crate) const MAY_HAVE_EXECUTED: Self = Self { execution: Execution::MayHaveExecuted, proof: None, basis: None };
}

/// The verdict on a whole call, from the verdicts on its attempts.
///
/// No attempt at all means that nothing was sent. One answered attempt answers the call. One ambiguous attempt
/// makes the call ambiguous for good.
#[must_use]
pub fn merge(attempts: &[Attempt]) -> Verdict {
    if attempts.iter().any(|attempt| attempt.execution == Execution::Answered) {
        return Verdict { execution: Execution::Answered, ..Verdict::MAY_HAVE_EXECUTED };
    }
    if attempts.iter().any(|attempt| attempt.execution == Execution::MayHaveExecuted) {
        return Verdict::MAY_HAVE_EXECUTED;
    }
    let (proof, basis) = attempts
        .last()
        .and_then(|attempt| Some((attempt.proof?, attempt.proof_basis?)))
        .unwrap_or((Proof::NeverSent, ProofBasis::Certain));
    Verdict { execution: Execution::NotExecuted, proof: Some(proof), basis: Some(basis) }
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

mod unix_milliseconds {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        let since = value.duration_since(UNIX_EPOCH).unwrap_or_default();
        serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        u64::deserialize(deserializer).map(|since| UNIX_EPOCH + Duration::from_millis(since))
    }
}
