//! Where messages go that come on the stream of an exchange, and are not its answer.

use crate::rpc::message::Message;

/// Takes them: requests and notifications of the server, progress, answers to other requests of ours.
pub(crate) trait Inbox: Send + Sync {
    /// One message, in the order in which they come.
    fn take(&self, message: Message);
}
