//! The faults, on a server that somebody else wrote: what it does then is its own doing, and its ledger says what it ran.

use std::time::Duration;

use anyhow::Result;
use oncewire::{Call, CallToolResult, Execution, Kind, Resend};

use super::report::{Report, times};
use super::watched::{Seen, Watched, settle};
use crate::peers::ledger::Runs;
use crate::peers::{Peer, Resumption};

/// How long a server may take to do what it was asked.
const PATIENCE: Duration = Duration::from_secs(20);
/// A caller who waits for a clock, and not for the failure, waits longer than this.
const PROMPT: Duration = Duration::from_secs(5);
/// How long a call may be without a byte where the step says so.
const SILENCE: Duration = Duration::from_millis(700);

/// What a cut is called, before the head of the answer and after it: either may come first.
const CUT: &[Kind] = &[Kind::ConnectionClosed, Kind::StreamEnded];
/// How long a resumed stream may be silent.
const ORPHAN_TIMEOUT: Duration = Duration::from_millis(1_400);

/// What the server and the wire had counted before a step.
struct Before {
    quick: Runs,
    slow: Runs,
    handshakes: usize,
    tool_calls: usize,
}

/// All faults, one after the other, for one client.
pub(crate) async fn show(peer: Peer, report: &mut Report) -> Result<()> {
    Show { peer, report }.all().await
}

struct Show<'a> {
    peer: Peer,
    report: &'a mut Report,
}

