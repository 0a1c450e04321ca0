//! What a failure proves. One pure function for each kind of exchange; the only place that reads a status code or an I/O error to
//! conclude anything.
//!
//! [`call`] judges an attempt of a call, `twin` the harmless request that confirms a refusal, `ping` whether a session is alive, [`handshake`] the two steps of the handshake, [`probe`] the question which era a server speaks,
//! [`listener`], [`listen`] and [`resume`] the streams that a server may speak on unasked, [`delete`] the end of a session, [`redirect`] a redirect before any of them. Here stand the words that they share.

mod call;
mod handshake;
mod probe;
mod redirect;
mod streams;
mod twin;
mod wording;

#[cfg(test)]
mod tests;

pub(crate) use call::is_unknown_method;
pub use call::{call, interrupted};
pub use handshake::handshake;
pub use probe::probe;
pub use redirect::redirect;
pub use streams::{accepted_notification, delete, is_answered_elsewhere, is_success, listen, listener, resume};
pub use twin::Ping;
pub(crate) use twin::{Refused, may_mean_the_method, ping, twin};

use http::{HeaderMap, StatusCode};
use url::Url;

use super::exchange::Cause;
use crate::protocol::era::Lifecycle;
use crate::vocabulary::outcome::{Execution, Kind, Proof, ProofBasis};

/// Does this status say that there is nothing at the path of the request, or nothing that is spoken to like that?
pub(crate) fn is_nothing_there(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}

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
    pub end: End<'a>,
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
pub enum End<'a> {
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
        body: BodyEnd<'a>,
    },
}

/// What became of the body of an answer.
#[derive(Clone, Copy, Debug)]
pub enum BodyEnd<'a> {
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

impl BodyEnd<'_> {
    /// Was the body read to its end, so that what it says is known?
    fn is_whole(self) -> bool {
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

/// What the end of an attempt is, for [`decide()`](crate::policy::decide()).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The body never left this process.
    NeverSent {
        /// Might the same attempt succeed in a moment?
        transient: bool,
    },
    /// Refused, by a server that says that it does not know the session.
    SessionRejected,
    /// An answer that leaves a doubt about the session: the server may speak another era by now.
    SessionSuspect,
    /// Refused with 401.
    Unauthorized,
    /// Refused with 429.
    RateLimited,
    /// A stream above the last one of a GOAWAY.
    RefusedStream,
    /// Refused in another way.
    Rejected,
    /// Modern era: the server refused the version, or says that headers and body differ. An answer, and no proof: a handler can
    /// raise the same.
    TermsRefused,
    /// The stream ended after an event id: reading on may give the answer.
    Resumable,
    /// It may have run.
    Ambiguous,
    /// The server answered.
    Answered,
}

/// The conclusion from the evidence of one attempt.
///
/// A refusal is never enough by itself: any status and any words can come out of a tool, a relay or a framework's error page. So a
/// refusal comes with a `claim`, and only a twin that is refused in the same words makes it the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// For the decision.
    pub class: Class,
    /// What went wrong; [`Kind::Rpc`] for an error answer, `None` for a result.
    pub kind: Option<Kind>,
    /// The verdict on this attempt alone.
    pub execution: Execution,
    /// The proof, where the verdict is `not_executed`.
    pub proof: Option<Proof>,
    /// What the proof rests on.
    pub basis: Option<ProofBasis>,
    /// Of a refusal that nothing confirms yet: the proof that it becomes if its twin is refused in the same words.
    pub claim: Option<Proof>,
    /// What the refusal is called if nothing confirms it.
    pub unconfirmed: Option<Kind>,
    /// What has to be looked after, whatever becomes of this call.
    pub repair: Repair,
}

impl Conclusion {
    /// The same, its twin having been refused in the same words.
    #[must_use]
    pub fn confirmed(self) -> Self {
        match self.claim {
            Some(claim) => Self {
                execution: Execution::NotExecuted,
                proof: Some(claim),
                basis: Some(ProofBasis::Confirmed),
                claim: None,
                ..self
            },
            None => self,
        }
    }
}

/// What an answer says of what comes next, whatever it proves about its own call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The token was refused: the next request asks for another one.
    pub token: bool,
    /// What it leaves of the session.
    pub session: Doubt,
    /// It may be the session that is refused: two such refusals in a row that lead to nothing make the next call open a new one.
    pub counts: bool,
}

/// A doubt about the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doubt {
    /// None.
    #[default]
    None,
    /// The server says that it does not know it, or, in the modern era, that it wants one: verified before the next request.
    Session,
    /// The server may be of another era by now: asked before the next request, once in a while at most.
    Era,
}

/// Where a redirect leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// Not a redirect, or one without a usable target: [`call`] judges the answer as it is.
    None,
    /// 307 or 308 to the same origin: the same request goes there.
    Follow(Url),
    /// Any other: named in the error, never followed. The target bears no credentials.
    Refuse(Url),
}

/// Which step of the handshake an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeStep {
    /// `initialize`: its answer has to be a result.
    Initialize,
    /// `notifications/initialized`: any 2xx accepts it, whatever the body.
    Initialized,
}

/// What the answer to `initialize` or `notifications/initialized` means for the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeConclusion {
    /// May the flight try once more?
    pub next: HandshakeNext,
    /// What went wrong; `None` where nothing did.
    pub kind: Option<Kind>,
}

/// What a handshake does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeNext {
    /// Accepted.
    Proceed,
    /// Nothing left this process, and it may work in a moment: repeat with patience.
    Patience,
    /// A gateway said that the server is not up, or it said itself that it is busy: repeat with patience, and not before `Retry-After`.
    Wait,
    /// It failed; a second try may help.
    TryAgain,
    /// The token was refused: refresh it once and repeat.
    Refresh,
    /// `initialize` was refused for its version: the server may speak the modern era by now.
    AskForTheEra,
    /// It failed for good: repeating the same is no use.
    GiveUp,
}

/// What the answer to `server/discover` says of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraVerdict {
    /// It speaks the modern era; which versions, the result says.
    Discovered,
    /// It does not speak our version; which ones it does, the data of the error says.
    OtherVersions,
    /// It speaks the handshake era, if anything.
    Legacy,
    /// Nothing; this is what to do about it.
    None(HandshakeConclusion),
}

/// What the end of a `subscriptions/listen` stream says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenConclusion {
    /// The server offers none, or not this.
    NotOffered,
    /// 401: a new token may open it.
    Unauthorized,
    /// It ended, in whatever way: issue it anew after a growing gap.
    IssueAgain,
}

/// What the GET stream's head, end or failure says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerConclusion {
    /// Open.
    Open,
    /// The server offers none (405): never ask again in this session.
    NotOffered,
    /// 401: a new token may open it.
    Unauthorized,
    /// The connection was refused: the process may be another one.
    Suspect,
    /// Says that the session is gone, or may mean that: it is verified at once, for the calls on it that wait.
    SessionMissing,
    /// Says nothing about the session; open again after a growing gap.
    OpenAgain,
}

/// What the answer to a resuming GET says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeConclusion {
    /// An event stream: read on.
    Open,
    /// Nothing to read for now, or no head at all: counts as a resume without a new event.
    Empty,
    /// 401: a new token may open it. Counts as one without a new event, too.
    Unauthorized,
    /// Refused: the answer is lost.
    Refused,
}
