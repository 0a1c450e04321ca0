//! The pipes of a server, which ends in the middle of them.

use std::io::{self, Read, Write};
use std::process;
use std::sync::Mutex;

use serde_json::Value;

use super::life::Life;

/// Reads lines, and ends the process at a byte.
pub(super) struct Input<R> {
    pipe: R,
    held: Vec<u8>,
    read: u64,
    ends_after: Option<u64>,
    exit_code: i32,
}

impl<R: Read> Input<R> {
    pub(super) fn new(pipe: R, life: &Life) -> Self {
        Self { pipe, held: Vec::new(), read: 0, ends_after: life.ends_after_read, exit_code: life.exit_code }
    }

    /// The next line; none at the end.
    pub(super) fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(length) = self.held.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.held.drain(..=length).collect();
                line.pop();
                return Ok(Some(line));
            }
            let mut chunk = [0; 4_096];
            let left = self.ends_after.map_or(u64::MAX, |end| end.saturating_sub(self.read));
            if left == 0 {
                process::exit(self.exit_code);
            }
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
            let bytes = self.pipe.read(&mut chunk[..most])?;
            if bytes == 0 {
                return Ok(None);
            }
            self.read += bytes as u64;
            if self.ends_after == Some(self.read) {
                process::exit(self.exit_code);
            }
            self.held.extend_from_slice(&chunk[..bytes]);
        }
    }
}

/// Writes messages, and ends the process at a byte.
pub(super) struct Output {
    state: Mutex<u64>,
    ends_after: Option<u64>,
    exit_code: i32,
}

impl Output {
    pub(super) fn new(life: &Life) -> Self {
        Self { state: Mutex::new(0), ends_after: life.ends_after_written, exit_code: life.exit_code }
    }

    pub(super) fn say(&self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(super) fn write(&self, bytes: &[u8]) {
        let mut written = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let left = self.ends_after.map_or(u64::MAX, |end| end.saturating_sub(*written));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let mut out = io::stdout().lock();
        // A client that is gone hears nothing: the end of stdin will tell.
        let _ = out.write_all(&bytes[..most]).and_then(|()| out.flush());
        *written += most as u64;
        if self.ends_after == Some(*written) {
            process::exit(self.exit_code);
        }
    }
}
