//! What a server on stdio did, in a file of one JSON object a line. Each is written in one go, so that it is there whole or not at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// A process began.
    Started(u32),
    /// It has this child.
    Child(u32),
    /// A request came, whole.
    Asked(String),
    /// A tool ran.
    Ran(String),
    /// It was told that nobody waits for this request.
    Cancelled(String),
    /// Its stdin ended.
    Eof,
}

/// The file.
#[derive(Debug, Clone)]
pub struct StdioLedger(PathBuf);

impl StdioLedger {
    /// In this file, which need not exist.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// # Errors
    /// If the file cannot be written.
    pub fn note(&self, note: &Note) -> io::Result<()> {
        let mut line = serde_json::to_vec(note)?;
        line.push(b'\n');
        OpenOptions::new().create(true).append(true).open(&self.0)?.write_all(&line)
    }

    /// All that happened, in order; nothing yet if there is no file.
    ///
    /// # Errors
    /// If the file holds anything else.
    pub fn read(&self) -> io::Result<Vec<Note>> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
    }
}
