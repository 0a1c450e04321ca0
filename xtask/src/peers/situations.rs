//! One real server in every situation. Each is asserted; where a server's own fault forbids what a client could do, what happens
//! instead is asserted, and the exchange is shown.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use oncewire::{CallToolResult, Era, Error, EventName, Execution, Kind};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::exchange::Exchange;
use super::offers::{Method, announced};
use super::trial::{Before, STEP, Struck, Trial};
use super::{Loss, Peer, Resumption, Tool};

/// A verdict that is told by a failure, and not by a clock, comes within this; what the server asks to wait comes on top.
pub(super) const PROMPT: Duration = Duration::from_secs(5);
/// How long a call may be without a byte where a server never ends it.
pub(super) const SILENCE: Duration = Duration::from_secs(3);
/// The ends of idle connections take a moment to be noticed. A call written onto one in that very moment may or may not have been read
/// (RFC 9112, section 9.5), and is told as such: that is not what is tried here.
pub(super) const SETTLE: Duration = Duration::from_millis(100);
/// Callers who find the same server restarted.
pub(super) const CALLERS: usize = 16;

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 7] = [
    "every method",
    "restarted, then each method",
    "killed in mid-call",
    "stopped in mid-call",
    "cut in mid-call",
    "session ended in mid-call",
    "closed",
];

const READ_ON: &str = "answered: read on by `Last-Event-ID`";
pub(super) const UNKNOWN: &str = "`may_have_executed`";

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
    /// What did not hold.
    pub(crate) failed: usize,
}

/// What came of all situations of one server.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) cells: Vec<Cell>,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl Outcome {
    /// Something that must hold, of the row of this name.
    pub(super) fn check(&mut self, name: &str, what: impl Display, holds: bool) {
        if holds {
            self.passed += 1;
            println!("[{name}]     ok  {what}");
        } else {
            self.failed += 1;
            println!("[{name}] WRONG  {what}");
        }
    }

    /// Two things that must be the same.
    pub(super) fn check_equal<T: PartialEq + Debug>(&mut self, name: &str, what: impl Display, seen: T, right: T) {
        let (text, holds) = compared(what, &seen, &right);
        self.check(name, text, holds);
    }

    /// What was checked since the last cell belongs to this one.
    pub(super) fn close_cell(&mut self, (words, note): Words) {
        let failed_before: usize = self.cells.iter().map(|cell| cell.failed).sum();
        self.cells.push(Cell { words, note, failed: self.failed - failed_before });
    }
}

/// Two things that must be the same, in words.
pub(super) fn compared<T: PartialEq + Debug>(what: impl Display, seen: &T, right: &T) -> (String, bool) {
    let holds = seen == right;
    let other = if holds { String::new() } else { format!(", right is {right:?}") };
    (format!("{what}: {seen:?}{other}"), holds)
}

/// A few words for the table, and the exchange behind them.
pub(super) type Words = (String, Option<String>);

/// Puts the server through all of it. What breaks off counts as one failure.
pub(crate) async fn all(peer: &mut Peer, name: &'static str, era: Era) -> Outcome {
    let mut trial = match Trial::begin(peer, name, |client| client.era(era)).await {
        Ok(trial) => trial,
        Err(error) => return broken(name, &format!("{error:#}")),
    };
    if let Err(error) = trial.all(era).await {
        trial.check(format_args!("it broke off: {error:#}"), false);
    }
    // Closed already unless it broke off.
    trial.client.close().await;
    trial.outcome
}

pub(crate) fn broken(name: &str, problem: &str) -> Outcome {
    println!("[{name}] WRONG  {problem}");
    Outcome { failed: 1, ..Outcome::default() }
}

