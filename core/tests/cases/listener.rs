//! The GET stream that opens and shuts: bounded opens, growing gaps, and nothing concluded from it.

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Entry, Reply, Scripted, Server};
use oncewire::{Client, EventName, Execution, Kind};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::time::{Instant, sleep};

use crate::support::{Log, NOTHING, builder, failure, milliseconds, scripted, seconds};

/// The opens in a row that may deliver nothing.
const OPENS: usize = 8;

/// The pauses between the end of one GET and the arrival of the next, in milliseconds.
fn gaps(gets: &[Entry]) -> Vec<u128> {
    gets.windows(2).map(|pair| (pair[1].at - pair[0].over.unwrap().0).as_millis()).collect()
}

async fn stay_and_call(exchange: &Arc<Scripted>, log: &Log, stay: u64) {
    let client = builder(exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
    for _ in 0..stay / 5 {
        sleep(seconds(5)).await;
        client.call_tool("poke", NOTHING).await.unwrap();
    }
    assert_eq!(client.state().as_str(), "ready");
    assert_eq!(exchange.ledger().count("initialize"), 1, "the stream says nothing of the session");
    client.close().await;
}

async fn opens_and_shuts(body: fn() -> Reply) {
    fastrand::seed(7);
    let server = Server::new();
    let exchange =
        scripted(
            &server,
            move |arrival, _| async move { matches!(arrival.method(), "GET" | "resume").then(|| Ok(body())) },
        );
    let log = Log::default();
    stay_and_call(&exchange, &log, 30).await;
    let gets = exchange.ledger().of("GET");
    assert!((2..=OPENS).contains(&gets.len()), "{} opens in 30 s", gets.len());

    let log = Log::default();
    stay_and_call(
        &scripted(&server, move |arrival, _| async move {
            matches!(arrival.method(), "GET" | "resume").then(|| Ok(body()))
        }),
        &log,
        600,
    )
    .await;
    let off = log.of(EventName::ListenerOff);
    assert_eq!(off.len(), 1);
    assert_eq!(off[0].reason.as_deref(), Some("it was opened too often without a message"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_at_once_is_opened_a_bounded_number_of_times_with_growing_gaps() {
    opens_and_shuts(Reply::event_stream).await;
    opens_and_shuts(|| Reply::event_stream().chunk("id: listen-1\ndata:\n\n")).await;
    opens_and_shuts(|| Reply::text(200, "hello")).await;
}

#[tokio::test(start_paused = true)]
async fn the_gaps_grow_with_jitter_up_to_the_bound() {
    fastrand::seed(7);
    let server = Server::new();
    let exchange =
        scripted(&server, |arrival, _| async move { (arrival.method() == "GET").then(|| Ok(Reply::event_stream())) });
    stay_and_call(&exchange, &Log::default(), 600).await;
    let gets = exchange.ledger().of("GET");
    assert_eq!(gets.len(), OPENS);
    let gaps = gaps(&gets);
    for (number, gap) in gaps.iter().enumerate() {
        let bound = 500 * (1 << number).min(60);
        assert!((500..=500 + bound + 1).contains(gap), "gap {number} is {gap} ms, the bound {bound} ms");
    }
    let (early, late) = gaps.split_at(3);
    assert!(early.iter().max() < late.iter().max(), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_delivered_message_starts_the_count_anew() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().event(&message)))
    });
    let log = Log::default();
    stay_and_call(&exchange, &log, 60).await;
    let gets = exchange.ledger().of("GET");
    assert!(gets.len() > 3 * OPENS, "{} opens", gets.len());
    assert!(gaps(&gets).iter().all(|gap| (500..=1_001).contains(gap)), "the gaps do not grow");
    assert_eq!(log.of(EventName::ListenerOn).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_offers_none_is_asked_once() {
    let exchange = Server::new().exchange();
    let log = Log::default();
    stay_and_call(&exchange, &log, 60).await;
    assert_eq!(exchange.ledger().count("GET"), 1);
    assert_eq!(log.of(EventName::ListenerOff)[0].reason.as_deref(), Some("the server offers none"));
}

#[tokio::test(start_paused = true)]
async fn the_servers_retry_is_the_least_gap_and_one_above_a_minute_ends_it() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        let retry = if nth < 3 { 7_000 } else { 60_001 };
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().retry(retry)))
    });
    let log = Log::default();
    stay_and_call(&exchange, &log, 300).await;
    let gets = exchange.ledger().of("GET");
    assert_eq!(gets.len(), 4);
    assert!(gaps(&gets).iter().all(|gap| *gap >= 7_000));
    assert_eq!(log.of(EventName::ListenerOff)[0].reason.as_deref(), Some("the server asks to wait too long"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_never_answered_disturbs_nothing_and_ends_with_the_client() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        if arrival.method() == "GET" { std::future::pending().await } else { None }
    });
    stay_and_call(&exchange, &Log::default(), 60).await;
    assert_eq!(exchange.ledger().count("GET"), 1);
    assert!(exchange.ledger().open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refused_reopening_is_a_suspicion_that_one_ping_clears() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        match (arrival.method(), nth) {
            ("GET", 0) => Some(Ok(Reply::event_stream().wait(seconds(1)))),
            ("GET", 1) => Some(Err(Cause::Refused)),
            _ => None,
        }
    });
    let log = Log::default();
    let client = builder(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
    exchange.ledger().arrivals("GET", 2).await;
    tokio::task::yield_now().await;
    assert_eq!(exchange.ledger().count("ping"), 0, "nobody wants to know yet");
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("ping"), 1);
    assert_eq!(exchange.ledger().count("initialize"), 1);
    assert_eq!(log.of(EventName::SessionSuspect).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_replaced_costs_the_next_call_no_failed_attempt() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("GET", 0) => Some(Ok(Reply::event_stream().wait(seconds(1)))),
                    ("GET", 1) => {
                        server.forget_sessions();
                        Some(Err(Cause::Refused))
                    }
                    _ => None,
                }
            }
        }
    });
    let client = builder(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("GET", 2).await;
    sleep(milliseconds(1)).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(exchange.ledger().count("tools/call"), 1, "the ping saw the loss, not the call");
    assert_eq!(exchange.ledger().count("initialize"), 2);
    assert_eq!(client.generation(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_listener_ends_when_its_session_does() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().never()))
    });
    let client = builder(&exchange).listen(true).connect().await.unwrap();
    exchange.ledger().arrivals("GET", 1).await;
    server.forget_sessions();
    let began = Instant::now();
    client.call_tool("poke", NOTHING).await.unwrap();
    exchange.ledger().arrivals("GET", 2).await;
    assert_eq!(began.elapsed(), std::time::Duration::ZERO);
    let open: Vec<_> = exchange.ledger().open();
    assert_eq!(open.len(), 1, "only the new listener");
    assert_eq!(open[0].session(), Some("session-2"));
    client.close().await;
    let error = client.call_tool("poke", NOTHING).await.unwrap_err();
    assert_eq!((error.kind(), error.not_executed()), (Kind::Closed, true));
}

