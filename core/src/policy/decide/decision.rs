//! What may be decided.

use std::time::Duration;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Hand the answer to the caller.
    Deliver,
    /// Give the caller the error.
    Surface,
    /// Send the twin of the refused request, then ask again.
    Confirm,
    /// Replace the session, then ask again.
    Recover,
    /// Ping on the same session, then ask again.
    Verify,
    /// Refresh the token, then ask again.
    Refresh,
    /// Look the tool's hints up, then ask again.
    LookUpHints,
    /// Read on after this wait.
    Resume {
        /// How long to wait first.
        wait: Wait,
    },
    /// Send the call again.
    Resend {
        /// How long to wait first.
        wait: Wait,
        /// What it counts against.
        charge: Charge,
    },
}

impl Decision {
    /// The word used in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Surface => "surface",
            Self::Confirm => "confirm",
            Self::Recover => "recover",
            Self::Verify => "verify",
            Self::Refresh => "refresh",
            Self::LookUpHints => "look_up_hints",
            Self::Resume { .. } => "resume",
            Self::Resend { .. } => "resend",
        }
    }
}

/// How long to wait before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    None,
    /// The next delay of the back-off.
    Backoff,
    /// As long as the server said.
    Exactly(Duration),
}

/// Which of the call's bounds a resend counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// None: bounded by patience alone, or by the losses of the session.
    Free,
    /// [`Counts::ambiguous_resends`](super::Counts::ambiguous_resends), and the retry budget.
    Ambiguous,
    /// [`Counts::refreshes`](super::Counts::refreshes)
    Refresh,
    /// [`Counts::step_ups`](super::Counts::step_ups)
    StepUp,
    /// [`Counts::refused_streams`](super::Counts::refused_streams)
    RefusedStream,
    /// [`Counts::terms_refusals`](super::Counts::terms_refusals)
    Terms,
    /// [`Counts::rate_limit_waits`](super::Counts::rate_limit_waits)
    RateLimit,
}
