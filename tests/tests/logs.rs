//! S38 with the log lines themselves, and a search of everything that a host could log for anything secret.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use oncewire::{Client, ClientBuilder, Error};
use oncewire_tests::server::{FaultServer, Options, Rule, Script};
use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// What was logged.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Everything that anyone logs in this process goes here, those below us included: there is one subscriber for a process.
fn log() -> Log {
    static LOG: Mutex<Option<Log>> = Mutex::new(None);
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    log.get_or_insert_with(|| {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false);
        subscriber.with_writer(log.clone()).init();
        log
    })
    .clone()
}

async fn server(options: Options, rules: Value) -> FaultServer {
    let rules: Vec<Rule> = serde_json::from_value(rules).unwrap();
    FaultServer::start(Script { options, rules }).await.unwrap()
}

#[tokio::test]
async fn one_field_of_a_log_line_tells_which_loss_it_was() {
    let log = log();
    let rules = json!([{"when": {"name": "poke"}, "skip": 1, "times": 1, "do": ["execute", "close"]}]);
    let server = server(Options::default(), rules).await;
    let builder = Client::builder(server.url()).no_proxy().connect_patience(Duration::ZERO);
    let client = builder.connect().await.unwrap();
    let call = |key: &'static str| client.call_tool("poke", Value::Null).idempotency_key(key);
    server.forget_sessions();
    call("which-loss-session").await.unwrap();
    // The call above used up the one that passes.
    let lost = call("which-loss-closed").await.unwrap_err();
    server.go_down().await;
    let refused = call("which-loss-refused").await.unwrap_err();
    client.close().await;
    assert!(lost.may_have_executed() && refused.not_executed(), "{lost}, {refused}");

    // What an operator greps days later: the lines about failed attempts, by the word.
    let of = |key: &str| {
        let lines = log.lines();
        let lines = lines.into_iter().filter(|line| line.contains(key) && line.contains("event=\"attempt_failed\""));
        lines.collect::<Vec<_>>()
    };
    let words = [
        ("which-loss-session", "proof=\"session_rejected\""),
        ("which-loss-closed", "kind=\"connection_closed\""),
        ("which-loss-refused", "proof=\"never_sent\""),
    ];
    for (key, word) in words {
        let lines = of(key);
        assert!(!lines.is_empty(), "no line for {key}");
        for (other_key, other) in words {
            let hits = lines.iter().filter(|line| line.contains(other)).count();
            assert_eq!(hits, if other_key == key { lines.len() } else { 0 }, "{other} in {lines:#?}");
        }
        assert!(lines.iter().all(|line| line.contains(" WARN ") && line.contains(" oncewire:") && line.contains(word)));
    }
}

/// Each is part of something that the client is given and needs, and that is nobody else's business.
const SECRETS: [&str; 7] = [
    "hush-token-1",
    "hush-token-2",
    "hush-header",
    "hush-query",
    "hush-proxy",
    // `user:hush-proxy` in Basic.
    "dXNlcjpodXNoLXByb3h5",
    "hush-location",
];

fn builder(url: &str) -> ClientBuilder {
    Client::builder(format!("{url}?key=hush-query"))
        .no_proxy()
        .header("X-Api-Key", "hush-header")
        .header_provider(|| async { Ok(vec![("X-Other-Key".to_owned(), "hush-header-2".to_owned())]) })
        .connect_patience(Duration::ZERO)
        .handshake_timeout(Duration::from_secs(2))
        .token_provider(|refused| async move {
            let next = if refused.is_none() { "hush-token-1" } else { "hush-token-2" };
            Ok(next.to_owned())
        })
}

/// Everything that shows of an error: its text, its representations, its JSON, and those of the chain below it.
fn texts(error: &Error, into: &mut Vec<String>) {
    into.extend([error.to_string(), format!("{error:?}"), format!("{error:#?}"), error.to_json().to_string()]);
    let mut source = std::error::Error::source(error);
    while let Some(below) = source {
        into.extend([below.to_string(), format!("{below:?}")]);
        source = below.source();
    }
}

