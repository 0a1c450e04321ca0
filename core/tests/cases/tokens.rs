//! The caller's token: asked for once, however many calls saw it refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use oncewire::transport::scripted::{Reply, Scripted, Server};
use oncewire::{Client, ClientBuilder, Execution, Kind, Proof};
use test_case::test_case;
use tokio::time::{Instant, sleep};

use crate::support::{Log, NOTHING, at_once, builder, failure, milliseconds, scripted, seconds};

/// How long the twin of a refused token waits for others that were refused with the same one.
const TWIN_OF_A_LOGIN: Duration = Duration::from_millis(25);

/// How long a failure of the provider stands for one refused token.
const FAILURE_STANDS: Duration = Duration::from_secs(5);

/// A server that takes only the token of this number, once it is told to, and a client whose provider hands out `token-1`, `token-2`, …
struct Guarded {
    exchange: Arc<Scripted>,
    accepted: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
}

impl Guarded {
    fn new(server: &Server) -> Self {
        let accepted = Arc::new(AtomicUsize::new(1));
        let exchange = scripted(server, {
            let accepted = Arc::clone(&accepted);
            move |arrival, _| {
                let right = format!("Bearer token-{}", accepted.load(Ordering::Relaxed));
                async move {
                    let refused = arrival.header("authorization") != Some(&*right);
                    refused.then(|| Ok(Reply::new(401).header("www-authenticate", "Bearer")))
                }
            }
        });
        Self { exchange, accepted, asked: Arc::default() }
    }

    fn builder(&self) -> ClientBuilder {
        let asked = Arc::clone(&self.asked);
        builder(&self.exchange).token_provider(move |_| {
            let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                sleep(milliseconds(50)).await;
                Ok(format!("token-{number}"))
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn eight_calls_that_saw_the_refusal_cost_one_new_token() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let client = guarded.builder().connect().await.unwrap();
    guarded.accepted.store(2, Ordering::Relaxed);
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("poke", NOTHING).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(guarded.asked.load(Ordering::Relaxed), 2);
    let sent = guarded.exchange.ledger().count("tools/call");
    assert!(
        server.executed("poke") == 8 && (9..=16).contains(&sent),
        "no call goes out with a token that is in doubt: {sent}"
    );
    assert_eq!(guarded.exchange.ledger().count("ping"), 1, "one twin for the refused token");
    assert_eq!(guarded.exchange.ledger().count("initialize"), 1);
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_token_that_is_refused_too_is_one_typed_error_for_each_call() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let client = guarded.builder().connect().await.unwrap();
    guarded.accepted.store(99, Ordering::Relaxed);
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::Auth, Execution::NotExecuted));
    assert_eq!((failure.proof, failure.attempts.len()), (Some(Proof::Unauthorized), 2));
    assert_eq!(guarded.asked.load(Ordering::Relaxed), 2);
    assert_eq!(guarded.exchange.ledger().count("initialize"), 1);
    assert!(!format!("{failure:?}").contains("token-"), "no secret in an error");
}

#[tokio::test(start_paused = true)]
async fn the_token_that_was_refused_is_handed_to_the_provider() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let seen: Arc<std::sync::Mutex<Vec<Option<String>>>> = Arc::default();
    let client = builder(&guarded.exchange)
        .token_provider({
            let seen = Arc::clone(&seen);
            move |refused| {
                let mut seen = seen.lock().unwrap();
                seen.push(refused);
                let token = format!("token-{}", seen.len());
                async move { Ok(token) }
            }
        })
        .connect()
        .await
        .unwrap();
    guarded.accepted.store(2, Ordering::Relaxed);
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [None, Some("token-1".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_is_given_thirty_seconds_and_is_asked_again_a_while_later() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let asked = Arc::new(AtomicUsize::new(0));
    let client = builder(&guarded.exchange)
        .token_provider({
            let asked = Arc::clone(&asked);
            move |_| {
                let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
                async move {
                    if number == 2 {
                        std::future::pending::<()>().await;
                    }
                    Ok(if number == 1 { "token-1".to_owned() } else { "token-2".to_owned() })
                }
            }
        })
        .connect()
        .await
        .unwrap();
    guarded.accepted.store(2, Ordering::Relaxed);
    let began = Instant::now();
    let slow = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(began.elapsed(), seconds(30) + TWIN_OF_A_LOGIN);
    assert_eq!((slow.kind, slow.proof), (Kind::Auth, Some(Proof::Unauthorized)));
    assert!(slow.reason.contains("no token within 30 s"), "{}", slow.reason);
    sleep(FAILURE_STANDS).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_fails_the_call_and_says_why() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let asked = Arc::new(AtomicUsize::new(0));
    let client = builder(&guarded.exchange)
        .token_provider({
            let asked = Arc::clone(&asked);
            move |_| {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                async move { if number == 0 { Ok("token-1".to_owned()) } else { Err("the keychain is locked".into()) } }
            }
        })
        .connect()
        .await
        .unwrap();
    guarded.accepted.store(2, Ordering::Relaxed);
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.execution), (Kind::Auth, Execution::NotExecuted));
    assert!(failure.reason.contains("the keychain is locked"), "{}", failure.reason);
    assert_eq!(failure.attempts.len(), 1);
}

