//! A proxy that was told to send a request again by itself when the backend is gone without an answer. It does so with whatever it has, so
//! with tools: no client can help that, and none can see it. What is shown here is that, and by which settings it is known.

use anyhow::Result;
use oncewire_tests::server::Ledger;
use serde_json::json;

use super::super::situations::{Outcome, Words};
use super::trial::{POKE, Trial, describe};
use super::{Proxy, Wire};

/// What is tried, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 3] =
    ["the backend closes without a byte", "the backend is restarted under the call", "what to look for"];

/// A way of repeating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeating {
    /// nginx, on the next server of the upstream.
    NonIdempotent,
    /// HAProxy.
    EmptyResponse,
    /// HAProxy.
    AllRetryable,
}

impl Repeating {
    pub(crate) fn title(self, proxy: Proxy) -> String {
        let how = match self {
            Self::NonIdempotent => "`non_idempotent`",
            Self::EmptyResponse => "`retry-on empty-response`",
            Self::AllRetryable => "`retry-on all-retryable-errors`",
        };
        format!("{} with {how}", proxy.title())
    }

    /// The lines of its configuration.
    pub(super) fn settings(self) -> &'static [&'static str] {
        match self {
            Self::NonIdempotent => &["proxy_next_upstream error timeout non_idempotent;"],
            Self::EmptyResponse => &["retries 2", "retry-on conn-failure empty-response"],
            Self::AllRetryable => &["retries 2", "retry-on all-retryable-errors"],
        }
    }
}

/// Runs the row; the text says why the proxy is not there.
pub(crate) async fn all(name: &'static str, proxy: Proxy, repeating: Repeating) -> Result<Result<Outcome, String>> {
    let mut trial = match Trial::start(name, proxy, Wire::Http1, Some(repeating)).await? {
        Ok(trial) => trial,
        Err(problem) => return Ok(Err(problem)),
    };
    for forgets in [false, true] {
        let words = trial.repeated(forgets).await;
        if !trial.close_cell(words) {
            return trial.end().await.map(Ok);
        }
    }
    let settings = repeating.settings().iter().map(|line| format!("`{}`", line.trim_end_matches(';')));
    trial.close_cell(Ok((settings.collect::<Vec<_>>().join(", "), None)));
    trial.end().await.map(Ok)
}

impl Trial {
    /// The tool runs, and the connection ends without a byte; with it, if asked, all that the backend knew.
    async fn repeated(&mut self, forgets: bool) -> Result<Words> {
        let client = self.client(|client| client).await?;
        let acts = if forgets { json!(["execute", "forget_sessions", "close"]) } else { json!(["execute", "close"]) };
        self.rules(json!([{ "when": { "name": POKE }, "times": 1, "do": acts }]))?;
        let (before, arrived) = (self.runs(POKE), self.arrivals().len());
        let answer = self.call(&client, POKE).await?;
        let ran = self.runs(POKE) - before;
        let arrivals = self.arrivals().split_off(arrived);
        // The same attempt of the same call came twice: the client had sent it once.
        let first = arrivals.iter().filter(|attempt| **attempt == Some(1)).count();
        self.check_equal("the client's first attempt arrived so often", first, 2);
        self.check(format!("the tool ran {ran} times"), ran == 2 || (forgets && ran == 1));
        let told = answer.as_ref().map_or_else(describe, |_| "answered".into());
        client.close().await;
        Ok((format!("ran {ran} times; {told}"), None))
    }

    /// The calls of the tool that arrived, by the number of their attempt.
    fn arrivals(&self) -> Vec<Option<u64>> {
        let Ledger { arrivals, .. } = self.server.ledger();
        let calls = arrivals.into_iter().filter(|arrival| arrival.name.as_deref() == Some(POKE));
        calls.map(|arrival| arrival.attempt).collect()
    }
}
