//! What all connections of one server share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;
use tokio::sync::watch;

use super::era::{Era, Lifecycle};
use super::gate::Gates;
use super::ledger::{Arrival, Cancelled, Execution, Ledger, Session};
use super::listeners::Listeners;
use super::modern;
use super::request::{Request, Rpc};
use super::script::{Facts, Hit, Options, Rule, Rules, Script};
use super::wire::Cut;
use crate::authorization::{self, Authorities, Authority};

/// The `_meta` member that names a call over all its attempts.
const KEY: &str = "dev.oncewire/idempotency-key";
/// The `_meta` member that counts them.
const ATTEMPT: &str = "dev.oncewire/attempt";

/// The URLs of the servers of one scenario, by name.
pub(crate) type Urls = Arc<Mutex<BTreeMap<String, String>>>;

/// A request that was not answered yet.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) seq: u64,
    pub(crate) rpc: Rpc,
    pub(crate) session: Option<String>,
}

#[derive(Debug, Default)]
struct Book {
    ledger: Ledger,
    /// Requests without a whole answer, in order.
    open: Vec<Subject>,
    initializing: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct State {
    started: Instant,
    options: Mutex<Options>,
    rules: Mutex<Rules>,
    book: Mutex<Book>,
    changed: watch::Sender<u64>,
    pub(crate) listeners: Listeners,
    pub(crate) gates: Gates,
    /// Counts the times that all connections were cut, with the manner of the last.
    pub(crate) cut: watch::Sender<(u64, Cut)>,
    /// Whether the port should be open.
    pub(crate) up: watch::Sender<bool>,
    pub(crate) urls: Urls,
    pub(crate) url: String,
    /// What it knows as an authorization server.
    pub(crate) authority: Arc<Authority>,
    pub(crate) authorities: Authorities,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    pub(crate) fn new(
        script: Script,
        url: String,
        urls: Urls,
        authority: Arc<Authority>,
        authorities: Authorities,
    ) -> Self {
        Self {
            started: Instant::now(),
            up: watch::channel(!script.options.start_down).0,
            options: Mutex::new(script.options),
            rules: Mutex::new(Rules::new(script.rules)),
            book: Mutex::default(),
            changed: watch::channel(0).0,
            listeners: Listeners::default(),
            gates: Gates::default(),
            cut: watch::channel((0, Cut::Close)).0,
            urls,
            url,
            authority,
            authorities,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn options(&self) -> Options {
        lock(&self.options).clone()
    }

    pub(crate) fn change_options(&self, change: impl FnOnce(&mut Options)) {
        change(&mut lock(&self.options));
    }

    pub(crate) fn set_rules(&self, rules: Vec<Rule>) {
        *lock(&self.rules) = Rules::new(rules);
    }

    pub(crate) fn add_rules(&self, rules: Vec<Rule>) {
        lock(&self.rules).add(rules);
    }

    pub(crate) fn drop_rule(&self, name: &str) -> bool {
        lock(&self.rules).drop_named(name)
    }

    pub(crate) fn pick(&self, facts: &Facts, early: bool) -> Option<Hit> {
        lock(&self.rules).pick(facts, early)
    }

    pub(crate) fn cut_all(&self, how: Cut) {
        self.cut.send_modify(|cut| *cut = (cut.0 + 1, how));
    }

    /// Changes the ledger and wakes everyone who waits for a change.
    fn note<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let value = change(&mut lock(&self.book));
        self.changed.send_modify(|version| *version += 1);
        value
    }

    pub(crate) fn ledger(&self) -> Ledger {
        let mut ledger = lock(&self.book).ledger.clone();
        for session in &mut ledger.sessions {
            session.left = session.requests == 0 && session.deletes == 0 && !session.forgotten;
        }
        ledger.authorization = self.authority.ledger();
        ledger.gates = self.gates.states().into_iter().map(|(name, state)| (name, state.into())).collect();
        ledger
    }

    /// The ledger has changed in a part of its own.
    pub(crate) fn touch(&self) {
        self.note(|_| ());
    }

    /// The authorization server with this name.
    pub(crate) fn authority_named(&self, name: &str) -> Option<Arc<Authority>> {
        lock(&self.authorities).get(name).cloned()
    }

    /// Resolves when the ledger is as wanted.
    pub(crate) async fn until(&self, mut wanted: impl FnMut(&Ledger) -> bool) {
        let mut changes = self.changed.subscribe();
        loop {
            changes.borrow_and_update();
            if wanted(&self.ledger()) || changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Notes a request; what is learnt here is what matchers see.
    pub(crate) fn arrive(&self, connection: u64, request: &Request, rpc: Option<&Rpc>) -> (u64, Facts) {
        let at_ms = self.now();
        let session = request.header("mcp-session-id").map(str::to_owned);
        let method = rpc.and_then(|rpc| rpc.method.clone());
        self.note(|book| {
            let ledger = &mut book.ledger;
            let known = ledger.sessions.iter_mut().find(|known| Some(&known.id) == session.as_ref());
            let (alive, generation) = match known {
                None => (false, None),
                Some(known) => {
                    known.last_used_ms = at_ms;
                    known.deletes += u64::from(request.method == "DELETE");
                    let lifecycle = method.as_deref().is_none_or(|name| name == "notifications/initialized");
                    known.requests += u64::from(!lifecycle);
                    (known.alive, Some(known.generation))
                }
            };
            let facts = Facts {
                http: request.method.clone(),
                path: request.path.clone(),
                rpc: method.clone(),
                name: rpc.and_then(|rpc| rpc.name.clone()),
                session: session.clone(),
                session_known: alive,
                generation,
                last_event_id: request.header("last-event-id").map(str::to_owned),
                attempt: rpc.and_then(|rpc| rpc.meta(ATTEMPT)).and_then(|attempt| attempt.as_u64()),
                progress_token: rpc.is_some_and(|rpc| rpc.progress_token().is_some()),
                cursor: rpc.is_some_and(|rpc| rpc.params().get("cursor").is_some_and(|cursor| !cursor.is_null())),
                token: request.token(),
                response: rpc.is_some_and(Rpc::is_response),
                lifecycle: Lifecycle::of(request, rpc),
                leg: rpc.is_some_and(modern::is_leg),
                cookie: request.header("cookie").is_some(),
                grant: authorization::grant(request),
            };
            let seq = ledger.arrivals.len() as u64;
            *ledger.by_http.entry(request.method.clone()).or_default() += 1;
            if let Some(method) = &method {
                *ledger.by_rpc.entry(method.clone()).or_default() += 1;
            }
            ledger.arrivals.push(Arrival {
                seq,
                at_ms,
                connection,
                http: facts.http.clone(),
                path: facts.path.clone(),
                rpc: method.clone(),
                name: facts.name.clone(),
                rpc_id: rpc.and_then(|rpc| rpc.id.clone()),
                cookie: request.header("cookie").map(str::to_owned),
                session: session.clone(),
                session_known: alive,
                generation,
                version: request.header("mcp-protocol-version").map(str::to_owned),
                last_event_id: facts.last_event_id.clone(),
                token: facts.token.clone(),
                key: rpc.and_then(|rpc| rpc.meta(KEY)).and_then(|key| key.as_str().map(str::to_owned)),
                attempt: facts.attempt,
                traceparent: rpc
                    .and_then(|rpc| rpc.meta("traceparent"))
                    .and_then(|trace| trace.as_str().map(str::to_owned)),
                progress_token: facts.progress_token,
                params: rpc.map(|rpc| without_meta(rpc.params())).unwrap_or_default(),
                meta: rpc.map(|rpc| rpc.params()["_meta"].clone()).unwrap_or_default(),
                era: facts.lifecycle,
                mcp_method: request.header("mcp-method").map(str::to_owned),
                mcp_name: request.header("mcp-name").map(str::to_owned),
                mcp_params: modern::param_headers(request),
                headers: request.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect(),
                ..Arrival::default()
            });
            if let Some(rpc) = rpc {
                if rpc.is_request() {
                    book.open.push(Subject { seq, rpc: rpc.clone(), session: session.clone() });
                } else if rpc.is_response() {
                    ledger.responses.push(rpc.message.clone());
                } else if method.as_deref() == Some("notifications/cancelled") {
                    let request_id = rpc.params()["requestId"].clone();
                    let of = ledger.arrivals.iter().rev().find(|other| other.rpc_id.as_ref() == Some(&request_id));
                    let (rpc, name) = of.map(|of| (of.rpc.clone(), of.name.clone())).unwrap_or_default();
                    ledger.cancelled.push(Cancelled { at_ms, session, request_id, rpc, name });
                }
            }
            (seq, facts)
        })
    }

    /// The latest request on this session that has no whole answer, for a stream that resumes it.
    pub(crate) fn unanswered(&self, session: Option<&str>) -> Option<Subject> {
        lock(&self.book).open.iter().rev().find(|subject| subject.session.as_deref() == session).cloned()
    }

    pub(crate) fn last_id(&self, name: &str) -> Value {
        let book = lock(&self.book);
        let hit = |arrival: &&Arrival| arrival.rpc.as_deref() == Some(name) || arrival.name.as_deref() == Some(name);
        book.ledger.arrivals.iter().rev().find(hit).and_then(|arrival| arrival.rpc_id.clone()).unwrap_or_default()
    }

    fn arrival(&self, seq: u64, change: impl FnOnce(&mut Arrival)) {
        self.note(|book| {
            let index = usize::try_from(seq).unwrap_or(usize::MAX);
            if let Some(arrival) = book.ledger.arrivals.get_mut(index) {
                change(arrival);
            }
        });
    }

    pub(crate) fn ruled(&self, seq: u64, rule: &str) {
        self.arrival(seq, |arrival| arrival.rule = Some(rule.to_owned()));
    }

    pub(crate) fn status(&self, seq: u64, status: u16) {
        self.arrival(seq, |arrival| arrival.status = Some(status));
    }

    /// Notes what is wrong with a request that no correct client would have sent.
    pub(crate) fn malformed(&self, seq: u64, what: &str) {
        self.arrival(seq, |arrival| arrival.malformed = Some(what.to_owned()));
    }

    pub(crate) fn too_early(&self) {
        self.note(|book| book.ledger.too_early += 1);
    }

    pub(crate) fn answered(&self, seq: u64) {
        let now = self.now();
        self.arrival(seq, |arrival| arrival.answered_at_ms = Some(now));
        self.note(|book| book.open.retain(|subject| subject.seq != seq));
    }

    pub(crate) fn client_gone(&self, connection: u64) {
        let now = self.now();
        self.note(|book| {
            for arrival in &mut book.ledger.arrivals {
                if arrival.connection == connection && arrival.answered_at_ms.is_none() {
                    arrival.client_gone_at_ms.get_or_insert(now);
                }
            }
        });
    }

    /// As [`Self::client_gone`], for one request of a connection that lives on.
    pub(crate) fn client_left(&self, seq: u64) {
        let now = self.now();
        self.arrival(seq, |arrival| {
            if arrival.answered_at_ms.is_none() {
                arrival.client_gone_at_ms.get_or_insert(now);
            }
        });
    }

    /// Notes the start of a run, once for each arrival. Returns its place, to end it, unless there was one already.
    pub(crate) fn execute(&self, subject: &Subject, dedupe: bool) -> Option<usize> {
        let now = self.now();
        let key = subject.rpc.meta(KEY).and_then(|key| key.as_str().map(str::to_owned));
        self.note(|book| {
            let ledger = &mut book.ledger;
            let known = ledger
                .executions
                .iter()
                .any(|run| run.arrival == subject.seq || (dedupe && key.is_some() && run.key == key));
            if known {
                return None;
            }
            if let Some(arrival) = usize::try_from(subject.seq).ok().and_then(|at| ledger.arrivals.get_mut(at)) {
                arrival.executed = true;
            }
            ledger.executions.push(Execution {
                arrival: subject.seq,
                rpc: subject.rpc.method.clone().unwrap_or_default(),
                name: subject.rpc.name.clone(),
                session: subject.session.clone(),
                key,
                started_ms: now,
                ..Execution::default()
            });
            Some(ledger.executions.len() - 1)
        })
    }

    pub(crate) fn end_execution(&self, at: usize) {
        let now = self.now();
        self.note(|book| {
            if let Some(run) = book.ledger.executions.get_mut(at) {
                run.ended_ms = Some(now);
            }
        });
    }

    /// The client closed the stream of the answer, which in the modern era means that it wants no more of it.
    pub(crate) fn cancel_execution(&self, at: usize) {
        let now = self.now();
        self.note(|book| {
            if let Some(run) = book.ledger.executions.get_mut(at) {
                run.cancelled_at_ms = Some(now);
            }
        });
    }

    /// The run of this arrival ended with a question.
    pub(crate) fn asked(&self, seq: u64) {
        self.note(|book| {
            book.ledger.executions.iter_mut().filter(|run| run.arrival == seq).for_each(|run| run.asked = true);
        });
    }

    pub(crate) fn mint_session(&self, single: bool) -> String {
        let now = self.now();
        self.note(|book| {
            let sessions = &mut book.ledger.sessions;
            if single {
                sessions.iter_mut().filter(|old| old.alive).for_each(|old| (old.alive, old.forgotten) = (false, true));
            }
            let generation = sessions.len() as u64 + 1;
            let id = format!("session-{generation}-{:08x}", fingerprint(self.started, generation));
            sessions.push(Session {
                id: id.clone(),
                generation,
                created_ms: now,
                alive: true,
                last_used_ms: now,
                ..Session::default()
            });
            id
        })
    }

    fn session(&self, id: &str, change: impl FnOnce(&mut Session)) {
        self.note(|book| {
            if let Some(session) = book.ledger.sessions.iter_mut().find(|session| session.id == id) {
                change(session);
            }
        });
    }

    pub(crate) fn initialized(&self, id: &str) {
        self.session(id, |session| session.initialized = true);
    }

    pub(crate) fn is_initialized(&self, id: &str) -> bool {
        lock(&self.book).ledger.sessions.iter().any(|session| session.id == id && session.initialized)
    }

    pub(crate) fn delete(&self, id: &str) {
        self.session(id, |session| session.alive = false);
    }

    pub(crate) fn forget(&self, id: &str) {
        self.session(id, |session| (session.alive, session.forgotten) = (false, true));
    }

    pub(crate) fn forget_all(&self) {
        self.note(|book| {
            let alive = book.ledger.sessions.iter_mut().filter(|session| session.alive);
            alive.for_each(|session| (session.alive, session.forgotten) = (false, true));
        });
    }

    /// The process is replaced by one of another era: it knows no session.
    pub(crate) fn become_era(&self, era: Era) {
        self.change_options(|options| options.era = era);
        self.forget_all();
    }

    pub(crate) fn connection_opened(&self) -> u64 {
        self.note(|book| {
            book.ledger.connections.opened += 1;
            book.ledger.connections.open += 1;
            book.ledger.connections.opened
        })
    }

    pub(crate) fn connection_closed(&self) {
        self.note(|book| book.ledger.connections.open -= 1);
    }

    pub(crate) fn initialize_begins(&self) {
        self.note(|book| {
            book.initializing += 1;
            let most = &mut book.ledger.max_concurrent_initialize;
            *most = (*most).max(book.initializing);
        });
    }

    pub(crate) fn initialize_ends(&self) {
        self.note(|book| book.initializing -= 1);
    }

    pub(crate) async fn reply_to(&self, id: &Value) {
        self.until(|ledger| ledger.responses.iter().any(|response| &response["id"] == id)).await;
    }
}

fn without_meta(params: &Value) -> Value {
    let mut params = params.clone();
    if let Some(members) = params.as_object_mut() {
        members.remove("_meta");
    }
    params
}

/// Not random, but different from server to server: the id of a former process must not be valid in the next.
fn fingerprint(started: Instant, generation: u64) -> u32 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u128(started.elapsed().as_nanos());
    hasher.write_u64(generation);
    let hash = hasher.finish();
    u32::try_from(hash >> 32).unwrap_or_default()
}