/// A client whose provider gives `token-1` and then fails, until the switch lets it give `token-2`.
async fn failing(guarded: &Guarded, asked: &Arc<AtomicUsize>, mended: &Arc<AtomicBool>) -> Client {
    let (asked, mended) = (Arc::clone(asked), Arc::clone(mended));
    let provider = move |refused: Option<String>| {
        asked.fetch_add(1, Ordering::Relaxed);
        let gives = match refused {
            None => Some("token-1"),
            Some(_) => mended.load(Ordering::Relaxed).then_some("token-2"),
        };
        async move { gives.map(str::to_owned).ok_or_else(|| "the keychain is locked".into()) }
    };
    builder(&guarded.exchange).token_provider(provider).connect().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_is_asked_once_for_one_refused_token_however_late_the_others_see_it() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let (asked, mended) = <(Arc<AtomicUsize>, Arc<AtomicBool>)>::default();
    let client = failing(&guarded, &asked, &mended).await;
    guarded.accepted.store(2, Ordering::Relaxed);
    let failures = at_once(16, {
        let client = client.clone();
        move |number| {
            let client = client.clone();
            async move {
                sleep(milliseconds(3 * number as u64)).await;
                failure(client.call_tool("poke", NOTHING).await)
            }
        }
    })
    .await;
    assert_eq!(asked.load(Ordering::Relaxed), 2, "the first token, and once for the refused one");
    for failure in failures {
        assert_eq!((failure.kind, failure.proof), (Kind::Auth, Some(Proof::Unauthorized)));
        assert!(failure.reason.contains("the keychain is locked"), "{}", failure.reason);
    }
    // The while is over: asked again, and a token that it gives ends the matter.
    sleep(FAILURE_STANDS).await;
    failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    mended.store(true, Ordering::Relaxed);
    failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(asked.load(Ordering::Relaxed), 3, "the second failure stands as long");
    sleep(FAILURE_STANDS).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 4);
    // Another refused token is another question.
    mended.store(false, Ordering::Relaxed);
    guarded.accepted.store(3, Ordering::Relaxed);
    failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(asked.load(Ordering::Relaxed), 5);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_for_the_first_token_is_asked_once_in_a_while_too() {
    let asked = Arc::new(AtomicUsize::new(0));
    let exchange = Server::new().exchange();
    let client = builder(&exchange)
        .token_provider({
            let asked = Arc::clone(&asked);
            move |_| {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                async move { if number > 0 { Ok("token-1".to_owned()) } else { Err("nobody is logged in".into()) } }
            }
        })
        .build()
        .unwrap();
    for _ in 0..2 {
        let failed = failure(client.call_tool("poke", NOTHING).await);
        assert!(failed.reason.contains("nobody is logged in"), "{}", failed.reason);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    sleep(FAILURE_STANDS).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_in_a_recovery_too() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let log = Log::default();
    let client = guarded.builder().on_event(log.observer()).connect().await.unwrap();
    // The new process knows neither the session nor the token.
    server.forget_sessions();
    guarded.accepted.store(2, Ordering::Relaxed);
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("poke", NOTHING).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(guarded.asked.load(Ordering::Relaxed), 2);
    assert_eq!(server.executed("poke"), 8);
    assert_eq!(server.sessions().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_does_not_stop_the_asking() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let client = guarded.builder().connect().await.unwrap();
    guarded.accepted.store(2, Ordering::Relaxed);
    let one = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    sleep(milliseconds(10)).await;
    let two = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    sleep(milliseconds(10)).await;
    one.abort();
    two.await.unwrap().unwrap();
    assert_eq!((guarded.asked.load(Ordering::Relaxed), server.executed("poke")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn without_a_provider_a_refusal_surfaces() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        matches!(arrival.method(), "tools/call" | "ping")
            .then(|| Ok(Reply::new(401).header("www-authenticate", "Bearer")))
    });
    let client = builder(&exchange).connect().await.unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.kind, failure.proof, failure.attempts.len()), (Kind::Auth, Some(Proof::Unauthorized), 1));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_new_token_counts_against_the_deadline() {
    let server = Server::new();
    let guarded = Guarded::new(&server);
    let asked = Arc::new(AtomicUsize::new(0));
    let client = builder(&guarded.exchange)
        .token_provider(move |_| {
            let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                sleep(seconds(if number == 1 { 0 } else { 5 })).await;
                Ok(format!("token-{number}"))
            }
        })
        .connect()
        .await
        .unwrap();
    guarded.accepted.store(2, Ordering::Relaxed);
    let began = Instant::now();
    let hasty = failure(client.call_tool("poke", NOTHING).timeout(seconds(1)).await);
    assert_eq!((began.elapsed(), hasty.kind), (seconds(1), Kind::Timeout));
    assert_eq!((hasty.execution, hasty.proof), (Execution::NotExecuted, Some(Proof::Unauthorized)));
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(began.elapsed(), seconds(5) + TWIN_OF_A_LOGIN, "the asking went on, and serves the next call");
}

