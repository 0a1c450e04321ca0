//! What `classify` is told: how an attempt ended, and what is known of it besides.

use http::{HeaderMap, StatusCode};
use url::Url;

use crate::protocol::era::Lifecycle;
use crate::transport::exchange::Cause;
use crate::vocabulary::outcome::Kind;

/// What is known of one attempt of a call after it ended.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Did the request carry a session id? Without one a status says nothing about a session; words may.
    pub carried_session: bool,
    /// The era that the attempt was made in.
    pub lifecycle: Lifecycle,
    /// The body probe: did a connection ask for the request's body?
    pub body_taken: bool,
    /// Where the request went: whose resource a challenge has to name.
    pub url: &'a Url,
    /// What it carried of a login.
    pub login: Login,
    /// Anything of this attempt was seen that says that it was running: progress, a request of the server, a log.
    pub seen: bool,
    /// How it ended.
    pub end: EndFacts<'a>,
}

/// What a request carried of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// No `Authorization` header at all.
    None,
    /// A token that had expired by its own date before it was sent.
    Expired,
    /// A token, or another login, that may have been good.
    Sent,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub enum EndFacts<'a> {
    /// The exchange failed before the head of an answer.
    NoHead(Cause),
    /// The caller's clock, the caller or `close()` ended it: [`Kind::Timeout`], [`Kind::Cancelled`] or [`Kind::Closed`].
    Interrupted {
        /// Which of the three.
        kind: Kind,
        /// Had the head arrived?
        head_arrived: bool,
    },
    /// The head arrived; then this became of the body.
    Head {
        /// The status.
        status: StatusCode,
        /// The headers.
        headers: &'a HeaderMap,
        /// The body.
        body: BodyFacts<'a>,
    },
    /// The server said something of the request, on a binding that has no heads; then this became of it.
    Message {
        /// What was said in the end.
        body: BodyFacts<'a>,
    },
}

/// What became of the body of an answer.
#[derive(Clone, Copy, Debug)]
pub enum BodyFacts<'a> {
    /// A JSON-RPC result with our id.
    Result,
    /// A JSON-RPC error that answers this POST.
    Error {
        /// The code of the error.
        code: i64,
        /// The message of the error.
        message: &'a str,
        /// Whose id it bears.
        id: AnswerId,
        /// Has it the form that JSON-RPC gives errors? One that has not, `{"error":"upstream timed out"}`, may be a gateway's: it answers
        /// nothing, but what it says of a session counts.
        well_formed: bool,
    },
    /// No JSON-RPC answer to us: HTML, text, empty, broken JSON, a result with another id. At most the first 2,048 bytes as text.
    NoAnswer {
        /// The excerpt; may be empty.
        excerpt: &'a str,
    },
    /// The body stopped before the answer was whole. `orderly` tells a clean end from a cut.
    Stopped {
        /// Did the stream end in an orderly way?
        orderly: bool,
        /// Had an event id been seen, so that reading on is possible?
        resumable: bool,
    },
    /// A message past the limit.
    TooLarge,
    /// A body that was not read to its end for another reason: it came too slowly, or in a coding that is not known. What was not read
    /// proves nothing.
    Unread,
}

impl BodyFacts<'_> {
    /// Was the body read to its end, so that what it says is known?
    pub(super) fn is_whole(self) -> bool {
        match self {
            Self::Result | Self::Error { .. } | Self::NoAnswer { .. } => true,
            Self::Stopped { .. } | Self::TooLarge | Self::Unread => false,
        }
    }
}

/// Whose id an error answer bears. An error with the id of another request of ours is not ours and never gets here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerId {
    /// The id of this attempt.
    Ours,
    /// Null, none, or one that is not ours to any request.
    Foreign,
}
