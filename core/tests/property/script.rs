//! What a run is made of: the server's nature and faults, the calls, and what else happens. Plain data, so that a run that fails can be
//! printed, replayed and made smaller.

use serde::{Deserialize, Serialize};

use crate::refusal::{Gate, Refuses};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Script {
    /// Of the client's own randomness.
    pub(crate) seed: u64,
    pub(crate) client: Client,
    pub(crate) server: Nature,
    pub(crate) faults: Vec<Planned>,
    pub(crate) happenings: Vec<Happening>,
    /// The client is not closed at the end: its last clone is dropped.
    #[serde(default)]
    pub(crate) dropped: bool,
    pub(crate) calls: Vec<CallPlan>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) recovery: Recovery,
    pub(crate) trust: Trust,
    pub(crate) listen: bool,
    pub(crate) token: bool,
    #[serde(default)]
    pub(crate) era: Era,
}

/// The era that the client is told to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Era {
    #[default]
    Legacy,
    Auto,
    Modern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Recovery {
    Auto,
    Surface,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Trust {
    None,
    ReadOnly,
    Hinted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Nature {
    pub(crate) stateful: bool,
    /// Answers calls with an event stream.
    pub(crate) streams: bool,
    pub(crate) listener: Listening,
    pub(crate) refusal: Refusal,
    /// How long a twin or a verification waits for its answer, so that others come between.
    #[serde(default)]
    pub(crate) ping_ms: u64,
    /// It begins in the modern era.
    #[serde(default)]
    pub(crate) modern: bool,
    /// A token that is given out makes all before it worthless.
    #[serde(default)]
    pub(crate) rotates: bool,
    /// In the modern era its tools ask who it is before they do anything.
    #[serde(default)]
    pub(crate) asks: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Listening {
    NotOffered,
    Held,
    Shuts,
}

/// How the server says that it does not know a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    NotFoundText,
    NotFoundError,
    /// 404 with the id `"server-error"`.
    NotFoundMadeUp,
    NotFoundEmpty,
    Gone,
    BadRequestWording,
    /// As `BadRequestWording`, with the id of the request.
    BadRequestOurId,
    /// 503 in the words of a lost session.
    UnavailableWording,
    /// 401 in the words of a lost session: who asks for no token can only take them at their word.
    UnauthorizedWording,
    /// 422, in words that are on no list.
    Unlisted,
}

impl Refusal {
    /// Is it this status and not a word?
    pub(crate) fn is_empty_with(self, status: u16) -> bool {
        matches!((self, status), (Self::NotFoundEmpty, 404) | (Self::Gone, 410))
    }
}

/// The fault that the nth request of this kind meets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Planned {
    pub(crate) target: Target,
    pub(crate) nth: usize,
    pub(crate) fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Target {
    /// `server/discover`: the probe, a verification, a ping.
    Discover,
    Initialize,
    Initialized,
    /// Every other request with an id: calls and look-ups of hints.
    Call,
    /// `ping`: a twin, or a verification.
    Ping,
    /// `subscriptions/listen`.
    Listen,
    /// Other notifications, and replies to the server.
    Notification,
    Get,
    Resume,
    Delete,
}

/// What goes wrong. `executes`: the server had run the request by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Fault {
    /// Nothing, but it takes its time.
    Slow {
        connect_ms: u64,
        head_ms: u64,
        body_ms: u64,
        ping: bool,
    },
    NeverSent {
        after_ms: u64,
        dial: Dial,
    },
    /// RST_STREAM(REFUSED_STREAM): a proxy says it of a request that it never passed on, and of one that its server ran.
    RefusedStream {
        taken: bool,
        #[serde(default)]
        executes: bool,
    },
    /// A GOAWAY below the stream of the request.
    GoneAway {
        taken: bool,
    },
    /// No head.
    Lost {
        executes: bool,
        after_ms: u64,
        reset: bool,
    },
    /// It says no.
    Refuses(Refuses),
    /// The stream ends early.
    Cut {
        executes: bool,
        event_id: bool,
        orderly: bool,
        after_ms: u64,
    },
    /// Half of a JSON answer.
    Half {
        executes: bool,
    },
    Hang {
        executes: bool,
        head: bool,
    },
    /// The server forgets all sessions before it looks at the request.
    Restart,
    /// The server speaks the other era before it looks at the request.
    ChangeEra,
    /// An error with our id that says that headers and body differ, or that the version is not spoken.
    TermsRefused {
        executes: bool,
        mismatch: bool,
    },
    /// Elsewhere in the origin, or in another.
    Redirect {
        status: u16,
        same_origin: bool,
        #[serde(default)]
        executes: bool,
    },
    /// A result with the id of no request, then the end; or, before the answer, results and errors that are another's.
    Stray {
        executes: bool,
        answers: bool,
    },
    /// The stream stays open after the answer.
    Lingers,
    /// A resumed stream ends without the answer, after a new event id or none.
    EmptyResume {
        new_id: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Dial {
    Refused,
    Unreachable,
    Reset,
    Timeout,
    Dns,
    Tls,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Happening {
    pub(crate) at_ms: u64,
    pub(crate) what: What,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum What {
    Restart,
    /// Everything is refused for a while.
    Shut(Gate),
    /// The token that the client has is refused from now on, whatever it is sent with.
    Revoke {
        challenge: bool,
    },
    /// An upgrade, or a rollback.
    ChangeEra,
    Recover,
    Close,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallPlan {
    pub(crate) at_ms: u64,
    pub(crate) what: Callee,
    pub(crate) resend: Resend,
    pub(crate) timeout_ms: Option<u64>,
    #[serde(default)]
    pub(crate) idle_ms: Option<u64>,
    /// The future is dropped that long after it was made.
    pub(crate) cancel_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Callee {
    Poke,
    Peek,
    Nudge,
    Read,
    Prompt,
    List,
    Raw,
    LogLevel,
    Subscribe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Resend {
    Default,
    Always,
    Never,
}

impl Script {
    /// Does the server change its era?
    pub(crate) fn changes_era(&self) -> bool {
        self.happenings.iter().any(|happening| happening.what == What::ChangeEra)
            || self.faults.iter().any(|planned| planned.fault == Fault::ChangeEra)
    }

    /// After so many milliseconds no session is lost any more; none if a fault may do that at any time.
    pub(crate) fn no_more_losses_ms(&self) -> Option<u64> {
        let by_fault = |planned: &Planned| matches!(planned.fault, Fault::Restart | Fault::ChangeEra);
        let by_itself = |happening: &&Happening| !matches!(happening.what, What::Recover | What::Close);
        let last = self.happenings.iter().filter(by_itself).map(|happening| happening.at_ms).max();
        (!self.faults.iter().any(by_fault)).then(|| last.unwrap_or_default())
    }

    /// Is a token refused only because the client itself has asked for the next one?
    pub(crate) fn tokens_last(&self) -> bool {
        let revokes = |happening: &Happening| matches!(happening.what, What::Revoke { .. });
        self.server.rotates && self.client.token && !self.happenings.iter().any(revokes)
    }

    /// May the first call after the faults fail? Where a server that is in good health refuses a session or an era in words that do not say
    /// so, a call is what tells.
    pub(crate) fn may_cost_a_call(&self) -> bool {
        self.changes_era()
            || matches!(
                self.server.refusal,
                Refusal::Unlisted | Refusal::UnavailableWording | Refusal::UnauthorizedWording
            )
    }
}
