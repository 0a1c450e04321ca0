//! A login that survives: asked for once, refreshed once however many need it, and never lost by an answer that is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use oncewire::oauth::{LoginStore, MemoryStore, OAuth, StoreError, StoreErrorKind};
use oncewire::{EventName, Execution, Kind, Proof};
use tokio::time::{Instant, sleep, timeout};

use crate::oauth_authority::{Authority, Fault};
use crate::support::{Gate, Log, NOTHING, at_once, failure, seconds};

/// How long a failure that may pass stands.
const PASSING: u64 = 5;

#[tokio::test(start_paused = true)]
async fn eight_calls_of_a_new_client_cost_one_login() {
    let authority = Authority::new();
    let log = Log::default();
    let client = authority.builder().on_event(log.observer()).lazy(true).connect().await.unwrap();
    let calls = at_once(8, |_| {
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    assert!(calls.await.iter().all(Result::is_ok));
    assert_eq!((authority.logins(), authority.registrations(), authority.server.executed("poke")), (1, 1, 8));
    let needed = log.of(EventName::LoginNeeded);
    assert!(needed[0].url.as_deref().unwrap().starts_with("https://as.test/authorize?"), "{needed:?}");
    assert_eq!((needed.len(), log.of(EventName::LoginDone).len()), (1, 1));
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_next_client_uses_the_login_that_is_stored() {
    let authority = Authority::new();
    authority.builder().connect().await.unwrap().close().await;
    let asked = authority.asked("as.test");
    let client = authority.builder().connect().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.asked("as.test")), (1, asked));
}

#[tokio::test(start_paused = true)]
async fn of_many_clients_that_share_a_login_one_refreshes_it() {
    let authority = Authority::new();
    let clients = at_once(8, |_| {
        let builder = authority.builder();
        async move { builder.connect().await.unwrap() }
    });
    let clients = clients.await;
    assert_eq!(authority.logins(), 1, "one login, too");
    for round in 1..=5 {
        authority.expire();
        let calls = at_once(clients.len(), |number| {
            let client = clients[number].clone();
            async move { client.call_tool("poke", NOTHING).await }
        });
        for call in calls.await {
            // What was refused while the token was being replaced may be told, and was not executed.
            if let Err(error) = call {
                assert_eq!(error.execution(), Execution::NotExecuted, "{error}");
            }
        }
        assert_eq!(authority.refreshes(), round, "one refresh, whoever sees the refusal");
    }
    assert_eq!(authority.logins(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_over_by_its_date_is_refreshed_before_it_is_sent() {
    let authority = Authority::new();
    authority.expires_in(0);
    let client = authority.builder().connect().await.unwrap();
    authority.expires_in(3_600);
    let refused = |authority: &Authority| authority.exchange.ledger().count("tools/call");
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(refused(&authority), 1, "no call goes out with it");
    assert_eq!(authority.logins(), 1);
    assert!(authority.refreshes() >= 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_before_the_server_looked_costs_one_retry_and_no_login() {
    let authority = Authority::new();
    let client = authority.builder().connect().await.unwrap();
    authority.expire();
    authority.faults([Fault::CutBefore]);
    let failed = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failed.kind, failed.execution), (Kind::Auth, Execution::NotExecuted));
    assert!(failed.reason.contains("not known"), "{}", failed.reason);
    sleep(seconds(PASSING)).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_after_a_rotation_is_told_as_that() {
    let authority = Authority::new();
    let log = Log::default();
    let client = authority.builder().on_event(log.observer()).connect().await.unwrap();
    authority.expire();
    authority.faults([Fault::CutAfter]);
    assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::Auth);
    assert_eq!(authority.logins(), 1, "a doubt is no refusal");
    sleep(seconds(PASSING)).await;
    // The server takes the retry for a theft. No client can save this login, but it can say what happened.
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (2, 2));
    let lost = log.of(EventName::LoginLost);
    let reason = lost[0].reason.as_deref().unwrap();
    assert!(reason.contains("invalid_grant") && reason.contains("earlier refresh was lost"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn processes_that_go_one_after_the_other_while_they_refresh_use_no_login_up() {
    let authority = Authority::new();
    let client = authority.builder().connect().await.unwrap();
    authority.expire();
    authority.faults([Fault::CutBefore, Fault::CutBefore, Fault::CutBefore, Fault::CutBefore]);
    for _ in 0..4 {
        assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::Auth);
        sleep(seconds(61)).await;
    }
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_is_refused_in_other_words_is_not_tried_for_ever() {
    let authority = Authority::new();
    let log = Log::default();
    let client = authority.builder().on_event(log.observer()).connect().await.unwrap();
    authority.expire();
    authority.faults([
        Fault::Says(400, "{\"error\":\"invalid_request\"}"),
        Fault::Says(400, "{\"error\":\"invalid_request\"}"),
    ]);
    assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::Auth);
    sleep(seconds(PASSING)).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (2, 0));
    assert_eq!(log.of(EventName::LoginLost).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_whose_answers_are_lost_is_not_tried_for_ever() {
    let authority = Authority::new();
    let log = Log::default();
    let client = authority.builder().on_event(log.observer()).connect().await.unwrap();
    authority.expire();
    authority.faults([const { Fault::CutBefore }; 10]);
    for _ in 0..9 {
        assert_eq!(failure(client.call_tool("poke", NOTHING).await).kind, Kind::Auth);
        sleep(seconds(61)).await;
    }
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (2, 0));
    assert_eq!(log.of(EventName::LoginLost).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_costs_no_login_however_long() {
    let authority = Authority::new();
    let client = authority.builder().connect().await.unwrap();
    authority.expire();
    let troubles = [
        Fault::Says(503, ""),
        Fault::Says(500, "{\"error\":\"invalid_grant\"}"),
        Fault::Says(429, "slow down"),
        Fault::Says(403, "<html>blocked</html>"),
        Fault::Says(404, "<html>not here</html>"),
        Fault::NeverSent,
    ];
    for trouble in troubles {
        authority.faults([trouble]);
        let failed = failure(client.call_tool("poke", NOTHING).await);
        assert_eq!((failed.kind, failed.execution), (Kind::Auth, Execution::NotExecuted));
        assert!(failed.reason.contains("stays as it is"), "{}", failed.reason);
        // Of one refused token a few twins are sent in a minute.
        sleep(seconds(61)).await;
    }
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_revoked_is_told_and_asked_for_anew_and_never_tried_again() {
    let authority = Authority::new();
    let log = Log::default();
    let client = authority.builder().on_event(log.observer()).connect().await.unwrap();
    authority.revoke_all();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes(), authority.registrations()), (2, 1, 1));
    let lost = log.of(EventName::LoginLost);
    assert!(lost[0].reason.as_deref().unwrap().contains("invalid_grant"), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dead_token_is_not_sent_again_by_another_client() {
    let authority = Authority::new();
    authority.builder().connect().await.unwrap().close().await;
    authority.revoke_all();
    // Nobody logs in.
    let store = Arc::new(authority.store.clone());
    let nobody = || OAuth::new().store(Arc::clone(&store) as _).receive(|_| async { Err("nobody is here".into()) });
    for _ in 0..3 {
        let error = authority.builder_with(nobody()).connect().await.unwrap_err();
        assert!(error.to_string().contains("nobody is here"), "{error}");
    }
    assert_eq!(authority.refreshes(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_cancels_no_refresh() {
    let authority = Authority::new();
    let client = authority.builder().connect().await.unwrap();
    authority.expire();
    let gate = Gate::new();
    authority.faults([Fault::Waits(gate.clone())]);
    let call = client.call_tool("poke", NOTHING).timeout(seconds(1)).await;
    assert_eq!(failure(call).execution, Execution::NotExecuted);
    gate.open();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_stores_what_it_was_about_to_be_given() {
    let authority = Authority::new();
    let client = authority.builder().connect().await.unwrap();
    authority.expire();
    let gate = Gate::new();
    authority.faults([Fault::Waits(gate.clone())]);
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    while authority.exchange.ledger().count("tools/call") == 0 {
        tokio::task::yield_now().await;
    }
    sleep(seconds(1)).await;
    let closing = tokio::spawn(async move { client.close().await });
    sleep(seconds(1)).await;
    gate.open();
    closing.await.unwrap();
    assert!(calling.await.unwrap().is_err());
    authority.builder().connect().await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn scopes_are_added_when_a_tool_needs_more_and_none_is_given_up() {
    let authority = Authority::new();
    let client = authority.builder().connect().await.unwrap();
    authority.needs("write");
    client.call_tool("poke", NOTHING).await.unwrap();
    authority.needs("admin");
    client.call_tool("poke", NOTHING).await.unwrap();
    // The first tool again: what it needs is still there.
    authority.needs("write");
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.server.executed("poke")), (3, 3));
    for scope in ["more", "much more"] {
        authority.needs(scope);
        let _ = client.call_tool("poke", NOTHING).await;
    }
    assert!(authority.logins() <= 4, "three times at most: {}", authority.logins());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_want_to_wait_for_a_person_fails_at_once() {
    let authority = Authority::new();
    let gate = Gate::new();
    let oauth = authority.oauth().wait_for_login(false).receive({
        let (authority, gate) = (authority.clone(), gate.clone());
        move |url| {
            let (authority, gate) = (authority.clone(), gate.clone());
            async move {
                gate.pass().await;
                Ok(authority.grants(&url))
            }
        }
    });
    let client = authority.builder_with(oauth).lazy(true).connect().await.unwrap();
    let failed = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(
        (failed.kind, failed.execution, failed.proof),
        (Kind::Auth, Execution::NotExecuted, Some(Proof::NeverSent))
    );
    assert_eq!(client.state().as_str(), "login_needed");
    gate.open();
    client.login().await.unwrap();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), client.state().as_str()), (1, "ready"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_keeps_its_deadline() {
    let authority = Authority::new();
    let oauth = authority.oauth().receive(|_| std::future::pending());
    let client = authority.builder_with(oauth).lazy(true).connect().await.unwrap();
    let began = Instant::now();
    let failed = failure(client.call_tool("poke", NOTHING).timeout(seconds(3)).await);
    assert_eq!((failed.execution, began.elapsed()), (Execution::NotExecuted, seconds(3)));
    // The person has five minutes, whatever the call did.
    sleep(seconds(200)).await;
    assert_eq!(client.state().as_str(), "login_needed");
    sleep(seconds(200)).await;
    assert_ne!(client.state().as_str(), "login_needed");
}

#[tokio::test(start_paused = true)]
async fn logging_out_revokes_and_forgets() {
    let authority = Authority::new();
    let client = authority.builder().connect().await.unwrap();
    client.logout().await.unwrap();
    assert_eq!(authority.revocations(), 1);
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.registrations(), authority.refreshes()), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn without_an_option_there_is_nothing_to_log_in_to() {
    let authority = Authority::new();
    let client = crate::support::builder(&authority.exchange).lazy(true).connect().await.unwrap();
    for error in [client.login().await.unwrap_err(), client.logout().await.unwrap_err()] {
        assert_eq!(error.kind(), Kind::Config);
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_that_is_out_of_order_is_no_reason_for_another_way_to_log_in() {
    let authority = Authority::new();
    authority.metadata_status(500);
    let error = authority.builder().connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Auth);
    assert_eq!((authority.logins(), authority.asked("as.test")), (0, 0));
    authority.metadata_status(200);
    sleep(seconds(PASSING)).await;
    authority.builder().connect().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_names_nothing_inside_of_the_users_network() {
    for inside in ["https://10.0.0.1", "https://169.254.169.254", "http://127.0.0.1:9000", "https://localhost:9000"] {
        let authority = Authority::new();
        authority.names(inside);
        let error = authority.builder().connect().await.unwrap_err();
        assert!(error.to_string().contains("in a network that the server is not in"), "{error}");
        let host = url::Url::parse(inside).unwrap();
        assert_eq!((authority.asked(host.host_str().unwrap()), authority.logins()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn no_token_is_shown_anywhere() {
    let authority = Authority::new();
    let log = Log::default();
    let client = authority.builder().on_event(log.observer()).connect().await.unwrap();
    let mut shown = format!("{client:?} {:?}", authority.oauth());
    authority.expire();
    // A server that repeats what it got.
    authority
        .faults([Fault::Says(400, "{\"error\":\"odd\",\"error_description\":\"refresh-token-1 of access-token-1\"}")]);
    let failed = failure(client.call_tool("poke", NOTHING).await);
    shown += &format!("{failed:?} {}", serde_json::to_string(&failed).unwrap());
    sleep(seconds(PASSING)).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    for name in log.names() {
        shown += &format!("{:?}", log.of(name));
    }
    for secret in authority.secrets() {
        assert!(!shown.contains(&secret), "{secret} is shown");
    }
    assert!(shown.contains("odd"), "{shown}");
}

/// A store that fails to save when it is told to.
struct Faulty {
    inner: MemoryStore,
    full: Arc<AtomicBool>,
    saves: Arc<AtomicUsize>,
}

#[async_trait]
impl LoginStore for Faulty {
    async fn load(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.inner.load(key).await
    }

    async fn save(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.saves.fetch_add(1, Ordering::Relaxed);
        if self.full.load(Ordering::Relaxed) {
            return Err(StoreError::new(StoreErrorKind::Full, "the disk is full"));
        }
        self.inner.save(key, value).await
    }

    async fn lock(&self, key: &str) -> Result<(), StoreError> {
        self.inner.lock(key).await
    }

    async fn unlock(&self, key: &str) -> Result<(), StoreError> {
        self.inner.unlock(key).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_sends_no_refresh_and_loses_none() {
    let authority = Authority::new();
    let (full, saves) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let store = Faulty { inner: authority.store.clone(), full: Arc::clone(&full), saves: Arc::clone(&saves) };
    let client = authority.builder_with(authority.oauth().store(Arc::new(store))).connect().await.unwrap();
    authority.expire();
    full.store(true, Ordering::Relaxed);
    let failed = failure(client.call_tool("poke", NOTHING).await);
    assert!(failed.reason.contains("the disk is full"), "{}", failed.reason);
    assert_eq!(authority.refreshes(), 0, "the intent comes first");
    full.store(false, Ordering::Relaxed);
    sleep(seconds(PASSING)).await;
    // It fills up while the answer is on its way.
    let gate = Gate::new();
    authority.faults([Fault::Waits(gate.clone())]);
    let before = saves.load(Ordering::Relaxed);
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("poke", NOTHING).await }
    });
    let intent = async {
        while saves.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
    };
    timeout(seconds(60), intent).await.unwrap();
    sleep(seconds(1)).await;
    full.store(true, Ordering::Relaxed);
    gate.open();
    let failed = failure(calling.await.unwrap());
    assert!(failed.reason.contains("not stored yet"), "{}", failed.reason);
    full.store(false, Ordering::Relaxed);
    sleep(seconds(PASSING)).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (1, 1), "what was granted was kept");
    // It is on the disk by now.
    authority.builder().connect().await.unwrap();
    assert_eq!((authority.logins(), authority.refreshes()), (1, 1));
}
