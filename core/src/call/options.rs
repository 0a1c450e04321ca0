//! What a caller may say of one call, and how it goes together with what was said of the tool and of the client.

use std::time::Duration;

use serde_json::Value;

use crate::vocabulary::clock::Timeouts;
use crate::vocabulary::config::{OptionError, Resend};
use crate::vocabulary::handler::CallHooks;

/// Options of one call, or of one tool; what is not set is taken from the tool, then from the client.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// The whole call: queueing, recovery, refresh, all pages. Default: none.
    pub timeout: Option<Duration>,
    /// No byte of an answer for that long. Default: none.
    pub idle_timeout: Option<Duration>,
    /// Progress starts `timeout` anew. Default: false.
    pub reset_on_progress: Option<bool>,
    /// The cap that progress cannot move. Default: none.
    pub max_total_timeout: Option<Duration>,
    /// The caller's word on sending the call again after an ambiguous loss.
    pub resend: Option<Resend>,
}

impl CallOptions {
    /// These options, and where they say nothing, those.
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self {
            timeout: self.timeout.or(other.timeout),
            idle_timeout: self.idle_timeout.or(other.idle_timeout),
            reset_on_progress: self.reset_on_progress.or(other.reset_on_progress),
            max_total_timeout: self.max_total_timeout.or(other.max_total_timeout),
            resend: self.resend.or(other.resend),
        }
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        Timeouts {
            timeout: self.timeout,
            idle_timeout: self.idle_timeout,
            reset_on_progress: self.reset_on_progress.unwrap_or(false),
            max_total_timeout: self.max_total_timeout,
        }
    }

    /// # Errors
    /// A duration of zero: it would time out before anything is sent.
    pub(crate) fn validate(&self) -> Result<(), OptionError> {
        for (field, duration) in [
            ("timeout", self.timeout),
            ("idle_timeout", self.idle_timeout),
            ("max_total_timeout", self.max_total_timeout),
        ] {
            above_zero(field, duration)?;
        }
        Ok(())
    }
}

/// # Errors
/// The duration is zero.
pub(crate) fn above_zero(field: &'static str, duration: Option<Duration>) -> Result<(), OptionError> {
    match duration {
        Some(Duration::ZERO) => Err(OptionError::new(field, "it must be above zero")),
        _ => Ok(()),
    }
}

/// The key under which the server sees all attempts of a call.
#[derive(Clone, Debug, Default)]
pub(crate) enum IdempotencyKey {
    /// A new UUIDv7.
    #[default]
    Made,
    /// The caller's own, for example its tool-use id.
    Given(String),
    /// None is sent.
    Off,
}

/// What goes along with one call only.
#[derive(Clone, Default)]
pub(crate) struct CallExtras {
    pub(crate) key: IdempotencyKey,
    pub(crate) hooks: CallHooks,
    /// More members of `_meta`, for example `traceparent`.
    pub(crate) meta: Vec<(String, Value)>,
}
