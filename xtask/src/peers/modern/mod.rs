//! One real server in every situation of the modern era. The client is told nothing of it: `era = auto`.

mod faults;
mod talk;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use oncewire::Client;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::Peer;
use super::offers::{Method, announced};
use super::situations::{CALLERS, Outcome, Words, broken};
use super::trial::{Before, STEP, Trial};

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 8] = [
    "every method",
    "talk",
    "restarted, then each method",
    "killed in mid-call",
    "stopped in mid-call",
    "cut in mid-call",
    "cancelled in mid-call",
    "closed",
];

/// How long nobody listens on the port while a tool call waits.
const DOWN: Duration = Duration::from_millis(700);

/// Puts the server through all of it. What breaks off counts as one failure.
pub(crate) async fn all(peer: &mut Peer, name: &'static str) -> Outcome {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let answering = move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(json!({ "action": "accept", "content": { "name": "Ada" } })))
    };
    let mut trial = match Trial::begin(peer, name, |client| client.on_elicitation(answering)).await {
        Ok(trial) => trial,
        Err(error) => return broken(name, &format!("{error:#}")),
    };
    if let Err(error) = trial.all_modern(&asked).await {
        trial.check(format_args!("it broke off: {error:#}"), false);
    }
    // Closed already unless it broke off.
    trial.client.close().await;
    trial.outcome
}

impl Trial<'_> {
    async fn all_modern(&mut self, asked: &AtomicUsize) -> Result<()> {
        let words = self.every_method().await?;
        self.close_cell(words);
        let words = self.talk(asked).await?;
        self.close_cell(words);
        let words = self.restarted_each().await?;
        self.close_cell(words);
        let words = self.killed_in_mid_call().await?;
        self.close_cell(words);
        let words = self.stopped_in_mid_call().await?;
        self.close_cell(words);
        let words = self.cut_in_mid_call().await?;
        self.close_cell(words);
        let words = self.cancelled_in_mid_call().await?;
        self.close_cell(words);
        let words = self.closed_without_a_word().await?;
        self.close_cell(words);
        Ok(())
    }

    async fn every_method(&mut self) -> Result<Words> {
        let before = self.before()?;
        self.check_equal("the era", self.client.era(), Some(oncewire::Lifecycle::Modern));
        self.check_equal("questions for the era", self.peer.relay.sent("server/discover"), 1);
        let methods = Method::of(&self.peer.about);
        let offered = announced(&self.client, &self.peer.about);
        self.check_ok("what it announces is what is tried", offered);
        for method in &methods {
            let called = self.call(*method).await;
            self.check_ok(method.name(), called);
        }
        self.check_equal("the tool ran once", self.quick_runs()?, before.quick + 1);
        self.undisturbed(&before, "every method");
        Ok((format!("all {}", methods.len()), None))
    }

    async fn restarted_each(&mut self) -> Result<Words> {
        let methods = Method::of(&self.peer.about);
        for method in &methods {
            self.restart().await?;
            let before = self.before()?;
            let started = Instant::now();
            let called = self.call(*method).await;
            let elapsed = started.elapsed();
            let name = method.name();
            self.check_ok(format_args!("restarted: {name} in {:.2} s", elapsed.as_secs_f64()), called);
            let runs = usize::from(*method == Method::CallTool);
            self.check_equal(format_args!("{name}: runs of the tool"), self.quick_runs()?, before.quick + runs);
            self.undisturbed(&before, name);
        }
        self.restart().await?;
        let before = self.before()?;
        let answered = self.callers().await?;
        self.check_equal("restarted: of 16 callers at once, so many get their answer", answered, CALLERS);
        self.check_equal("16 callers: runs of the tool", self.quick_runs()?, before.quick + CALLERS);
        self.undisturbed(&before, "16 callers");
        self.called_while_down().await?;
        Ok((format!("all {} work", methods.len()), None))
    }

    /// How many of 16 callers at once are answered.
    pub(super) async fn callers(&self) -> Result<usize> {
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            let quick = self.peer.about.quick.clone();
            calls.spawn(self.client.call_tool(quick.name, quick.arguments).into_future());
        }
        let answers = timeout(STEP, calls.join_all()).await.context("16 callers hang")?;
        let answered = answers.iter().filter(|answer| answer.is_ok()).count();
        if let Some(error) = answers.into_iter().find_map(Result::err) {
            println!("[{}]    saw  {error}", self.name);
        }
        Ok(answered)
    }

    /// A tool is called while nobody listens on the port. The relay would accept the connection: another client does without it.
    async fn called_while_down(&mut self) -> Result<()> {
        let builder = Client::builder(self.peer.direct_url()).no_proxy();
        let direct = timeout(STEP, builder.connect()).await.context("the handshake hangs")??;
        let quick = self.peer.about.quick.clone();
        let before = self.before()?;
        self.peer.process.kill().await?;
        let call = tokio::spawn(direct.call_tool(quick.name, quick.arguments).into_future());
        sleep(DOWN).await;
        self.check("called while nobody listens: it waits", !call.is_finished());
        self.peer.process.start_again().await?;
        let answer = timeout(STEP, call).await.context("the call hangs")??;
        self.check_ok("called while nobody listens: it is answered", answer.map(drop).map_err(anyhow::Error::from));
        self.check_equal("called while nobody listens: runs of the tool", self.quick_runs()?, before.quick + 1);
        timeout(STEP, direct.close()).await.context("close() hangs")
    }

    async fn closed_without_a_word(&mut self) -> Result<Words> {
        let before = self.before()?;
        timeout(STEP, self.client.close()).await.context("close() hangs")?;
        self.check_equal("closed: requests", self.peer.relay.since(before.passed).len(), 0);
        self.check_equal("closed: the state", self.client.state().as_str(), "closed");
        let wire = self.only_the_modern_era();
        self.check_ok("there was nothing but the modern era on the wire", wire);
        Ok(("nothing is sent".into(), None))
    }

    /// There is no session, and nothing to be recovered.
    pub(super) fn undisturbed(&mut self, before: &Before, what: &str) {
        self.check_equal(format_args!("{what}: handshakes"), self.peer.relay.handshakes(), 0);
        self.check_equal(format_args!("{what}: the generation"), self.client.generation(), before.generation);
    }

    fn only_the_modern_era(&self) -> Result<()> {
        if let Some(session) = self.peer.relay.session() {
            bail!("the session {session} was named");
        }
        for exchange in self.peer.relay.since(0) {
            let rpc = exchange.rpc.as_deref().unwrap_or_default();
            if exchange.http != "POST" || exchange.resumes || rpc == "initialize" || rpc.starts_with("notifications/") {
                bail!("{exchange}");
            }
        }
        Ok(())
    }
}
