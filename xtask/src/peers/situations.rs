//! One real server in every situation. Each is asserted; where a server's own fault forbids what a client could do, what happens
//! instead is asserted, and the exchange is shown.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use oncewire::{CallToolResult, Client, Error, Event, EventName, Execution, Resend};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::exchange::Exchange;
use super::offers::{Method, announced};
use super::{Peer, Resumption, Tool};

/// The longest that one call may take before it counts as hanging.
const STEP: Duration = Duration::from_secs(40);
/// A verdict that is told by a failure, and not by a clock, comes within this; what the server asks to wait comes on top.
const PROMPT: Duration = Duration::from_secs(5);
/// How long the slow tool runs before the fault: the head of the answer is there by then.
const INTO_THE_CALL: Duration = Duration::from_millis(250);
/// How long a server may take to do what it was asked.
const PATIENCE: Duration = Duration::from_secs(20);
/// The ends of idle connections take a moment to be noticed. A call written onto one in that very moment may or may not have been read
/// (RFC 9112, section 9.5), and is told as such: that is not what is tried here.
const SETTLE: Duration = Duration::from_millis(100);
/// Callers who find the same server restarted.
const CALLERS: usize = 16;

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 5] =
    ["every method", "restarted, then each method", "killed in mid-call", "connection cut in mid-call", "closed"];

const READ_ON: &str = "answered: read on by `Last-Event-ID`";

/// What must come of a call whose connection was cut.
#[derive(Clone, Copy)]
enum After {
    ReadOn,
    /// It may have run; told within this.
    Unknown(Duration),
}

/// What came of one situation.
#[derive(Debug)]
pub(crate) struct Cell {
    /// A few words for the table.
    pub(crate) words: String,
    /// The exchange behind them.
    pub(crate) note: Option<String>,
    pub(crate) holds: bool,
}

/// What came of all situations of one server.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) cells: Vec<Cell>,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

struct Run<'a> {
    peer: &'a mut Peer,
    name: &'static str,
    client: Client,
    events: Arc<Mutex<Vec<Event>>>,
    outcome: Outcome,
}

/// Puts the server through all of it. What breaks off counts as one failure.
pub(crate) async fn all(peer: &mut Peer, name: &'static str) -> Outcome {
    let events = Arc::new(Mutex::new(Vec::new()));
    let client = match timeout(STEP, connect(peer, &events)).await {
        Ok(Ok(client)) => client,
        Ok(Err(error)) => return broken(name, &format!("no handshake: {error}")),
        Err(_) => return broken(name, "no handshake in time"),
    };
    let mut run = Run { peer, name, client, events, outcome: Outcome::default() };
    if let Err(error) = run.all().await {
        run.check(format_args!("it broke off: {error:#}"), false);
    }
    // Closed already unless it broke off.
    run.client.close().await;
    run.outcome
}

pub(crate) fn broken(name: &str, problem: &str) -> Outcome {
    println!("[{name}] WRONG  {problem}");
    Outcome { failed: 1, ..Outcome::default() }
}

async fn connect(peer: &Peer, events: &Arc<Mutex<Vec<Event>>>) -> Result<Client, Error> {
    let kept = Arc::clone(events);
    let builder = Client::builder(peer.url())
        .no_proxy()
        .on_event(move |event: &Event| kept.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone()));
    // A minute, the default, is long for a server of which it is known that it will stay silent.
    let orphan_timeout = if peer.about.resumption == Resumption::Silent { 3 } else { 20 };
    builder.orphan_timeout(Duration::from_secs(orphan_timeout)).connect().await
}

/// What had been counted before a step.
struct Before {
    quick: usize,
    slow: usize,
    handshakes: usize,
    tool_calls: usize,
    passed: usize,
    generation: u64,
    events: usize,
}

