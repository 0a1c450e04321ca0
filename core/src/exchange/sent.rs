//! What a request carried, which says what its end is evidence of.

use std::sync::Arc;

use super::carrier::Carrier;
use super::wire::Wire;
use crate::transport::classify::{EndFacts, Evidence};
use crate::transport::headers::Standing;

/// What a request carried besides its body.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The serial of its token.
    pub(crate) token: Option<u64>,
    pub(crate) standing: Arc<Standing>,
}

impl Sent {
    /// Has the client done nothing since that may have ended the token? `renewals` is how often it had done so when a twin was heard.
    pub(crate) fn left_its_token_alone(&self, renewals: Option<u64>) -> bool {
        self.standing.authorization.is_none() || renewals.is_some() && renewals == self.standing.renewals
    }

    /// Is it the same to a server that asks who sends it and on which session?
    pub(crate) fn has_the_identity_of(&self, other: &Self) -> bool {
        self.standing.has_the_identity_of(&other.standing)
    }

    /// Is it the same to a server that counts failed logins?
    pub(crate) fn has_the_token_of(&self, other: &Self) -> bool {
        self.standing.has_the_token_of(&other.standing)
    }

    /// The evidence of the attempt that carried this and ended so; `None` if nothing was tried. `seen` tells that something of it was.
    pub(crate) fn evidence<'a>(
        &self,
        wire: &'a Wire,
        session: &dyn Carrier,
        body_taken: bool,
        seen: bool,
        end: EndFacts<'a>,
    ) -> Evidence<'a> {
        Evidence {
            carried_session: session.has_id(),
            lifecycle: session.lifecycle(),
            body_taken,
            url: wire.url(),
            login: self.standing.login(),
            seen,
            end,
        }
    }
}
