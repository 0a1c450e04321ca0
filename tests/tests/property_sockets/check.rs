//! The invariants, judged by the ledger.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use oncewire::{EventName, Execution, Kind, Resend, TrustAnnotations};
use oncewire_tests::server::{Arrival, Ledger};

use crate::plan::{Fault, Plan, SAYS_GONE, SHUT, What};
use crate::run::{Course, End, failed_attempts, key};

/// How precise the verdicts were.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Precision {
    runs: usize,
    calls: usize,
    arrivals: usize,
    /// Attempts that failed and that the server never ran.
    never_ran: usize,
    /// Those of them that say so.
    proven: usize,
    /// Those of them that never arrived.
    never_arrived: usize,
    /// Those of these that say so.
    arrival_denied: usize,
}

impl Precision {
    pub(crate) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.arrivals += other.arrivals;
        self.never_ran += other.never_ran;
        self.proven += other.proven;
        self.never_arrived += other.never_arrived;
        self.arrival_denied += other.arrival_denied;
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, calls, arrivals, never_ran, proven, never_arrived, arrival_denied } = self;
        write!(formatter, "{runs} runs, {calls} calls, {arrivals} requests; ")?;
        write!(formatter, "of {never_ran} failed attempts that never ran, {proven} say not_executed; ")?;
        write!(formatter, "of the {never_arrived} of them that never arrived, {arrival_denied}")
    }
}

/// # Errors
/// Every invariant that does not hold, in words.
pub(crate) fn check(plan: &Plan, course: &Course) -> Result<Precision, Vec<String>> {
    let by_id: HashMap<u64, &Arrival> = course
        .ledger
        .arrivals
        .iter()
        .filter_map(|arrival| Some((arrival.rpc_id.as_ref()?.as_u64()?, arrival)))
        .collect();
    let mut judge = Judge { plan, course, ledger: &course.ledger, by_id, wrong: course.faults.clone() };
    judge.executions();
    judge.verdicts();
    let precision = judge.attempts();
    judge.neighbours();
    judge.sessions();
    if judge.wrong.is_empty() {
        let (calls, arrivals) = (plan.calls.len(), course.ledger.arrivals.len());
        return Ok(Precision { runs: 1, calls, arrivals, ..precision });
    }
    judge.wrong.extend(course.ledger.arrivals.iter().map(|it| {
        let (rpc, name) = (it.rpc.as_deref().unwrap_or(&it.http), it.name.as_deref().unwrap_or_default());
        let (at, answered, gone) = (it.at_ms, it.answered_at_ms, it.client_gone_at_ms);
        format!(
            "{at} {rpc} {name} id {:?} session {:?} key {:?} rule {:?} status {:?} executed {} answered {answered:?} client gone {gone:?}",
            it.rpc_id, it.generation, it.key, it.rule, it.status, it.executed
        )
    }));
    judge.wrong.extend(course.ends.iter().enumerate().map(|(nth, end)| format!("call {nth}: {end:?}")));
    judge.wrong.extend(course.events.iter().map(|event| serde_json::to_string(event).unwrap()));
    Err(judge.wrong)
}

struct Judge<'a> {
    plan: &'a Plan,
    course: &'a Course,
    ledger: &'a Ledger,
    by_id: HashMap<u64, &'a Arrival>,
    wrong: Vec<String>,
}

