//! The faults that no real server makes on demand, on the embedded fault server: it controls every byte, and its ledger is complete.

use std::time::Duration;

use anyhow::{Context as _, Result};
use oncewire::{Execution, Kind, Proof};
use oncewire_tests::server::{FaultServer, Rule, Script};
use serde_json::{Value, json};

use super::report::{Report, times};
use super::watched::{Seen, Watched, settle};
use crate::peers::Tool;

/// The deadline of a call that must not need one: an error that comes before it was not told by a clock.
const DEADLINE: Duration = Duration::from_secs(60);
/// What "at once" means.
const PROMPT: Duration = Duration::from_secs(5);
/// How long a call may be without a byte where the step says so.
const SILENCE: Duration = Duration::from_millis(500);
/// How long the port stays closed where the step says so.
const DOWN: Duration = Duration::from_millis(400);
/// Callers who see the same loss.
const CALLERS: usize = 16;

const POKE: &str = "poke";
const PEEK: &str = "peek";

/// All faults, one after the other, for one client.
pub(crate) async fn show(report: &mut Report) -> Result<()> {
    let server = FaultServer::start(Script::default()).await.context("cannot start the fault server")?;
    report.server(&format!("the embedded fault server on {}", server.url()));
    let client = Watched::connect(server.url(), |options| options).await?;
    let mut show = Show { server, client, report };
    show.restart().await?;
    show.starts_late().await?;
    show.cut_in_mid_call().await?;
    show.dead_streams().await?;
    show.gateway().await?;
    show.many_callers().await?;
    show.recovery_fails().await?;
    show.close().await;
    Ok(())
}

struct Show<'a> {
    server: FaultServer,
    client: Watched,
    report: &'a mut Report,
}

/// What the ledger had counted before a step.
struct Before {
    executions: usize,
    arrivals: usize,
    handshakes: usize,
}