impl Run<'_> {
    async fn all(&mut self) -> Result<()> {
        let failed = self.outcome.failed;
        let cell = self.healthy().await?;
        self.close_cell(cell, failed);
        let failed = self.outcome.failed;
        let cell = self.restarted().await?;
        self.close_cell(cell, failed);
        let failed = self.outcome.failed;
        let cell = self.killed().await?;
        self.close_cell(cell, failed);
        let failed = self.outcome.failed;
        let cell = self.cut().await?;
        self.close_cell(cell, failed);
        let failed = self.outcome.failed;
        let cell = self.closed().await?;
        self.close_cell(cell, failed);
        Ok(())
    }

    fn close_cell(&mut self, (words, note): (String, Option<String>), failed_before: usize) {
        let holds = self.outcome.failed == failed_before;
        self.outcome.cells.push(Cell { words, note, holds });
    }

    async fn healthy(&mut self) -> Result<(String, Option<String>)> {
        let before = self.before()?;
        let methods = Method::of(&self.peer.about);
        let offered = announced(&self.client, &self.peer.about);
        self.check_ok("what it announces is what is tried", offered);
        for method in &methods {
            let called = self.call(*method).await;
            self.check_ok(method.name(), called);
        }
        self.check_equal("one handshake in all", self.peer.relay.handshakes(), 1);
        self.check_equal("the tool ran once", self.quick_runs()?, before.quick + 1);
        Ok((format!("all {}", methods.len()), None))
    }

    async fn restarted(&mut self) -> Result<(String, Option<String>)> {
        let mut refusals = BTreeSet::new();
        let methods = Method::of(&self.peer.about);
        for method in &methods {
            self.restart().await?;
            let before = self.before()?;
            let started = Instant::now();
            let called = self.call(*method).await;
            let elapsed = started.elapsed();
            let name = method.name();
            self.check_ok(format_args!("restarted: {name} recovers in {:.2} s", elapsed.as_secs_f64()), called);
            self.recovered_once(&before, name);
            let runs = usize::from(*method == Method::CallTool);
            self.check_equal(format_args!("{name}: runs of the tool"), self.quick_runs()?, before.quick + runs);
            refusals.insert(self.refusal(&before, name));
        }
        self.restart().await?;
        let before = self.before()?;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            let quick = self.peer.about.quick.clone();
            calls.spawn(self.client.call_tool(quick.name, quick.arguments).into_future());
        }
        let answers = timeout(STEP, calls.join_all()).await.context("16 callers after a restart hang")?;
        let answered = answers.iter().filter(|answer| answer.is_ok()).count();
        if let Some(error) = answers.into_iter().find_map(Result::err) {
            println!("[{}]    saw  {error}", self.name);
        }
        self.check_equal("restarted: of 16 callers at once, so many get their answer", answered, CALLERS);
        self.recovered_once(&before, "16 callers");
        self.check_equal("16 callers: runs of the tool", self.quick_runs()?, before.quick + CALLERS);

        let refusals = refusals.into_iter().collect::<Vec<_>>().join("` or `");
        let note = format!("What it answers to a session from before the restart: `{refusals}`.");
        Ok((format!("all {} recover", methods.len()), Some(note)))
    }

    /// One handshake, and nothing lost on the way.
    fn recovered_once(&mut self, before: &Before, what: &str) {
        self.check_equal(format_args!("{what}: handshakes"), self.peer.relay.handshakes(), before.handshakes + 1);
        self.check_equal(format_args!("{what}: the generation"), self.client.generation(), before.generation + 1);
        let unrestored = self.events_since(before).into_iter().find(|event| event.event == EventName::RestoreFailed);
        if let Some(event) = unrestored {
            self.check(format_args!("{what}: not restored: {:?}", event.reason), false);
        }
    }

    /// What the server said to the request that carried the lost session.
    fn refusal(&self, before: &Before, method: &str) -> String {
        let exchanges = self.peer.relay.since(before.passed);
        let refused = exchanges.iter().find(|exchange| exchange.rpc.as_deref() == Some(method));
        refused.map_or_else(|| "nothing was sent".into(), Exchange::answered)
    }

    async fn killed(&mut self) -> Result<(String, Option<String>)> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let (answer, elapsed, killed) = self.slow_until(&slow, async |peer| peer.process.kill().await).await?;
        killed?;
        self.unknown("killed in mid-call", answer, elapsed, PROMPT + 3 * self.peer.about.retry);
        self.check_equal("killed in mid-call: the tool began so often", self.slow_runs()?, before.slow + 1);
        let note = self.end_of_the_call(&before);
        self.peer.process.start_again().await?;
        let called = self.call(Method::CallTool).await;
        self.check_ok("killed in mid-call, started again: the next call", called);
        self.recovered_once(&before, "killed in mid-call, started again");
        self.check_equal("killed in mid-call: the tool began so often in the end", self.slow_runs()?, before.slow + 1);
        let sent = self.peer.relay.tool_calls() - before.tool_calls;
        // The next call is refused with the old session first, and sent again with the new one; or held back until that is there.
        self.check(format_args!("killed in mid-call: tools/call was sent {sent} times"), (2..=3).contains(&sent));
        Ok(("`may_have_executed`".into(), Some(note)))
    }

    async fn cut(&mut self) -> Result<(String, Option<String>)> {
        let slow = self.peer.about.slow.clone();
        match self.peer.about.resumption {
            Resumption::Works => {
                let resumes = self.cut_once(&slow, After::ReadOn).await?;
                Ok((READ_ON.into(), Some(format!("`GET` with `Last-Event-ID` -> `{resumes}`."))))
            }
            Resumption::NotOffered => {
                self.cut_once(&slow, After::Unknown(PROMPT)).await?;
                Ok(("`may_have_executed`: no event ids".into(), None))
            }
            Resumption::Silent => {
                let resumes = self.cut_once(&slow, After::Unknown(STEP)).await?;
                let note = format!(
                    "It gives event ids and opens the stream again (`GET` with `Last-Event-ID` -> `{resumes}`), and the answer never comes \
                     on it. `orphan_timeout` ends the wait."
                );
                Ok(("`may_have_executed`: the resumed stream stays silent".into(), Some(note)))
            }
            Resumption::OnlyWhileItRuns => {
                let retry = self.peer.about.retry;
                let resumes = self.cut_once(&slow, After::Unknown(PROMPT + 4 * retry)).await?;
                let seconds = retry.as_secs_f64() + Peer::SLOW;
                let longer = Tool { arguments: json!({ "seconds": seconds }), ..slow };
                self.cut_once(&longer, After::ReadOn).await?;
                let note = format!(
                    "It asks to wait {} s before reading on, and throws away an answer that is ready before: `GET` with `Last-Event-ID` -> \
                     `{resumes}`, empty and ended at once. Told as `may_have_executed` after three of them.",
                    retry.as_secs()
                );
                Ok((format!("{READ_ON}, if the tool still runs by then"), Some(note)))
            }
        }
    }

    /// Both sides of the connection are reset while the tool runs. Returns the answers to the requests to read on.
    async fn cut_once(&mut self, slow: &Tool, after: After) -> Result<String> {
        let before = self.before()?;
        let (answer, elapsed, ()) = self.slow_until(slow, async |peer| peer.relay.sever()).await?;
        match after {
            After::ReadOn => {
                let ended = answer.map(drop).map_err(anyhow::Error::from);
                self.check_ok(format_args!("cut: the answer is read on after {:.2} s", elapsed.as_secs_f64()), ended);
                let resumed = self.events_since(&before).iter().any(|event| event.event == EventName::Resumed);
                self.check("cut: by Last-Event-ID", resumed);
            }
            After::Unknown(limit) => self.unknown("cut", answer, elapsed, limit),
        }
        self.check_equal("cut: the tool began so often", self.slow_runs()?, before.slow + 1);
        self.check_equal("cut: tools/call was sent so often", self.peer.relay.tool_calls(), before.tool_calls + 1);
        self.check_equal("cut: the session is kept", self.client.generation(), before.generation);
        sleep(SETTLE).await;
        let called = self.call(Method::CallTool).await;
        self.check_ok("cut: the next call", called);
        self.check_equal("cut: handshakes", self.peer.relay.handshakes(), before.handshakes);
        let exchanges = self.peer.relay.since(before.passed);
        let resumes = exchanges.iter().filter(|exchange| exchange.resumes).map(Exchange::answered);
        Ok(resumes.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("` or `"))
    }

    async fn closed(&mut self) -> Result<(String, Option<String>)> {
        let before = self.before()?;
        timeout(STEP, self.client.close()).await.context("close() hangs")?;
        let exchanges = self.peer.relay.since(before.passed);
        let deletes: Vec<_> = exchanges.iter().filter(|exchange| exchange.http == "DELETE").collect();
        self.check_equal("closed: DELETE requests", deletes.len(), 1);
        let status = deletes.first().and_then(|delete| delete.status());
        let said = status.map_or_else(|| "nothing".into(), |status| status.to_string());
        self.check(format_args!("closed: DELETE is answered {said}"), status.is_some_and(|status| status / 100 == 2));
        self.check_equal("closed: the state", self.client.state(), "closed");
        Ok((format!("`DELETE`, {said}"), None))
    }

    async fn restart(&mut self) -> Result<()> {
        self.peer.process.kill().await?;
        self.peer.process.start_again().await
    }

    async fn call(&self, method: Method) -> Result<()> {
        let call = method.call(&self.client, &self.peer.about);
        timeout(STEP, call).await.unwrap_or_else(|_| bail!("no answer in {} s", STEP.as_secs()))
    }

    /// Calls the slow tool, and does something to it when the server's ledger says that it runs.
    async fn slow_until<T>(
        &mut self,
        slow: &Tool,
        fault: impl AsyncFnOnce(&mut Peer) -> T,
    ) -> Result<(Result<CallToolResult, Error>, Duration, T)> {
        let begun = self.slow_runs()? + 1;
        let call = self.client.call_tool(slow.name, slow.arguments.clone());
        // Of a tool that says that it only reads, the loss is not surfaced without the caller's word.
        let call = if self.peer.about.slow_reads { call.resend(Resend::Never) } else { call };
        let peer = &mut *self.peer;
        let fault = async {
            peer.ledger.until(slow.name, |runs| runs.started >= begun, PATIENCE).await?;
            sleep(INTO_THE_CALL).await;
            let hit = Instant::now();
            anyhow::Ok((fault(peer).await, hit))
        };
        let call = async { (timeout(STEP, call.into_future()).await, Instant::now()) };
        let ((answer, ended), fault) = tokio::join!(call, fault);
        let (done, hit) = fault?;
        let answer = answer.context("the call hangs")?;
        Ok((answer, ended.saturating_duration_since(hit), done))
    }

    fn unknown(&mut self, what: &str, answer: Result<CallToolResult, Error>, elapsed: Duration, limit: Duration) {
        match answer {
            Ok(result) => self.check(format_args!("{what}: was answered {:?}", result.text()), false),
            Err(error) => {
                println!("[{}]    saw  {error} ({})", self.name, error.kind());
                self.check_equal(format_args!("{what}: the verdict"), error.execution(), Execution::MayHaveExecuted);
                self.check_equal(format_args!("{what}: attempts"), error.attempts().len(), 1);
            }
        }
        let told = format!("{what}: told {:.2} s after it", elapsed.as_secs_f64());
        self.check(told, elapsed < limit);
    }

    /// What the caller of the slow tool was answered, as the relay saw it.
    fn end_of_the_call(&self, before: &Before) -> String {
        let exchanges = self.peer.relay.since(before.passed);
        let call = exchanges.iter().find(|exchange| exchange.rpc.as_deref() == Some("tools/call"));
        match call.and_then(|call| Some((call.status()?, call.answered()))) {
            None => "Not a byte of an answer.".into(),
            Some((200, answered)) => format!("`{answered}`, which ends without the answer."),
            Some((_, answered)) => format!("`{answered}`: what a call that never arrived gets, too."),
        }
    }

    fn before(&self) -> Result<Before> {
        Ok(Before {
            quick: self.quick_runs()?,
            slow: self.slow_runs()?,
            handshakes: self.peer.relay.handshakes(),
            tool_calls: self.peer.relay.tool_calls(),
            passed: self.peer.relay.passed(),
            generation: self.client.generation(),
            events: self.lock_events().len(),
        })
    }

    fn quick_runs(&self) -> Result<usize> {
        Ok(self.peer.ledger.runs(self.peer.about.quick.name)?.started)
    }

    fn slow_runs(&self) -> Result<usize> {
        Ok(self.peer.ledger.runs(self.peer.about.slow.name)?.started)
    }

    fn lock_events(&self) -> std::sync::MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn events_since(&self, before: &Before) -> Vec<Event> {
        self.lock_events().iter().skip(before.events).cloned().collect()
    }

    fn check(&mut self, what: impl Display, holds: bool) {
        if holds {
            self.outcome.passed += 1;
            println!("[{}]     ok  {what}", self.name);
        } else {
            self.outcome.failed += 1;
            println!("[{}] WRONG  {what}", self.name);
            let exchanges = self.peer.relay.since(0);
            for exchange in exchanges.iter().skip(exchanges.len().saturating_sub(8)) {
                println!("[{}]   wire  {exchange}", self.name);
            }
        }
    }

    fn check_ok(&mut self, what: impl Display, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.check(what, true),
            Err(error) => self.check(format_args!("{what}: {error:#}"), false),
        }
    }

    fn check_equal<T: PartialEq + std::fmt::Debug>(&mut self, what: impl Display, seen: T, right: T) {
        let holds = seen == right;
        let right = if holds { String::new() } else { format!(", right is {right:?}") };
        self.check(format_args!("{what}: {seen:?}{right}"), holds);
    }
}
