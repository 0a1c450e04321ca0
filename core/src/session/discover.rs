//! `server/discover`: what the server is, what it offers and which versions it speaks (MCP 2026-07-28, server, discovery). It probes the
//! era, it verifies a connection that is in doubt, and it answers a ping. It executes nothing.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exchange::answer::{Answer, Limits, Position};
use crate::exchange::post::{ExchangeEnd, Post};
use crate::exchange::request::Request;
use crate::exchange::wire::{Unready, Wire};
use crate::protocol::era::MODERN_VERSION;
use crate::protocol::results::InitializeResult;
use crate::protocol::versions::{VERSIONS, supported};
use crate::rpc::params::Params;
use crate::session::Session;
use crate::session::router::Router;
use crate::transport::classify::{self, EraVerdict, HandshakeConclusion};
use crate::transport::probe::Probe;

/// The method, on the wire.
pub(crate) const DISCOVER: &str = "server/discover";

/// What was found.
pub(crate) enum Discovery {
    /// The server speaks our version of the modern era; this is what it said.
    Modern(InitializeResult),
    /// It speaks the handshake era, if anything.
    Legacy,
    /// It refused our version, and says that it speaks it: to be asked once more.
    AskAgain,
    /// It speaks neither; these it does.
    Neither(Vec<String>),
    /// Nothing; this is what to do about it.
    Nothing { conclusion: HandshakeConclusion, ended: ExchangeEnd, token: Option<u64> },
    /// The host gave no token or no headers.
    Unready(Unready),
}

/// One attempt, on these terms.
pub(crate) async fn discover(wire: &Wire, router: &Router, limits: Limits, session: &Arc<Session>) -> Discovery {
    let inbox = router.own(Some(session));
    let attempt = Post::of_client(wire, &inbox, limits, Some(&**session));
    let probe = Probe::new();
    let mut position = Position::default();
    let request = Request::new(DISCOVER, Params::none());
    let (ended, token) = attempt.run(request, probe.clone(), &mut position).await;
    let verdict = match (&ended, ended.end(&position)) {
        (_, Some(end)) => classify::probe(probe.body_taken(), end),
        // Nothing was tried.
        (_, None) => match ended {
            ExchangeEnd::Unready(unready) => return Discovery::Unready(unready),
            _ => EraVerdict::Legacy,
        },
    };
    match (verdict, ended) {
        (EraVerdict::None(conclusion), ended) => Discovery::Nothing { conclusion, ended, token },
        (EraVerdict::Legacy, _) => Discovery::Legacy,
        (
            EraVerdict::Discovered,
            ExchangeEnd::Head { answer: Answer::Result(raw), .. }
            | ExchangeEnd::Message { answer: Answer::Result(raw) },
        ) => of_result(raw),
        (
            EraVerdict::OtherVersions,
            ExchangeEnd::Head { answer: Answer::Error { error, .. }, .. }
            | ExchangeEnd::Message { answer: Answer::Error { error, .. } },
        ) => of_versions(supported(error.data.as_deref()), || Discovery::AskAgain),
        (EraVerdict::Discovered | EraVerdict::OtherVersions, _) => Discovery::Legacy,
    }
}

fn of_result(raw: Box<RawValue>) -> Discovery {
    #[derive(Deserialize)]
    struct Versions {
        #[serde(rename = "supportedVersions", default)]
        supported: Vec<String>,
    }
    let versions = serde_json::from_str(raw.get()).map_or_else(|_| Vec::new(), |Versions { supported }| supported);
    of_versions(versions, || Discovery::Modern(InitializeResult::of_discovery(raw)))
}

fn of_versions(versions: Vec<String>, ours: impl FnOnce() -> Discovery) -> Discovery {
    if versions.iter().any(|version| version == MODERN_VERSION) {
        ours()
    } else if versions.is_empty() || versions.iter().any(|version| VERSIONS.contains(&version.as_str())) {
        // A server that names none has not said which era it is of; `initialize` finds out.
        Discovery::Legacy
    } else {
        Discovery::Neither(versions)
    }
}