/// How often a stream with this body is opened in that many seconds by somebody who hears notifications.
async fn heard_for(stay: u64, body: fn() -> Reply) -> (Arc<Scripted>, Log) {
    let exchange = scripted(&Server::new(), move |arrival, _| async move {
        matches!(arrival.method(), "GET" | "resume").then(|| Ok(body()))
    });
    let log = Log::default();
    let client =
        builder(&exchange).listen(true).on_event(log.observer()).on_notification(|_| {}).connect().await.unwrap();
    sleep(seconds(stay)).await;
    assert_eq!((client.state().as_str(), exchange.ledger().count("ping")), ("ready", 0));
    client.close().await;
    assert_eq!(log.of(EventName::ListenerOff).len(), 1);
    (exchange, log)
}

#[tokio::test(start_paused = true)]
async fn who_hears_is_listened_for_as_long_as_the_session_lives_at_a_bounded_rate() {
    // Nothing ever comes of it: one in a quarter of a minute.
    let nothing: [fn() -> Reply; 3] = [|| Reply::new(500), || Reply::text(200, "hello"), || Reply::new(409)];
    for body in nothing {
        let (exchange, _) = heard_for(3_000, body).await;
        let opens = exchange.ledger().of("GET");
        assert!((120..=320).contains(&opens.len()), "{} opens in 3,000 s", opens.len());
        assert!(gaps(&opens).iter().all(|gap| (500..=30_501).contains(gap)));
    }
    // It opens and ends at once: the server is not waited for longer than 5.5 s.
    let (exchange, _) = heard_for(1_000, Reply::event_stream).await;
    let opens = exchange.ledger().of("GET");
    assert!((180..=500).contains(&opens.len()), "{} opens in 1,000 s", opens.len());
    assert!(gaps(&opens).iter().all(|gap| (500..=5_501).contains(gap)));
    // It speaks, or stood for a while: about one a second beside its own time.
    let healthy: [fn() -> Reply; 3] = [
        || Reply::event_stream().chunk(": here\n\n").wait(seconds(1)),
        || Reply::event_stream().chunk("id: listen-1\ndata:\n\n").broken(Cause::Reset),
        || Reply::event_stream().wait(seconds(60)).broken(Cause::Reset),
    ];
    for body in healthy {
        let (exchange, log) = heard_for(1_000, body).await;
        let opens = exchange.ledger().of("GET");
        assert!(opens.len() >= 15, "{} opens in 1,000 s", opens.len());
        assert!(gaps(&opens).iter().all(|gap| (500..=1_001).contains(gap)), "the gaps do not grow");
        assert_eq!(log.of(EventName::ListenerOn).len(), 1);
    }
    let (exchange, _) = heard_for(600, || Reply::event_stream().retry(90_000)).await;
    assert!(gaps(&exchange.ledger().of("GET")).iter().all(|gap| *gap >= 90_000), "as the server says");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stood_for_a_while_was_healthy_whoever_hears() {
    let exchange = scripted(&Server::new(), |arrival, _| async move {
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().wait(seconds(5)).broken(Cause::Reset)))
    });
    let log = Log::default();
    stay_and_call(&exchange, &log, 600).await;
    assert!(exchange.ledger().count("GET") > 90, "{}", exchange.ledger().count("GET"));
    assert_eq!(log.of(EventName::ListenerOff).len(), 1, "at the end");
}