impl Show<'_> {
    async fn all(mut self) -> Result<()> {
        self.report.server(&format!("{} on {}", self.peer.about.title, self.peer.url()));
        // A minute, the default, is long for a demo.
        let client = Watched::connect(&self.peer.url(), |options| options.orphan_timeout(ORPHAN_TIMEOUT)).await?;
        self.healthy(&client).await?;
        self.restart(&client).await?;
        self.cut_in_mid_call(&client).await?;
        self.cut_with_leave_to_repeat(&client).await?;
        self.killed_in_mid_call(&client).await?;
        self.stream_ends_without_an_answer(&client).await?;
        self.stream_falls_silent(&client).await?;
        self.close(&client).await;
        Ok(())
    }

    async fn healthy(&mut self, client: &Watched) -> Result<()> {
        self.report.step("a call, to begin with");
        let before = self.before()?;
        let seen = client.call(&self.peer.about.quick, |call| call).await;
        self.report.client(&seen);
        self.answered_once(&before, &seen)?;
        self.report.check_equal("one handshake", self.peer.relay.handshakes(), 1);
        Ok(())
    }

    async fn restart(&mut self, client: &Watched) -> Result<()> {
        self.report.step("the server is killed and started again: it knows no session any more");
        let before = self.before()?;
        let generation = client.generation();
        self.peer.process.kill().await?;
        self.peer.process.start_again().await?;
        let seen = client.call(&self.peer.about.quick, |call| call).await;
        self.report.client(&seen);
        self.answered_once(&before, &seen)?;
        self.report.check_equal("one handshake more", self.peer.relay.handshakes(), before.handshakes + 1);
        self.report.check_equal("the next generation", client.generation(), generation + 1);
        Ok(())
    }

    async fn cut_in_mid_call(&mut self, client: &Watched) -> Result<()> {
        self.report.step("the connection is cut while the tool runs; nobody gave leave to repeat it");
        let before = self.before()?;
        let (seen, ()) =
            self.slow_until(client, |call| call.resend(Resend::Never), async |peer| peer.relay.cut()).await?;
        self.report.client(&seen);
        let runs = self.ended(before.slow.started + 1).await?;
        self.say_runs(self.peer.about.slow.name, before.slow, runs);
        if seen.kind == Some(Kind::Timeout) && self.peer.about.resumption == Resumption::Silent {
            println!("      note  the server opens the stream again and never delivers the answer on it;");
            println!("            orphan_timeout, {} s here, ends that", ORPHAN_TIMEOUT.as_secs_f64());
            self.unknown(&seen, &[Kind::Timeout]);
        } else {
            self.unknown(&seen, CUT);
        }
        self.ran_to_its_end(before.slow, runs);
        self.report.check_equal("the server got the call once", self.peer.relay.tool_calls(), before.tool_calls + 1);
        self.still_works(client).await
    }

    async fn cut_with_leave_to_repeat(&mut self, client: &Watched) -> Result<()> {
        self.report.step("the same cut, but the caller says that repeating is safe");
        let before = self.before()?;
        let (seen, ()) =
            self.slow_until(client, |call| call.resend(Resend::Always), async |peer| peer.relay.cut()).await?;
        self.report.client(&seen);
        let runs = self.ended(before.slow.started + 2).await?;
        self.say_runs(self.peer.about.slow.name, before.slow, runs);
        self.report.check_equal("the caller got the answer", seen.execution, Execution::Answered);
        self.report.check_equal("two attempts", seen.attempts, 2);
        self.report.check_equal("the server ran it twice", runs.started, before.slow.started + 2);
        Ok(())
    }

    async fn killed_in_mid_call(&mut self, client: &Watched) -> Result<()> {
        self.report.step("the server is killed while the tool runs, and started again");
        let before = self.before()?;
        let (seen, killed) =
            self.slow_until(client, |call| call.resend(Resend::Never), async |peer| peer.process.kill().await).await?;
        killed?;
        self.report.client(&seen);
        let runs = self.peer.ledger.runs(self.peer.about.slow.name)?;
        self.say_runs(self.peer.about.slow.name, before.slow, runs);
        self.unknown(&seen, CUT);
        self.report.check_equal("it had begun once", runs.started, before.slow.started + 1);
        self.report.check_equal("it never ended", runs.ended, before.slow.ended);
        self.peer.process.start_again().await?;
        self.still_works(client).await?;
        self.report.check_equal("one handshake more", self.peer.relay.handshakes(), before.handshakes + 1);
        Ok(())
    }

    async fn stream_ends_without_an_answer(&mut self, client: &Watched) -> Result<()> {
        self.report.step(
            "somebody else ends the session while the tool runs: the stream ends in good order, without an answer",
        );
        let before = self.before()?;
        let (seen, ended) =
            self.slow_until(client, |call| call.resend(Resend::Never), async |peer| peer.end_session().await).await?;
        ended?;
        self.report.client(&seen);
        let runs = self.peer.ledger.runs(self.peer.about.slow.name)?;
        self.say_runs(self.peer.about.slow.name, before.slow, runs);
        self.unknown(&seen, &[Kind::StreamEnded]);
        self.report.check_equal("it had begun once", runs.started, before.slow.started + 1);
        self.still_works(client).await?;
        self.report.check_equal("one handshake more", self.peer.relay.handshakes(), before.handshakes + 1);
        Ok(())
    }

    async fn stream_falls_silent(&mut self, client: &Watched) -> Result<()> {
        self.report.step("the stream falls silent and is not closed; the caller allows 0.7 s without a byte");
        let before = self.before()?;
        let silent = |call: Call<CallToolResult>| call.resend(Resend::Never).idle_timeout(SILENCE);
        let (seen, ()) = self.slow_until(client, silent, async |peer| peer.relay.freeze()).await?;
        self.report.client(&seen);
        let runs = self.peer.ledger.runs(self.peer.about.slow.name)?;
        self.say_runs(self.peer.about.slow.name, before.slow, runs);
        self.unknown(&seen, &[Kind::Timeout]);
        self.report.check_equal("it had begun once", runs.started, before.slow.started + 1);
        // What is frozen stays so; the network drops it, as it would in the end.
        self.peer.relay.cut();
        settle().await;
        self.still_works(client).await
    }

    async fn close(&mut self, client: &Watched) {
        self.report.step("the client is closed");
        let before = self.peer.relay.deletes();
        client.close().await;
        let deletes = self.peer.relay.deletes() - before;
        self.report.ledger(format_args!("{deletes} DELETE"));
        self.report.check_equal("one DELETE, for the one session that is left", deletes, 1);
    }

    /// Calls the slow tool, and does something to it as soon as the server's ledger says that it runs.
    async fn slow_until<T>(
        &mut self,
        client: &Watched,
        options: impl FnOnce(Call<CallToolResult>) -> Call<CallToolResult>,
        then: impl AsyncFnOnce(&mut Peer) -> T,
    ) -> Result<(Seen, T)> {
        let peer = &mut self.peer;
        let slow = peer.about.slow.clone();
        // Counted before the call is on its way.
        let begun = peer.ledger.runs(slow.name)?.started + 1;
        let call = client.call(&slow, options);
        let fault = async {
            peer.ledger.until(slow.name, |runs| runs.started >= begun, PATIENCE).await?;
            anyhow::Ok(then(peer).await)
        };
        let (seen, done) = tokio::join!(call, fault);
        Ok((seen, done?))
    }

    async fn ended(&self, runs: usize) -> Result<Runs> {
        self.peer.ledger.until(self.peer.about.slow.name, |now| now.ended >= runs, PATIENCE).await
    }

    async fn still_works(&mut self, client: &Watched) -> Result<()> {
        let before = self.before()?;
        let seen = client.call(&self.peer.about.quick, |call| call).await;
        println!("            the next call:");
        self.report.client(&seen);
        self.answered_once(&before, &seen)
    }

    fn before(&self) -> Result<Before> {
        Ok(Before {
            quick: self.peer.ledger.runs(self.peer.about.quick.name)?,
            slow: self.peer.ledger.runs(self.peer.about.slow.name)?,
            handshakes: self.peer.relay.handshakes(),
            tool_calls: self.peer.relay.tool_calls(),
        })
    }

    fn answered_once(&mut self, before: &Before, seen: &Seen) -> Result<()> {
        let runs = self.peer.ledger.runs(self.peer.about.quick.name)?;
        self.say_runs(self.peer.about.quick.name, before.quick, runs);
        self.report.check_equal("the caller got the answer", seen.execution, Execution::Answered);
        self.report.check_equal("the server ran it once", runs.started, before.quick.started + 1);
        Ok(())
    }

    fn ran_to_its_end(&mut self, before: Runs, runs: Runs) {
        let right = Runs { started: before.started + 1, ended: before.ended + 1 };
        self.report.check_equal("the server ran it once, to its end: the verdict was right", runs, right);
    }

    fn unknown(&mut self, seen: &Seen, kinds: &[Kind]) {
        self.report.check_equal("the verdict: it may have run", seen.execution, Execution::MayHaveExecuted);
        let words: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let kind = format!("the kind is {}", words.join(" or "));
        self.report.check(kind, seen.kind.is_some_and(|kind| kinds.contains(&kind)));
        self.report.check_equal("one attempt", seen.attempts, 1);
        self.report.check("told at once, not by a clock", seen.elapsed < PROMPT);
    }

    fn say_runs(&self, name: &str, before: Runs, now: Runs) {
        let (started, ended) = (now.started - before.started, now.ended - before.ended);
        self.report.ledger(format_args!("{name} began {} and ended {}", times(started), times(ended)));
    }
}
