//! One server on a framework that others publish, in what can befall its sessions. `situations.rs` has most of it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use oncewire::{CallToolResult, Client, Era, Error, Execution};
use serde_json::json;
use tokio::time::timeout;

use super::frameworks::Framework;
use super::ledger::Ledger;
use super::offers::Method;
use super::place::Place;
use super::process::{Launch, Process};
use super::relay::Relay;
use super::situations::{CALLERS, Outcome, Words, broken};
use super::trial::{STEP, Trial};
use super::{Loss, Peer, Sessions};

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 5] = [
    "what it answers to a lost session",
    "killed in mid-call",
    "session ended in mid-call",
    "replicas in turn",
    "closed",
];

/// Calls that go to two replicas in turn.
const IN_TURN: usize = 8;

/// Runs the row; the text says why the server is not there.
pub(crate) async fn all(name: &'static str, framework: Framework, era: Era) -> Result<Result<Outcome, String>> {
    let place = Place::free(name)?;
    let ledger = place.open_ledger()?;
    let replica = place.another()?;
    let (first, second) = match (framework.launch(&place).await?, framework.launch(&replica).await?) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(problem), _) | (_, Err(problem)) => return Ok(Err(problem)),
    };
    let mut peer = Peer::start(framework.about(), first.into(), ledger.clone()).await.context("it does not start")?;
    let mut trial = match Trial::begin(&mut peer, name, |client| client.era(era)).await {
        Ok(trial) => trial,
        Err(error) => return Ok(Ok(broken(name, &format!("{error:#}")))),
    };
    if let Err(error) = trial.all_sessions(framework, era, second, &ledger).await {
        trial.check(format_args!("it broke off: {error:#}"), false);
    }
    trial.client.close().await;
    let outcome = trial.outcome;
    peer.end().await?;
    Ok(Ok(outcome))
}