#[tokio::test(start_paused = true)]
async fn who_subscribes_wakes_a_stream_that_was_given_up() {
    let exchange = scripted(&Server::new(), |arrival, nth| async move {
        (arrival.method() == "GET").then(|| match nth {
            0..OPENS => Ok(Reply::event_stream()),
            _ => Ok(Reply::event_stream().never()),
        })
    });
    let log = Log::default();
    let client = builder(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
    sleep(seconds(600)).await;
    assert_eq!((exchange.ledger().count("GET"), log.of(EventName::ListenerOff).len()), (OPENS, 1));
    client.subscribe("mem://a").await.unwrap();
    exchange.ledger().arrivals("GET", OPENS + 1).await;
    sleep(seconds(1)).await;
    assert_eq!(log.of(EventName::ListenerOn).len(), 2);
    client.close().await;
    assert_eq!(log.of(EventName::ListenerOff).len(), 2);
}

type Asked = Arc<Mutex<Vec<Option<String>>>>;

/// The GET stream takes this token alone, and so do the POSTs of a read. Returns which tokens were to be replaced.
async fn guarded(accepted: &'static str, fails: bool, log: &Log) -> (Arc<Scripted>, Asked, Client) {
    let exchange = scripted(&Server::new(), move |arrival, _| async move {
        let good = arrival.header("authorization") == Some(&format!("Bearer {accepted}"));
        match arrival.method() {
            "GET" if good => Some(Ok(Reply::event_stream().never())),
            "GET" | "resources/read" if !good => Some(Ok(Reply::new(401).header("www-authenticate", "Bearer"))),
            _ => None,
        }
    });
    let asked = Asked::default();
    let asking = Arc::clone(&asked);
    let provider = move |refused| {
        let mut asked = asking.lock().unwrap();
        asked.push(refused);
        let (token, fails) = (format!("token-{}", asked.len()), fails && asked.len() == 2);
        async move { if fails { Err("the login is down".into()) } else { Ok(token) } }
    };
    let builder = builder(&exchange).listen(true).on_event(log.observer()).token_provider(provider);
    let client = builder.connect().await.unwrap();
    (exchange, asked, client)
}

#[tokio::test(start_paused = true)]
async fn a_token_that_ends_while_nobody_calls_is_renewed_once_and_the_stream_comes_back() {
    let log = Log::default();
    let (exchange, asked, client) = guarded("token-2", false, &log).await;
    sleep(seconds(1)).await;
    assert_eq!(*asked.lock().unwrap(), [None, Some("token-1".to_owned())]);
    let gets = exchange.ledger().of("GET");
    assert_eq!((gets.len(), gets[1].at), (2, gets[0].at), "at once");
    assert_eq!(log.of(EventName::ListenerOn).len(), 1);
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_asked_once_for_the_stream_and_the_token_of_a_call_wakes_it() {
    for fails in [true, false] {
        // A failure of the provider stands for five seconds.
        for stay in [10, 3_000] {
            let log = Log::default();
            let (exchange, asked, client) = guarded("token-3", fails, &log).await;
            sleep(seconds(stay)).await;
            assert_eq!(asked.lock().unwrap().len(), 2, "the first, and once for the stream");
            let opens = exchange.ledger().count("GET");
            assert!(opens <= OPENS + 1, "{opens}");
            client.read_resource("mem://a").await.unwrap();
            sleep(milliseconds(1)).await;
            assert_eq!((asked.lock().unwrap().len(), exchange.ledger().count("GET")), (3, opens + 1));
            assert_eq!(log.of(EventName::ListenerOn).len(), 1, "it is back");
            client.close().await;
        }
    }
}

/// A stream that ends, and then a word that the session is not known.
fn missing(server: &Server, word: fn() -> Reply, lost: bool) -> Arc<Scripted> {
    scripted(server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("GET", 0) => Some(Ok(Reply::event_stream().wait(seconds(1)))),
                    ("GET", _) if lost && nth == 1 => {
                        server.forget_sessions();
                        Some(Ok(word()))
                    }
                    ("GET", _) if !lost => Some(Ok(word())),
                    ("tools/call", _) if arrival.name() == Some("poke") => {
                        server.execute(&arrival);
                        std::future::pending().await
                    }
                    _ => None,
                }
            }
        }
    })
}

