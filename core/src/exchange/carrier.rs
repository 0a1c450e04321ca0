//! The session that carries an exchange, as far as that has to know it.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::answer::Activity;
use super::request::Request;
use super::wire::Carried;
use crate::protocol::era::Lifecycle;
use crate::rpc::params::Params;

/// How the GET stream of a session stands, for those whose answer may come on it.
#[derive(Clone, Debug, Default)]
pub(crate) enum Hearing {
    #[default]
    Closed,
    /// It was asked for.
    Opening,
    /// It is open; when its last byte came.
    Open(Arc<Activity>),
}

/// A session, as its requests see it.
pub(crate) trait Carrier: Send + Sync {
    /// What every request on it carries.
    fn carried(&self) -> Carried;

    /// What a request carries outside of its body, and its params with what they have to say in this era.
    fn dress(&self, request: Request<'_>) -> (Carried, Params);

    fn has_id(&self) -> bool;

    /// The era that it is of.
    fn lifecycle(&self) -> Lifecycle;

    /// Cancelled when silence on it is borne no longer than `orphan_timeout`.
    fn orphaned(&self) -> &CancellationToken;

    /// How its GET stream stands.
    fn hearing(&self) -> watch::Receiver<Hearing>;
}