impl Trial<'_> {
    async fn all(&mut self, era: Era) -> Result<()> {
        let words = self.healthy().await?;
        self.close_cell(words);
        let words = self.restarted().await?;
        self.close_cell(words);
        let words = self.killed().await?;
        self.close_cell(words);
        let words = self.stopped().await?;
        self.close_cell(words);
        let words = self.cut().await?;
        self.close_cell(words);
        let words = self.ended().await?;
        self.close_cell(words);
        let words = self.closed().await?;
        // A server of the handshake era is asked once for its era, however often it is lost.
        let questions = usize::from(era != Era::Legacy);
        self.check_equal("questions for the era, in all", self.peer.relay.sent("server/discover"), questions);
        self.close_cell(words);
        Ok(())
    }

    pub(super) fn close_cell(&mut self, words: Words) {
        self.outcome.close_cell(words);
    }

    async fn healthy(&mut self) -> Result<Words> {
        let before = self.before()?;
        let methods = Method::of(&self.peer.about);
        let offered = announced(&self.client, &self.peer.about);
        self.check_ok("what it announces is what is tried", offered);
        for method in &methods {
            let called = self.call(*method).await;
            self.check_ok(method.name(), called);
        }
        self.check_equal("the era", self.client.era(), Some(oncewire::Lifecycle::Legacy));
        self.check_equal("one handshake in all", self.peer.relay.handshakes(), 1);
        self.check_equal("the tool ran once", self.quick_runs()?, before.quick + 1);
        Ok((format!("all {}", methods.len()), None))
    }

    async fn restarted(&mut self) -> Result<Words> {
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
        self.many_callers().await?;
        self.recovered_once(&before, "16 callers");
        self.check_equal("16 callers: runs of the tool", self.quick_runs()?, before.quick + CALLERS);

        // Where the GET stream notices the restart before it is over, the session is replaced before anybody calls: nothing was refused then.
        let is_refusal = |said: &String| !said.starts_with('2');
        if refusals.iter().any(is_refusal) {
            refusals.retain(is_refusal);
        }
        let refusals = refusals.into_iter().collect::<Vec<_>>().join("` or `");
        let note = format!("What it answers to a session from before the restart: `{refusals}`.");
        Ok((format!("all {} recover", methods.len()), Some(note)))
    }

    /// 16 callers at once, who all get their answer.
    pub(super) async fn many_callers(&mut self) -> Result<()> {
        let passed = self.peer.relay.passed();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            let quick = self.peer.about.quick.clone();
            calls.spawn(self.client.call_tool(quick.name, quick.arguments).into_future());
        }
        let answers = timeout(STEP, calls.join_all()).await.context("16 callers after a restart hang")?;
        let answered = answers.iter().filter(|answer| answer.is_ok()).count();
        if let Some(error) = answers.into_iter().find_map(Result::err) {
            let took = error.attempts().iter().map(|attempt| attempt.elapsed).collect::<Vec<_>>();
            println!("[{}]    saw  {error}; its attempts took {took:?}", self.name);
        }
        self.check_equal("restarted: of 16 callers at once, so many get their answer", answered, CALLERS);
        let sent = self.peer.relay.since(passed);
        let twins = sent.iter().filter(|exchange| exchange.rpc.as_deref() == Some("ping")).count();
        println!("[{}]    saw  {} requests for 16 callers, {twins} of them pings", self.name, sent.len());
        Ok(())
    }

    /// What the server said to the request that carried the lost session: the call itself, or the ping that asked whether the session lives.
    pub(super) fn refusal(&self, before: &Before, method: &str) -> String {
        let exchanges = self.peer.relay.since(before.passed);
        let called = |exchange: &&Exchange| exchange.rpc.as_deref() == Some(method);
        let refused = |exchange: &&Exchange| {
            let asked = called(exchange) || exchange.rpc.as_deref() == Some("ping");
            asked && exchange.status().is_some_and(|status| status >= 300)
        };
        let said = exchanges.iter().find(refused).or_else(|| exchanges.iter().find(called));
        said.map_or_else(|| "nothing was sent".into(), Exchange::answered)
    }

    pub(super) async fn killed(&mut self) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let Struck { answer, elapsed, fault } =
            self.slow_until(&slow, |call| call, async |peer| peer.process.kill().await).await?;
        fault?;
        self.unknown("killed in mid-call", answer, elapsed, PROMPT + 3 * self.peer.about.retry);
        self.check_equal("killed in mid-call: the tool began so often", self.slow_runs()?, before.slow + 1);
        let words = self.end_of_the_call(&before);
        self.peer.process.start_again().await?;
        let called = self.call(Method::CallTool).await;
        self.check_ok("killed in mid-call, started again: the next call", called);
        self.recovered(&before, "killed in mid-call, started again", Loss::Restart);
        self.check_equal("killed in mid-call: the tool began so often in the end", self.slow_runs()?, before.slow + 1);
        let sent = self.peer.relay.tool_calls() - before.tool_calls;
        // The next call is refused with the old session first, and sent again with the new one; or held back until that is there.
        self.check(format_args!("killed in mid-call: tools/call was sent {sent} times"), (2..=3).contains(&sent));
        Ok(words)
    }

    /// Stopped in good order (on Unix by SIGTERM) while the tool runs, as a new release of a server does: each server has its own way.
    async fn stopped(&mut self) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let Struck { answer, elapsed, fault } =
            self.slow_until(&slow, |call| call.idle_timeout(SILENCE), async |peer| peer.process.stop().await).await?;
        fault?;
        let words = self.whatever("stopped in mid-call", &before, answer, elapsed)?;
        self.peer.process.start_again().await?;
        self.back_again("stopped in mid-call", &before, Loss::Restart).await?;
        Ok(words)
    }

    /// Somebody else ends the session while the tool runs, as another process with the same session id could.
    pub(super) async fn ended(&mut self) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let Struck { answer, elapsed, fault } =
            self.slow_until(&slow, |call| call.idle_timeout(SILENCE), async |peer| peer.end_session().await).await?;
        fault?;
        let words = self.whatever("session ended in mid-call", &before, answer, elapsed)?;
        if !self.peer.about.opens_again {
            self.restart().await?;
        }
        self.back_again("session ended in mid-call", &before, Loss::Delete).await?;
        Ok(words)
    }

    async fn back_again(&mut self, what: &str, before: &Before, loss: Loss) -> Result<()> {
        let called = self.call(Method::CallTool).await;
        self.check_ok(format_args!("{what}: the next call"), called);
        self.recovered(before, what, loss);
        self.check_equal(format_args!("{what}: the tool began so often"), self.slow_runs()?, before.slow + 1);
        Ok(())
    }

    /// What the server makes of the call is its own; what the caller is told must be true, and in the table.
    pub(super) fn whatever(
        &mut self,
        what: &str,
        before: &Before,
        answer: Result<CallToolResult, Error>,
        elapsed: Duration,
    ) -> Result<Words> {
        let limit = PROMPT + SILENCE + 4 * self.peer.about.retry;
        self.check(format_args!("{what}: told {:.2} s after it", elapsed.as_secs_f64()), elapsed < limit);
        let ended = self.slow_ended()? - before.slow_ended;
        let error = match answer {
            Ok(_) => {
                self.check_equal(format_args!("{what}: answered, and the tool ended so often"), ended, 1);
                return Ok(("answered".into(), None));
            }
            Err(error) => error,
        };
        println!("[{}]    saw  {error} ({})", self.name, error.kind());
        let execution = error.execution();
        self.check(format_args!("{what}: the verdict is {execution}"), execution != Execution::NotExecuted);
        Ok(match (&error, error.kind()) {
            (Error::Answered(failure), _) => {
                let note = format!(
                    "`{} {}`: the server's answer, which says nothing of effects.",
                    failure.code, failure.message
                );
                ("answered, with an error".into(), Some(note))
            }
            (_, Kind::Timeout) => (format!("{UNKNOWN}: never answered, ended by `idle_timeout`"), None),
            _ => self.end_of_the_call(before),
        })
    }

    async fn cut(&mut self) -> Result<Words> {
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
        let Struck { answer, elapsed, .. } =
            self.slow_until(slow, |call| call, async |peer| peer.relay.sever()).await?;
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

    pub(super) async fn closed(&mut self) -> Result<Words> {
        let before = self.before()?;
        timeout(STEP, self.client.close()).await.context("close() hangs")?;
        let exchanges = self.peer.relay.since(before.passed);
        let deletes: Vec<_> = exchanges.iter().filter(|exchange| exchange.http == "DELETE").collect();
        self.check_equal("closed: DELETE requests", deletes.len(), 1);
        let status = deletes.first().and_then(|delete| delete.status());
        let said = status.map_or_else(|| "nothing".into(), |status| status.to_string());
        self.check(format_args!("closed: DELETE is answered {said}"), status.is_some_and(|status| status / 100 == 2));
        self.check_equal("closed: the state", self.client.state().as_str(), "closed");
        Ok((format!("`DELETE`, {said}"), None))
    }

    pub(super) fn unknown(
        &mut self,
        what: &str,
        answer: Result<CallToolResult, Error>,
        elapsed: Duration,
        limit: Duration,
    ) {
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

    /// The words for a call that may have run, with what the caller was answered, as the relay saw it.
    pub(super) fn end_of_the_call(&self, before: &Before) -> Words {
        let exchanges = self.peer.relay.since(before.passed);
        let call = exchanges.iter().find(|exchange| exchange.rpc.as_deref() == Some("tools/call"));
        match call.and_then(|call| Some((call.status()?, call.answered()))) {
            None => (format!("{UNKNOWN}: no answer begins"), None),
            Some((200, _)) => (format!("{UNKNOWN}: the stream ends"), None),
            Some((status, answered)) => {
                let gateway = matches!(status, 502..=504);
                let never = if gateway { ": what a call that never arrived gets, too." } else { "." };
                let note = format!("`{answered}`{never}");
                (format!("{UNKNOWN}: {status}"), Some(note))
            }
        }
    }
}