impl Show<'_> {
    async fn restart(&mut self) -> Result<()> {
        self.report.step("the server restarts: it cuts all connections and knows no session any more");
        let generation = self.client.generation();
        self.server.restart().await;
        settle().await;
        let before = self.before(POKE);
        let seen = self.call(POKE).await;
        self.answered(POKE, &before, &seen, 1);
        self.report.check_equal("one handshake", self.count("initialize", None) - before.handshakes, 1);
        self.report.check_equal("the next generation", self.client.generation(), generation + 1);
        Ok(())
    }

    async fn starts_late(&mut self) -> Result<()> {
        self.report.step("the port is closed for 0.4 s: a refused connection proves that nothing was sent");
        self.server.go_down().await;
        settle().await;
        let before = self.before(POKE);
        let up_again = async {
            tokio::time::sleep(DOWN).await;
            self.server.come_up().await;
        };
        let (seen, ()) = tokio::join!(self.call(POKE), up_again);
        self.answered(POKE, &before, &seen, 1);
        self.report.check("it waited for the server", seen.elapsed >= DOWN);
        Ok(())
    }

    async fn cut_in_mid_call(&mut self) -> Result<()> {
        let cut = |tool: &str| rules(json!([{ "when": { "name": tool }, "times": 1, "do": ["execute", "reset"] }]));

        self.report
            .step("the tool runs, then the connection is reset before a byte of the answer; it says nothing of itself");
        self.server.set_rules(cut(POKE)?);
        let before = self.before(POKE);
        let seen = self.call(POKE).await;
        self.unknown(POKE, &before, &seen, Kind::ConnectionClosed);

        self.report.step("the same with a tool that says readOnlyHint: that is leave to repeat it");
        self.server.set_rules(cut(PEEK)?);
        let before = self.before(PEEK);
        let seen = self.call(PEEK).await;
        self.answered(PEEK, &before, &seen, 2);
        self.report.check_equal("two attempts", seen.attempts, 2);
        Ok(())
    }

    async fn dead_streams(&mut self) -> Result<()> {
        let when = json!({ "name": POKE });

        self.report.step("the tool runs, and the stream of its answer ends in good order, without the answer");
        let ends = json!([{ "when": when, "times": 1, "do": ["execute", { "comment": "working" }, "end"] }]);
        self.server.set_rules(rules(ends)?);
        let before = self.before(POKE);
        let seen = self.call(POKE).await;
        self.unknown(POKE, &before, &seen, Kind::StreamEnded);

        self.report
            .step("the tool runs, and the stream falls silent without an end; the caller allows 0.5 s without a byte");
        let silent = json!([{ "when": when, "times": 1, "do": ["execute", { "comment": "working" }, "hold"] }]);
        self.server.set_rules(rules(silent)?);
        let before = self.before(POKE);
        let seen = self.client.call(&tool(POKE), |call| call.idle_timeout(SILENCE)).await;
        self.unknown(POKE, &before, &seen, Kind::Timeout);
        Ok(())
    }

    async fn gateway(&mut self) -> Result<()> {
        self.report.step("the tool runs, and a gateway answers 502 with a page of its own");
        let page = "<html><h1>502 Bad Gateway</h1></html>";
        let respond = json!({ "respond": { "status": 502, "headers": { "content-type": "text/html" }, "text": page } });
        let bad = json!([{ "when": { "name": POKE }, "times": 1, "do": ["execute", respond] }]);
        self.server.set_rules(rules(bad)?);
        let before = self.before(POKE);
        let seen = self.call(POKE).await;
        self.unknown(POKE, &before, &seen, Kind::Gateway);
        self.report.check_equal("the session is kept", self.count("initialize", None), before.handshakes);
        Ok(())
    }

    async fn many_callers(&mut self) -> Result<()> {
        self.report.step("the server forgets its sessions while 16 callers call");
        self.server.set_rules(Vec::new());
        self.server.forget_sessions();
        let before = self.before(POKE);
        let calls = (0..CALLERS).map(|_| {
            let call = self.client.client().call_tool(POKE, json!({})).timeout(DEADLINE);
            tokio::spawn(call.into_future())
        });
        let mut answered = 0;
        for call in calls.collect::<Vec<_>>() {
            match call.await? {
                Ok(_) => answered += 1,
                Err(error) => println!("    client  error: {error}"),
            }
        }
        println!("    client  {answered} of {CALLERS} got the answer");
        let handshakes = self.count("initialize", None) - before.handshakes;
        let executions = self.executions(POKE) - before.executions;
        self.report.ledger(format_args!("{POKE} ran {}; initialize arrived {}", times(executions), times(handshakes)));
        self.report.check_equal("all got the answer", answered, CALLERS);
        self.report.check_equal("each call ran once", executions, CALLERS);
        self.report.check_equal("one handshake for all", handshakes, 1);
        Ok(())
    }

    async fn recovery_fails(&mut self) -> Result<()> {
        self.report.step("the server forgets the session, and cannot make a new one");
        let broken =
            json!([{ "when": { "rpc": "initialize" }, "do": [{ "respond": { "status": 500, "text": "no" } }] }]);
        self.server.set_rules(rules(broken)?);
        self.server.forget_sessions();
        let before = self.before(POKE);
        let seen = self.call(POKE).await;
        self.report.client(&seen);
        self.say(POKE, &before);
        self.report.check_equal("the verdict: it did not run", seen.execution, Execution::NotExecuted);
        self.report.check_equal("the kind", seen.kind, Some(Kind::RecoveryFailed));
        self.report.check_equal("the proof", seen.proof, Some(Proof::SessionRejected));
        self.report.check_equal("the server ran nothing", self.executions(POKE), before.executions);

        self.report.step("the server is well again");
        self.server.set_rules(Vec::new());
        let before = self.before(POKE);
        let seen = self.call(POKE).await;
        self.answered(POKE, &before, &seen, 1);
        Ok(())
    }

    async fn close(&mut self) {
        self.report.step("the client is closed");
        let before = self.server.ledger().http("DELETE");
        self.client.close().await;
        let ledger = self.server.ledger();
        let deletes = ledger.http("DELETE") - before;
        let left = ledger.sessions_left();
        self.report.ledger(format_args!("{} sessions, {deletes} DELETE, {left} left behind", ledger.sessions.len()));
        self.report.check_equal("one DELETE, for the one session that is left", deletes, 1);
        self.report.check_equal("no session is left behind", left, 0);
    }

    async fn call(&self, name: &'static str) -> Seen {
        self.client.call(&tool(name), |call| call.timeout(DEADLINE)).await
    }

    fn executions(&self, tool: &str) -> usize {
        self.server.ledger().executions_of("tools/call", Some(tool))
    }

    fn count(&self, method: &str, name: Option<&str>) -> usize {
        self.server.ledger().arrivals_of(method, name)
    }

    fn before(&self, tool: &str) -> Before {
        Before {
            executions: self.executions(tool),
            arrivals: self.count("tools/call", Some(tool)),
            handshakes: self.count("initialize", None),
        }
    }

    fn say(&self, tool: &str, before: &Before) {
        let executions = self.executions(tool) - before.executions;
        let arrivals = self.count("tools/call", Some(tool)) - before.arrivals;
        let handshakes = self.count("initialize", None) - before.handshakes;
        self.report.ledger(format_args!(
            "{tool} arrived {} and ran {}; initialize arrived {}",
            times(arrivals),
            times(executions),
            times(handshakes)
        ));
    }

    fn answered(&mut self, tool: &str, before: &Before, seen: &Seen, runs: usize) {
        self.report.client(seen);
        self.say(tool, before);
        self.report.check_equal("the caller got the answer", seen.execution, Execution::Answered);
        let what = if runs == 1 { "the server ran it once" } else { "the server ran it twice, with leave" };
        self.report.check_equal(what, self.executions(tool) - before.executions, runs);
    }

    fn unknown(&mut self, tool: &str, before: &Before, seen: &Seen, kind: Kind) {
        self.report.client(seen);
        self.say(tool, before);
        self.report.check_equal("the verdict: it may have run", seen.execution, Execution::MayHaveExecuted);
        self.report.check_equal("the kind", seen.kind, Some(kind));
        self.report.check("told at once, not by the deadline", seen.elapsed < PROMPT);
        self.report.check_equal("the server ran it once", self.executions(tool) - before.executions, 1);
        self.report.check_equal("it was sent once", self.count("tools/call", Some(tool)) - before.arrivals, 1);
    }
}

fn tool(name: &'static str) -> Tool {
    Tool { name, arguments: json!({}) }
}

fn rules(script: Value) -> Result<Vec<Rule>> {
    serde_json::from_value(script).context("not a script of the fault server")
}
