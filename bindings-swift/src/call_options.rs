//! What may be said of a call, or of a tool, as it comes from Swift.

use std::time::Duration;

use oncewire::{Error, OptionError};
use serde::de::DeserializeOwned;

use crate::words::ResendOption;

/// A length of time. Not uniffi's own: that one goes through a float, and traps on what it cannot hold.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct Span {
    /// Whole seconds.
    pub seconds: u64,
    /// The rest.
    pub nanoseconds: u32,
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_secs(span.seconds).saturating_add(Self::from_nanos(span.nanoseconds.into()))
    }
}

/// Options of one call, or of one tool.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct CallOptions {
    /// The whole call.
    pub timeout: Option<Span>,
    /// No byte of an answer for that long.
    pub idle_timeout: Option<Span>,
    /// Progress starts `timeout` anew.
    pub reset_on_progress: Option<bool>,
    /// The cap that progress cannot move.
    pub max_total_timeout: Option<Span>,
    /// The caller's word on sending the call again after an ambiguous loss.
    pub resend: Option<ResendOption>,
}

impl From<CallOptions> for oncewire::CallOptions {
    fn from(given: CallOptions) -> Self {
        let mut options = Self::default();
        options.timeout = given.timeout.map(Duration::from);
        options.idle_timeout = given.idle_timeout.map(Duration::from);
        options.reset_on_progress = given.reset_on_progress;
        options.max_total_timeout = given.max_total_timeout.map(Duration::from);
        options.resend = given.resend.map(oncewire::Resend::from);
        options
    }
}

/// An argument that comes as JSON text. Its text may be a secret: an error gives only the place.
pub(crate) fn json_argument<T: DeserializeOwned>(method: &str, field: &'static str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        let problem = format!("it cannot be used: line {}, column {}", error.line(), error.column());
        Error::from_option(method, None, OptionError::new(field, problem))
    })
}
