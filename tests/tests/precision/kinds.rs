//! Every kind of fault that keeps a request from running.

use std::time::Duration;

use oncewire::{Client, ClientBuilder};
use oncewire_tests::server::{Cut, FaultServer, Options, Rule, Script};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::measure::{Calls, Group, Tally, Until, Watched};
use crate::refusals;
use crate::tls_front::{Authority, TlsFront};

/// Calls for each kind.
pub(crate) const CALLS: usize = 5;

pub(crate) type Kind = (Group, String, Tally);

pub(crate) async fn server(options: Options, rules: Value) -> FaultServer {
    let rules: Vec<Rule> = serde_json::from_value(rules).unwrap();
    FaultServer::start(Script { options, rules }).await.unwrap()
}

/// A connected client whose `poke` meets this, and nothing else does, again and again.
pub(crate) async fn met(
    group: Group,
    kind: impl Into<String>,
    acts: Value,
    until: Until,
    http2: bool,
    settings: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Kind {
    let server = server(Options::default(), json!([{"when": {"name": "poke"}, "do": acts}])).await;
    let watched = Watched::default();
    let builder = settings(watched.builder(server.url()));
    let client = if http2 { builder.http2_only() } else { builder }.connect().await.unwrap();
    let mut calls = Calls::default();
    for _ in 0..CALLS {
        calls.poke(&client, &watched, until).await;
    }
    let tally = calls.judge(&watched, &server);
    client.close().await;
    (group, kind.into(), tally)
}

pub(crate) async fn all() -> Vec<Kind> {
    let mut kinds = Vec::new();
    refusals::all(&mut kinds).await;
    gone_away(&mut kinds).await;
    unreachable(&mut kinds).await;
    kinds.push(port_closed().await);
    for until in [Until::Deadline(150), Until::Dropped(150)] {
        kinds.push(slot(until).await);
        kinds.push(handshake(until).await);
    }
    kinds.push(closed().await);
    kinds.push(recovery_fails().await);
    for http2 in [false, true] {
        kinds.push(stale(http2, Cut::Close).await);
        kinds.push(stale(http2, Cut::Reset).await);
        taken(&mut kinds, http2).await;
    }
    kinds
}

/// A GOAWAY below the stream of the request says that it was not processed.
async fn gone_away(kinds: &mut Vec<Kind>) {
    let go_away = |error: &str| json!({"go_away": {"last": "below", "error": error}});
    for (kind, acts) in [
        ("GOAWAY below", json!([go_away("no_error"), "hold"])),
        ("GOAWAY below, then closed", json!([go_away("internal_error"), "close"])),
    ] {
        kinds.push(met(Group::Certain, kind, acts, Until::Itself, true, |builder| builder.listen(false)).await);
    }
}

/// Clients of ports at which no request can arrive.
async fn unreachable(kinds: &mut Vec<Kind>) {
    let server = FaultServer::healthy().await.unwrap();
    let dead = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    // It listens, and nobody accepts.
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let silent_port = silent.local_addr().unwrap().port();
    let front = TlsFront::start(&Authority::new(), false, &["http/1.1"], server.port()).await;
    let plain = server.url().replace("http://", "https://");
    let urls = [
        ("connection refused", format!("http://127.0.0.1:{dead}/mcp")),
        ("TLS is never answered", format!("https://127.0.0.1:{silent_port}/mcp")),
        ("TLS to a plain port", plain),
        ("unknown authority", front.url.clone()),
        ("proxy refuses the connection", server.url().to_owned()),
    ];
    for (kind, url) in urls {
        let watched = Watched::default();
        let builder = watched.builder(&url).connect_timeout(Duration::from_millis(100));
        let builder = match kind {
            "proxy refuses the connection" => builder.proxy(format!("http://127.0.0.1:{dead}")),
            _ => builder,
        };
        let client = builder.build().unwrap();
        let mut calls = Calls::default();
        for _ in 0..CALLS {
            calls.poke(&client, &watched, Until::Itself).await;
        }
        kinds.push((Group::Certain, kind.to_owned(), calls.judge(&watched, &server)));
        client.close().await;
    }
}

/// The server is gone when the call begins, and the client knows it.
async fn port_closed() -> Kind {
    let mut total = Tally::default();
    for _ in 0..CALLS {
        let server = FaultServer::healthy().await.unwrap();
        let watched = Watched::default();
        let client = watched.builder(server.url()).connect().await.unwrap();
        server.go_down().await;
        let mut calls = Calls::default();
        // What comes first may meet the race that is measured as such.
        let _ = client.ping().timeout(Duration::from_millis(100)).await;
        calls.poke(&client, &watched, Until::Itself).await;
        total.add(calls.judge(&Watched::default(), &server));
        client.close().await;
    }
    (Group::Certain, "port closed after the handshake".to_owned(), total)
}

/// All streams of the connection are taken, and the caller does not wait any longer.
async fn slot(until: Until) -> Kind {
    let options = Options {
        max_concurrent_streams: Some(1),
        get: oncewire_tests::server::GetStream::NotAllowed,
        ..Options::default()
    };
    let server = server(options, json!([{"when": {"name": "slow"}, "do": [{"mark": "slow"}, "hold"]}])).await;
    let watched = Watched::default();
    let client = watched.builder(server.url()).http2_only().connect().await.unwrap();
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("slow", Value::Null).await }
    });
    server.reached("slow", 1).await;
    let mut calls = Calls::default();
    for _ in 0..CALLS {
        calls.poke(&client, &watched, until).await;
    }
    slow.abort();
    client.ping().await.unwrap();
    let tally = calls.judge(&watched, &server);
    client.close().await;
    (Group::Certain, format!("no free stream, {}", how(until)), tally)
}

