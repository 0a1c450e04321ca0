//! Is a suspect session alive? One ping on it says so; in the modern era, one `server/discover`.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::Session;
use crate::call::attempt::{Attempt, Request};
use crate::era::discover::{Discovery, discover};
use crate::rpc::params::Params;
use crate::rpc::router::Router;
use crate::transport::answer::{Limits, Position};
use crate::transport::classify::{self, Class, Conclusion, Evidence};
use crate::transport::probe::Probe;
use crate::transport::wire::Wire;

/// Pings on the session. False only if the server refuses the session, or makes it suspect again; a ping that says nothing leaves it
/// to the next request to find out.
pub(crate) async fn verify(
    wire: &Wire,
    router: &Router,
    limits: Limits,
    session: &Arc<Session>,
    patience: Duration,
) -> bool {
    if session.is_modern() {
        return still_modern(wire, router, limits, session, patience).await;
    }
    let verifying = async {
        let (class, token) = ping(wire, router, limits, session).await?;
        // A token that has expired looks like a lost session to a server that sends no challenge.
        let refused = matches!(class, Class::Unauthorized | Class::SessionSuspect);
        match token {
            Some(token) if refused && wire.tokens.refresh(token).await.is_ok() => {
                ping(wire, router, limits, session).await.map(|(class, _)| class)
            }
            _ => Some(class),
        }
    };
    let class = timeout(patience, verifying).await.ok().flatten();
    if class == Some(Class::SessionRejected) {
        session.declare_gone();
    }
    !matches!(class, Some(Class::SessionRejected | Class::SessionSuspect))
}

/// Does the server still speak our version? Only a verdict against it counts, and one that contradicts itself is asked for again.
async fn still_modern(
    wire: &Wire,
    router: &Router,
    limits: Limits,
    session: &Arc<Session>,
    patience: Duration,
) -> bool {
    let asking = async {
        match discover(wire, router, limits, session).await {
            Discovery::AskAgain => discover(wire, router, limits, session).await,
            discovery => discovery,
        }
    };
    !matches!(timeout(patience, asking).await, Ok(Discovery::Legacy | Discovery::Neither(_)))
}

async fn ping(wire: &Wire, router: &Router, limits: Limits, session: &Arc<Session>) -> Option<(Class, Option<u64>)> {
    let probe = Probe::new();
    let mut position = Position::default();
    let attempt = Attempt::of_client(wire, router, limits, Some(session));
    let (ended, token) = attempt.run(Request::new("ping", Params::none()), probe.clone(), &mut position).await;
    let end = ended.end(&position)?;
    let carried_session = session.has_id();
    let lifecycle = session.lifecycle();
    let evidence = Evidence { carried_session, lifecycle, body_taken: probe.body_taken(), end };
    let Conclusion { class, .. } = classify::call(&evidence);
    Some((class, token))
}
