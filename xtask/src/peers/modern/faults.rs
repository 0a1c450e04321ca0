//! Faults in the middle of a call, where nothing can be read on.

use std::time::Duration;

use anyhow::{Context as _, Result};
use oncewire::{EventName, Execution};
use tokio::time::{Instant, sleep, timeout};

use super::super::Peer;
use super::super::exchange::Exchange;
use super::super::offers::Method;
use super::super::situations::{PROMPT, SETTLE, SILENCE, UNKNOWN, Words};
use super::super::trial::{Before, INTO_THE_CALL, PATIENCE, STEP, Struck, Trial};
use super::talk::LISTEN;

/// A stream that its reader gave up is closed within this.
const CLOSED: Duration = Duration::from_millis(500);
/// A tool that still runs by then was not stopped, however busy the machine is.
const LONGER: Duration = Duration::from_secs(1);

impl Trial<'_> {
    pub(super) async fn killed_in_mid_call(&mut self) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let Struck { answer, elapsed, fault } =
            self.slow_until(&slow, |call| call, async |peer| peer.process.kill().await).await?;
        fault?;
        self.unknown("killed in mid-call", answer, elapsed, PROMPT);
        let words = self.end_of_the_call(&before);
        self.peer.process.start_again().await?;
        self.goes_on("killed in mid-call", &before).await?;
        let sent = self.peer.relay.tool_calls() - before.tool_calls;
        self.check_equal("killed in mid-call: tools/call was sent so often", sent, 2);
        Ok(words)
    }

    pub(super) async fn stopped_in_mid_call(&mut self) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let Struck { answer, elapsed, fault } =
            self.slow_until(&slow, |call| call.idle_timeout(SILENCE), async |peer| peer.process.stop().await).await?;
        fault?;
        let words = self.whatever("stopped in mid-call", &before, answer, elapsed)?;
        self.peer.process.start_again().await?;
        self.goes_on("stopped in mid-call", &before).await?;
        Ok(words)
    }

    pub(super) async fn cut_in_mid_call(&mut self) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let Struck { answer, elapsed, .. } =
            self.slow_until(&slow, |call| call, async |peer| peer.relay.sever()).await?;
        self.unknown("cut in mid-call", answer, elapsed, PROMPT);
        sleep(SETTLE).await;
        self.goes_on("cut in mid-call", &before).await?;
        let ends = self.what_becomes_of_the_tool(&before).await?;
        Ok((format!("{UNKNOWN}; the tool {ends}"), None))
    }

    /// The caller gives up in mid-call.
    pub(super) async fn cancelled_in_mid_call(&mut self) -> Result<Words> {
        let before = self.before()?;
        let slow = self.peer.about.slow.clone();
        let call = tokio::spawn(self.client.call_tool(slow.name, slow.arguments.clone()).into_future());
        self.peer.ledger.until(slow.name, |runs| runs.started > before.slow, PATIENCE).await?;
        sleep(INTO_THE_CALL).await;
        call.abort();
        let cancelled = timeout(STEP, call).await.context("the cancelled call hangs")?;
        self.check("cancelled: it ends", cancelled.is_err_and(|error| error.is_cancelled()));
        sleep(CLOSED).await;
        let exchanges = self.peer.relay.since(before.passed);
        let mut after = exchanges.iter().skip_while(|exchange| exchange.rpc.as_deref() != Some("tools/call"));
        self.check("cancelled: the stream is closed", after.next().is_some_and(|exchange| exchange.left));
        // Listening goes on beside it.
        let said = after.filter(|exchange| exchange.rpc.as_deref() != Some(LISTEN)).map(Exchange::asked);
        self.check_equal("cancelled: what is sent after it", said.collect(), Vec::<String>::new());
        let finished = self.events_since(&before).into_iter().find(|event| event.event == EventName::CallFinished);
        let verdict = finished.and_then(|event| event.execution);
        self.check_equal("cancelled: the verdict", verdict, Some(Execution::MayHaveExecuted));
        let ends = self.what_becomes_of_the_tool(&before).await?;
        self.goes_on("cancelled", &before).await?;
        Ok((format!("the stream is closed; the tool {ends}"), None))
    }

    /// Does the server stop a tool whose caller is gone?
    async fn what_becomes_of_the_tool(&mut self, before: &Before) -> Result<&'static str> {
        let over = Instant::now() + Duration::from_secs_f64(Peer::SLOW) + LONGER;
        while Instant::now() < over {
            if self.slow_ended()? > before.slow_ended {
                return Ok("runs on to its end");
            }
            sleep(SETTLE).await;
        }
        Ok("is stopped by the server")
    }

    /// The next call is answered, and the tool did not run again.
    async fn goes_on(&mut self, what: &str, before: &Before) -> Result<()> {
        let called = self.call(Method::CallTool).await;
        self.check_ok(format_args!("{what}: the next call"), called);
        self.check_equal(format_args!("{what}: the tool began so often"), self.slow_runs()?, before.slow + 1);
        self.undisturbed(before, what);
        Ok(())
    }
}