const WORDS: [fn() -> Reply; 3] = [
    || Reply::text(404, "Session not found"),
    || Reply::new(410),
    || Reply::json(400, &json!({ "error": { "code": -32_000, "message": "Bad Request: No valid session ID" } })),
];

#[tokio::test(start_paused = true)]
async fn a_session_that_the_stream_alone_saw_ending_ends_the_calls_that_wait_on_it() {
    for word in WORDS {
        let server = Server::new();
        let exchange = missing(&server, word, true);
        let log = Log::default();
        let client = builder(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
        let began = Instant::now();
        let failure = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((failure.kind, failure.execution), (Kind::Timeout, Execution::MayHaveExecuted));
        assert!(began.elapsed() > seconds(61) && began.elapsed() < seconds(63), "{:?}", began.elapsed());
        assert_eq!((exchange.ledger().count("ping"), log.of(EventName::SessionLost).len()), (1, 1));
        assert_eq!((client.generation(), exchange.ledger().count("initialize")), (2, 2));
        assert_eq!(server.executed("poke"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_word_that_one_ping_refutes_changes_nothing_and_is_not_asked_about_again() {
    for word in WORDS {
        let server = Server::new();
        let exchange = missing(&server, word, false);
        let log = Log::default();
        let client = builder(&exchange).listen(true).on_event(log.observer()).connect().await.unwrap();
        sleep(seconds(600)).await;
        client.call_tool("peek", NOTHING).await.unwrap();
        assert_eq!((exchange.ledger().count("ping"), exchange.ledger().count("initialize")), (1, 1));
        assert_eq!((client.state().as_str(), log.of(EventName::SessionLost).len()), ("ready", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_never_open_says_nothing_by_404() {
    let exchange = scripted(&Server::new(), |arrival, _| async move {
        (arrival.method() == "GET").then(|| Ok(Reply::text(404, "Not Found")))
    });
    stay_and_call(&exchange, &Log::default(), 600).await;
    assert_eq!(exchange.ledger().count("ping"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_on_the_stream_is_told_and_what_follows_is_heard() {
    let exchange = scripted(&Server::new(), |arrival, _| async move {
        let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        let bad = "data: {\"jsonrpc\":\"2.0\",\"method\":\n\n";
        let named = format!("event: changed\ndata: {changed}\n\n");
        (arrival.method() == "GET").then(|| Ok(Reply::event_stream().chunk(bad).chunk(named).event(&changed).never()))
    });
    let log = Log::default();
    let heard: Arc<Mutex<usize>> = Arc::default();
    let ears = Arc::clone(&heard);
    let builder = builder(&exchange).listen(true).on_event(log.observer());
    let client = builder.on_notification(move |_| *ears.lock().unwrap() += 1).connect().await.unwrap();
    sleep(seconds(1)).await;
    assert_eq!((*heard.lock().unwrap(), log.of(EventName::MessageDropped).len()), (2, 1));
    client.close().await;
}
