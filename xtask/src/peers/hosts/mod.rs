//! Clients that others publish, as hosts of `oncewire proxy`: over standard input and output to the proxy, and from there to a real server
//! that is restarted, killed and told to end its sessions. The host sees no failed read and no second run.

mod host;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::time::sleep;

use self::host::Host;
use super::recipe::Recipe;
use super::situations::{Outcome, UNKNOWN, Words, broken};
use super::trial::{INTO_THE_CALL, PATIENCE};
use super::{Peer, Sessions, Tool};

pub(crate) use self::host::{Kind, oncewire};

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 5] =
    ["calls", "restarted before each", "session ended before each", "killed in mid-call", "closed"];

/// How often a situation is repeated.
const TIMES: usize = 3;

/// Runs the row; the text says why the host or the server is not there.
pub(crate) async fn all(name: &'static str, kind: Kind, recipe: Recipe) -> Result<Result<Outcome, String>> {
    let mut peer = match recipe.start(recipe.about(), name).await.context("the server does not start")? {
        Ok(peer) => peer,
        Err(problem) => return Ok(Err(problem)),
    };
    let outcome = match Host::start(kind, &peer.url()).await {
        Ok(Ok(host)) => with_host(name, host, &mut peer).await,
        Ok(Err(problem)) => {
            peer.end().await?;
            return Ok(Err(problem));
        }
        Err(error) => broken(name, &format!("{error:#}")),
    };
    peer.end().await?;
    Ok(Ok(outcome))
}

async fn with_host(name: &'static str, host: Host, peer: &mut Peer) -> Outcome {
    let mut hosting = Hosting { name, peer, host, outcome: Outcome::default() };
    if let Err(error) = hosting.all().await {
        hosting.outcome.check(name, format_args!("it broke off: {error:#}"), false);
    }
    hosting.outcome
}

struct Hosting<'a> {
    name: &'static str,
    peer: &'a mut Peer,
    host: Host,
    outcome: Outcome,
}

impl Hosting<'_> {
    async fn all(&mut self) -> Result<()> {
        for situation in SITUATIONS {
            let words = match situation {
                "calls" => self.calls().await,
                "restarted before each" => self.restarted().await,
                "session ended before each" => self.session_ended().await,
                "killed in mid-call" => self.killed().await,
                _ => self.closed().await,
            };
            self.outcome.close_cell(words.context(situation)?);
        }
        Ok(())
    }

    fn runs(&self, tool: &Tool) -> Result<usize> {
        Ok(self.peer.ledger.runs(tool.name)?.started)
    }

    /// A list and a call: both are answered, and the tool runs once.
    async fn list_and_call(&mut self, when: &str) -> Result<()> {
        let quick = self.peer.about.quick.clone();
        let before = self.runs(&quick)?;
        let listed = self.host.list().await?;
        self.outcome.check(self.name, format_args!("{when}: a list: {listed}"), listed.is_ok());
        self.call_once(when, &quick, before).await
    }

    async fn call_once(&mut self, when: &str, tool: &Tool, before: usize) -> Result<()> {
        let called = self.host.call(tool).await?;
        self.outcome.check(self.name, format_args!("{when}: a tool: {called}"), called.is_ok());
        self.outcome.check_equal(self.name, format_args!("{when}: runs of the tool"), self.runs(tool)?, before + 1);
        Ok(())
    }

    async fn calls(&mut self) -> Result<Words> {
        self.list_and_call("calls").await?;
        Ok(("answered".into(), None))
    }

    async fn restart(&mut self) -> Result<()> {
        self.peer.process.kill().await?;
        self.peer.process.start_again().await
    }

    async fn restarted(&mut self) -> Result<Words> {
        let quick = self.peer.about.quick.clone();
        for _ in 0..TIMES {
            self.restart().await?;
            self.list_and_call("restarted").await?;
            // The tool first: nothing has shown the loss before.
            self.restart().await?;
            let before = self.runs(&quick)?;
            self.call_once("restarted, the tool first", &quick, before).await?;
        }
        Ok(("answered, each ran once".into(), None))
    }

    async fn session_ended(&mut self) -> Result<Words> {
        if self.peer.relay.session().is_none() || self.peer.about.sessions != Sessions::InMemory {
            return Ok(("no session".into(), None));
        }
        let quick = self.peer.about.quick.clone();
        for _ in 0..TIMES {
            let before = self.runs(&quick)?;
            self.peer.end_session().await?;
            self.call_once("session ended", &quick, before).await?;
        }
        Ok(("answered, each ran once".into(), None))
    }

    async fn killed(&mut self) -> Result<Words> {
        let slow = self.peer.about.slow.clone();
        let before = self.runs(&slow)?;
        self.host.order_call(&slow).await?;
        self.peer.ledger.until(slow.name, |runs| runs.started > before, PATIENCE).await?;
        sleep(INTO_THE_CALL).await;
        self.peer.process.kill().await?;
        let lost = self.host.reply().await?;
        let told = lost.data().and_then(|data| data.get("execution")).and_then(Value::as_str).map(str::to_owned);
        self.outcome.check_equal(
            self.name,
            "killed: the verdict in error.data",
            told.as_deref(),
            Some("may_have_executed"),
        );
        let words = lost.message().is_some_and(|message| message.contains("check before running it again"));
        self.outcome.check(self.name, format_args!("killed: the words: {lost}"), words);
        self.peer.process.start_again().await?;
        self.list_and_call("killed, and back").await?;
        self.outcome.check_equal(self.name, "killed: runs of the slow tool", self.runs(&slow)?, before + 1);
        Ok((UNKNOWN.into(), None))
    }

    async fn closed(&mut self) -> Result<Words> {
        let passed = self.peer.relay.passed();
        let had_session = self.peer.relay.session().is_some();
        let status = self.host.close().await?;
        ensure!(status.success(), "the host ended with {status}");
        // The proxy ends with its host, after the host has seen the end of it or not.
        let deleted = || self.peer.relay.since(passed).iter().filter(|exchange| exchange.http == "DELETE").count();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while had_session && deleted() == 0 && tokio::time::Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        let deletes = deleted();
        self.outcome.check_equal(self.name, "closed: DELETE requests", deletes, usize::from(had_session));
        Ok((if had_session { "one `DELETE`" } else { "nothing is sent" }.into(), None))
    }
}
