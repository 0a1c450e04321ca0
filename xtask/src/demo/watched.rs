//! A client with its events written down, and one call of it as the caller sees it.

use std::fmt;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use oncewire::{Call, CallToolResult, Client, ClientBuilder, Error, Event, EventName, Execution, Kind, Proof};

use crate::peers::Tool;

/// A client whose events are kept.
pub(crate) struct Watched {
    client: Client,
    events: Arc<Mutex<Vec<Event>>>,
}

/// One call, as its caller sees it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The result, or the text of the error.
    pub(crate) text: String,
    pub(crate) execution: Execution,
    pub(crate) kind: Option<Kind>,
    pub(crate) proof: Option<Proof>,
    pub(crate) attempts: usize,
    pub(crate) elapsed: Duration,
    /// What happened meanwhile inside the client, one line each.
    pub(crate) events: Vec<String>,
}

impl Watched {
    /// Connects.
    pub(crate) async fn connect(url: &str, options: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<Self> {
        let events = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&events);
        let builder = Client::builder(url).on_event(move |event: &Event| lock(&kept).push(event.clone()));
        let client = options(builder).connect().await?;
        Ok(Self { client, events })
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        tool: &Tool,
        options: impl FnOnce(Call<CallToolResult>) -> Call<CallToolResult>,
    ) -> Seen {
        let before = lock(&self.events).len();
        let started = Instant::now();
        let call = options(self.client.call_tool(tool.name, tool.arguments.clone()));
        let outcome = call.into_future().await;
        let elapsed = started.elapsed();
        let events: Vec<Event> = lock(&self.events).iter().skip(before).cloned().collect();
        match outcome {
            Ok(result) => {
                let text = format!("{:?}", result.text());
                let finished = events.iter().rfind(|event| event.event == EventName::CallFinished);
                let attempts = finished.and_then(|event| event.attempt).map_or(0, |count| count as usize);
                Seen {
                    text,
                    execution: Execution::Answered,
                    kind: None,
                    proof: None,
                    attempts,
                    elapsed,
                    events: told(&events),
                }
            }
            Err(error) => Seen::failed(&error, elapsed, &events),
        }
    }

    /// The generation of the current session.
    pub(crate) fn generation(&self) -> u64 {
        self.client.generation()
    }

    /// The client itself.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Closes the client.
    pub(crate) async fn close(&self) {
        self.client.close().await;
    }
}

impl Seen {
    fn failed(error: &Error, elapsed: Duration, events: &[Event]) -> Self {
        Self {
            text: error.to_string(),
            execution: error.execution(),
            kind: Some(error.kind()),
            proof: error.proof(),
            attempts: error.attempts().len(),
            elapsed,
            events: told(events),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, execution, attempts, elapsed, .. } = self;
        let outcome = if self.kind.is_some() { "error" } else { "result" };
        writeln!(formatter, "{outcome}: {text}")?;
        write!(formatter, "            execution={execution}")?;
        if let Some(kind) = self.kind {
            write!(formatter, " kind={kind}")?;
        }
        if let Some(proof) = self.proof {
            write!(formatter, " proof={proof}")?;
        }
        write!(formatter, " attempts={attempts} after {:.2} s", elapsed.as_secs_f64())
    }
}

/// The events that say how a call was carried through, each in one line.
fn told(events: &[Event]) -> Vec<String> {
    events.iter().filter(|event| event.event != EventName::CallFinished).map(line).collect()
}

fn line(event: &Event) -> String {
    let mut line = event.event.to_string();
    let words = [
        ("kind", event.kind.map(|kind| kind.to_string())),
        ("proof", event.proof.map(|proof| proof.to_string())),
        ("execution", event.execution.map(|execution| execution.to_string())),
        ("decision", event.decision.map(str::to_owned)),
        ("http_status", event.http_status.map(|status| status.to_string())),
        ("generation", event.generation.map(|generation| generation.to_string())),
    ];
    for (name, value) in words {
        if let Some(value) = value {
            line.push_str(&format!(" {name}={value}"));
        }
    }
    line
}

/// The ends of idle connections take a moment to be noticed. A call written onto one in that very moment may or may not have been read
/// (RFC 9112, section 9.5), and is told as such; `fresh_connection` rules it out. The demo shows other things.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
