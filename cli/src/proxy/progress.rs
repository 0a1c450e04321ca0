//! Progress of a call on its way to the host, under the token that the host gave.

use std::sync::{Arc, Mutex, PoisonError};

use oncewire::Progress;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::dispatch::OnProgress;
use super::host::Host;

/// Where the progress of one call goes.
#[derive(Debug)]
pub(super) struct ProgressTo {
    host: Host,
    token: Mutex<Option<Box<RawValue>>>,
}

impl ProgressTo {
    pub(super) fn new(host: Host, token: Option<Box<RawValue>>) -> Arc<Self> {
        Arc::new(Self { host, token: Mutex::new(token) })
    }

    /// From now on it goes to this token, or nowhere.
    pub(super) fn to(&self, token: Option<Box<RawValue>>) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// Nobody waits for it.
    pub(super) fn nowhere(&self) {
        self.to(None);
    }

    /// For the call, if the host wants to hear of it.
    pub(super) fn hook(self: &Arc<Self>) -> Option<OnProgress> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?;
        let progress_to = Arc::clone(self);
        Some(Arc::new(move |progress| progress_to.tell(progress)))
    }

    fn tell(&self, progress: &Progress) {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(token) = token.as_deref() else { return };
        let token: Value = serde_json::from_str(token.get()).unwrap_or_default();
        let mut params = json!({ "progressToken": token, "progress": number(progress.progress) });
        if let Some(total) = progress.total {
            params["total"] = number(total);
        }
        if let Some(message) = &progress.message {
            params["message"] = Value::from(message.as_str());
        }
        self.host.tell("notifications/progress", &params);
    }
}

/// A whole number without a fraction, as most servers write it.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { Value::from(value as i64) } else { Value::from(value) }
}
