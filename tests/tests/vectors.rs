//! Every vector, run by the Rust client.
//!
//! `ONCEWIRE_VECTORS=s03` runs those whose name contains that.

mod runner;

use std::time::Duration;

use oncewire_tests::vector::{Language, Vector, for_language};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// So many at once: they mostly wait.
static PLACES: Semaphore = Semaphore::const_new(8);
/// No vector takes this long, unless something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Not over HTTP/2: `ff_interim` writes a head of HTTP/1.1 by hand. In the others the connection ends while a call is begun, and the client writes
/// before it reads that (HTTP/1.1 looks first), so a vector cannot say how many attempts there are.
const NOT_OVER_HTTP2: [&str; 8] = [
    "ff_interim",
    "m_listen_bounds[acknowledged]",
    "m_listen_bounds[reset]",
    "m_rollback_fails[reset]",
    "s11_get_opens_and_shuts[reset]",
    "s23_cut_everywhere",
    "s33_port_closed",
    "s38_which_loss[refused]",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rust_client_passes_every_vector() {
    pass(vectors()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rust_client_passes_them_over_http2_too() {
    let mut vectors = vectors();
    vectors.retain(|vector| {
        vector.client.http2_only.is_none() && !NOT_OVER_HTTP2.iter().any(|name| vector.name.starts_with(name))
    });
    vectors.iter_mut().for_each(|vector| vector.client.http2_only = Some(true));
    pass(vectors).await;
}

fn vectors() -> Vec<Vector> {
    let only = std::env::var("ONCEWIRE_VECTORS").unwrap_or_default();
    let mut vectors = for_language(Language::Rust).unwrap_or_else(|error| panic!("{error}"));
    vectors.retain(|vector| vector.name.contains(&only));
    vectors
}

async fn pass(vectors: Vec<Vector>) {
    let mut running = JoinSet::new();
    let nothing_to_do = vectors.is_empty();
    for vector in vectors {
        running.spawn(async move {
            let _place = PLACES.acquire().await;
            let name = vector.name.clone();
            // In a task of its own, so that a panic fails its own vector only.
            let failures = match tokio::spawn(runner::run(vector, PATIENCE)).await {
                Ok(Ok(failures)) => failures,
                Ok(Err(error)) => vec![format!("{error:#}")],
                Err(panic) => vec![panic.to_string()],
            };
            (name, failures)
        });
    }
    let (mut passed, mut failed) = (0, Vec::new());
    while let Some(done) = running.join_next().await {
        match done {
            Ok((_, failures)) if failures.is_empty() => passed += 1,
            Ok((name, failures)) => failed.push(format!("{name}\n    {}", failures.join("\n    "))),
            Err(panic) => failed.push(panic.to_string()),
        }
    }
    failed.sort();
    assert!(failed.is_empty(), "{passed} passed, {} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(passed > 0 || nothing_to_do);
}
