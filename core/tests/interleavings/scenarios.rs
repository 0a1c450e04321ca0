//! What is tried under every schedule. Each scenario ends only when all that wait have been woken.

use std::sync::Arc;
use std::time::Duration;

use shuttle::current::{TaskId, me};
use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::policy::backoff::BackoffBounds;
use crate::record::Record;
use crate::schedules::explore;
use crate::session::Session;
use crate::session::handshake::{Flights, Handshake, Limits, Script, Spawner, Wire};
use crate::session::listener::Listener;
use crate::session::sessions::{NoSession, Sessions};
use crate::session::state::State;
use crate::vocabulary::background::Background;
use crate::vocabulary::config::Recovery;

type Acquired = Result<Arc<Session>, NoSession>;

/// The waiters of a scenario.
const WAITERS: usize = 3;

fn lands() -> Script {
    Script { flights: Flights::Land, flight_gate: None, ping_gate: None }
}

fn client(recovery: Recovery, script: Script, record: Record) -> (Arc<Sessions>, Arc<Record>) {
    let record = Arc::new(record);
    let background =
        Spawner { background: Background::new(Handle::current()), runtime_is_down: AtomicBool::new(false) };
    let handshake = Handshake {
        wire: Arc::new(Wire { events: Arc::clone(&record), background }),
        router: script,
        limits: Limits,
        backoff: BackoffBounds,
    };
    (Arc::new(Sessions::new(handshake, Listener, Arc::default(), recovery)), record)
}

/// A caller that wants a session; with which task it was.
fn waiter(sessions: &Arc<Sessions>) -> JoinHandle<(TaskId, Acquired)> {
    let sessions = Arc::clone(sessions);
    tokio::spawn(async move { (me(), sessions.acquire().await) })
}

fn waiters(sessions: &Arc<Sessions>) -> Vec<JoinHandle<(TaskId, Acquired)>> {
    (0..WAITERS).map(|_| waiter(sessions)).collect()
}

async fn outcomes(waiters: Vec<JoinHandle<(TaskId, Acquired)>>) -> Vec<(TaskId, Acquired)> {
    let mut outcomes = Vec::new();
    for waiter in waiters {
        outcomes.push(waiter.await.unwrap());
    }
    outcomes
}

/// Closes, lets everything end, and checks what was recorded.
async fn end(sessions: Arc<Sessions>, record: &Record) {
    sessions.close();
    let background = sessions.handshake.wire.background.background.clone();
    background.closing().cancel();
    background.wait(Duration::MAX).await;
    assert_eq!(sessions.state(), State::Closed);
    assert_eq!(Arc::strong_count(&sessions), 1, "somebody still holds the sessions");
    drop(sessions);
    record.check();
    record.check_all_ended();
}

/// Each looks when it comes, when the flight starts, when its task has ended, and goes; none is kept awake by the looks of the others.
#[test]
fn all_get_the_session_of_one_flight() {
    explore("one flight", || {
        block_on(async {
            let (sessions, record) = client(Recovery::Auto, lands(), Record::default());
            for (_, acquired) in outcomes(waiters(&sessions)).await {
                assert_eq!(acquired.unwrap().generation, 1);
            }
            assert_eq!(record.flights(), 1);
            assert!(record.most_turns() <= 4, "woken for nothing: {} turns", record.most_turns());
            end(sessions, &record).await;
        });
    });
}

#[test]
fn whoever_joined_a_failed_flight_fails_with_it() {
    explore("a flight that fails all who joined it", || {
        block_on(async {
            let all_joined = CancellationToken::new();
            let script = Script { flights: Flights::Fail, flight_gate: Some(all_joined.clone()), ..lands() };
            let record = Record::telling_when_looked(WAITERS, &all_joined);
            let (sessions, record) = client(Recovery::Auto, script, record);
            for (_, acquired) in outcomes(waiters(&sessions)).await {
                assert_eq!(failed_flight(&acquired), 1);
            }
            assert_eq!(record.flights(), 1, "somebody who had joined it started the next");
            end(sessions, &record).await;
        });
    });
}

/// Those who come after the failure may start the next; nobody starts two, and nobody fails with one that was before their own.
#[test]
fn nobody_starts_a_second_flight() {
    explore("flights that fail, one after the other", || {
        block_on(async {
            let script = Script { flights: Flights::Fail, ..lands() };
            let (sessions, record) = client(Recovery::Auto, script, Record::default());
            let outcomes = outcomes(waiters(&sessions)).await;
            let starters = record.starters();
            for (task, acquired) in outcomes {
                let started: Vec<_> = (1..).zip(&starters).filter(|(_, starter)| **starter == task).collect();
                assert!(started.len() <= 1, "one waiter started {} flights", started.len());
                if let [(number, _)] = started[..] {
                    assert!(failed_flight(&acquired) >= number);
                }
            }
            end(sessions, &record).await;
        });
    });
}

