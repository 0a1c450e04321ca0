//! What 500 clients leave behind: nothing. A process of its own, because it counts the sockets, threads, tasks and memory of the whole process.
//!
//! The fault server runs in the same process, so what it leaves would count too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::{Duration, Instant};

use oncewire::{Client, Kind, Proof};
use oncewire_tests::server::{FaultServer, Options, Rule, Script};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

const ROUNDS: usize = 100;
/// Two rounds may differ by a socket that is just closing, or a thread that the runtime keeps.
const SLACK: usize = 2;
/// Four million bytes: the allocator's own ups and downs. A client is larger than 40 kB, so a hundred of them would show.
const FLAT: usize = 4_000_000;

/// What this process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    threads: usize,
    tasks: usize,
}

impl Held {
    fn now() -> Self {
        let entries = |directory: &str| std::fs::read_dir(directory).unwrap().count();
        Self {
            descriptors: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            tasks: Handle::current().metrics().num_alive_tasks(),
        }
    }

    fn near(self, start: Self) -> bool {
        let near = |now: usize, start: usize| now <= start + SLACK;
        near(self.descriptors, start.descriptors) && near(self.threads, start.threads) && near(self.tasks, start.tasks)
    }
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

/// The kernel tells nobody when a descriptor is gone, so this looks until it is.
async fn back_to(start: Held, what: &str) {
    let patience = Instant::now() + Duration::from_secs(3);
    while !Held::now().near(start) {
        assert!(Instant::now() < patience, "{what}: {:?} became {:?}", start, Held::now());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn server(delete: Value) -> FaultServer {
    let rule: Rule = serde_json::from_value(json!({"when": {"http": "DELETE"}, "do": delete})).unwrap();
    FaultServer::start(Script { options: Options::default(), rules: vec![rule] }).await.unwrap()
}

async fn one_life(url: String) {
    let client = Client::builder(url).no_proxy().close_timeout(Duration::from_millis(400)).connect().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    let begun = Instant::now();
    client.close().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "close took {:?}", begun.elapsed());
    // The second time is harmless, on any clone.
    client.clone().close().await;
    let after = client.call_tool("poke", Value::Null).await.unwrap_err();
    assert_eq!((after.kind(), after.proof()), (Kind::Closed, Some(Proof::NeverSent)), "{after}");
}

async fn lives(server: &FaultServer, at_once: usize) {
    let mut lives = JoinSet::new();
    (0..at_once).for_each(|_| drop(lives.spawn(one_life(server.url().to_owned()))));
    while let Some(life) = lives.join_next().await {
        life.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_lives_leave_nothing_however_the_goodbye_is_answered() {
    let answers = [
        ("200", json!([]), 1),
        ("204", json!([{"respond": {"status": 204}}]), 1),
        ("404", json!([{"respond": {"status": 404}}]), 1),
        ("405", json!([{"respond": {"status": 405}}]), 1),
        // Each of these waits for `close_timeout`, so they wait together.
        ("never", json!(["hold"]), 25),
    ];
    for (name, answer, at_once) in answers {
        let server = server(answer).await;
        lives(&server, at_once).await;
        server.until(|ledger| ledger.connections.open == 0).await;
        let (start, before) = (Held::now(), resident());
        for _ in 0..ROUNDS / at_once {
            lives(&server, at_once).await;
        }
        server.until(|ledger| ledger.connections.open == 0).await;
        back_to(start, name).await;
        let ledger = server.ledger();
        assert_eq!(ledger.sessions.len(), ROUNDS + at_once);
        let one_each = ledger.sessions.iter().all(|session| session.deletes == 1);
        assert!(one_each, "{name}: {:?}", ledger.sessions.iter().map(|session| session.deletes).collect::<Vec<_>>());
        let after = resident();
        assert!(after < before + FLAT, "{name}: resident memory grows from {before} to {after}");
    }

    let (start, before) = (Held::now(), resident());
    let dead =
        FaultServer::start(Script { options: Options { start_down: true, ..Options::default() }, rules: vec![] });
    let dead = dead.await.unwrap();
    for _ in 0..ROUNDS {
        let builder = Client::builder(dead.url()).no_proxy().connect_patience(Duration::ZERO);
        let error = builder.connect().await.unwrap_err();
        assert_eq!((error.kind(), error.proof()), (Kind::Connect, Some(Proof::NeverSent)), "{error}");
    }
    drop(dead);
    back_to(start, "a dead port").await;
    let after = resident();
    assert!(after < before + FLAT, "a dead port: resident memory grows from {before} to {after}");
}
