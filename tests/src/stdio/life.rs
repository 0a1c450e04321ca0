//! What a server on stdio is told to do.

use serde::{Deserialize, Serialize};

use crate::server::Options;

/// All lives of a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StdioScript {
    /// What it offers.
    pub options: Options,
    /// Its lives, from the first start on; those that are not listed are healthy.
    pub lives: Vec<Life>,
}

impl StdioScript {
    /// One life, and healthy ones after it.
    #[must_use]
    pub fn of(life: Life) -> Self {
        Self { lives: vec![life], ..Self::default() }
    }
}

/// One life. By default a healthy one, which ends when its stdin does.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Life {
    /// Ends as soon as it has read so many bytes, before it does anything about the last of them.
    pub ends_after_read: Option<u64>,
    /// Ends as soon as it has written so many bytes to stdout.
    pub ends_after_written: Option<u64>,
    /// Ends when a tool has run, before the first byte of the answer.
    pub ends_after_running: bool,
    /// Ends when a request with this method comes, before anything is done about it.
    pub ends_at: Option<String>,
    /// The exit code that it ends with.
    pub exit_code: i32,
    /// What it writes to stdout before anything else, as it is.
    pub first_words: String,
    /// What it writes to stderr before anything else, line by line.
    pub stderr: Vec<String>,
    /// Requests with these methods get no answer.
    pub mute: Vec<String>,
    /// What is written, as it is, in the place of the answer to a tool.
    pub in_place_of_answer: Option<String>,
    /// Writes the line that stands in `in_place_of_answer` again and again, without an end.
    pub floods: bool,
    /// Goes on when its stdin has ended.
    pub stays: bool,
    /// Starts a child that stays, and does not tell it of its end.
    pub has_child: bool,
}
