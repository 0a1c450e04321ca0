//! Telling the server that nobody waits for a request any more.

use std::sync::Arc;

use serde_json::json;

use super::engine::Engine;
use super::record::InFlightToCancel;
use crate::exchange::carrier::Carrier;
use crate::rpc::message::notification_bytes;
use crate::rpc::params::Params;

/// `notifications/cancelled` for a request that may be running (MCP 2025-11-25, basic, utilities, cancellation), on the session that
/// carried it. One attempt, nobody waits for it.
pub(crate) fn tell_cancelled(engine: &Arc<Engine>, in_flight: InFlightToCancel) {
    let InFlightToCancel { id, session } = in_flight;
    // In the modern era the end of the stream is the cancellation (MCP 2026-07-28, basic, cancellation).
    if session.is_modern() || session.gone().is_cancelled() {
        return;
    }
    let wire = Arc::clone(&engine.wire);
    drop(engine.wire.background.spawn(async move {
        let params = json!({ "requestId": id, "reason": "the caller no longer waits" });
        let params = Params::from_value("params", &params).unwrap_or_default();
        let body = notification_bytes("notifications/cancelled", &params);
        // Whatever the answer, there is nothing more to do.
        let _ = wire.notify(session.carried(), body).await;
    }));
}
