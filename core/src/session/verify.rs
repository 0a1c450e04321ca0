//! Verifying a session that may be gone: one request on it that executes nothing, before the next one that may.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::Session;
use crate::exchange::answer::{Limits, Position};
use crate::exchange::post::Post;
use crate::exchange::request::Request;
use crate::exchange::wire::Wire;
use crate::rpc::params::Params;
use crate::session::discover::{Discovery, discover};
use crate::session::router::Router;
use crate::transport::classify::{self, Ping};
use crate::transport::probe::Probe;

/// How long a verification may hold up the calls that wait for it. Silence proves nothing, and most sessions that are in doubt are well.
pub(crate) const VERIFY_PATIENCE: Duration = Duration::from_secs(2);

/// Pings on the session. False only if the server refuses the session; a ping that says nothing leaves it to the next request to find
/// out.
pub(crate) async fn verify(wire: &Wire, router: &Router, limits: Limits, session: &Arc<Session>) -> bool {
    if session.is_cut_off() {
        session.declare_gone();
        return false;
    }
    if session.is_modern() {
        return still_modern(wire, router, limits, session).await;
    }
    let verifying = async {
        let (said, token) = ping(wire, router, limits, session).await?;
        match token {
            Some(token) if matches!(said, Ping::Unauthorized { .. }) && wire.tokens.refresh(token).await.is_ok() => {
                ping(wire, router, limits, session).await.map(|(said, _)| said)
            }
            _ => Some(said),
        }
    };
    match timeout(VERIFY_PATIENCE, verifying).await.ok().flatten() {
        Some(Ping::Lost | Ping::Unauthorized { says_lost: true }) => {
            session.declare_gone();
            false
        }
        // Nobody has said that the session is gone: it gets its DELETE.
        Some(Ping::Refused) => {
            session.orphan();
            false
        }
        Some(Ping::Alive) => {
            session.note_life();
            true
        }
        Some(Ping::Unauthorized { says_lost: false } | Ping::Nothing) | None => true,
    }
}

/// Does the server still speak our version? Only a verdict against it counts, and one that contradicts itself is asked for again.
async fn still_modern(wire: &Wire, router: &Router, limits: Limits, session: &Arc<Session>) -> bool {
    let asking = async {
        match discover(wire, router, limits, session).await {
            Discovery::AskAgain => discover(wire, router, limits, session).await,
            discovery => discovery,
        }
    };
    !matches!(timeout(VERIFY_PATIENCE, asking).await, Ok(Discovery::Legacy | Discovery::Neither(_)))
}

/// What one ping says, and the serial of the token that it carried.
async fn ping(wire: &Wire, router: &Router, limits: Limits, session: &Arc<Session>) -> Option<(Ping, Option<u64>)> {
    let probe = Probe::new();
    let mut position = Position::default();
    let inbox = router.own(Some(session));
    let attempt = Post::of_client(wire, &inbox, limits, Some(&**session));
    let request = Request::new("ping", Params::none());
    let (ended, sent) = attempt.run_as(request, None, probe.clone(), &mut position).await;
    let (end, sent) = (ended.end(&position)?, sent?);
    let evidence = sent.evidence(wire, &**session, probe.body_taken(), false, end);
    Some((classify::ping(&evidence), sent.token))
}