#[tokio::test(start_paused = true)]
async fn headers_are_asked_for_at_each_attempt_and_a_failure_of_it_sends_nothing() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == "resources/read" && nth == 0).then(|| Ok(Reply::new(500)))
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let client = builder(&exchange)
        .header("x-fixed", "same")
        .header_provider({
            let asked = Arc::clone(&asked);
            move || {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                async move {
                    if number < 4 { Ok(vec![("x-trace".into(), number.to_string())]) } else { Err("no more".into()) }
                }
            }
        })
        .connect()
        .await
        .unwrap();
    client.read_resource("mem://a").await.unwrap();
    let sent: Vec<_> = exchange.ledger().entries();
    let traces: Vec<_> = sent.iter().map(|entry| entry.header("x-trace").unwrap().to_owned()).collect();
    assert_eq!(traces, ["0", "1", "2", "3"]);
    assert!(sent.iter().all(|entry| entry.header("x-fixed") == Some("same")));
    let failed = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failed.kind, failed.execution), (Kind::Config, Execution::NotExecuted));
    assert_eq!(failed.proof, Some(Proof::NeverSent));
    assert_eq!(exchange.ledger().len(), 4);
}

/// Who has the token renewed while a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renewer {
    Read,
    Stream,
    Verification,
}

/// A server that takes no token but the newest that was given out, and refuses one good one by mistake while a tool runs. The tool then passes on a
/// 401 of a server behind it, in the very words of its own.
#[test_case(Renewer::Read, 30; "a read")]
#[test_case(Renewer::Stream, 30; "the GET stream")]
#[test_case(Renewer::Verification, 30; "a verification")]
#[test_case(Renewer::Read, 400; "a read, long before")]
#[test_case(Renewer::Stream, 400; "the GET stream, long before")]
#[test_case(Renewer::Verification, 400; "a verification, long before")]
#[tokio::test(start_paused = true)]
async fn a_token_that_the_client_itself_has_renewed_confirms_nothing(renewer: Renewer, runs_ms: u64) {
    let server = Server::new();
    let newest = Arc::new(AtomicUsize::new(0));
    let exchange = scripted(&server, {
        let (server, newest) = (server.clone(), Arc::clone(&newest));
        move |arrival, nth| {
            let (server, newest) = (server.clone(), Arc::clone(&newest));
            async move {
                let refused = Some(Ok(Reply::text(401, "who are you?")));
                let right = format!("Bearer token-{}", newest.load(Ordering::Relaxed));
                if arrival.header("authorization") != Some(&*right) {
                    return refused;
                }
                match (arrival.method(), nth, renewer) {
                    ("tools/call", 0, _) => {
                        server.execute(&arrival);
                        sleep(milliseconds(runs_ms)).await;
                        refused
                    }
                    ("resources/read", 0, Renewer::Read) | ("GET", 0, Renewer::Stream) => {
                        sleep(milliseconds(10)).await;
                        refused
                    }
                    ("resources/read", 0, Renewer::Verification) => {
                        sleep(milliseconds(10)).await;
                        Some(Ok(Reply::text(404, "Session not found")))
                    }
                    ("ping", 0, Renewer::Verification) => refused,
                    _ => None,
                }
            }
        }
    });
    let client = builder(&exchange)
        .listen(renewer == Renewer::Stream)
        .token_provider({
            let newest = Arc::clone(&newest);
            move |_| {
                let newest = Arc::clone(&newest);
                async move {
                    sleep(milliseconds(20)).await;
                    Ok(format!("token-{}", newest.fetch_add(1, Ordering::Relaxed) + 1))
                }
            }
        })
        .connect()
        .await
        .unwrap();
    let poke = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    exchange.ledger().arrivals("tools/call", 1).await;
    client.read_resource("mem://a").await.unwrap();
    let failure = failure(poke.await.unwrap());
    assert_eq!((server.executed("poke"), failure.execution), (1, Execution::MayHaveExecuted));
    assert!(newest.load(Ordering::Relaxed) > 1, "it was renewed");
    if runs_ms > 250 {
        let pings = if renewer == Renewer::Verification { 2 } else { 0 };
        assert_eq!(exchange.ledger().count("ping"), pings, "no twin that could say nothing");
    }
    client.call_tool("poke", NOTHING).await.unwrap();
}