fn failed_flight(acquired: &Acquired) -> usize {
    match acquired {
        Err(NoSession::Failed { failure, recovering: false }) => failure.reason.parse().unwrap(),
        other => panic!("not failed with a flight: {other:?}"),
    }
}

/// The flight hangs until all have been told: it is the closing that wakes them.
#[test]
fn close_wakes_all_while_the_flight_hangs() {
    explore("a close during a flight", || {
        block_on(async {
            let all_told = CancellationToken::new();
            let (sessions, record) =
                client(Recovery::Auto, Script { flight_gate: Some(all_told.clone()), ..lands() }, Record::default());
            let waiters = waiters(&sessions);
            let closer = tokio::spawn({
                let sessions = Arc::clone(&sessions);
                async move { sessions.close() }
            });
            for (_, acquired) in outcomes(waiters).await {
                assert!(matches!(acquired, Err(NoSession::Closed)), "{acquired:?}");
            }
            closer.await.unwrap();
            all_told.cancel();
            end(sessions, &record).await;
        });
    });
}

/// The flight hangs for good, and its task is dropped at any point: before it began, while it waits, or where it was to be spawned.
#[test]
fn a_flight_that_is_dropped_wakes_all() {
    explore("a dropped flight", || {
        block_on(async {
            let never = CancellationToken::new();
            let script = Script { flight_gate: Some(never), ..lands() };
            let (sessions, record) = client(Recovery::Auto, script, Record::default());
            let waiters = waiters(&sessions);
            drop_tasks(&sessions);
            for (_, acquired) in outcomes(waiters).await {
                assert!(matches!(acquired, Err(NoSession::Failed { .. })), "{acquired:?}");
            }
            end(sessions, &record).await;
        });
    });
}

/// As a runtime that is shut down: what it runs is dropped, and so is what it is to run from then on.
fn drop_tasks(sessions: &Sessions) {
    let background = &sessions.handshake.wire.background;
    background.runtime_is_down.store(true, Ordering::SeqCst);
    background.background.end();
}

/// The ping hangs for good, and its task is dropped: it says nothing, and the session stays.
#[test]
fn a_ping_that_is_dropped_wakes_all() {
    explore("a dropped ping", || {
        block_on(async {
            let never = CancellationToken::new();
            let script = Script { ping_gate: Some(never), ..lands() };
            let (sessions, record) = client(Recovery::Auto, script, Record::default());
            sessions.suspect(&sessions.acquire().await.unwrap());
            let waiters = waiters(&sessions);
            drop_tasks(&sessions);
            for (_, acquired) in outcomes(waiters).await {
                assert_eq!(acquired.unwrap().generation, 1);
            }
            end(sessions, &record).await;
        });
    });
}

/// Each asks once, however often it is woken; those who ask during a flight get what it brings.
#[test]
fn all_who_ask_for_a_new_session_get_one() {
    explore("new sessions asked for", || {
        block_on(async {
            let (sessions, record) = client(Recovery::Surface, lands(), Record::default());
            let first = sessions.acquire().await.unwrap();
            let callers: Vec<_> = (0..WAITERS)
                .map(|_| {
                    let sessions = Arc::clone(&sessions);
                    tokio::spawn(async move { sessions.recover().await })
                })
                .collect();
            for caller in callers {
                assert!(caller.await.unwrap().unwrap().generation > first.generation);
            }
            assert!(record.flights() <= 1 + WAITERS, "{} flights", record.flights());
            drop(first);
            end(sessions, &record).await;
        });
    });
}

/// Whoever started the flight gives up, at any point of it.
#[test]
fn the_starter_gives_up_and_the_flight_goes_on() {
    explore("a starter that gives up", || {
        block_on(async {
            let given_up = CancellationToken::new();
            let started = CancellationToken::new();
            let script = Script { flight_gate: Some(given_up.clone()), ..lands() };
            let (sessions, record) = client(Recovery::Auto, script, Record::telling_when_looked(1, &started));
            let waiters: Vec<_> = (0..WAITERS)
                .map(|_| {
                    let (sessions, record) = (Arc::clone(&sessions), Arc::clone(&record));
                    let (started, given_up) = (started.clone(), given_up.clone());
                    tokio::spawn(async move {
                        let is_starter = async {
                            started.cancelled().await;
                            if record.starters() != [me()] {
                                std::future::pending::<()>().await;
                            }
                        };
                        let acquired = tokio::select! {
                            acquired = sessions.acquire() => Some(acquired),
                            () = is_starter => None,
                        };
                        if acquired.is_none() {
                            given_up.cancel();
                        }
                        acquired
                    })
                })
                .collect();
            let mut without = 0;
            for waiter in waiters {
                match waiter.await.unwrap() {
                    Some(acquired) => assert_eq!(acquired.unwrap().generation, 1),
                    None => without += 1,
                }
            }
            assert_eq!((without, record.flights()), (1, 1));
            end(sessions, &record).await;
        });
    });
}

