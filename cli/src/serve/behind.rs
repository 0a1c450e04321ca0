//! What stands behind a session: a process of its own, or a place at the one that all share.

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::process::Process;
use super::shared::Member;

/// What a session speaks to.
#[derive(Debug)]
pub(super) enum Behind {
    Own(Process),
    Shared(Member),
}

impl Behind {
    /// Sends it a message of the client. False if it is gone.
    pub(super) async fn send(&self, message: Bytes) -> bool {
        match self {
            Self::Own(process) => process.send(message).await,
            Self::Shared(member) => member.send(&message).await,
        }
    }

    /// The session is over: what is its own ends with it.
    pub(super) fn end(&self) {
        match self {
            Self::Own(process) => process.end(),
            Self::Shared(member) => member.leave(),
        }
    }

    /// Cancelled when the process is gone.
    pub(super) fn gone(&self) -> &CancellationToken {
        match self {
            Self::Own(process) => &process.gone,
            Self::Shared(member) => member.gone(),
        }
    }
}
