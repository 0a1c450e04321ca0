//! One call: what may be said of it, and the handle by which Swift waits for it or cancels it.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::sync::Arc;

use oncewire::{Call, Error, ListCall, Progress};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::call_options::{CallOptions, json_argument};
use crate::runtime::{Pending, Settled};

/// What is said of the idempotency key of one call.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum IdempotencyKey {
    /// This one.
    Given {
        /// The key.
        key: String,
    },
    /// None is sent.
    Off,
}

/// Called for each progress notification of a call.
#[uniffi::export(foreign)]
pub trait ProgressSink: Send + Sync {
    /// One notification; must not block.
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>);
}

/// What goes along with one call only.
#[derive(Clone, Default, uniffi::Record)]
pub struct CallExtras {
    /// The key of the call.
    pub idempotency_key: Option<IdempotencyKey>,
    /// A JSON object: more members of `_meta`.
    pub meta: Option<String>,
    /// A JSON object: more members of the params.
    pub params: Option<String>,
    /// Where progress goes.
    pub on_progress: Option<Arc<dyn ProgressSink>>,
}

impl std::fmt::Debug for CallExtras {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CallExtras").field("idempotency_key", &self.idempotency_key).finish_non_exhaustive()
    }
}

/// The call with all that was said of it.
pub(crate) fn with<T>(method: &str, call: Call<T>, options: CallOptions, extras: CallExtras) -> Result<Call<T>, Error> {
    let mut call = call.options(&options.into());
    call = match extras.idempotency_key {
        Some(IdempotencyKey::Given { key }) => call.idempotency_key(key),
        Some(IdempotencyKey::Off) => call.without_idempotency_key(),
        None => call,
    };
    if let Some(meta) = extras.meta {
        let members: serde_json::Map<String, serde_json::Value> = json_argument(method, "meta", &meta)?;
        for (key, value) in members {
            call = call.meta(key, value);
        }
    }
    for (name, value) in members(method, extras.params)? {
        call = call.param(&name, value);
    }
    if let Some(sink) = extras.on_progress {
        call = call.on_progress(move |progress| pass_on(&*sink, progress));
    }
    Ok(call)
}

/// The list with all that was said of it.
pub(crate) fn with_page<T>(
    method: &str,
    list: ListCall<T>,
    cursor: Option<String>,
    options: CallOptions,
    params: Option<String>,
    on_progress: Option<Arc<dyn ProgressSink>>,
) -> Result<ListCall<T>, Error> {
    let mut list = list.options(&options.into());
    if let Some(cursor) = cursor {
        list = list.cursor(cursor);
    }
    for (name, value) in members(method, params)? {
        list = list.param(&name, value);
    }
    if let Some(sink) = on_progress {
        list = list.on_progress(move |progress| pass_on(&*sink, progress));
    }
    Ok(list)
}

/// More members of the params, each as it was written.
fn members(method: &str, params: Option<String>) -> Result<BTreeMap<String, Box<RawValue>>, Error> {
    params.map_or_else(|| Ok(BTreeMap::new()), |params| json_argument(method, "params", &params))
}

fn pass_on(sink: &dyn ProgressSink, progress: &Progress) {
    sink.progress(progress.progress, progress.total, progress.message.clone());
}

/// How a call ended that has no result.
#[derive(Clone, Debug, thiserror::Error, uniffi::Error)]
pub enum NoResult {
    /// With an error.
    #[error("{json}")]
    Failed {
        /// The core's error, as one JSON object.
        json: String,
    },
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// A call that was started.
#[derive(uniffi::Object)]
pub struct PendingCall {
    pending: Pending<Result<String, Error>>,
}

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PendingCall").finish_non_exhaustive()
    }
}

impl PendingCall {
    /// Starts a call whose result is the JSON of what it gives.
    pub(crate) fn start<C, T>(call: Result<C, Error>) -> Arc<Self>
    where
        C: IntoFuture<Output = Result<T, Error>> + Send + 'static,
        C::IntoFuture: Send,
        T: Serialize + Send,
    {
        let pending = Pending::start(async move { call?.await.map(|result| to_json(&result)) });
        Arc::new(Self { pending })
    }
}

#[uniffi::export]
impl PendingCall {
    /// Cancels the call, if it is not over.
    pub fn cancel(&self) {
        self.pending.cancel();
    }

    /// Waits for its end; to be called once. The result is what the server sent.
    pub async fn result(&self) -> Result<String, NoResult> {
        match self.pending.settled().await {
            Settled::Done(Ok(json)) => Ok(json),
            Settled::Done(Err(error)) => Err(NoResult::Failed { json: error.to_json().to_string() }),
            Settled::Cancelled => Err(NoResult::Cancelled),
            Settled::Broken => Err(NoResult::Failed { json: broken() }),
        }
    }
}

/// What serialises as it was received, or is nothing, cannot fail to serialise.
fn to_json<T: Serialize>(result: &T) -> String {
    serde_json::to_string(result).unwrap_or_else(|_| "null".to_owned())
}

/// Our own code panicked in mid-call. Nothing is proven then.
pub(crate) fn broken() -> String {
    let reason = "the client itself failed: this is a fault of oncewire";
    json!({
        "kind": "protocol", "execution": "may_have_executed", "method": "", "phase": "queued", "attempts": [],
        "reason": reason, "text": format!("{reason}; what was called may have run: check before calling it again"),
    })
    .to_string()
}