/// The provider has ended the old token, and lost the new one. What goes out afterwards is refused for that; what went out before may have run.
#[tokio::test(start_paused = true)]
async fn a_twin_of_two_calls_proves_nothing_of_the_one_that_went_out_before_the_token_was_asked_for() {
    let server = Server::new();
    let ended = Arc::new(AtomicBool::new(false));
    let exchange = scripted(&server, {
        let (server, ended) = (server.clone(), Arc::clone(&ended));
        move |arrival, nth| {
            let (server, ended) = (server.clone(), Arc::clone(&ended));
            async move {
                let refused = Some(Ok(Reply::text(401, "who are you?")));
                match (arrival.method(), nth) {
                    ("tools/call", 0) => {
                        server.execute(&arrival);
                        sleep(milliseconds(500)).await;
                        refused
                    }
                    ("resources/read", 0) => refused,
                    _ if ended.load(Ordering::Relaxed) => refused,
                    _ => None,
                }
            }
        }
    });
    let client = builder(&exchange)
        .token_provider({
            let ended = Arc::clone(&ended);
            move |refused| {
                ended.store(refused.is_some(), Ordering::Relaxed);
                async move { if refused.is_none() { Ok("token-1".to_owned()) } else { Err("it was cut off".into()) } }
            }
        })
        .connect()
        .await
        .unwrap();
    let poke = |after| {
        let client = client.clone();
        tokio::spawn(async move {
            sleep(milliseconds(after)).await;
            failure(client.call_tool("poke", NOTHING).await).execution
        })
    };
    let (before, after) = (poke(0), poke(490));
    exchange.ledger().arrivals("tools/call", 1).await;
    failure(client.read_resource("mem://a").await);
    assert!(ended.load(Ordering::Relaxed), "it was asked for");
    assert_eq!((after.await.unwrap(), before.await.unwrap()), (Execution::NotExecuted, Execution::MayHaveExecuted));
    assert_eq!((server.executed("poke"), exchange.ledger().count("ping")), (1, 1));
}

/// Whoever hears of it first, and however long a round trip takes: it costs no call.
#[test_case(0; "at once")]
#[test_case(5; "five milliseconds")]
#[test_case(80; "eighty milliseconds")]
#[tokio::test(start_paused = true)]
async fn a_token_that_expires_under_reads_and_tools_costs_none_of_them(trip_ms: u64) {
    let server = Server::new();
    let newest = Arc::new(AtomicUsize::new(1));
    let exchange = scripted(&server, {
        let newest = Arc::clone(&newest);
        move |arrival, _| {
            let right = format!("Bearer token-{}", newest.load(Ordering::Relaxed));
            async move {
                sleep(milliseconds(trip_ms)).await;
                let refused = arrival.header("authorization") != Some(&*right);
                refused.then(|| Ok(Reply::text(401, "who are you?")))
            }
        }
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let client = builder(&exchange)
        .token_provider({
            let asked = Arc::clone(&asked);
            move |_| {
                let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
                async move {
                    sleep(milliseconds(150)).await;
                    Ok(format!("token-{number}"))
                }
            }
        })
        .connect()
        .await
        .unwrap();
    newest.store(2, Ordering::Relaxed);
    let outcomes = at_once(40, {
        let client = client.clone();
        move |number| {
            let client = client.clone();
            async move {
                sleep(milliseconds(7 * number as u64)).await;
                if number % 2 == 0 {
                    client.read_resource("mem://a").await.map(drop)
                } else {
                    client.call_tool("poke", NOTHING).await.map(drop)
                }
            }
        }
    })
    .await;
    let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{} failed, the first with: {}", failed.len(), failed[0]);
    assert_eq!((asked.load(Ordering::Relaxed), server.executed("poke")), (2, 20));
}