impl Judge<'_> {
    /// No tool without leave runs twice.
    fn executions(&mut self) {
        for (nth, call) in self.plan.calls.iter().enumerate() {
            let key = key(nth);
            let runs: Vec<_> = self.ledger.executions.iter().filter(|run| call_of(run.key.as_deref()) == key).collect();
            let trusted = match call.what {
                "peek" => self.plan.trust != TrustAnnotations::None,
                "nudge" => self.plan.trust == TrustAnnotations::Hinted,
                _ => false,
            };
            let leave = call.resend == Resend::Always || (call.resend == Resend::Default && trusted);
            let more: usize = self.plan.faults.iter().map(Fault::runs_more).sum();
            let most = if leave { 3 + more } else { 1 };
            // A leg is no repeat of the one before, and has a key of its own.
            let legs: BTreeSet<_> = runs.iter().map(|run| &run.key).collect();
            for leg in legs {
                let times = runs.iter().filter(|run| run.key == *leg).count();
                if times > most {
                    self.wrong.push(format!("call {nth} ({}) ran {times} times as {leg:?}", call.what));
                }
            }
            let sessions: BTreeSet<_> = runs.iter().map(|run| &run.session).collect();
            if call.what == "nudge" && call.resend == Resend::Default && sessions.len() > 1 {
                self.wrong.push(format!("call {nth} (nudge) ran on {} sessions", sessions.len()));
            }
        }
        if self.ledger.max_concurrent_initialize > 1 {
            self.wrong.push(format!("{} handshakes at once", self.ledger.max_concurrent_initialize));
        }
        for arrival in &self.ledger.arrivals {
            if let Some(what) = &arrival.malformed {
                self.wrong.push(format!("{:?} {:?} is malformed: {what}", arrival.rpc, arrival.name));
            }
        }
        if self.ledger.too_early > 0 {
            self.wrong.push(format!("{} requests before the end of the handshake", self.ledger.too_early));
        }
    }

    /// Each call has one end, and the end is true.
    fn verdicts(&mut self) {
        let finished = self.course.events.iter().filter(|event| event.event == EventName::CallFinished).count();
        let closed = self.plan.happenings.iter().any(|(_, what)| *what == What::Close);
        // Three calls, or a few more, show that the client works again.
        let calls = self.plan.calls.len() + if closed { 0 } else { 3 };
        let spare = if closed { 0 } else { 2 };
        // `closed` is the last event: a call that begins afterwards has none.
        let too_late = |end: &&End| {
            matches!(end, End::Cancelled)
                || matches!(end, End::Error(error) if error.kind() == Kind::Closed && error.attempts().is_empty())
        };
        let late = if closed { self.course.ends.iter().filter(too_late).count() } else { 0 };
        if finished > calls + spare || finished + late < calls {
            self.wrong.push(format!("{finished} call_finished for {calls} calls"));
        }
        for (nth, end) in self.course.ends.iter().enumerate() {
            let End::Error(error) = end else { continue };
            let ran = self.ledger.executions.iter().any(|run| call_of(run.key.as_deref()) == key(nth))
                || error.attempts().iter().any(|attempt| self.ran(attempt.id));
            if error.not_executed() && ran {
                self.wrong.push(format!("call {nth} says not_executed and ran"));
            }
            if error.not_executed() != error.proof().is_some() {
                self.wrong.push(format!("call {nth} is {} with proof {:?}", error.execution(), error.proof()));
            }
        }
    }

    fn ran(&self, id: u64) -> bool {
        self.by_id.get(&id).is_some_and(|arrival| arrival.executed)
    }

    /// No attempt that ran is said not to have run; and how many of those that did not run are known not to have.
    fn attempts(&mut self) -> Precision {
        let mut precision = Precision::default();
        for event in failed_attempts(&self.course.events) {
            let id = event.request_id.unwrap_or_default();
            let says = event.execution == Some(Execution::NotExecuted);
            if self.ran(id) {
                if says {
                    self.wrong.push(format!("attempt {id} says not_executed and ran"));
                }
            } else {
                let arrived = self.by_id.contains_key(&id);
                precision.never_ran += 1;
                precision.proven += usize::from(says);
                precision.never_arrived += usize::from(!arrived);
                precision.arrival_denied += usize::from(!arrived && says);
            }
        }
        precision
    }

    /// The client lets go of a request that meets no fault only when its caller, its clock or close() does.
    fn neighbours(&mut self) {
        let let_go: BTreeSet<_> = self
            .course
            .events
            .iter()
            .filter(|event| event.event == EventName::CallFinished)
            // An answer that is read is let go of, too.
            .filter(|event| event.execution == Some(Execution::Answered) || event.kind.is_some_and(by_the_caller))
            .map(|event| call_of(event.idempotency_key.as_deref()).to_owned())
            .collect();
        for arrival in &self.ledger.arrivals {
            // The legs of a call that the client made the key for have keys that no event tells.
            let Some(key) = arrival.key.as_ref().filter(|key| key.starts_with("call-")) else { continue };
            if arrival.rule.is_none() && arrival.client_gone_at_ms.is_some() && !let_go.contains(call_of(Some(key))) {
                self.wrong.push(format!("the client let go of {key}, which it had to wait for"));
            }
        }
    }

    /// One DELETE at most for each session, and one for each that it can be expected for.
    fn sessions(&mut self) {
        let acts = |word: &str| self.plan.faults.iter().any(|fault| fault.acts.to_string().contains(word));
        // Then a DELETE may be on its way when its connection ends, and there is one attempt only.
        let cut = self.plan.happenings.iter().any(|(_, what)| what.cuts())
            || !self.plan.options["idle_close_ms"].is_null()
            || (self.plan.http2 && (acts("close") || acts("\"reset\"") || acts("go_away")));
        for session in &self.ledger.sessions {
            if session.deletes > 1 {
                self.wrong.push(format!("{} DELETEs for {}", session.deletes, session.id));
            }
            // The answer to `initialize` may not have come through.
            let given = session.last_used_ms > session.created_ms || session.initialized;
            // What a client takes for the end of a session it does not end itself.
            let told = self.ledger.arrivals.iter().any(|arrival| {
                let refused =
                    arrival.rpc.as_deref() == Some("ping") && arrival.status.is_some_and(|status| status >= 300);
                let says_gone = matches!(arrival.rule.as_deref(), Some(SAYS_GONE | SHUT));
                arrival.session.as_ref() == Some(&session.id) && (refused || says_gone)
            });
            if given && session.alive && session.deletes == 0 && !cut && !told {
                self.wrong.push(format!("{} is alive and nobody deleted it", session.id));
            }
        }
    }
}

/// The key of the call that a leg belongs to.
fn call_of(key: Option<&str>) -> &str {
    key.and_then(|key| key.split('/').next()).unwrap_or_default()
}

fn by_the_caller(kind: Kind) -> bool {
    matches!(kind, Kind::Cancelled | Kind::Timeout | Kind::Closed)
}
