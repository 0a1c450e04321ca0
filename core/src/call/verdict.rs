//! The error of a call, from its record.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::record::CallRecord;
use crate::exchange::text;
use crate::rpc::message::ErrorObject;
use crate::session::handshake::FlightFailure;
use crate::session::sessions::NoSession;
use crate::vocabulary::error::{Error, Failure, RpcFailure};
use crate::vocabulary::outcome::{Attempt, Execution, Kind, Phase, Verdict, merge};

/// What is not in the record.
#[derive(Default)]
pub(crate) struct Circumstances {
    pub(crate) reason: String,
    pub(crate) http_status: Option<u16>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) excerpt: Option<String>,
    pub(crate) source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What the attempts of a call prove together that ends without an answer to hand over.
pub(crate) fn without_answer(attempts: &[Attempt]) -> Verdict {
    match merge(attempts) {
        // An answer that could not be delivered says nothing of effects.
        Verdict { execution: Execution::Answered, .. } => Verdict::MAY_HAVE_EXECUTED,
        merged => merged,
    }
}

/// The call fails with what its attempts prove together.
pub(crate) fn failed(record: &CallRecord, kind: Kind, phase: Phase, circumstances: Circumstances) -> Error {
    let attempts = record.attempts();
    let Verdict { execution, proof, basis } = without_answer(&attempts);
    Error::from_failure(Failure {
        kind,
        execution,
        proof,
        proof_basis: basis,
        method: record.method.to_string(),
        name: record.name.clone(),
        phase,
        http_status: circumstances.http_status.or_else(|| attempts.last().and_then(|attempt| attempt.http_status)),
        retry_after: circumstances.retry_after,
        idempotency_key: record.idempotency_key.clone(),
        generation: attempts.last().and_then(|attempt| attempt.generation),
        reason: circumstances.reason,
        excerpt: circumstances.excerpt,
        repeatability: record.method.repeatability(),
        source: circumstances.source,
        attempts,
    })
}

/// The server answered with an error.
pub(crate) fn answered(record: &CallRecord, error: ErrorObject) -> Error {
    let attempts = record.attempts();
    Error::Answered(Box::new(RpcFailure {
        code: error.code,
        message: error.message,
        data: error.data,
        http_status: attempts.last().and_then(|attempt: &Attempt| attempt.http_status),
        kind: Kind::Rpc,
        execution: Execution::Answered,
        method: record.method.to_string(),
        name: record.name.clone(),
        idempotency_key: record.idempotency_key.clone(),
        attempts,
    }))
}

/// A call waits for a handshake.
pub(crate) struct Connecting {
    /// Why the latest try of it failed.
    pub(crate) trouble: Option<Arc<FlightFailure>>,
}

/// The server answered with a result that is none: JSON, but no object.
pub(crate) fn no_result(record: &CallRecord, result: Box<RawValue>) -> Error {
    let what = match result.get().as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    };
    let message = format!("its result is {what}, not an object");
    let error = ErrorObject { code: 0, message, data: Some(result), well_formed: false };
    match answered(record, error) {
        Error::Answered(failure) => Error::Answered(Box::new(RpcFailure { kind: Kind::Protocol, ..*failure })),
        error => error,
    }
}

/// The caller's clock, the caller or `close()` ended it, maybe while it waited for a handshake.
pub(crate) fn interrupted(record: &CallRecord, kind: Kind, phase: Phase, connecting: Option<&Connecting>) -> Error {
    let mut reason = text::of_interruption(kind).to_owned();
    if connecting.is_some() {
        reason = format!("{reason} while connecting to {}", record.server);
    }
    let trouble = connecting.and_then(|connecting| connecting.trouble.as_deref());
    let mut before = record.trouble().unwrap_or_default();
    if let Some(trouble) = trouble
        && !before.contains(&trouble.reason)
    {
        before = if before.is_empty() { trouble.reason.clone() } else { format!("{before}; then: {}", trouble.reason) };
    }
    if !before.is_empty() {
        reason = format!("{reason} (before that: {before})");
    }
    let circumstances = match trouble {
        Some(trouble) => circumstances(trouble, reason),
        None => Circumstances { reason, ..Circumstances::default() },
    };
    failed(record, kind, phase, circumstances)
}

/// There was no session to send it on.
pub(crate) fn without_session(record: &CallRecord, why: &NoSession) -> Error {
    match why {
        NoSession::Closed => interrupted(record, Kind::Closed, Phase::Queued, None),
        NoSession::Lost => {
            let reason = "the session was lost, and recover() was not called yet".to_owned();
            failed(record, Kind::SessionLost, Phase::Queued, Circumstances { reason, ..Circumstances::default() })
        }
        NoSession::Failed { failure, recovering } => {
            let (kind, reason) = if *recovering {
                let reason = format!(
                    "the session was lost and reconnecting to {} failed, because {}",
                    record.server, failure.reason
                );
                (Kind::RecoveryFailed, reason)
            } else {
                (failure.kind, format!("connecting to {} failed: {}", record.server, failure.reason))
            };
            failed(record, kind, Phase::Queued, circumstances(failure, reason))
        }
    }
}

fn circumstances(failure: &FlightFailure, reason: String) -> Circumstances {
    Circumstances {
        reason,
        http_status: failure.http_status,
        retry_after: failure.retry_after,
        excerpt: failure.excerpt.clone(),
        source: failure.source.clone(),
    }
}

/// The caller's cursor belongs to a session that is no longer the current one: it is not sent on this one.
pub(crate) fn cursor_outlived(record: &CallRecord) -> Error {
    let reason = "cursor: it was given on a session that was replaced, and means nothing on the new one: list again from the first page";
    failed(record, Kind::Config, Phase::Queued, Circumstances { reason: reason.to_owned(), ..Circumstances::default() })
}

/// The server's pages do not end. It answered each, so it handled the call; there is just no list in it.
pub(crate) fn paging_failed(record: &CallRecord, reason: &str) -> Error {
    let circumstances = Circumstances { reason: reason.to_owned(), ..Circumstances::default() };
    match failed(record, Kind::Protocol, Phase::Streaming, circumstances) {
        Error::NotExecuted(failure) => {
            let Verdict { execution, proof, basis } = Verdict::MAY_HAVE_EXECUTED;
            Error::from_failure(Failure { execution, proof, proof_basis: basis, ..*failure })
        }
        error => error,
    }
}
