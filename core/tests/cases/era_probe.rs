//! Which era does the server speak? What the answer to `server/discover` says, how often it is asked for, and how long the answer holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Era, Execution, Kind, Lifecycle};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{NOTHING, builder, either_era, failure, hang, milliseconds, scripted, seconds};

type Script = fn(&Arrival) -> Result<Reply, Cause>;

/// The first `times` probes get this answer, the rest is healthy.
fn probed(server: &Server, times: usize, answer: Script) -> Arc<Scripted> {
    scripted(server, move |arrival, nth| async move {
        (arrival.method() == "server/discover" && nth < times).then(|| {
            arrival.take();
            answer(&arrival)
        })
    })
}

fn error(status: u16, arrival: &Arrival, code: i64) -> Result<Reply, Cause> {
    Ok(Reply::json(status, &arrival.error_message(code, "no")))
}

#[tokio::test(start_paused = true)]
async fn what_a_server_of_the_handshake_era_answers_leads_to_a_handshake() {
    let answers: [Script; 13] = [
        |_| Ok(Reply::new(400)),
        |_| Ok(Reply::text(404, "not here")),
        |_| Ok(Reply::new(405)),
        |_| Ok(Reply::new(422)),
        |arrival| error(400, arrival, -32_600),
        |arrival| error(404, arrival, -32_601),
        |arrival| error(200, arrival, -32_602),
        |_| Ok(Reply::new(200).header("content-type", "text/html").chunk("<html>hello</html>")),
        |_| Ok(Reply::new(202)),
        |_| Ok(Reply::event_stream()),
        |arrival| Ok(arrival.result(&json!({}))),
        |arrival| Ok(arrival.result(&json!({ "supportedVersions": ["2025-11-25", "1999-01-01"] }))),
        |arrival| Ok(Server::other_versions(arrival, &["2025-06-18"])),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let server = Server::new();
        let exchange = probed(&server, usize::MAX, answer);
        let client = either_era(&exchange).connect().await.unwrap();
        client.call_tool("poke", NOTHING).await.unwrap();
        assert_eq!((client.era(), client.generation()), (Some(Lifecycle::Legacy), 1), "answer {number}");
        let expected = ["server/discover", "initialize", "notifications/initialized", "tools/call"];
        assert_eq!(exchange.ledger().methods(), expected, "answer {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_stood_in_the_way_is_an_error_and_never_a_verdict() {
    let answers: [(Kind, usize, Script); 10] = [
        (Kind::Auth, 1, |_| Ok(Reply::new(401).header("www-authenticate", "Bearer"))),
        (Kind::Auth, 1, |_| Ok(Reply::new(403))),
        (Kind::Auth, 1, |_| Ok(Reply::new(407))),
        (Kind::Redirect, 1, |_| Ok(Reply::new(302).header("location", "http://other.test/"))),
        (Kind::HttpStatus, 2, |_| Ok(Reply::new(500))),
        (Kind::ConnectionClosed, 2, |_| Err(Cause::Closed)),
        (Kind::ConnectionClosed, 2, |_| {
            Ok(Reply::new(200).header("content-type", "application/json").chunk("{\"json").broken(Cause::Reset))
        }),
        (Kind::Rpc, 1, |arrival| error(400, arrival, -32_020)),
        (Kind::Rpc, 1, |arrival| error(400, arrival, -32_021)),
        (Kind::Protocol, 1, |arrival| Ok(Server::other_versions(arrival, &["2031-01-01"]))),
    ];
    for (number, (kind, probes, answer)) in answers.into_iter().enumerate() {
        let server = Server::new();
        let exchange = probed(&server, usize::MAX, answer);
        let failure = failure(either_era(&exchange).connect().await);
        assert_eq!((failure.kind, failure.execution), (kind, Execution::NotExecuted), "answer {number}");
        assert_eq!(exchange.ledger().methods(), vec!["server/discover"; probes], "answer {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_gives_no_verdict_however_long_it_is_asked() {
    for (status, kind) in [(429, Kind::RateLimited), (502, Kind::Gateway), (503, Kind::Gateway), (504, Kind::Gateway)] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, _| async move {
            (arrival.method() == "server/discover").then(|| Ok(Reply::text(status, "not now")))
        });
        let began = Instant::now();
        let failure = failure(either_era(&exchange).connect().await);
        assert_eq!((failure.kind, failure.http_status), (kind, Some(status)));
        let took = began.elapsed();
        assert!(took >= seconds(10) && took < seconds(12), "{took:?}");
        assert_eq!(exchange.ledger().count("initialize"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_try_may_bring_the_verdict() {
    for status in [429, 500, 502] {
        let server = Server::modern();
        let exchange = scripted(&server, move |arrival, nth| async move {
            (arrival.method() == "server/discover" && nth == 0).then(|| Ok(Reply::new(status)))
        });
        let client = either_era(&exchange).connect().await.unwrap();
        assert_eq!(client.era(), Some(Lifecycle::Modern), "{status}");
        assert_eq!(exchange.ledger().methods(), ["server/discover"; 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_has_two_tries_and_is_no_verdict() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "server/discover" { hang(&arrival).await } else { None }
    });
    let began = Instant::now();
    assert_eq!(failure(either_era(&exchange).connect().await).kind, Kind::Timeout);
    assert!(began.elapsed() >= seconds(60) && began.elapsed() < seconds(61));
    assert_eq!(exchange.ledger().methods(), ["server/discover"; 2]);
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dead_port_is_knocked_at_until_patience_ends_and_then_asked() {
    let server = Server::modern();
    let up = Instant::now() + seconds(7);
    let exchange = scripted(&server, move |_, _| async move { (Instant::now() < up).then_some(Err(Cause::Refused)) });
    let client = either_era(&exchange).connect().await.unwrap();
    assert_eq!(client.era(), Some(Lifecycle::Modern));
    let dead = scripted(&server, |_, _| async move { Some(Err(Cause::Refused)) });
    let began = Instant::now();
    assert_eq!(failure(either_era(&dead).connect().await).kind, Kind::Connect);
    assert!(began.elapsed() >= seconds(10) && began.elapsed() <= seconds(12));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_version_that_it_says_it_speaks_is_asked_for_once_more() {
    let contradiction: Script = |arrival| Ok(Server::other_versions(arrival, &["2026-07-28"]));
    let exchange = probed(&Server::modern(), 1, contradiction);
    let client = either_era(&exchange).connect().await.unwrap();
    assert_eq!((client.era(), exchange.ledger().len()), (Some(Lifecycle::Modern), 2));
    let exchange = probed(&Server::modern(), usize::MAX, contradiction);
    assert_eq!(failure(either_era(&exchange).connect().await).kind, Kind::Protocol);
    assert_eq!(exchange.ledger().methods(), ["server/discover"; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_renewed_once_and_says_nothing_of_the_era() {
    for (server, era) in [(Server::new(), "legacy"), (Server::modern(), "modern")] {
        let exchange = scripted(&server, |arrival, _| async move {
            let old = arrival.header("authorization") != Some("Bearer token-1");
            old.then(|| Ok(Reply::new(401).header("www-authenticate", "Bearer")))
        });
        let count = Arc::new(AtomicUsize::new(0));
        let given = Arc::clone(&count);
        let client = either_era(&exchange)
            .token_provider(move |_| {
                let number = given.fetch_add(1, Ordering::Relaxed);
                async move { Ok(format!("token-{number}")) }
            })
            .connect()
            .await
            .unwrap();
        assert_eq!((client.era().map(Lifecycle::as_str), count.load(Ordering::Relaxed)), (Some(era), 2));
        assert_eq!(exchange.ledger().count("server/discover"), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn who_names_the_era_is_not_second_guessed() {
    let (legacy, modern) = (Server::new(), Server::modern());
    let exchange = legacy.exchange();
    let refused = failure(builder(&exchange).era(Era::Modern).connect().await);
    assert_eq!(refused.kind, Kind::Protocol);
    assert_eq!(exchange.ledger().methods(), ["server/discover"], "no handshake");
    let exchange = modern.exchange();
    let refused = failure(builder(&exchange).era(Era::Legacy).connect().await);
    assert_eq!(refused.kind, Kind::Rpc);
    assert_eq!(exchange.ledger().methods(), ["initialize"], "no probe");
    let client = builder(&modern.exchange()).era(Era::Modern).connect().await.unwrap();
    assert_eq!(client.protocol_version().as_deref(), Some("2026-07-28"));
    assert_eq!(client.server_info().unwrap()["name"], "scripted");
}

#[tokio::test(start_paused = true)]
async fn the_verdict_is_kept_so_that_a_recovery_costs_no_probe() {
    let server = Server::new();
    let exchange = server.exchange();
    let client = either_era(&exchange).connect().await.unwrap();
    for _ in 0..3 {
        server.forget_sessions();
        client.call_tool("poke", NOTHING).await.unwrap();
    }
    client.recover().await.unwrap();
    assert_eq!((exchange.ledger().count("server/discover"), exchange.ledger().count("initialize")), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn a_flight_that_fails_forgets_the_verdict_unless_it_was_never_sent() {
    for sent in [true, false] {
        let server = Server::new();
        let exchange = scripted(&server, move |arrival, nth| async move {
            if arrival.method() != "initialize" || !(1..3).contains(&nth) {
                return None;
            }
            Some(if sent { Ok(Reply::new(500)) } else { Err(Cause::Refused) })
        });
        let client = either_era(&exchange).connect_patience(milliseconds(0)).connect().await.unwrap();
        server.forget_sessions();
        assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::RecoveryFailed);
        if sent {
            server.change_era(Lifecycle::Modern);
        } else {
            assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::RecoveryFailed);
        }
        client.call_tool("poke", NOTHING).await.unwrap();
        assert_eq!(client.era().map(Lifecycle::as_str), Some(if sent { "modern" } else { "legacy" }));
        assert_eq!(exchange.ledger().count("server/discover"), if sent { 2 } else { 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_a_gateway_gave_is_not_believed_once_the_handshake_fails() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            ("server/discover", 0) => Some(Ok(Reply::text(404, "no upstream"))),
            ("initialize", 0) => Some(Ok(Reply::text(502, "no upstream"))),
            _ => None,
        }
    });
    let client = either_era(&exchange).connect().await.unwrap();
    assert_eq!(client.era(), Some(Lifecycle::Modern));
    assert_eq!(exchange.ledger().methods(), ["server/discover", "initialize", "server/discover"]);
}
