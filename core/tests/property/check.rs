//! The invariants: the five promises, judged by the ledgers of the exchange and of the server. Here those on calls; those on sessions
//! are in `lifecycle.rs`.

use std::collections::HashSet;
use std::time::Duration;

use oncewire::transport::scripted::{Entry, Execution, Over};
use oncewire::{Error, Execution as Verdict, Kind};
use serde_json::Value;
use tokio::time::Instant;

use crate::run::{Course, End};
use crate::script::{CallPlan, Callee, Fault, Planned, Resend, Script, Trust};
use crate::server::mark;

/// The default `close_timeout`, and a timer's rounding.
const CLOSE: Duration = Duration::from_millis(5_010);
/// A timer's rounding.
pub(crate) const TICK: Duration = Duration::from_millis(2);

/// How long a look-up of hints may take.
const LOOK_UP: Duration = Duration::from_secs(2);
/// How long the twin of a refusal may take.
const TWIN: Duration = Duration::from_secs(2);
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

pub(crate) fn is_modern(entry: &Entry) -> bool {
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
    judge.twins();
    if judge.wrong.is_empty() { Ok(judge.precision) } else { Err(judge.wrong) }
}

pub(crate) struct Judge<'a> {
    pub(crate) script: &'a Script,
    pub(crate) course: &'a Course,
    pub(crate) wrong: Vec<String>,
    precision: Precision,
}

impl<'a> Judge<'a> {
    pub(crate) fn end(&self, number: usize) -> (Instant, &End) {
        let (at, end) = &self.course.ends[number];
        (*at, end)
    }

    /// The requests of this method; one that was led elsewhere counts where it was led to.
    pub(crate) fn of(&self, method: &str) -> Vec<&'a Entry> {
        let course = self.course;
        let attempts = course.entries.iter().enumerate().filter(|(index, _)| !course.known.led_on.contains(index));
        attempts.map(|(_, entry)| entry).filter(|entry| entry.method() == method).collect()
    }

    fn executions_of(&self, number: usize) -> Vec<&Execution> {
        self.course.executions.iter().filter(|execution| mark(&execution.params) == Some(number)).collect()
    }

    pub(crate) fn entries_of(&self, number: usize) -> Vec<(usize, &Entry)> {
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
        // What is refused after it ran costs a call with leave one run more each time, within the bounds on refusals.
        let refused = |planned: &&Planned| match &planned.fault {
            Fault::TermsRefused { executes, .. } => *executes,
            Fault::Refuses(refuses) => refuses.executes,
            _ => false,
        };
        let refused = self.script.faults.iter().filter(refused).count();
        let most = match plan.resend {
            Resend::Always => 3 + refused,
            Resend::Default if by_hint => 3 + refused,
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
            // A stream of subscriptions that hung until everything became well has held up whoever subscribes.
            let listens =
                |(index, entry): (usize, &Entry)| entry.method() == LISTEN && self.course.known.hung.contains(&index);
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
            let may_be_left = self.course.known.may_be_left.contains(&index);
            let hung = self.course.known.hung.contains(&index) || may_be_left || idle;
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
        // Of an attempt that was led elsewhere the last hop tells how it ended, though it may be a hop before that took its body.
        let entries = self.entries_of(number);
        let was_led_here = |entry: &Entry| {
            entries.iter().any(|(index, hop)| led_on.contains(index) && hop.id() == entry.id() && hop.taken)
        };
        let is_attempt =
            |(index, entry): &&(usize, &Entry)| !led_on.contains(index) && (entry.taken || was_led_here(entry));
        let taken: Vec<_> = entries.iter().filter(is_attempt).copied().collect();
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
            // A leg that was refused for sure is heard of when the server of another era has been found.
            && failure.attempts.last().is_some_and(|attempt| attempt.execution == Verdict::MayHaveExecuted)
            && let Some((at, _)) = taken.last().and_then(|(_, entry)| entry.over)
        {
            let asks_for_hints = plan.what == Callee::Poke && plan.resend == Resend::Default;
            let has_twin = taken.iter().any(|(index, _)| self.course.known.refused.contains(index));
            let mut bound = if asks_for_hints { LOOK_UP + TICK } else { TICK };
            if has_twin {
                bound += TWIN;
            }
            if ended > at + bound && !(asks_for_hints && replaced(at)) {
                wrong.push(format!("call {number} failed, and its caller heard of it {:?} later", ended - at));
            }
        }
        // Who says never has nothing repeated that was sent.
        let is_tool = matches!(plan.what, Callee::Poke | Callee::Peek | Callee::Nudge | Callee::Raw);
        if is_tool && plan.resend == Resend::Never {
            let is_leg = |entry: &Entry| entry.message.pointer("/params/requestState").is_some();
            let legs = taken.iter().filter(|(_, entry)| is_leg(entry)).count();
            if legs > 1 || taken.len() - legs > 1 {
                wrong.push(format!("call {number} is never to be repeated, and was sent {} times", taken.len()));
            }
        }
        self.wrong.extend(wrong);
    }

    /// When the call is over, nothing more of it is sent.
    fn silence_afterwards(&mut self, number: usize) {
        let (ended, _) = self.end(number);
        let late = self.entries_of(number).iter().filter(|(_, entry)| entry.at > ended).count();
        if late > 0 {
            self.wrong.push(format!("call {number} was over, and {late} requests of it came afterwards"));
        }
    }
}