/// The handshake takes longer than the caller waits.
async fn handshake(until: Until) -> Kind {
    let server =
        server(Options::default(), json!([{"when": {"rpc": "initialize"}, "do": [{"delay_ms": 1500}, "answer"]}]))
            .await;
    let watched = Watched::default();
    let client = watched.builder(server.url()).build().unwrap();
    let mut calls = Calls::default();
    for _ in 0..CALLS {
        calls.poke(&client, &watched, until).await;
    }
    let tally = calls.judge(&watched, &server);
    client.close().await;
    (Group::Certain, format!("handshake under way, {}", how(until)), tally)
}

fn how(until: Until) -> &'static str {
    match until {
        Until::Itself => "its own end",
        Until::Deadline(_) => "deadline",
        Until::Dropped(_) => "cancelled",
    }
}

async fn closed() -> Kind {
    let server = FaultServer::healthy().await.unwrap();
    let watched = Watched::default();
    let client: Client = watched.builder(server.url()).connect().await.unwrap();
    client.close().await;
    let mut calls = Calls::default();
    for _ in 0..CALLS {
        calls.poke(&client, &watched, Until::Itself).await;
    }
    (Group::Certain, "client closed".to_owned(), calls.judge(&watched, &server))
}

async fn recovery_fails() -> Kind {
    let rules = json!([{"when": {"rpc": "initialize"}, "skip": 1, "do": [{"respond": {"status": 500}}]}]);
    let server = server(Options::default(), rules).await;
    let watched = Watched::default();
    let client = watched.builder(server.url()).connect().await.unwrap();
    server.forget_sessions();
    let mut calls = Calls::default();
    for _ in 0..CALLS {
        calls.poke(&client, &watched, Until::Itself).await;
    }
    let tally = calls.judge(&watched, &server);
    client.close().await;
    (Group::Confirmed, "session lost, recovery fails".to_owned(), tally)
}

/// The server closes an idle connection, and the next call begins at once.
async fn stale(http2: bool, how: Cut) -> Kind {
    (Group::Raced, "idle connection ended as the call begins".to_owned(), race(http2, how, false).await)
}

pub(crate) async fn race(http2: bool, how: Cut, fresh: bool) -> Tally {
    let server = FaultServer::healthy().await.unwrap();
    let watched = Watched::default();
    let builder = watched.builder(server.url()).listen(false).fresh_connection(fresh);
    let client = if http2 { builder.http2_only() } else { builder }.connect().await.unwrap();
    let mut calls = Calls::default();
    for _ in 0..5 * CALLS {
        client.ping().await.unwrap();
        server.cut_connections(how);
        calls.poke(&client, &watched, Until::Itself).await;
    }
    let tally = calls.judge(&watched, &server);
    client.close().await;
    tally
}

/// From outside these look like calls that ran.
async fn taken(kinds: &mut Vec<Kind>, http2: bool) {
    let as_is = |builder: ClientBuilder| builder;
    let mut take = async |kind: &str, acts: Value, until: Until| {
        kinds.push(
            met(if kind == "REFUSED_STREAM" { Group::Alone } else { Group::Taken }, kind, acts, until, http2, as_is)
                .await,
        );
    };
    take("whole request, then closed", json!(["close"]), Until::Itself).await;
    take("whole request, then reset", json!(["reset"]), Until::Itself).await;
    take("head, then closed", json!([{"comment": "x"}, {"delay_ms": 10}, "close"]), Until::Itself).await;
    for code in [500, 502, 503, 504] {
        take(&format!("HTTP {code}"), json!([{"respond": {"status": code, "text": "no"}}]), Until::Itself).await;
    }
    take("HTTP 202", json!([{"respond": {"status": 202}}]), Until::Itself).await;
    take("silent, deadline", json!(["hold"]), Until::Deadline(60)).await;
    take("silent, cancelled", json!(["hold"]), Until::Dropped(60)).await;
    if http2 {
        take("REFUSED_STREAM", json!([{"reset_stream": "refused_stream"}]), Until::Itself).await;
        take("RST_STREAM CANCEL", json!([{"reset_stream": "cancel"}]), Until::Itself).await;
        take("GOAWAY with our stream, then closed", json!([{"go_away": {"last": "newest"}}, "close"]), Until::Itself)
            .await;
    }
}
