//! Why a command did not do what it was asked to, as text for a person or as one JSON object.

use std::fmt;
use std::io;

use oncewire::Error;
use serde_json::{Value, json};

use crate::exit::Exit;

/// Why it ends without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An option or argument that cannot be used: nothing was sent.
    BadInput(BadInput),
    /// The call, or the handshake before it, failed.
    Call(Error),
    /// A signal ended the call, or the handshake before it; the error is its verdict.
    Interrupted(Exit, Error),
    /// Something on this machine: what was done, and what the system said.
    Local(String, io::Error),
    /// Standard output cannot be written to.
    Output(io::Error),
}

/// An option or argument that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadInput {
    /// As it is typed: `--timeout`, or the name of a tool's argument.
    pub(crate) argument: String,
    /// What is wrong with it, and what would be right. Never the value of a secret.
    pub(crate) problem: String,
    /// What did not happen because of it.
    undone: &'static str,
}

impl BadInput {
    pub(crate) fn new(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { argument: argument.into(), problem: problem.into(), undone: "nothing was sent" }
    }

    /// It showed when the server was asked what it has, and before anything was called.
    pub(crate) fn not_called(self) -> Self {
        Self { undone: "nothing was called", ..self }
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.argument, self.problem)
    }
}

impl From<BadInput> for Failure {
    fn from(bad: BadInput) -> Self {
        Self::BadInput(bad)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

impl Failure {
    /// The code to end with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::BadInput(_) => Exit::BadInput,
            Self::Call(error) => Exit::of(error),
            Self::Interrupted(exit, _) => *exit,
            Self::Local(..) | Self::Output(_) => Exit::Failure,
        }
    }

    /// Whoever read our output has gone: there is nobody to tell.
    pub(crate) fn is_unheard(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// One object: that of the core where a call failed, and the same fields otherwise.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::BadInput(bad) => {
                json!({ "kind": "config", "execution": "not_executed", "proof": "never_sent", "argument": bad.argument,
                    "reason": bad.problem, "text": self.to_string() })
            }
            Self::Call(error) => error.to_json(),
            Self::Interrupted(_, error) => {
                let mut value = error.to_json();
                value["interrupted"] = true.into();
                value
            }
            Self::Local(..) | Self::Output(_) => json!({ "kind": "local", "text": self.to_string() }),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadInput(bad) => write!(formatter, "{bad}; {}", bad.undone),
            Self::Call(error) => error.fmt(formatter),
            Self::Interrupted(_, error) => write!(formatter, "interrupted: {error}"),
            Self::Local(doing, error) => write!(formatter, "cannot {doing}: {error}"),
            Self::Output(error) => write!(formatter, "cannot write to standard output: {error}"),
        }
    }
}
