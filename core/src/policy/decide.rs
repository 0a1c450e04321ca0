//! The decision table, as one pure function: the only place that decides to resend, recover, resume or surface.
//!
//! [`decide`] is asked in small steps. It answers with the next step only; when that step is done (the session recovered or
//! verified, the token refreshed, the hints looked up), it is asked again with what is known then. So a resend is always judged by
//! the session that it will really go to.
//!
//! What is known and what may be decided are types, in `situation` and `decision`; `bounds` says how often; `steps` holds the table, `leave` the question whether a call may be sent again at all.

mod bounds;
mod decision;
mod leave;
mod situation;
mod steps;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use bounds::{
    AMBIGUOUS_RESENDS, EMPTY_RESUMES, RATE_LIMIT_WAITS, RECOVERIES, REFRESHES, REFUSED_STREAMS, RESUME_WAIT_MAX,
    SESSION_LOSSES, STEP_UPS, TERMS_REFUSALS,
};
pub use decision::{Charge, Decision, Wait};
pub use situation::{Ambiguity, Counts, Hints, ProofStanding, SessionStanding, Situation, TokenStanding};
pub use steps::decide;
