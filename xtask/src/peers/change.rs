//! A server whose place another one takes, under one client: a release that speaks another era, or the way back from it.

use anyhow::{Context as _, Result};
use oncewire::{CallToolResult, Error, EventName, Execution, Resend};
use tokio::time::timeout;

use super::offers::Method;
use super::place::Place;
use super::process::Launch;
use super::recipe::Recipe;
use super::situations::{CALLERS, Outcome, PROMPT, UNKNOWN, Words, broken};
use super::trial::{Before, STEP, Struck, Trial};
use super::{About, Peer};

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 4] = ["reads", "a tool with leave", "a tool without leave", "in mid-call"];

/// The two servers, which take turns in one place.
struct Change {
    from: Launch,
    to: Launch,
    /// What is known of the other.
    about: About,
    /// The client's era in the end.
    ends: &'static str,
}

/// Puts one in the place of the other, once for each situation, each time under a client of its own. The text says why a server is not there.
pub(crate) async fn all(
    name: &'static str,
    from: Recipe,
    to: Recipe,
    ends: &'static str,
) -> Result<Result<Outcome, String>> {
    let place = Place::free(name)?;
    let ledger = place.open_ledger()?;
    let mut launches = Vec::new();
    for recipe in [from, to] {
        match recipe.launches(&place).await? {
            Ok(both) => launches.push(both.server),
            Err(problem) => return Ok(Err(problem)),
        }
    }
    let [from_launch, to_launch] = <[Launch; 2]>::try_from(launches).ok().context("two servers")?;
    let about = if ends == "modern" { to.modern_about() } else { to.about() };
    let change = Change { from: from_launch.clone(), to: to_launch, about, ends };
    let mut peer = Peer::start(from.about(), from_launch.into(), ledger).await?;
    let mut outcome = Outcome::default();
    for situation in SITUATIONS {
        outcome = situation_of(&change, &mut peer, name, situation, outcome).await;
    }
    peer.end().await?;
    Ok(Ok(outcome))
}

/// One situation, with a client of its own, from one server to the other.
async fn situation_of(
    change: &Change,
    peer: &mut Peer,
    name: &'static str,
    situation: &'static str,
    outcome: Outcome,
) -> Outcome {
    let back = async {
        peer.process.kill().await?;
        peer.process.becomes(change.from.clone());
        peer.process.start_again().await
    };
    if let Err(error) = back.await {
        return broken(name, &format!("{situation}: it does not start: {error:#}"));
    }
    let mut trial = match Trial::begin(peer, name, |client| client).await {
        Ok(trial) => trial,
        Err(error) => return broken(name, &format!("{situation}: {error:#}")),
    };
    trial.outcome = outcome;
    let words = match situation {
        "reads" => trial.reads(change).await,
        "a tool with leave" => trial.with_leave(change).await,
        "a tool without leave" => trial.without_leave(change).await,
        _ => trial.changed_in_mid_call(change).await,
    };
    match words {
        Ok(words) => trial.close_cell(words),
        Err(error) => trial.check(format_args!("{situation}: it broke off: {error:#}"), false),
    }
    trial.client.close().await;
    trial.outcome
}

