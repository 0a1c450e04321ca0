//! The life of a client's sessions as a pure state machine: events in, actions out. No clock, no socket, no task.
//!
//! ```text
//! Idle → Connecting → Ready(g) → Recovering(g) → Ready(g+1)
//!                       ↕            ↓     ↑
//!              Suspect → Verifying  Lost(g)          Closed, from anywhere
//! ```
//!
//! What it guarantees, whatever the order of events: at most one flight or verification at a time; a loss that is reported late, for a
//! generation before the current one, starts nothing; a flight that ends after `Close` gives its session back to be ended.

use serde::Serialize;

use crate::vocabulary::config::Recovery;

/// Where the client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "generation")]
#[non_exhaustive]
pub enum State {
    /// Nothing was asked of it yet.
    Idle,
    /// The first handshake is under way.
    Connecting,
    /// Calls go out on this generation.
    Ready(u64),
    /// As ready, but verified before the next request.
    Suspect(u64),
    /// A ping on this generation is under way.
    Verifying(u64),
    /// This generation is lost; the handshake for the next one is under way.
    Recovering(u64),
    /// This generation is lost and no handshake is under way; 0 if there never was one.
    Lost(u64),
    /// For good.
    Closed,
}

impl State {
    /// As the host is told. A suspect session is ready until it is verified, and recovering while it is.
    #[must_use]
    pub const fn shown(self) -> ClientState {
        match self {
            Self::Idle => ClientState::Idle,
            Self::Connecting => ClientState::Connecting,
            Self::Ready(_) | Self::Suspect(_) => ClientState::Ready,
            Self::Verifying(_) | Self::Recovering(_) => ClientState::Recovering,
            Self::Lost(_) => ClientState::Lost,
            Self::Closed => ClientState::Closed,
        }
    }

    /// The generation that this state speaks of; 0 before the first.
    #[must_use]
    pub const fn generation(self) -> u64 {
        match self {
            Self::Idle | Self::Connecting | Self::Closed => 0,
            Self::Ready(generation)
            | Self::Suspect(generation)
            | Self::Verifying(generation)
            | Self::Recovering(generation)
            | Self::Lost(generation) => generation,
        }
    }
}

/// Where a client stands, as its host is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientState {
    /// Nothing was asked of it yet.
    Idle,
    /// The first handshake is under way.
    Connecting,
    /// Calls go out.
    Ready,
    /// The session may be lost, or is, and is verified or replaced.
    Recovering,
    /// The session is lost, and nothing is under way: the next call, or `recover()`, brings a new one.
    Lost,
    /// It waits for a person to log in.
    LoginNeeded,
    /// For good.
    Closed,
}

impl ClientState {
    /// The word used in every language.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Recovering => "recovering",
            Self::Lost => "lost",
            Self::LoginNeeded => "login_needed",
            Self::Closed => "closed",
        }
    }
}

impl std::fmt::Display for ClientState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A call wants a session.
    Wanted,
    /// The server refused the session of this generation.
    LossSeen(u64),
    /// Something says that the session of this generation may be gone.
    SuspicionSeen(u64),
    /// Calls on this generation are refused, one after the other, and nothing confirms that it is gone: it is given up all the same.
    Distrusted(u64),
    /// The ping on this generation was answered, or says nothing.
    VerificationPassed(u64),
    /// The ping on this generation was refused.
    VerificationFailed(u64),
    /// The flight brought a session.
    FlightSucceeded,
    /// The flight brought none.
    FlightFailed,
    /// The caller asks for a new session.
    RecoveryAsked,
    /// The client is closed.
    Close,
}

/// What is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Start a handshake for the session of this generation.
    StartFlight(u64),
    /// Send a ping on the session of this generation.
    StartVerification(u64),
    /// Make the session that the flight brought current, as this generation.
    Adopt(u64),
    /// End the session that the flight brought: nobody wants it.
    Discard,
    /// The session of this generation is no longer current.
    Retire(u64),
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    state: State,
    recovery: Recovery,
}

