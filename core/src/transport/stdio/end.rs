//! How a channel came to its end, in the words of an error.

use std::fmt;
use std::process::ExitStatus;
use std::sync::Arc;

use crate::transport::exchange::{Cause, WireFailure};

/// Why nothing goes over a channel any more. Whoever waits on it gets the same.
#[derive(Clone, Debug)]
pub(super) struct ChannelEnd(Arc<Told>);

#[derive(Debug)]
struct Told {
    cause: Cause,
    /// How the process ended; nothing if it has not, as far as is known.
    status: Option<ExitStatus>,
    /// The line that ended it, of a server that wrote what is no message.
    line: Option<String>,
    /// What it said on stderr last.
    last_words: String,
}

impl ChannelEnd {
    pub(super) fn new(cause: Cause, status: Option<ExitStatus>, line: Option<String>, last_words: String) -> Self {
        Self(Arc::new(Told { cause, status, line, last_words }))
    }

    /// The failure of a request that waited on it.
    pub(super) fn failure(&self) -> WireFailure {
        WireFailure { cause: self.0.cause, source: Some(Box::new(self.clone())) }
    }
}

impl fmt::Display for ChannelEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { status, line, last_words, .. } = &*self.0;
        let mut parts = Vec::new();
        parts.extend(line.as_ref().map(|line| format!("{line:?}")));
        match status {
            Some(status) => parts.push(of_status(*status)),
            None if self.0.cause == Cause::PipeClosed => parts.push("it still runs, and is ended".to_owned()),
            None => {}
        }
        if !last_words.is_empty() {
            parts.push(format!("its last words on stderr: {last_words:?}"));
        }
        formatter.write_str(&parts.join("; "))
    }
}

impl std::error::Error for ChannelEnd {}

fn of_status(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}
