//! Everything that came of one request.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, Version};
use serde_json::Value;

use super::heard::Chunk;
use super::line::Line;
use crate::transport::classify::{
    self, Conclusion, EraVerdict, HandshakeConclusion, ListenerConclusion, Refused, ResumeConclusion,
};
use crate::transport::exchange::Cause;
use crate::transport::words::Words;

/// A JSON-RPC error.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RpcError {
    /// Its code.
    pub code: i64,
    /// Its message, without secrets.
    pub message: String,
    /// Its data.
    pub data: Option<Value>,
    /// It bears the id of the request.
    pub ours: bool,
    /// It has the form that JSON-RPC gives errors.
    pub well_formed: bool,
}

/// Everything that came of one request, and what the client makes of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Told {
    /// The JSON-RPC id of the request.
    pub id: u64,
    /// The status; none if no head arrived.
    pub status: Option<u16>,
    /// The headers of the answer as they came, but for the codings that were undone. They may hold secrets: a cookie, a session id.
    pub headers: HeaderMap,
    /// The version of HTTP that was spoken.
    pub http: Option<Version>,
    /// Who answered.
    pub remote: Option<SocketAddr>,
    /// The content codings that were undone.
    pub codings: Vec<String>,
    /// Why there is no head, or why the body broke, in words.
    pub failure: Option<String>,
    /// Why there is no head.
    pub cause: Option<Cause>,
    /// The wait was over before the answer was.
    pub timed_out: bool,
    /// The result, if it was answered so.
    pub result: Option<Value>,
    /// The JSON-RPC error, if it was answered so.
    pub error: Option<RpcError>,
    /// Names of the notifications and requests that came on the same stream.
    pub others: Vec<String>,
    /// The body, piece by piece; 256 KiB of it at most.
    pub chunks: Vec<Chunk>,
    /// When the head came.
    pub head_after: Option<Duration>,
    /// When reading was over.
    pub took: Duration,
    /// When the body ended by itself, if that was seen.
    pub ended_after: Option<Duration>,
    /// The id of the last event.
    pub event_id: Option<String>,
    /// The last `retry:`.
    pub retry: Option<Duration>,
    /// The session that the answer gives.
    pub session: Option<String>,
    /// How long the server asks to wait (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// What the end proves, were it the end of a call.
    pub conclusion: Conclusion,
    /// By which line of the table.
    pub line: Line,
    /// Of `server/discover`: what it says of the era.
    pub era: Option<EraVerdict>,
    /// Of `initialize` and `notifications/initialized`: what the handshake does next.
    pub handshake: Option<HandshakeConclusion>,
    /// Of a GET: what it says of the stream.
    pub listener: Option<ListenerConclusion>,
    /// Of a GET that reads on.
    pub resume: Option<ResumeConclusion>,
    /// Of a DELETE: the session is gone for sure.
    pub gone: Option<bool>,
    /// The body as text, without secrets: 64 KiB at most.
    pub text: String,
    pub(super) words: Option<Words>,
}

impl Told {
    /// Would this, the answer to a harmless request sent after the other was refused, confirm that refusal?
    #[must_use]
    pub fn confirms(&self, refused: &Self) -> bool {
        match (refused.words, self.words) {
            (Some(of_call), Some(of_twin)) => classify::twin(
                &Refused { words: of_call, took: refused.took },
                &Refused { words: of_twin, took: self.took },
            ),
            _ => false,
        }
    }

    /// Was it answered, with a result or with an error of its own?
    #[must_use]
    pub fn is_answered(&self) -> bool {
        matches!(self.line, Line::Result | Line::Error)
    }

    /// Is it a success, by its status?
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Is the body a stream of events?
    #[must_use]
    pub fn is_event_stream(&self) -> bool {
        crate::transport::headers::is_event_stream(&self.headers)
    }
}
