//! How the command ends: one code for each verdict, so that a script can tell them apart.

use oncewire::{Error, Execution, Kind};

/// The codes, the same for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It was done.
    Success = 0,
    /// Something on this machine went wrong: a file could not be written, standard output was closed. For `doctor` and `status`: what was
    /// asked is not so.
    Failure = 1,
    /// Bad input: an option or argument that cannot be used. Nothing was sent.
    BadInput = 2,
    /// The call failed, and it is proven that the server did not run it.
    NotExecuted = 3,
    /// The call failed, and the server may have run it.
    MayHaveExecuted = 4,
    /// The server answered with a JSON-RPC error.
    Answered = 5,
    /// The tool ran, and says that it failed (`isError`).
    ToolFailed = 6,
    /// SIGINT, Ctrl+C: 128 and the number of the signal, as shells have it. The verdict is in the text.
    Interrupted = 130,
    /// SIGTERM or SIGHUP.
    Terminated = 143,
}

impl Exit {
    /// For the system.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The code of the verdict of this error. What the core finds wrong with an option before anything was sent is bad input.
    pub(crate) fn of(error: &Error) -> Self {
        match error.execution() {
            Execution::NotExecuted if error.kind() == Kind::Config && error.attempts().is_empty() => Self::BadInput,
            Execution::NotExecuted => Self::NotExecuted,
            Execution::Answered => Self::Answered,
            _ => Self::MayHaveExecuted,
        }
    }
}

#[cfg(test)]
mod tests {
    use oncewire::OptionError;

    use super::*;

    #[test]
    fn what_the_core_finds_wrong_with_an_option_is_bad_input() {
        let error =
            Error::from_option("tools/call", Some("poke"), OptionError::new("timeout", "it must be above zero"));
        assert_eq!(Exit::of(&error), Exit::BadInput);
    }
}