/// Failures of every kind, each on a client with everything secret that a client can have.
#[tokio::test]
async fn no_failure_and_no_log_line_shows_a_secret() {
    let log = log();
    let answer = |status: u16| json!([{"respond": {"status": status, "text": "no"}}]);
    let faults = [
        ("close", json!(["execute", "close"])),
        ("reset", json!(["reset"])),
        ("stream", json!([{"comment": "x"}, "close"])),
        ("half", json!([{"half_answer": "length"}, "reset"])),
        ("silent", json!(["hold"])),
        ("gateway", answer(502)),
        ("rejected", answer(413)),
        ("forbidden", answer(403)),
        ("unauthorized", answer(401)),
        ("rate", json!([{"respond": {"status": 429, "headers": {"Retry-After": "3600"}}}])),
        (
            "redirect",
            json!([{"redirect": {"status": 302, "to": "http://u:hush-location@127.0.0.1:1/x?key=hush-location"}}]),
        ),
        ("redirected", json!([{"redirect": {"status": 307, "to": "http://127.0.0.1:1/mcp?key=hush-location"}}])),
        ("html", json!([{"respond": {"headers": {"Content-Type": "text/html"}, "text": "<p>"}}])),
        ("json", json!([{"respond": {"headers": {"Content-Type": "application/json"}, "text": "{"}}])),
        (
            "rpc",
            json!([{"respond": {"json": {"jsonrpc": "2.0", "id": "$id", "error": {"code": -1, "message": "no"}}}}]),
        ),
        ("large", json!([{"respond": {"headers": {"Content-Type": "application/json"}, "text": " ".repeat(5_000)}}])),
        ("lost", json!([{"respond": {"status": 404, "text": "Session not found"}}])),
    ];
    let mut shown = Vec::new();
    let mut kinds = std::collections::BTreeSet::new();
    for (name, fault) in faults {
        let path = "/mcp?key=hush-query".to_owned();
        let options =
            Options { tokens: Some(vec!["hush-token-1".to_owned()]), paths: vec![path], ..Options::default() };
        let rules = json!([{"name": name, "when": {"name": ["poke", "mem://a"]}, "do": fault}]);
        let server = server(options, rules).await;
        let events = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&events);
        let builder = builder(server.url()).max_message(4_000).on_event(move |event| {
            let json = serde_json::to_string(event).unwrap();
            noted.lock().unwrap_or_else(PoisonError::into_inner).extend([format!("{event:?}"), json]);
        });
        shown.push(format!("{builder:?}"));
        let client = builder.connect().await.unwrap();
        let call = client.call_tool("poke", Value::Null).timeout(Duration::from_millis(900));
        shown.push(format!("{call:?}"));
        let error = call.await.unwrap_err();
        kinds.insert(error.kind().as_str());
        texts(&error, &mut shown);
        let read = client.read_resource("mem://a").timeout(Duration::from_millis(300)).await;
        texts(&read.unwrap_err(), &mut shown);
        server.accept_tokens(["none"]);
        if name == "lost" {
            texts(&client.recover().await.unwrap_err(), &mut shown);
        }
        server.go_down().await;
        let refused = client.call_tool("poke", Value::Null).timeout(Duration::from_millis(300)).await.unwrap_err();
        kinds.insert(refused.kind().as_str());
        texts(&refused, &mut shown);
        client.close().await;
        let closed = client.call_tool("poke", Value::Null).await.unwrap_err();
        kinds.insert(closed.kind().as_str());
        texts(&closed, &mut shown);
        shown.extend([format!("{client:?}"), format!("{client:#?}")]);
        shown.append(&mut events.lock().unwrap_or_else(PoisonError::into_inner));
    }
    // Before anything is connected: options, proxies, names.
    let dead = "http://user:hush-proxy@127.0.0.1:1";
    for builder in [
        builder("http://127.0.0.1:1/mcp").proxy(dead),
        builder("https://127.0.0.1:1/mcp").proxy(dead),
        builder("http://127.0.0.1:1/mcp").proxy("ftp://user:hush-proxy@x"),
        builder("http://127.0.0.1:1/mcp").header("bad name", "hush-header"),
        builder("http://127.0.0.1:1/mcp").header("X-Key", "hush-header\n"),
        builder("http://127.0.0.1:1/mcp").token("hush-token-1\n"),
        builder("ftp://user:hush-proxy@127.0.0.1:1/mcp"),
        builder("no url hush-query"),
        builder("http://127.0.0.1:1/mcp").client_certificate("hush-header", "hush-header"),
    ] {
        shown.push(format!("{builder:?}"));
        let error = builder.connect().await.unwrap_err();
        kinds.insert(error.kind().as_str());
        texts(&error, &mut shown);
    }

    let all = [
        "auth",
        "closed",
        "config",
        "connect",
        "connection_closed",
        "gateway",
        "http_status",
        "protocol",
        "rate_limited",
        "redirect",
        "rpc",
        "stream_ended",
        "timeout",
        "too_large",
    ];
    let missing: Vec<_> = all.into_iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no failure of the kinds {missing:?} in {kinds:?}");
    let lines = log.lines();
    assert!(lines.iter().any(|line| line.contains(" oncewire:")));
    for secret in SECRETS {
        let found: Vec<_> = shown.iter().chain(&lines).filter(|text| text.contains(secret)).take(3).collect();
        assert!(found.is_empty(), "{secret} is in {found:#?}");
    }
}
