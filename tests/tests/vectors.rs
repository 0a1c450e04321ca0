//! Every vector, run by the Rust client.
//!
//! `ONCEWIRE_VECTORS=s03` runs those whose name contains that.

mod runner;

use std::sync::Arc;
use std::time::Duration;

use oncewire_tests::vector::{Language, for_language};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// So many at once: they mostly wait.
const AT_ONCE: usize = 8;
/// No vector takes this long, unless something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rust_client_passes_every_vector() {
    let only = std::env::var("ONCEWIRE_VECTORS").unwrap_or_default();
    let vectors = for_language(Language::Rust).unwrap_or_else(|error| panic!("{error}"));
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for vector in vectors.into_iter().filter(|vector| vector.name.contains(&only)) {
        let places = Arc::clone(&places);
        running.spawn(async move {
            let _place = places.acquire().await;
            let name = vector.name.clone();
            // In a task of its own, so that a panic fails its own vector only.
            let run = tokio::spawn(tokio::time::timeout(PATIENCE, runner::run(vector)));
            let failures = match run.await {
                Ok(Ok(Ok(failures))) => failures,
                Ok(Ok(Err(error))) => vec![format!("{error:#}")],
                Ok(Err(_)) => vec!["it hangs".to_owned()],
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
    assert!(passed > 0, "no vector is named {only}");
}
