//! Cases that are no vectors: many clients, the process itself, TLS, proxies. All on real sockets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod dropped;
mod handshake;
mod proxy;
mod runtime;
mod tls;
mod tls_front;

use oncewire_tests::server::{FaultServer, Options, Rule, Script};
use serde_json::Value;

/// A server with these rules.
async fn server(options: Options, rules: Value) -> FaultServer {
    let rules: Vec<Rule> = serde_json::from_value(rules).unwrap();
    FaultServer::start(Script { options, rules }).await.unwrap()
}