impl Trial<'_> {
    async fn all_sessions(&mut self, framework: Framework, era: Era, second: Launch, ledger: &Ledger) -> Result<()> {
        let words = self.lost(framework).await?;
        self.close_cell(words);
        let words = self.killed().await?;
        self.close_cell(words);
        let words = match self.peer.about.sessions {
            Sessions::None => ("no sessions".into(), None),
            _ => self.ended().await?,
        };
        self.close_cell(words);
        let words = self.replicas(framework, era, second, ledger).await?;
        self.close_cell(words);
        let words = match self.peer.about.sessions {
            Sessions::None => self.closed_without_session().await?,
            _ => self.closed().await?,
        };
        self.close_cell(words);
        Ok(())
    }

    /// Restarted before each of these, and once before 16 callers.
    async fn lost(&mut self, framework: Framework) -> Result<Words> {
        let mut refusal = String::new();
        for method in [Method::CallTool, Method::ListTools, Method::Ping] {
            // A modern server has no ping.
            if method == Method::Ping && self.client.era() == Some(oncewire::Lifecycle::Modern) {
                continue;
            }
            self.restart().await?;
            let before = self.before()?;
            let called = self.call(method).await;
            self.check_ok(format_args!("restarted: {}", method.name()), called);
            self.recovered(&before, method.name(), Loss::Restart);
            let runs = usize::from(method == Method::CallTool);
            self.check_equal(
                format_args!("{}: runs of the tool", method.name()),
                self.quick_runs()?,
                before.quick + runs,
            );
            if method == Method::CallTool {
                refusal = self.refusal(&before, method.name());
            }
        }
        if let Some(peek) = framework.peek() {
            self.restart().await?;
            let before = self.peer.ledger.runs(peek)?.started;
            let answer =
                timeout(STEP, self.client.call_tool(peek, json!({})).into_future()).await.context("the call hangs")?;
            self.check_ok(format_args!("restarted: {peek}"), answer.map(drop).map_err(anyhow::Error::from));
            self.check_equal(format_args!("runs of {peek}"), self.peer.ledger.runs(peek)?.started, before + 1);
        }
        self.restart().await?;
        let before = self.before()?;
        self.many_callers().await?;
        self.recovered(&before, "16 callers", Loss::Restart);
        self.check_equal("16 callers: runs of the tool", self.quick_runs()?, before.quick + CALLERS);
        let lost = self.peer.about.sessions.lost_by(Loss::Restart);
        let refused = !refusal.starts_with('2');
        self.check(format_args!("the lost session is told: {refusal}"), refused == lost);
        Ok(match self.peer.about.sessions {
            Sessions::None => ("it has none".into(), None),
            Sessions::NotLookedAt => ("it does not look: the tool runs".into(), None),
            Sessions::OutliveTheProcess => ("they live through a restart: the tool runs".into(), None),
            Sessions::InMemory => (format!("`{}`", with_our_id(&refusal)), None),
        })
    }

    /// Two processes behind a balancer that sends each request to the next of them; first the one that has the session alone.
    async fn replicas(&mut self, framework: Framework, era: Era, second: Launch, ledger: &Ledger) -> Result<Words> {
        let mut other = Process::start(second).await.context("the other replica")?;
        let relay = Relay::in_turn(self.peer.process.address()).await?;
        let about = &self.peer.about;
        let builder = Client::builder(format!("http://{}{}", relay.address(), about.path)).no_proxy().era(era);
        let builder = about.token.into_iter().fold(builder, oncewire::ClientBuilder::token);
        let connect = timeout(STEP, builder.connect()).await.context("the handshake hangs")?;
        let client = connect.context("no handshake")?;
        let quick = about.quick.clone();
        let one = async |tool: &'static str| -> Result<(Result<CallToolResult, Error>, usize)> {
            let before = ledger.runs(tool)?.started;
            let answer = timeout(STEP, client.call_tool(tool, quick.arguments.clone()).into_future()).await;
            Ok((answer.context("a call hangs")?, ledger.runs(tool)?.started - before))
        };
        let (answer, _) = one(quick.name).await?;
        self.check_ok("one replica: a call", answer.map(drop).map_err(anyhow::Error::from));

        relay.add(other.address());
        let (mut answered, mut wrong) = (0, Vec::new());
        for _ in 0..IN_TURN {
            let (answer, ran) = one(quick.name).await?;
            let (holds, told) = match &answer {
                Ok(_) => (ran == 1, "answered".to_owned()),
                Err(error) => (ran <= usize::from(error.execution() != Execution::NotExecuted), error.to_string()),
            };
            answered += usize::from(answer.is_ok());
            if !holds {
                wrong.push(format!("ran {ran} times, {told}"));
            }
            if let Some(peek) = framework.peek() {
                let (_, ran) = one(peek).await?;
                if ran > 3 {
                    wrong.push(format!("{peek} ran {ran} times"));
                }
            }
        }
        println!("[{}]    saw  {answered} of {IN_TURN} answered by two replicas in turn", self.name);
        self.check(format_args!("two replicas: wrong are {wrong:?}"), wrong.is_empty());
        let looks = self.peer.about.sessions.lost_by(Loss::OtherReplica);
        if !looks {
            self.check_equal("two replicas: answered", answered, IN_TURN);
        }

        relay.only(self.peer.process.address());
        let mut healed = 0;
        for _ in 0..2 {
            let (answer, _) = one(quick.name).await?;
            healed = if answer.is_ok() { healed + 1 } else { 0 };
        }
        self.check("one replica is left: the second call is answered", healed > 0);
        timeout(STEP, client.close()).await.context("close() hangs")?;
        other.kill().await?;
        let words = if looks { "each verdict true" } else { "all answered" };
        Ok((words.into(), None))
    }

    async fn closed_without_session(&mut self) -> Result<Words> {
        let before = self.before()?;
        timeout(STEP, self.client.close()).await.context("close() hangs")?;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let sent = self.peer.relay.since(before.passed);
        let deletes = sent.iter().filter(|exchange| exchange.http == "DELETE").count();
        self.check_equal("closed: DELETE requests", deletes, 0);
        Ok(("nothing is sent".into(), None))
    }
}

/// A refusal that bears the id of our request, whichever that was.
fn with_our_id(refusal: &str) -> String {
    const ID: &str = "\"id\":";
    let Some((before, rest)) = refusal.split_once(ID) else { return refusal.to_owned() };
    let after = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    if after.len() == rest.len() { refusal.to_owned() } else { format!("{before}{ID}(ours){after}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_id_is_named_and_no_other() {
        assert_eq!(with_our_id(r#"{"id":3,"error":{}}"#), r#"{"id":(ours),"error":{}}"#);
        for other in [r#"{"id":null}"#, r#"{"id":"server-error"}"#, "404"] {
            assert_eq!(with_our_id(other), other);
        }
    }
}
