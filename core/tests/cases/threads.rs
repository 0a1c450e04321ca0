//! Real threads: the wake-up of waiters, the single flight and the verdicts hold where nothing is in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use oncewire::transport::scripted::Server;
use oncewire::{Execution, Kind, Proof};
use tokio::time::timeout;

use crate::support::{NOTHING, builder, scripted, seconds};

const CALLERS: usize = 32;
const CALLS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_that_are_lost_again_and_again_cost_one_handshake_at_a_time_and_no_call_hangs() {
    let server = Server::new();
    let (flying, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let exchange = scripted(&server, {
        let (flying, most) = (Arc::clone(&flying), Arc::clone(&most));
        move |arrival, _| {
            let (flying, most) = (Arc::clone(&flying), Arc::clone(&most));
            async move {
                if arrival.method() == "initialize" {
                    most.fetch_max(flying.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    flying.fetch_sub(1, Ordering::SeqCst);
                }
                tokio::task::yield_now().await;
                None
            }
        }
    });
    let client = builder(&exchange).retry_budget(20.0, 1_000_000).build().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let restarting = tokio::spawn({
        let (server, over) = (server.clone(), Arc::clone(&over));
        async move {
            while !over.load(Ordering::Relaxed) {
                server.forget_sessions();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut done = 0;
                for round in 0..CALLS {
                    let call = client.call_tool("poke", NOTHING).into_future();
                    if (number + round) % 7 == 0 {
                        // A caller that leaves, wherever it is.
                        tokio::select! {
                            biased;
                            () = tokio::task::yield_now() => {}
                            outcome = call => done += usize::from(outcome.is_ok()),
                        }
                        continue;
                    }
                    match timeout(seconds(20), call).await {
                        Ok(Ok(_)) => done += 1,
                        Ok(Err(error)) => {
                            // Three restarts in the time of one call, or two in that of one handshake: the first or a later one.
                            let kinds = [Kind::SessionLost, Kind::RecoveryFailed, Kind::HttpStatus];
                            assert!(kinds.contains(&error.kind()), "{error}");
                            let proofs = [Some(Proof::SessionRejected), Some(Proof::NeverSent)];
                            assert!(proofs.contains(&error.proof()), "{error}");
                            assert_eq!(error.execution(), Execution::NotExecuted);
                        }
                        Err(_) => panic!("caller {number}, round {round}: a waiter was forgotten"),
                    }
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for caller in callers {
        done += caller.await.unwrap();
    }
    over.store(true, Ordering::Relaxed);
    restarting.await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 1, "two handshakes at once");
    assert!(server.executed("poke") >= done, "a result without an execution");
    assert!(server.sessions().len() > 3, "the sessions were lost");
    client.call_tool("poke", NOTHING).await.unwrap();
    client.close().await;
    assert!(exchange.ledger().open().is_empty());
    assert!(server.sessions().iter().all(|session| session.deletes <= 1));
    assert_eq!(exchange.ledger().count("initialize"), exchange.ledger().count("notifications/initialized"));
}
