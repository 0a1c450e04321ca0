//! The invariants: the five promises, judged by the ledgers of the exchange and of the server.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use oncewire::transport::scripted::{Entry, Execution, Over};
use oncewire::{Error, EventName, Execution as Verdict, Kind};
use serde_json::Value;
use tokio::time::Instant;

use crate::run::{Course, End};
use crate::script::{CallPlan, Callee, Era, Fault, Resend, Script, Trust, What};
use crate::server::mark;

/// The default `close_timeout`, and a timer's rounding.
const CLOSE: Duration = Duration::from_millis(5_010);
/// A timer's rounding.
const TICK: Duration = Duration::from_millis(2);

/// How long a look-up of hints may take.
const LOOK_UP: Duration = Duration::from_secs(2);
/// Two resends after ambiguous losses, three losses of the session, one new token, one refused stream, three waits after 429, and the first.
const ATTEMPTS: usize = 11;
/// In the modern era, one more where the terms were refused, and one for the leg after a question.
const MORE_ATTEMPTS: usize = 2;

const LISTEN: &str = "subscriptions/listen";
/// The version of the modern era.
const MODERN: &str = "2026-07-28";

/// How precise the verdicts were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Precision {
    /// Attempts that failed and that the server never ran.
    pub(crate) never_ran: usize,
    /// Those of them that say so.
    pub(crate) proven: usize,
    pub(crate) calls: usize,
    pub(crate) requests: usize,
}

impl Precision {
    pub(crate) fn add(&mut self, other: Self) {
        self.never_ran += other.never_ran;
        self.proven += other.proven;
        self.calls += other.calls;
        self.requests += other.requests;
    }
}

fn is_modern(entry: &Entry) -> bool {
    entry.header("mcp-protocol-version") == Some(MODERN)
}

/// # Errors
/// Every invariant that does not hold, in words.
pub(crate) fn check(script: &Script, course: &Course) -> Result<Precision, Vec<String>> {
    let mut judge = Judge { script, course, wrong: course.faults.clone(), precision: Precision::default() };
    judge.precision.calls = script.calls.len();
    judge.precision.requests = course.entries.len();
    if course.close_took > CLOSE {
        judge.wrong.push(format!("close() took {:?}", course.close_took));
    }
    for (number, plan) in script.calls.iter().enumerate() {
        judge.executions(number, plan);
        judge.verdict(number);
        judge.settled(number, plan);
        judge.neighbours(number);
        judge.silence_afterwards(number);
    }
    for (number, plan) in script.calls.iter().enumerate() {
        judge.promptness(number, plan);
    }
    judge.handshakes();
    judge.events();
    judge.sessions();
    judge.notifications();
    judge.modern();
    if judge.wrong.is_empty() { Ok(judge.precision) } else { Err(judge.wrong) }
}

struct Judge<'a> {
    script: &'a Script,
    course: &'a Course,
    wrong: Vec<String>,
    precision: Precision,
}

impl<'a> Judge<'a> {
    fn end(&self, number: usize) -> (Instant, &End) {
        let (at, end) = &self.course.ends[number];
        (*at, end)
    }