impl Machine {
    /// A client that was asked nothing yet.
    #[must_use]
    pub fn new(recovery: Recovery) -> Self {
        Self { state: State::Idle, recovery }
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes one event; gives what is to be done, in order.
    pub fn step(&mut self, input: Input) -> Vec<Action> {
        match (input, self.state) {
            (_, State::Closed) => match input {
                Input::FlightSucceeded => vec![Action::Discard],
                _ => Vec::new(),
            },
            (Input::Close, state) => {
                self.state = State::Closed;
                match state {
                    State::Ready(generation) | State::Suspect(generation) | State::Verifying(generation) => {
                        vec![Action::Retire(generation)]
                    }
                    _ => Vec::new(),
                }
            }

            (Input::Wanted, State::Idle | State::Lost(0)) => self.connect(),
            (Input::Wanted, State::Suspect(generation)) => {
                self.state = State::Verifying(generation);
                vec![Action::StartVerification(generation)]
            }
            // Under `surface` a lost session stays lost until `recover()`.
            (Input::Wanted, State::Lost(generation)) if self.recovery != Recovery::Surface => self.recover(generation),

            // The ping that is under way will say the same: a second one must not start beside it.
            (Input::LossSeen(_), State::Verifying(_)) if self.recovery == Recovery::Off => Vec::new(),
            // The next call opens a new one. A host that wants to do that itself is told of each refusal, and does.
            (Input::Distrusted(doubted), State::Ready(current) | State::Suspect(current))
                if doubted == current && self.recovery == Recovery::Auto =>
            {
                self.state = State::Lost(current);
                vec![Action::Retire(current)]
            }
            (Input::LossSeen(lost), State::Ready(current) | State::Suspect(current) | State::Verifying(current))
                if lost == current =>
            {
                self.lose(current)
            }
            (Input::SuspicionSeen(suspect), State::Ready(current)) if suspect == current => {
                self.state = State::Suspect(current);
                Vec::new()
            }

            (Input::VerificationPassed(verified), State::Verifying(current)) if verified == current => {
                self.state = State::Ready(current);
                Vec::new()
            }
            (Input::VerificationFailed(verified), State::Verifying(current)) if verified == current => {
                self.lose(current)
            }

            (Input::FlightSucceeded, State::Connecting) => {
                self.state = State::Ready(1);
                vec![Action::Adopt(1)]
            }
            (Input::FlightSucceeded, State::Recovering(lost)) => {
                self.state = State::Ready(lost + 1);
                vec![Action::Adopt(lost + 1)]
            }
            // No flight is under way in any other state; a session from nowhere is not kept.
            (Input::FlightSucceeded, _) => vec![Action::Discard],
            (Input::FlightFailed, State::Connecting) => {
                self.state = State::Lost(0);
                Vec::new()
            }
            (Input::FlightFailed, State::Recovering(lost)) => {
                self.state = State::Lost(lost);
                Vec::new()
            }

            (Input::RecoveryAsked, State::Idle | State::Lost(0)) => self.connect(),
            (Input::RecoveryAsked, State::Lost(generation)) => self.recover(generation),
            (
                Input::RecoveryAsked,
                State::Ready(generation) | State::Suspect(generation) | State::Verifying(generation),
            ) => {
                let mut actions = vec![Action::Retire(generation)];
                actions.extend(self.recover(generation));
                actions
            }

            // A flight is under way already, or the event speaks of a generation that is past, or says nothing new.
            (
                Input::Wanted
                | Input::LossSeen(_)
                | Input::SuspicionSeen(_)
                | Input::Distrusted(_)
                | Input::VerificationPassed(_)
                | Input::VerificationFailed(_)
                | Input::FlightFailed
                | Input::RecoveryAsked,
                _,
            ) => Vec::new(),
        }
    }

    fn connect(&mut self) -> Vec<Action> {
        self.state = State::Connecting;
        vec![Action::StartFlight(1)]
    }

    fn recover(&mut self, generation: u64) -> Vec<Action> {
        self.state = State::Recovering(generation);
        vec![Action::StartFlight(generation + 1)]
    }

    fn lose(&mut self, generation: u64) -> Vec<Action> {
        match self.recovery {
            Recovery::Auto => {
                let mut actions = vec![Action::Retire(generation)];
                actions.extend(self.recover(generation));
                actions
            }
            Recovery::Surface => {
                self.state = State::Lost(generation);
                vec![Action::Retire(generation)]
            }
            // Each refused call reports it; the session stays as it is.
            Recovery::Off => {
                self.state = State::Ready(generation);
                Vec::new()
            }
        }
    }
}
