//! One line on stderr that says what is going on, where there is a person to read it.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::{harmless, person_sees_errors};

/// The line.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    what: String,
    written: AtomicBool,
}

impl Progress {
    /// For this server; nothing is shown if stderr is no terminal.
    pub(super) fn of(what: &str) -> Self {
        Self { shown: person_sees_errors(), what: harmless(what), written: AtomicBool::new(false) }
    }

    /// This room is looked into now.
    pub(super) fn at(&self, room: &str) {
        if self.shown {
            self.written.store(true, Ordering::Relaxed);
            // Nobody is hurt if it cannot be written.
            let _ = write!(std::io::stderr(), "\r\x1b[Kexamining {}: {room}", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.written.load(Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
