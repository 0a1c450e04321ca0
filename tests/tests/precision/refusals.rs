//! Refusals: of everything, which a twin confirms; of one request alone, which nothing does; and those that only our own login can have caused.

use oncewire::ClientBuilder;
use oncewire_tests::server::{FaultServer, Options, Rule};
use serde_json::{Value, json};

use crate::kinds::{CALLS, Kind, met, server};
use crate::measure::{Calls, Group, Tally, Until, Watched};

/// The refusals that a client took at their word before it had twins.
fn refusals() -> Vec<(String, Value)> {
    let respond = |status: u16, text: &str| json!({"respond": {"status": status, "text": text}});
    let mut all = Vec::new();
    for status in [400, 402, 403, 405, 406, 407, 411, 413, 414, 415, 417, 421, 422, 426, 431] {
        all.push((format!("HTTP {status}"), respond(status, "no")));
    }
    for status in [307, 308] {
        all.push((
            format!("HTTP {status} elsewhere"),
            json!({"redirect": {"status": status, "to": "http://127.0.0.2:1/"}}),
        ));
    }
    for status in [404, 410] {
        all.push((format!("HTTP {status}, session"), respond(status, "")));
    }
    all.push(("HTTP 400, session wording".to_owned(), respond(400, "Bad Request: No valid session ID provided")));
    all.push(("HTTP 401".to_owned(), json!({"unauthorized": {"challenge": true}})));
    all.push(("HTTP 401 without a challenge".to_owned(), json!({"unauthorized": {"challenge": false}})));
    all.push(("HTTP 429".to_owned(), json!({"respond": {"status": 429, "headers": {"Retry-After": "3600"}}})));
    all
}

pub(crate) async fn all(kinds: &mut Vec<Kind>) {
    let as_is = |builder: ClientBuilder| builder;
    for http2 in [false, true] {
        for (kind, act) in refusals() {
            kinds.push(
                standing(Group::Confirmed, &kind, json!(["tools/call", "ping", "tools/list"]), &act, http2).await,
            );
            let kind = format!("{kind}, a ping answered");
            kinds.push(met(Group::Alone, kind, json!([act]), Until::Itself, http2, as_is).await);
        }
        kinds.push((Group::Confirmed, "session lost, recovered".to_owned(), lost(http2).await));
        for (kind, status, challenge) in [
            ("HTTP 401 of our own login, no token", 401, "Bearer"),
            ("HTTP 403 of our own login, scope", 403, "Bearer error=\"insufficient_scope\", scope=\"more\","),
            ("HTTP 401 of our own login, nonce", 401, "DPoP error=\"use_dpop_nonce\","),
        ] {
            let challenge =
                format!("{challenge} resource_metadata=\"$origin/.well-known/oauth-protected-resource/mcp\"");
            let headers = json!({"WWW-Authenticate": challenge, "DPoP-Nonce": "n-1"});
            let act = json!({"respond": {"status": status, "headers": headers}});
            kinds.push(standing(Group::Protocol, kind, json!("tools/call"), &act, http2).await);
        }
    }
}

/// Everything of these methods is refused like this. Each call has a client of its own: how often one may ask whether a login is refused is
/// another matter.
async fn standing(group: Group, kind: &str, methods: Value, act: &Value, http2: bool) -> Kind {
    let mut total = Tally::default();
    for _ in 0..CALLS {
        let server = server(Options::default(), json!([])).await;
        let watched = Watched::default();
        let builder = watched.builder(server.url());
        let client = if http2 { builder.http2_only() } else { builder }.connect().await.unwrap();
        let rules: Vec<Rule> = serde_json::from_value(json!([{"when": {"rpc": methods}, "do": [act]}])).unwrap();
        server.add_rules(rules);
        let mut calls = Calls::default();
        calls.poke(&client, &watched, Until::Itself).await;
        total.add(calls.judge(&watched, &server));
        client.close().await;
    }
    (group, kind.to_owned(), total)
}

/// The server forgets the session before each call.
async fn lost(http2: bool) -> Tally {
    let server = FaultServer::healthy().await.unwrap();
    let watched = Watched::default();
    let builder = watched.builder(server.url());
    let client = if http2 { builder.http2_only() } else { builder }.connect().await.unwrap();
    let mut calls = Calls::default();
    for _ in 0..CALLS {
        server.forget_sessions();
        calls.poke(&client, &watched, Until::Itself).await;
    }
    let tally = calls.judge(&watched, &server);
    client.close().await;
    tally
}
