//! What a server of the modern era says besides answers: progress, list changes, questions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use oncewire::CallToolResult;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::super::situations::Words;
use super::super::trial::{PATIENCE, STEP, Trial};
use super::super::{Changes, Reports};

const LIST_CHANGED: &str = "notifications/tools/list_changed";
pub(super) const LISTEN: &str = "subscriptions/listen";
/// The gap between two looks at what was heard.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// What was not heard by then is not told at all.
const UNHEARD: Duration = Duration::from_secs(2);

impl Trial<'_> {
    pub(super) async fn talk(&mut self, asked: &AtomicUsize) -> Result<Words> {
        let mut words: Vec<_> = self.progress().await?.into_iter().collect();
        words.push(self.changes("list changes").await?);
        if self.peer.about.talks.changes == Changes::Listen {
            // The stream ends with the server; the client issues it again.
            self.restart().await?;
            self.changes("list changes, after a restart").await?;
        }
        if self.peer.about.talks.asks {
            self.asks(asked).await?;
            words.push("a question");
        }
        Ok((words.join(", "), None))
    }

    async fn progress(&mut self) -> Result<Option<&'static str>> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&told);
        let call = self.client.call_tool("report", json!({})).on_progress(move |progress| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push((progress.progress, progress.total));
        });
        let answer = timeout(STEP, call.into_future()).await.context("the call hangs")?;
        self.check_ok("progress: the answer", answer.map(drop).map_err(anyhow::Error::from));
        let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let whole = [1.0, 2.0, 3.0].map(|progress| (progress, Some(3.0)));
        let (holds, words) = match self.peer.about.talks.reports {
            Reports::All => (told == whole, Some("progress")),
            Reports::Some => (whole.starts_with(&told), Some("progress, not all of which the server passes on")),
            Reports::None => (told.is_empty(), None),
        };
        self.check(format_args!("progress, before the answer: {told:?}"), holds);
        Ok(words)
    }

    async fn changes(&mut self, what: &str) -> Result<&'static str> {
        let changes = self.peer.about.talks.changes;
        let before = self.before()?;
        let known = self.client.list_tools().await?.items.len();
        if changes == Changes::Listen {
            let listening = self.listening().await;
            self.check_ok(format_args!("{what}: the client listens"), listening);
        }
        let heard = self.heard(LIST_CHANGED);
        let grown = self.say("grow").await.map(drop);
        self.check_ok(format_args!("{what}: a tool is added"), grown);
        let limit = Instant::now() + if changes == Changes::Unheard { UNHEARD } else { PATIENCE };
        while self.heard(LIST_CHANGED) == heard && Instant::now() < limit {
            sleep(LOOK_AGAIN).await;
        }
        let told = self.heard(LIST_CHANGED) > heard;
        self.check_equal(format_args!("{what}: heard"), told, changes != Changes::Unheard);
        if changes != Changes::Unheard {
            self.check_equal(format_args!("{what}: tools"), self.client.list_tools().await?.items.len(), known + 1);
        }
        self.undisturbed(&before, what);
        Ok(match changes {
            Changes::Listen => "list changes",
            Changes::OnTheCall => "list changes, to the caller alone",
            Changes::Unheard => "no list changes, though announced",
        })
    }

    /// Waits until the stream of `subscriptions/listen` is open, on the process that runs now.
    async fn listening(&self) -> Result<()> {
        let limit = Instant::now() + STEP;
        while Instant::now() < limit {
            let exchanges = self.peer.relay.since(0);
            let last = exchanges.iter().rfind(|exchange| exchange.rpc.as_deref() == Some(LISTEN));
            if last.is_some_and(|exchange| exchange.acknowledged() && !exchange.over) {
                return Ok(());
            }
            sleep(LOOK_AGAIN).await;
        }
        bail!("no stream in {} s", STEP.as_secs())
    }

    async fn asks(&mut self, asked: &AtomicUsize) -> Result<()> {
        let before =
            (asked.load(Ordering::Relaxed), self.peer.relay.tool_calls(), self.peer.ledger.runs("ask")?.started);
        let answer = self.say("ask").await?;
        let said = answer.text();
        self.check(format_args!("asked: it says {said:?}"), said == "hello Ada, asked once");
        self.check_equal("asked: so often", asked.load(Ordering::Relaxed), before.0 + 1);
        self.check_equal("asked: tools/call was sent so often", self.peer.relay.tool_calls(), before.1 + 2);
        self.check_equal("asked: it ran so often", self.peer.ledger.runs("ask")?.started, before.2 + 1);
        Ok(())
    }

    async fn say(&self, tool: &str) -> Result<CallToolResult> {
        let call = self.client.call_tool(tool, Value::Object(serde_json::Map::new()));
        Ok(timeout(STEP, call.into_future()).await.with_context(|| format!("{tool} hangs"))??)
    }
}
