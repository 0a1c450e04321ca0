//! Random faults and random concurrent calls over real sockets, HTTP/1.1 and HTTP/2: the promises hold in every run, judged by the server's ledger.
//!
//! `ONCEWIRE_SOCKET_RUNS` says how many (200), `ONCEWIRE_SEED` where to begin (a fresh seed; printed). Each run has a seed of its own, so a run that
//! fails is had again with `ONCEWIRE_SOCKET_RUNS=1` and that seed; sockets have their own timing, so it may take some tries.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod check;
mod plan;
mod run;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use check::Precision;
use plan::Plan;

/// So many runs at once: they mostly wait.
const AT_ONCE: usize = 8;
/// So long a plan that failed is made smaller, and so often each smaller one is tried: sockets have their own timing.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
const TRIES: usize = 3;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// A plan that fails is made smaller as long as what is left still fails in one of a few tries, and there is time.
fn shrink(servers: &tokio::runtime::Handle, mut plan: Plan, mut wrong: Vec<String>) -> (Plan, Vec<String>) {
    let began = std::time::Instant::now();
    let fails = |plan: &Plan| {
        let tried = |_| run::run(servers, plan).and_then(|course| check::check(plan, &course)).err();
        if began.elapsed() < PATIENCE { (0..TRIES).find_map(tried) } else { None }
    };
    while let Some(smaller) = plan.smaller().into_iter().find_map(|plan| fails(&plan).map(|wrong| (plan, wrong))) {
        (plan, wrong) = smaller;
    }
    (plan, wrong)
}

#[test]
fn the_promises_hold_over_real_sockets() {
    let runs = number("ONCEWIRE_SOCKET_RUNS").unwrap_or(200);
    let seed = number("ONCEWIRE_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("{runs} runs, ONCEWIRE_SEED={seed}");
    let began = std::time::Instant::now();
    let servers = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (next, failures, total) = (AtomicU64::new(0), Mutex::new(Vec::new()), Mutex::new(Precision::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= runs || !failures.lock().unwrap().is_empty() {
                        return;
                    }
                    let own = seed.wrapping_add(run);
                    let plan = Plan::random(&mut fastrand::Rng::with_seed(own));
                    match run::run(servers.handle(), &plan).and_then(|course| check::check(&plan, &course)) {
                        Ok(precision) => total.lock().unwrap().add(precision),
                        Err(wrong) => {
                            let (plan, wrong) = shrink(servers.handle(), plan, wrong);
                            let whence = format!("run {run} of {runs}: ONCEWIRE_SEED={own} ONCEWIRE_SOCKET_RUNS=1");
                            failures.lock().unwrap().push(format!("{whence}\n  {}\n{plan:#?}", wrong.join("\n  ")));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{} in {:?}", total.into_inner().unwrap(), began.elapsed());
}
