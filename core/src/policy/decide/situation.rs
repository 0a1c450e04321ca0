//! What a decision depends on.

use std::time::Duration;

use crate::transport::classify::Class;
use crate::vocabulary::config::{Recovery, Resend, TrustAnnotations};
use crate::vocabulary::method::Repeatability;

/// Everything that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// What the method is by its own definition.
    pub repeatability: Repeatability,
    /// The caller's word on resending.
    pub resend: Resend,
    /// Which hints of the server count.
    pub trust: TrustAnnotations,
    /// What to do about a lost session.
    pub recovery: Recovery,
    /// The tool's hints in the generation that a resend would go to. While the session is lost there is no such generation yet: then
    /// those of the lost one, if they are known, decide whether waiting for the new one has a point.
    pub hints: Hints,
    /// What the end of the latest attempt is.
    pub class: Class,
    /// How the session of the latest attempt stands now.
    pub session: SessionStanding,
    /// Has the session been verified since the latest attempt, whatever came of it? So each attempt is followed by one ping at most.
    pub verified: bool,
    /// Is it proven that the latest attempt did not run?
    pub proof: ProofStanding,
    /// Was any attempt of this call, the latest included, ambiguous, and on which session? A refusal that nothing confirms is.
    pub ambiguity: Ambiguity,
    /// Has the token been replaced since the attempt that got a 401?
    pub token: TokenStanding,
    /// The server's Retry-After, or its `retry:` where the stream is resumable.
    pub retry_after: Option<Duration>,
    /// The longest Retry-After that is waited for.
    pub retry_after_max: Duration,
    /// What this call has used up so far.
    pub counts: Counts,
    /// The caller is gone or the client is closed.
    pub cancelled: bool,
    /// Time to the deadline; `None` without one.
    pub remaining: Option<Duration>,
    /// How long never-sent attempts may still be repeated: to the deadline, else what is left of `connect_patience`.
    pub patience: Duration,
    /// Does the retry budget allow one more resend? It cannot be asked without taking: say yes, take when a resend is charged as
    /// [`Charge::Ambiguous`](super::Charge::Ambiguous), and ask again with no where there was nothing to take.
    pub budget: bool,
}

/// What is known of a tool's hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hints {
    /// Not asked yet in this generation.
    Unknown,
    /// Asked, and there are none to be had.
    Unavailable,
    /// Told by `tools/list` of this generation.
    Known {
        /// `readOnlyHint`
        read_only: bool,
        /// `idempotentHint`
        idempotent: bool,
    },
}

/// How the session of the latest attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionStanding {
    /// It is the current one.
    Current,
    /// It is the current one, and may be gone.
    Suspect,
    /// It is gone, and there is no newer one yet.
    Lost,
    /// There is a newer one.
    Replaced,
}

/// How it stands with the proof that an attempt did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProofStanding {
    /// There is one.
    Proven,
    /// It was refused, and its twin was not sent yet.
    Unasked,
    /// There is none to be had.
    None,
}

/// Was an attempt ambiguous, and where?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ambiguity {
    /// Every attempt so far is proven not to have run.
    None,
    /// All ambiguous attempts went to the session that a resend would go to.
    OnThisSession,
    /// At least one went to a session before it.
    OnEarlierSession,
}

/// How the token stands after a 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenStanding {
    /// There is no token provider, or, where a scope is missing, no login that could be asked for more: nothing to refresh.
    NoProvider,
    /// The one that was refused is still the cached one.
    Refused,
    /// A new one is there. A provider that gives the refused one again has failed, and the call with it.
    Fresh,
}

/// What a call has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Resends after ambiguous losses.
    pub ambiguous_resends: u32,
    /// Losses of a session, the latest included.
    pub session_losses: u32,
    /// Times that this call was told to [`Decision::Recover`](super::Decision::Recover).
    pub recoveries: u32,
    /// Resends after a 401.
    pub refreshes: u32,
    /// Resends after a 403 for want of scope.
    pub step_ups: u32,
    /// Resends after a refused stream.
    pub refused_streams: u32,
    /// Resends after refused terms.
    pub terms_refusals: u32,
    /// Waits after a 429.
    pub rate_limit_waits: u32,
    /// Resumes of the latest attempt.
    pub resumes: u32,
    /// Resumes in a row without a new event id.
    pub empty_resumes: u32,
}
