//! What the sessions have to do with the streams that are listened on.

use std::sync::Arc;

use super::Session;
use super::listener::Doubts;
use super::sessions::Sessions;
use super::subscriptions::wishes::Subscriptions;

impl Doubts for Sessions {
    fn suspect(self: Arc<Self>, session: &Session) {
        Self::suspect(&self, session);
    }

    fn verify_at_once(self: Arc<Self>, session: &Session) {
        Self::verify_at_once(&self, session);
    }
}

impl Sessions {
    pub(crate) fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.listener.subscriptions
    }
}
