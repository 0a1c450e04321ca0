//! S25, the Rust side: a host that lets its runtime go with calls pending sees no panic and no hang.

use std::future::IntoFuture;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use oncewire::Client;
use oncewire_tests::server::{FaultServer, Options};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts the panics of the threads of these tests from here on, besides printing them.
fn count_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if thread::current().name().is_some_and(|name| name.starts_with("host")) {
            PANICS.fetch_add(1, Ordering::SeqCst);
        }
        print(info);
    }));
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        0 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.worker_threads(threads.max(1)).thread_name("host-worker").enable_all().build().unwrap()
}

/// Runs it on a thread of its own, so that a hang is a failure with a name.
fn within<T: Send + 'static>(time: Duration, what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = mpsc::channel();
    let spawned = thread::Builder::new().name("host".to_owned()).spawn(move || done.send(run()));
    let value = is_done.recv_timeout(time).unwrap_or_else(|error| panic!("{what}: {error}"));
    drop(spawned);
    value
}

#[test]
fn a_runtime_that_ends_with_calls_pending_neither_panics_nor_hangs() {
    count_panics();
    let servers = Runtime::new().unwrap();
    let rules = json!([{"when": {"name": "poke"}, "do": ["reset"]}, {"when": {"name": "slow"}, "do": [{"delay_ms": 300}, "close"]}]);
    let server = servers.block_on(super::server(Options::default(), rules));
    for round in 0..40_u64 {
        let (url, threads) = (server.url().to_owned(), usize::try_from(round % 3).unwrap());
        let (client, pending) = within(Duration::from_secs(10), "the life of a runtime", move || {
            let runtime = runtime(threads);
            let client = runtime.block_on(async {
                let client = Client::builder(url).no_proxy().connect().await.unwrap();
                for _ in 0..4 {
                    // Nobody waits for these.
                    let (slow, reset) = (client.call_tool("slow", Value::Null), client.call_tool("poke", Value::Null));
                    tokio::spawn(slow.into_future());
                    tokio::spawn(reset.into_future());
                }
                client
            });
            // A future that was begun in the runtime and is still there when it is gone.
            let mut pending = client.call_tool("slow", Value::Null).into_future();
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = &mut pending => panic!("`slow` is held"),
                    () = tokio::task::yield_now() => {}
                }
            });
            // Before, or while, the calls are under way.
            if round % 2 == 0 {
                runtime.block_on(tokio::task::yield_now());
            }
            drop(runtime);
            (client, pending)
        });
        within(Duration::from_secs(10), "a client without its runtime", move || {
            let other = runtime(0);
            let settled = other.block_on(async {
                let left = tokio::time::timeout(Duration::from_secs(5), pending).await;
                let new = tokio::time::timeout(Duration::from_secs(5), client.call_tool("peek", Value::Null)).await;
                let closed = tokio::time::timeout(Duration::from_secs(5), client.close()).await;
                (left.is_ok(), new.is_ok(), closed.is_ok())
            });
            assert_eq!(settled, (true, true, true), "round {round}: the call that was pending, a new one, close");
        });
    }
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
    servers.block_on(async { server.go_down().await });
}

#[test]
fn a_client_may_be_dropped_outside_and_after_its_runtime() {
    let servers = Runtime::new().unwrap();
    let server = servers.block_on(FaultServer::healthy()).unwrap();
    for after in [false, true] {
        let url = server.url().to_owned();
        within(Duration::from_secs(10), "dropping", move || {
            let runtime = runtime(1);
            let client = runtime.block_on(Client::builder(url).no_proxy().connect()).unwrap();
            if after {
                drop(runtime);
                drop(client);
            } else {
                drop(client);
                drop(runtime);
            }
        });
    }
}
