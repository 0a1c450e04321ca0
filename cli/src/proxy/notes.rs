//! What a person may want to read: short lines on the standard error output, which hosts keep in their logs.
//!
//! A host need not read them, so nothing waits for it: at most [`LINES`] lines are kept for it, and what finds no room is dropped.

use std::io::Write as _;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use oncewire::{Event, EventName};

/// Lines that wait to be read.
const LINES: usize = 256;

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Nothing but what a person has to do.
    Silent,
    /// What changes: sessions, logins, failures.
    #[default]
    Normal,
    /// Every event, as JSON.
    Events,
}

/// Writes the lines.
#[derive(Clone, Debug)]
pub(crate) struct Notes {
    lines: Option<SyncSender<String>>,
    verbosity: Verbosity,
}

impl Notes {
    /// Lines go out in a thread of their own: a full pipe holds up nothing else.
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        let (lines, wanted) = sync_channel::<String>(LINES);
        let writing = thread::Builder::new().name("oncewire-stderr".to_owned()).spawn(move || {
            for line in wanted {
                // Nobody reads it: nothing is lost that anybody wanted.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        });
        Self { lines: writing.is_ok().then_some(lines), verbosity }
    }

    /// One line, whatever the verbosity.
    pub(crate) fn say(&self, line: impl Into<String>) {
        if let Some(lines) = &self.lines {
            let _ = lines.try_send(line.into());
        }
    }

    /// What an event of the client means to a person.
    pub(crate) fn event(&self, event: &Event) {
        if self.verbosity == Verbosity::Events
            && let Ok(json) = serde_json::to_string(event)
        {
            self.say(json);
            return;
        }
        let text = match event.event {
            // Without it nothing goes on.
            EventName::LoginNeeded => {
                let url = event.url.as_deref().unwrap_or_default();
                self.say(format!("oncewire: the server wants a login; open this in a browser:\n{url}"));
                return;
            }
            EventName::LoginDone => "logged in",
            EventName::LoginLost => "the login is lost",
            EventName::ConnectFailed => "the server cannot be reached",
            EventName::SessionReplaced => "the session was replaced",
            EventName::RecoveryFailed => "the session could not be replaced",
            EventName::RestoreFailed => "not all of the session could be restored",
            EventName::ToolDropped => "a tool was left out",
            EventName::MessageDropped => "a message of the server could not be handed on",
            _ => return,
        };
        if self.verbosity != Verbosity::Silent {
            let name = event.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
            let reason = event.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            self.say(format!("oncewire: {text}{name}{reason}"));
        }
    }
}
