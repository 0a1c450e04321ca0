//! What `classify` concludes, for each kind of exchange.

use url::Url;

use crate::vocabulary::outcome::{Execution, Kind, Proof, ProofBasis};

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
    /// Refused with 403 by our own server, for the token lacks a scope.
    ScopeMissing,
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

impl Class {
    /// The word that stands for it in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NeverSent { .. } => "never_sent",
            Self::SessionRejected => "session_rejected",
            Self::SessionSuspect => "session_suspect",
            Self::Unauthorized => "unauthorized",
            Self::ScopeMissing => "scope_missing",
            Self::RateLimited => "rate_limited",
            Self::RefusedStream => "refused_stream",
            Self::Rejected => "rejected",
            Self::TermsRefused => "terms_refused",
            Self::Resumable => "resumable",
            Self::Ambiguous => "ambiguous",
            Self::Answered => "answered",
        }
    }
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
    /// None: the connection that the session was is over, and the session with it.
    Over,
}

/// Where a redirect leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// Not a redirect, or one without a usable target: [`call`](super::call()) judges the answer as it is.
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
    /// The session is over, and the stream with it.
    SessionOver,
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