/// Each sees the same session refused, at another time; what is said of it late costs no later session anything.
#[test]
fn a_session_that_is_refused_again_and_again_is_given_up_once() {
    explore("refusals that nothing confirms", || {
        block_on(async {
            let (sessions, record) = client(Recovery::Auto, lands(), Record::default());
            let first = sessions.acquire().await.unwrap();
            let callers: Vec<_> = (0..WAITERS)
                .map(|_| {
                    let (sessions, first) = (Arc::clone(&sessions), Arc::clone(&first));
                    tokio::spawn(async move {
                        sessions.ended_refused(&first, false);
                        sessions.acquire().await
                    })
                })
                .collect();
            for caller in callers {
                assert!(caller.await.unwrap().unwrap().generation <= 2);
            }
            assert_eq!(sessions.acquire().await.unwrap().generation, 2);
            assert_eq!(record.flights(), 2);
            drop(first);
            end(sessions, &record).await;
        });
    });
}

/// Refusals of which some are sent again, some end a call and some are answers, in each mode of recovery; a caller wants a session all the while.
#[test]
fn whoever_waits_while_sessions_are_refused_is_woken() {
    explore("refusals of all sorts", || {
        block_on(async {
            let recovery = [Recovery::Auto, Recovery::Surface, Recovery::Off][thread_rng().gen_range(0..3)];
            let (sessions, record) = client(recovery, lands(), Record::default());
            let mut callers = Vec::new();
            for _ in 0..WAITERS {
                let sessions = Arc::clone(&sessions);
                callers.push(tokio::spawn(async move {
                    for _ in 0..2 {
                        let Ok(session) = sessions.acquire().await else { break };
                        match thread_rng().gen_range(0..3) {
                            0 => sessions.refused(&session),
                            1 => sessions.ended_refused(&session, thread_rng().gen_bool(0.5)),
                            _ => sessions.lost(&session),
                        }
                    }
                }));
            }
            let last = waiter(&sessions);
            for caller in callers {
                caller.await.unwrap();
            }
            let lost = |acquired: &Acquired| recovery == Recovery::Surface && matches!(acquired, Err(NoSession::Lost));
            let (_, acquired) = last.await.unwrap();
            for acquired in [acquired, sessions.acquire().await] {
                assert!(acquired.is_ok() || lost(&acquired), "{acquired:?}");
            }
            end(sessions, &record).await;
        });
    });
}

/// Callers that see their session lost or suspect, one that asks for a new one, one that gives up, and a close, in each mode of recovery.
#[test]
fn anything_at_once() {
    explore("anything at once", || {
        block_on(async {
            let recovery = [Recovery::Auto, Recovery::Surface, Recovery::Off][thread_rng().gen_range(0..3)];
            let script = Script { flights: Flights::Either, ..lands() };
            let (sessions, record) = client(recovery, script, Record::default());
            let mut callers = Vec::new();
            for _ in 0..WAITERS {
                let sessions = Arc::clone(&sessions);
                callers.push(tokio::spawn(async move {
                    for _ in 0..2 {
                        match sessions.acquire().await {
                            Ok(session) if thread_rng().gen_bool(0.5) => sessions.lost(&session),
                            Ok(session) => sessions.suspect(&session),
                            Err(_) => {}
                        }
                    }
                }));
            }
            callers.push(tokio::spawn({
                let sessions = Arc::clone(&sessions);
                async move { drop(sessions.recover().await) }
            }));
            let enough = CancellationToken::new();
            callers.push(tokio::spawn({
                let (sessions, enough) = (Arc::clone(&sessions), enough.clone());
                async move {
                    tokio::select! {
                        _ = sessions.acquire() => {}
                        () = enough.cancelled() => {}
                    }
                }
            }));
            callers.push(tokio::spawn({
                let sessions = Arc::clone(&sessions);
                async move {
                    enough.cancel();
                    if thread_rng().gen_bool(0.5) {
                        sessions.close();
                    }
                }
            }));
            for caller in callers {
                caller.await.unwrap();
            }
            end(sessions, &record).await;
        });
    });
}