impl Trial<'_> {
    async fn reads(&mut self, change: &Change) -> Result<Words> {
        let before = self.before()?;
        self.put_in_place(change).await?;
        let called = self.call(Method::ListTools).await;
        self.check_ok("reads: the first call after it", called);
        let cost = self.negotiated_at_most_once(change, &before, "reads");
        let called = self.call(Method::ReadResource).await;
        self.check_ok("reads: another", called);

        // And back, and again, under 16 callers.
        self.peer.process.kill().await?;
        self.peer.process.becomes(change.from.clone());
        self.peer.process.start_again().await?;
        let before = self.before()?;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            calls.spawn(self.client.list_tools().into_future());
        }
        let answers = timeout(STEP, calls.join_all()).await.context("16 callers after a change hang")?;
        let answered = answers.iter().filter(|answer| answer.is_ok()).count();
        if let Some(error) = answers.into_iter().find_map(Result::err) {
            println!("[{}]    saw  {error}", self.name);
        }
        self.check_equal("and back: of 16 callers at once, so many get their answer", answered, CALLERS);
        let flights = self.flights(&before);
        self.check(format_args!("and back: {flights} new negotiations"), flights <= 1);
        Ok((cost, None))
    }

    async fn with_leave(&mut self, change: &Change) -> Result<Words> {
        let before = self.before()?;
        self.put_in_place(change).await?;
        let quick = self.peer.about.quick.clone();
        let call = self.client.call_tool(quick.name, quick.arguments).resend(Resend::Always);
        let answer = timeout(STEP, call.into_future()).await.context("the call hangs")?;
        self.check_ok("with leave: the first call after it", answer.map(drop).map_err(anyhow::Error::from));
        self.check_equal("with leave: runs of the tool", self.quick_runs()?, before.quick + 1);
        let cost = self.negotiated_at_most_once(change, &before, "with leave");
        Ok((format!("answered; {cost}"), None))
    }

    async fn without_leave(&mut self, change: &Change) -> Result<Words> {
        let before = self.before()?;
        self.put_in_place(change).await?;
        let quick = self.peer.about.quick.clone();
        let call = self.client.call_tool(quick.name, quick.arguments);
        let answer = timeout(STEP, call.into_future()).await.context("the call hangs")?;
        let runs = self.quick_runs()? - before.quick;
        let words = self.true_verdict(&answer, runs);
        let called = self.call(Method::CallTool).await;
        self.check_ok("without leave: the next call", called);
        self.check_equal("without leave: runs of the tool in the end", self.quick_runs()?, before.quick + runs + 1);
        self.negotiated_at_most_once(change, &before, "without leave");
        Ok(words)
    }

    /// What the caller is told, against the ledger.
    fn true_verdict(&mut self, answer: &Result<CallToolResult, Error>, runs: usize) -> Words {
        match answer {
            Ok(_) => {
                self.check_equal("without leave: answered; runs of the tool", runs, 1);
                ("answered".into(), None)
            }
            Err(error) => {
                println!("[{}]    saw  {error} ({})", self.name, error.kind());
                let execution = error.execution();
                let may = if execution == Execution::NotExecuted { 0 } else { 1 };
                self.check(format_args!("without leave: {execution}, and the tool ran {runs} times"), runs <= may);
                let note = match error {
                    Error::Answered(failure) => format!("`{} {}`", failure.code, failure.message),
                    _ => format!("{error}"),
                };
                (format!("`{execution}`: the tool did not run"), Some(note))
            }
        }
    }

    async fn changed_in_mid_call(&mut self, change: &Change) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let other = change.to.clone();
        let Struck { answer, elapsed, fault } = self
            .slow_until(
                &slow,
                |call| call,
                async |peer| {
                    peer.process.kill().await?;
                    peer.process.becomes(other);
                    peer.process.start_again().await
                },
            )
            .await?;
        fault?;
        self.peer.about = change.about.clone();
        self.unknown("in mid-call", answer, elapsed, PROMPT + 4 * self.peer.about.retry);
        self.check_equal("in mid-call: the tool began so often", self.slow_runs()?, before.slow + 1);
        let called = self.call(Method::ListTools).await;
        self.check_ok("in mid-call: the next call", called);
        let called = self.call(Method::CallTool).await;
        self.check_ok("in mid-call: the next call of a tool", called);
        self.check_equal("in mid-call: the tool began so often in the end", self.slow_runs()?, before.slow + 1);
        self.negotiated_at_most_once(change, &before, "in mid-call");
        Ok((UNKNOWN.into(), None))
    }

    /// The other takes the place of the one.
    async fn put_in_place(&mut self, change: &Change) -> Result<()> {
        self.peer.process.stop().await?;
        self.peer.process.becomes(change.to.clone());
        self.peer.process.start_again().await?;
        self.peer.about = change.about.clone();
        Ok(())
    }

    /// Returns what it cost, in words.
    fn negotiated_at_most_once(&mut self, change: &Change, before: &Before, what: &str) -> String {
        self.check_equal(
            format_args!("{what}: the era"),
            self.client.era().map(oncewire::Lifecycle::as_str),
            Some(change.ends),
        );
        let flights = self.flights(before);
        self.check(format_args!("{what}: {flights} new negotiations"), flights <= 1);
        let failed = self.events_since(before).iter().any(|event| event.event == EventName::RecoveryFailed);
        self.check(format_args!("{what}: none failed"), !failed);
        let era = change.ends;
        if flights == 0 { format!("`{era}` as before") } else { format!("`{era}` after one negotiation") }
    }

    /// How often the client began to negotiate anew.
    fn flights(&self, before: &Before) -> usize {
        self.events_since(before).iter().filter(|event| event.event == EventName::Recovering).count()
    }
}
