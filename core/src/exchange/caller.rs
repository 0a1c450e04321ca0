//! The call that waits for an exchange, as far as what lies below calls has to know it.

use std::sync::Arc;

use http::StatusCode;
use tokio_util::sync::CancellationToken;

use super::wire::Identity;
use crate::vocabulary::clock::CallClock;
use crate::vocabulary::counter::Held;
use crate::vocabulary::handler::{CallHandler, Progress};

/// A call, told of the attempt of it that is in flight.
pub(crate) trait Caller: Send + Sync {
    fn clock(&self) -> &Arc<CallClock>;

    /// The attempt goes out under this identity; its token is held, if it carries one.
    fn goes_out_as(&self, identity: Identity, token: Option<Held>);

    /// The answer to its POST began, with a head that has this status where the binding has heads.
    fn saw_head(&self, status: Option<StatusCode>);

    /// Evidence that it is being carried out.
    fn saw_execution(&self);

    /// A progress notification of the call.
    fn progress(&self, progress: &Progress);

    /// Who answers what the server asks while it carries the call out, if not the client's handlers.
    fn on_request(&self) -> Option<CallHandler>;

    /// Cancelled when the attempt is over; at once if there is none.
    fn over(&self) -> CancellationToken;
}
