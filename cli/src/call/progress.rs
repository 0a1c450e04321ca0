//! The progress of a call, on one line of standard error, where a person sees it.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oncewire::{Call, Progress};

use crate::output::{first_line, person_sees_errors};

/// The longest message that the line shows.
const LONGEST: usize = 60;

/// The line. It is taken away when the call is over.
#[derive(Debug, Default)]
pub(super) struct Line {
    is_shown: Arc<AtomicBool>,
}

impl Line {
    /// The call, with its progress shown if a person sees it.
    pub(super) fn watch<T>(&self, call: Call<T>) -> Call<T> {
        if !person_sees_errors() {
            return call;
        }
        let is_shown = Arc::clone(&self.is_shown);
        call.on_progress(move |progress| {
            is_shown.store(true, Ordering::Relaxed);
            let mut err = anstream::stderr().lock();
            // If nobody can be told how far it is, the call goes on all the same.
            let _ = write!(err, "\r\u{1b}[K{}", text(progress)).and_then(|()| err.flush());
        })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.is_shown.load(Ordering::Relaxed) {
            let mut err = anstream::stderr().lock();
            let _ = write!(err, "\r\u{1b}[K").and_then(|()| err.flush());
        }
    }
}

fn text(progress: &Progress) -> String {
    let far = match progress.total {
        Some(total) if total > 0.0 => format!("{:.0} %", (progress.progress / total * 100.0).clamp(0.0, 100.0)),
        _ => format!("{}", progress.progress),
    };
    let message: String =
        progress.message.iter().flat_map(|text| first_line(text).chars().take(LONGEST).collect::<Vec<_>>()).collect();
    if message.is_empty() { far } else { format!("{far} {message}") }
}
