//! A server that is a process of ours, spoken to over its pipes (MCP 2026-07-28, transports, stdio; the same in the eras before).
//!
//! [`StdioExchange`] only opens channels: one process each, which is one session. A channel is an [`Exchange`] like that over HTTP: a POST is
//! one line on stdin, its answer the lines of stdout that belong to it. What is here moves lines and keeps the process; what the end of
//! either proves, `classify` says.
//!
//! `command` says what is started, `process` how it lives and ends with all its children, `channel` how requests and answers go over its
//! pipes, `desk` whose a line is, `lines` how long one may be, `unread` what of that which was written nobody has read, `stderr` what
//! becomes of its other output, `end` how it is told that it is over.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

pub use self::command::{INHERITED, Inherit, ServerCommand};
pub(crate) use self::stderr::StderrSink;
use super::exchange::{Cause, Channel, Exchange, WireFailure, WireRequest, WireResponse};

mod channel;
mod command;
mod desk;
mod end;
mod lines;
mod process;
mod stderr;
mod unread;

/// Starts a process for each channel.
pub(crate) struct StdioExchange {
    command: ServerCommand,
    /// The longest line, in bytes.
    max_line: usize,
    stderr: StderrSink,
}

impl StdioExchange {
    /// Starts nothing yet.
    pub(crate) fn new(command: ServerCommand, max_line: usize, stderr: StderrSink) -> Self {
        Self { command, max_line, stderr }
    }
}

impl fmt::Debug for StdioExchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StdioExchange").field("command", &self.command).finish_non_exhaustive()
    }
}

#[async_trait]
impl Exchange for StdioExchange {
    /// Nothing goes over what is no channel.
    async fn send(&self, _: WireRequest) -> Result<WireResponse, WireFailure> {
        Err(WireFailure::new(Cause::NotStarted))
    }

    async fn open(&self) -> Result<Option<Arc<dyn Channel>>, WireFailure> {
        let process = process::start(&self.command)
            .map_err(|error| WireFailure { cause: Cause::NotStarted, source: Some(Box::new(error)) })?;
        Ok(Some(Arc::new(channel::PipeChannel::over(process, self.max_line, Arc::clone(&self.stderr)))))
    }
}