    /// The requests of this method; one that was led elsewhere counts where it was led to.
    fn of(&self, method: &str) -> Vec<&'a Entry> {
        let course = self.course;
        let attempts = course.entries.iter().enumerate().filter(|(index, _)| !course.known.led_on.contains(index));
        attempts.map(|(_, entry)| entry).filter(|entry| entry.method() == method).collect()
    }

    fn executions_of(&self, number: usize) -> Vec<&Execution> {
        self.course.executions.iter().filter(|execution| mark(&execution.params) == Some(number)).collect()
    }

    fn entries_of(&self, number: usize) -> Vec<(usize, &Entry)> {
        let is_its =
            |(_, entry): &(usize, &Entry)| mark(entry.message.get("params").unwrap_or(&Value::Null)) == Some(number);
        self.course.entries.iter().enumerate().filter(is_its).collect()
    }

    /// No tool without leave runs twice.
    fn executions(&mut self, number: usize, plan: &CallPlan) {
        let trust = self.script.client.trust;
        let by_hint = match plan.what {
            Callee::Read | Callee::Prompt | Callee::List | Callee::LogLevel | Callee::Subscribe => true,
            Callee::Peek => trust != Trust::None,
            Callee::Nudge => trust == Trust::Hinted,
            Callee::Poke | Callee::Raw => false,
        };
        // Terms that are refused by a tool that has run cost one run more.
        let refused = self
            .script
            .faults
            .iter()
            .any(|planned| matches!(planned.fault, Fault::TermsRefused { executes: true, .. }));
        let most = match plan.resend {
            Resend::Always => 3 + usize::from(refused),
            Resend::Default if by_hint => 3 + usize::from(refused),
            Resend::Default | Resend::Never => 1,
        };
        let executions = self.executions_of(number);
        let count = executions.len();
        let sessions: HashSet<_> = executions.iter().map(|execution| &execution.session).collect();
        let moved = plan.what == Callee::Nudge && plan.resend == Resend::Default && sessions.len() > 1;
        if count > most {
            self.wrong.push(format!("call {number} ({:?}) ran {count} times", plan.what));
        }
        if moved {
            self.wrong.push(format!("call {number} (nudge) ran on two sessions"));
        }
    }

    /// `not_executed` never contradicts the ledger, for the call and for each attempt; a result is its own.
    fn verdict(&mut self, number: usize) {
        let ran: HashSet<u64> = self.executions_of(number).iter().map(|execution| execution.id).collect();
        let (_, end) = self.end(number);
        // In the modern era these have no request of their own.
        let stood_in = matches!(self.script.calls[number].what, Callee::LogLevel | Callee::Subscribe)
            && self.course.entries.iter().any(is_modern);
        let mut wrong = Vec::new();
        let mut precision = Precision::default();
        match end {
            End::Cancelled => {}
            End::Result(mark) => {
                if ran.is_empty() && !stood_in {
                    wrong.push(format!("call {number} has a result and never ran"));
                }
                if mark.is_some_and(|mark| mark != number) {
                    wrong.push(format!("call {number} has the result of {mark:?}"));
                }
            }
            End::Error(error) => {
                if error.not_executed() && !ran.is_empty() {
                    wrong.push(format!("call {number} says not_executed and ran: {error}"));
                }
                if error.not_executed() != error.proof().is_some() {
                    wrong.push(format!("call {number}: {} with proof {:?}", error.execution(), error.proof()));
                }
                for attempt in error.attempts() {
                    let not_executed = attempt.execution == Verdict::NotExecuted;
                    if ran.contains(&attempt.id) {
                        if not_executed {
                            wrong.push(format!("call {number}, attempt {} says not_executed and ran", attempt.id));
                        }
                    } else {
                        precision.never_ran += 1;
                        precision.proven += usize::from(not_executed);
                    }
                }
            }
        }
        self.wrong.extend(wrong);
        self.precision.never_ran += precision.never_ran;
        self.precision.proven += precision.proven;
    }

    /// Every call settles, at its deadline at the latest; who has none and still waits, waits for a server that is alive and silent.
    fn settled(&mut self, number: usize, plan: &CallPlan) {
        if self.course.waiting.contains(&number) {
            let hangs = |index: usize, entry: &Entry| {
                self.course.known.hung.contains(&index) && entry.over.is_none_or(|(at, _)| at >= self.course.closed_at)
            };
            let listens = |(index, entry): (usize, &Entry)| entry.method() == LISTEN && hangs(index, entry);
            let silent = self.entries_of(number).into_iter().any(|(index, entry)| hangs(index, entry))
                || plan.what == Callee::Subscribe && self.course.entries.iter().enumerate().any(listens);
            if !silent {
                self.wrong.push(format!("call {number} waits for nothing"));
            }
        }
        if let Some(bound) = plan.timeout_ms.into_iter().chain(plan.cancel_ms).min() {
            let (at, _) = self.end(number);
            let began = self.course.began + Duration::from_millis(plan.at_ms);
            if at > began + Duration::from_millis(bound) + TICK {
                self.wrong.push(format!("call {number} took {:?}, and its bound was {bound} ms", at - began));
            }
        }
    }

    /// Recovery never takes away what another call waits on: the client lets go of a request of a call only when its caller, its clock
    /// or close() does; what the server answered in full is delivered.
    fn neighbours(&mut self, number: usize) {
        let (ended, end) = self.end(number);
        let idle = self.script.calls[number].idle_ms.is_some();
        let interrupted = match end {
            End::Cancelled => true,
            End::Error(error) => matches!(error.kind(), Kind::Timeout | Kind::Closed),
            End::Result(_) => false,
        };
        let mut wrong = Vec::new();
        for (index, entry) in self.entries_of(number) {
            let Some((at, over)) = entry.over else { continue };
            let answered = self.course.known.answered.contains(&index);
            // An idle time-out lets go of an attempt, and the call may go on.
            let hung = self.course.known.hung.contains(&index) || idle;
            match over {
                Over::Dropped { drained: false } if !(hung || interrupted && at + TICK >= ended) => {
                    wrong.push(format!("the client let go of a request of call {number}"));
                }
                Over::Ended | Over::Dropped { drained: true }
                    if answered && !(matches!(end, End::Result(_)) || interrupted && at == ended) =>
                {
                    wrong.push(format!("call {number} was answered, and ended otherwise: {end:?}"));
                }
                _ => {}
            }
        }
        self.wrong.extend(wrong);
    }

    /// No failure that the client can see leaves a caller waiting for a clock, and an answer even less; and the attempts have a bound.
    fn promptness(&mut self, number: usize, plan: &CallPlan) {
        let (ended, end) = self.end(number);
        let mut wrong = Vec::new();
        let led_on = &self.course.known.led_on;
        let is_attempt = |(index, entry): &(usize, &Entry)| entry.taken && !led_on.contains(index);
        let taken: Vec<_> = self.entries_of(number).into_iter().filter(is_attempt).collect();
        if taken.len() > ATTEMPTS + if taken.iter().any(|(_, entry)| is_modern(entry)) { MORE_ATTEMPTS } else { 0 } {
            wrong.push(format!("call {number} was sent {} times", taken.len()));
        }
        for (index, entry) in &taken {
            let delivered = matches!(entry.over, Some((_, Over::Ended | Over::Dropped { drained: true })));
            if let (true, true, Some((at, _)), End::Result(_)) =
                (self.course.known.answered.contains(index), delivered, entry.over, end)
                && ended > at + TICK
            {
                wrong.push(format!("call {number} got its answer {:?} late", ended - at));
            }
        }
        let no_leave = matches!(plan.what, Callee::Poke | Callee::Raw) && plan.resend != Resend::Always;
        let resumed = self.course.entries.iter().any(|entry| entry.method() == "resume");
        // While the session is being replaced or verified, nobody knows whose hints count.
        let replaced = |since: Instant| {
            let took_part = |entry: &&Entry| {
                matches!(entry.method(), "initialize" | "notifications/initialized" | "ping" | "server/discover")
                    && entry.over.is_some_and(|(at, _)| at >= since)
                    && entry.at <= ended
            };
            self.course.entries.iter().any(|entry| took_part(&entry))
        };
        if let (true, false, End::Error(Error::MayHaveExecuted(failure))) = (no_leave, resumed, end)
            && matches!(
                failure.kind,
                Kind::ConnectionClosed | Kind::StreamEnded | Kind::Gateway | Kind::HttpStatus | Kind::Protocol
            )
            && let Some((at, _)) = taken.last().and_then(|(_, entry)| entry.over)
        {
            let asks_for_hints = plan.what == Callee::Poke && plan.resend == Resend::Default;
            let bound = if asks_for_hints { LOOK_UP + TICK } else { TICK };
            if ended > at + bound && !(asks_for_hints && replaced(at)) {
                wrong.push(format!("call {number} failed, and its caller heard of it {:?} later", ended - at));
            }
        }
        self.wrong.extend(wrong);
    }

    /// Events tell the story in order: ready only after a handshake, generations one by one, a loss once, `closed` last.
    fn events(&mut self) {
        let (mut flying, mut ready, mut lost, mut closed) = (false, 0, 0, false);
        let mut wrong = Vec::new();
        for (event, generation) in &self.course.events {
            let generation = generation.unwrap_or_default();
            let right = match event {
                EventName::Connecting | EventName::Recovering => !std::mem::replace(&mut flying, true),
                EventName::RecoveryFailed => std::mem::take(&mut flying),
                EventName::Ready => {
                    let in_order = std::mem::take(&mut flying) && generation == ready + 1;
                    ready = generation;
                    in_order
                }
                EventName::SessionLost => {
                    let first = generation == ready && lost < generation && !flying;
                    lost = generation;
                    first
                }
                EventName::Closed => !std::mem::replace(&mut closed, true),
                _ => !closed,
            };
            if !right || (closed && *event != EventName::Closed) {
                wrong.push(format!("the event {event} of generation {generation} is out of order"));
            }
        }
        // Each call that began before the client closed has its `call_finished`; one on a closed client is no event.
        let finished = self.course.events.iter().filter(|(event, _)| *event == EventName::CallFinished).count();
        let close = self.close();
        let began = |plan: &&CallPlan| self.course.began + Duration::from_millis(plan.at_ms) < close;
        let surely = self.script.calls.iter().filter(began).count() + self.course.probes;
        let most = self.script.calls.len() + self.course.probes;
        if !(surely..=most).contains(&finished) {
            wrong.push(format!("{finished} call_finished for {surely} calls"));
        }
        self.wrong.extend(wrong);
    }

    /// When the client began to close.
    fn close(&self) -> Instant {
        let closes = self.script.happenings.iter().filter(|happening| happening.what == What::Close);
        let first = closes.map(|happening| self.course.began + Duration::from_millis(happening.at_ms)).min();
        first.unwrap_or(self.course.closed_at)
    }

    /// When the call is over, nothing more of it is sent.
    fn silence_afterwards(&mut self, number: usize) {
        let (ended, _) = self.end(number);
        let late = self.entries_of(number).iter().filter(|(_, entry)| entry.at > ended).count();
        if late > 0 {
            self.wrong.push(format!("call {number} was over, and {late} requests of it came afterwards"));
        }
    }

    /// At most one handshake at a time; nothing goes out on a session before its handshake is done.
    fn handshakes(&mut self) {
        let mut ready: HashSet<Option<&str>> = HashSet::new();
        let mut discovered = false;
        let mut wrong = Vec::new();
        for (index, entry) in self.course.entries.iter().enumerate() {
            match entry.method() {
                "initialize" => {
                    let before = &self.course.entries[..index];
                    let open = before
                        .iter()
                        .filter(|other| matches!(other.method(), "initialize" | "notifications/initialized"))
                        .filter(|other| other.over.is_none_or(|(at, _)| at > entry.at));
                    if open.count() > 0 {
                        wrong.push("two handshakes at once".to_owned());
                    }
                    if entry.session().is_some() || entry.header("mcp-protocol-version").is_some() {
                        wrong.push("initialize bears a session or a version".to_owned());
                    }
                }
                "notifications/initialized" => {
                    if entry.status.is_some_and(|status| status.is_success()) {
                        ready.insert(entry.session());
                    }
                }
                "DELETE" => {}
                "server/discover" => discovered |= entry.status.is_some_and(|status| status.is_success()),
                method => {
                    if !(if is_modern(entry) { discovered } else { ready.contains(&entry.session()) }) {
                        wrong.push(format!("{method} was sent before the handshake was done"));
                    }
                }
            }
        }
        self.wrong.extend(wrong);
    }

    /// Every session that the client was given gets one DELETE, unless the server declared it gone.
    fn sessions(&mut self) {
        let mut deletes: HashMap<&str, usize> = HashMap::new();
        for entry in self.of("DELETE") {
            *deletes.entry(entry.session().unwrap_or_default()).or_default() += 1;
        }
        // What a look-up of hints is told is not followed up.
        let told = |strict: bool| -> HashSet<&str> {
            let heard = |index: &usize| {
                let entry = &self.course.entries[*index];
                let is_call =
                    entry.method() == "ping" || mark(entry.message.get("params").unwrap_or(&Value::Null)).is_some();
                let read = matches!(entry.over, Some((_, Over::Ended | Over::Dropped { drained: true })));
                !strict || (is_call && read)
            };
            let told = self.course.known.told_gone.iter().filter(|(index, _)| heard(index));
            told.map(|(_, session)| session.as_str()).collect()
        };
        let (surely_told, maybe_told) = (told(true), told(false));
        let given = self.given();
        for session in &self.course.sessions {
            let id = session.id.as_str();
            let count = deletes.remove(id).unwrap_or_default();
            let right = match (given.contains(id), surely_told.contains(id), maybe_told.contains(id)) {
                (false, ..) | (_, true, _) => count == 0,
                (true, false, true) => count <= 1,
                (true, false, false) => count == 1,
            };
            if !right {
                let told = if surely_told.contains(id) { ", declared gone" } else { "" };
                self.wrong.push(format!("{id}{told} got {count} DELETE"));
            }
        }
        if !deletes.is_empty() {
            self.wrong.push(format!("DELETE of what was never given: {deletes:?}"));
        }
    }

    /// The sessions whose id reached the client.
    fn given(&self) -> HashSet<String> {
        // The nth session of the server is the nth `initialize` that it answered with one: the answer has to have been read.
        let mut given = HashSet::new();
        let mut sessions = self.course.sessions.iter();
        for (index, entry) in self.course.entries.iter().enumerate() {
            if entry.method() != "initialize" || !self.course.known.gave.contains(&index) {
                continue;
            }
            let Some(session) = sessions.next() else { break };
            if matches!(entry.over, Some((_, Over::Ended | Over::Dropped { drained: true }))) {
                given.insert(session.id.clone());
            }
        }
        given
    }

    /// A request that nobody waits for any more is cancelled once, unless its session is gone; nothing else is.
    fn notifications(&mut self) {
        let mut cancelled: HashMap<u64, usize> = HashMap::new();
        for entry in self.of("notifications/cancelled") {
            let id = entry.message.pointer("/params/requestId").and_then(Value::as_u64).unwrap_or_default();
            *cancelled.entry(id).or_default() += 1;
        }
        let by_id: HashMap<u64, &Entry> =
            self.course.entries.iter().filter_map(|entry| Some((entry.id()?, entry))).collect();
        for (id, count) in &cancelled {
            match by_id.get(id) {
                Some(entry) if entry.method() != "initialize" && entry.taken && *count == 1 => {}
                other => {
                    let method = other.map(|entry| entry.method());
                    self.wrong.push(format!("{count} notifications/cancelled for request {id} ({method:?})"));
                }
            }
        }
        let close = self.close();
        let told: HashSet<&str> = self.course.known.told_gone.values().map(String::as_str).collect();
        let mut wrong = Vec::new();
        for number in 0..self.script.calls.len() {
            let (ended, end) = self.end(number);
            let interrupted = match end {
                End::Cancelled => true,
                End::Error(Error::MayHaveExecuted(failure)) => failure.kind == Kind::Timeout,
                _ => false,
            };
            if !interrupted || ended >= close {
                continue;
            }
            for (_, entry) in self.entries_of(number) {
                if is_modern(entry) {
                    // The end of its stream tells it.
                    continue;
                }
                let open = matches!(entry.over, Some((at, Over::Dropped { .. })) if at == ended) && entry.taken;
                let gone = entry.session().is_some_and(|session| told.contains(session));
                let id = entry.id().unwrap_or_default();
                if open && !gone && !cancelled.contains_key(&id) {
                    wrong.push(format!("nobody told the server that call {number} was cancelled"));
                }
            }
        }
        self.wrong.extend(wrong);
    }

    /// In the modern era there are requests by POST, and nothing else: no stream to read on, no session to end, no notification, no reply.
    fn modern(&mut self) {
        let mut wrong = Vec::new();
        let speaks_modern = self.script.client.era == Era::Modern;
        for entry in &self.course.entries {
            let method = entry.method();
            let told = entry.id().is_none() || method.is_empty() || entry.message.get("method").is_none();
            let other = told || entry.session().is_some() || method == "initialize";
            if (is_modern(entry) || speaks_modern) && other {
                wrong.push(format!("{method} in the modern era"));
            }
        }
        self.wrong.extend(wrong);
    }
}
