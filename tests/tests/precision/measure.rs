//! Counts what a client says of the attempts that never ran.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use oncewire::{Client, ClientBuilder, Event, EventName, Execution, ProofBasis};
use oncewire_tests::server::{FaultServer, Ledger};
use serde_json::Value;
use tokio::time::timeout;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// The request never left, or the server denied its stream.
    Certain,
    /// Everything is refused alike, and a twin shows it.
    Confirmed,
    /// Only our own login can have caused it.
    Protocol,
    Raced,
    /// This request was refused, and nothing shows that it was not the tool that refused it.
    Alone,
    Taken,
}

impl Group {
    /// What `not_executed` rests on here.
    fn basis(self) -> Option<ProofBasis> {
        match self {
            Self::Certain => Some(ProofBasis::Certain),
            Self::Confirmed => Some(ProofBasis::Confirmed),
            Self::Protocol => Some(ProofBasis::Protocol),
            Self::Raced | Self::Alone | Self::Taken => None,
        }
    }

    /// Attempts of which it is said otherwise.
    pub(crate) fn other_bases(self, tally: &Tally) -> u32 {
        tally
            .bases
            .iter()
            .filter(|(basis, _)| self.basis().is_some_and(|of| of != **basis))
            .map(|(_, times)| times)
            .sum()
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) never_ran: u32,
    pub(crate) proven: u32,
    /// Attempts that ran and are said not to have.
    pub(crate) lies: u32,
    /// What the verdicts of attempts that ended their call rest on.
    bases: HashMap<ProofBasis, u32>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.never_ran += other.never_ran;
        self.proven += other.proven;
        self.lies += other.lies;
        other.bases.into_iter().for_each(|(basis, times)| *self.bases.entry(basis).or_default() += times);
    }

    fn note(&mut self, ran: bool, says_not: bool) {
        self.never_ran += u32::from(!ran);
        self.proven += u32::from(!ran && says_not);
        self.lies += u32::from(ran && says_not);
    }

    pub(crate) fn percent(&self) -> f64 {
        100.0 * f64::from(self.proven) / f64::from(self.never_ran.max(1))
    }
}

/// The events of one client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(Arc<Mutex<Vec<Event>>>);

impl Watched {
    pub(crate) fn builder(&self, url: &str) -> ClientBuilder {
        let events = Arc::clone(&self.0);
        Client::builder(url)
            .no_proxy()
            .connect_patience(Duration::ZERO)
            .backoff(Duration::from_millis(1), Duration::from_millis(2))
            .close_timeout(Duration::from_millis(500))
            // A 202 may be answered on the GET stream: how long for is not what is measured here.
            .orphan_timeout(Duration::from_millis(200))
            .on_event(move |event: &Event| events.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone()))
    }

    /// Every attempt that failed by its own end. Those that the caller ended are in the errors, see [`Calls`].
    fn attempts(&self) -> Vec<(u64, bool)> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = events.iter().filter(|event| event.event == EventName::AttemptFailed);
        let says = |event: &Event| event.execution == Some(Execution::NotExecuted);
        failed.filter_map(|event| Some((event.request_id?, says(event)))).collect()
    }

    /// The verdict on the call with this key.
    fn verdict(&self, key: &str) -> Option<Execution> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of =
            |event: &&Event| event.event == EventName::CallFinished && event.idempotency_key.as_deref() == Some(key);
        events.iter().find(of).and_then(|event| event.execution)
    }
}

/// How a call is ended by its caller.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// It is not.
    Itself,
    /// The deadline of the call.
    Deadline(u64),
    /// Its future is dropped.
    Dropped(u64),
}

/// What a client said of its calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    attempts: BTreeMap<u64, bool>,
    /// By key: calls that have no attempt to show, or whose future was dropped.
    calls: BTreeMap<String, bool>,
    bases: HashMap<ProofBasis, u32>,
}

impl Calls {
    /// Calls `poke` and notes what is said of it.
    pub(crate) async fn poke(&mut self, client: &Client, watched: &Watched, until: Until) {
        let key = format!("key-{}", self.calls.len() + self.attempts.len() + fastrand::usize(..1 << 40));
        let call = client.call_tool("poke", Value::Null).idempotency_key(&*key);
        let ended = match until {
            Until::Itself => call.await,
            Until::Deadline(ms) => call.timeout(Duration::from_millis(ms)).await,
            Until::Dropped(ms) => {
                if timeout(Duration::from_millis(ms), async { call.await }).await.is_err() {
                    let verdict = watched.verdict(&key);
                    self.calls.insert(key, verdict == Some(Execution::NotExecuted));
                }
                return;
            }
        };
        let Err(error) = ended else { return };
        for attempt in error.attempts() {
            self.attempts.insert(attempt.id, attempt.execution == Execution::NotExecuted);
            attempt.proof_basis.into_iter().for_each(|basis| *self.bases.entry(basis).or_default() += 1);
        }
        if error.attempts().is_empty() {
            self.calls.insert(key, error.not_executed());
        }
    }

    /// Compares with what happened.
    pub(crate) fn judge(mut self, watched: &Watched, server: &FaultServer) -> Tally {
        self.attempts.extend(watched.attempts());
        let ledger = server.ledger();
        let mut tally = Tally { bases: self.bases, ..Tally::default() };
        for (id, says_not) in self.attempts {
            tally.note(ran(&ledger, id), says_not);
        }
        for (key, says_not) in self.calls {
            tally.note(ledger.executions.iter().any(|run| run.key.as_ref() == Some(&key)), says_not);
        }
        tally
    }
}

fn ran(ledger: &Ledger, id: u64) -> bool {
    let of = |arrival: &&oncewire_tests::server::Arrival| arrival.rpc_id == Some(Value::from(id));
    ledger.arrivals.iter().find(of).is_some_and(|arrival| arrival.executed)
}
