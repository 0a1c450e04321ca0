//! One client on one real server, through its relay: what had been counted before a step, what is seen of it after, and what must hold.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use oncewire::{Call, CallToolResult, Client, ClientBuilder, Error, Event, EventName, Resend, ServerNotification};
use tokio::time::{sleep, timeout};

use super::offers::Method;
use super::situations::{Outcome, compared};
use super::{Loss, Peer, Resumption, Tool};

/// The longest that one call may take before it counts as hanging.
pub(super) const STEP: Duration = Duration::from_secs(40);
/// How long the slow tool runs before the fault: the head of the answer is there by then.
pub(super) const INTO_THE_CALL: Duration = Duration::from_millis(250);
/// How long a server may take to do what it was asked.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// One client, one server.
pub(super) struct Trial<'a> {
    pub(super) peer: &'a mut Peer,
    pub(super) name: &'static str,
    pub(super) client: Client,
    events: Arc<Mutex<Vec<Event>>>,
    heard: Arc<Mutex<Vec<ServerNotification>>>,
    pub(super) outcome: Outcome,
}

/// What came of a call to the slow tool, and of the fault.
pub(super) struct Struck<T> {
    pub(super) answer: Result<CallToolResult, Error>,
    /// From the fault to the answer.
    pub(super) elapsed: Duration,
    pub(super) fault: T,
}

/// What had been counted before a step.
pub(super) struct Before {
    pub(super) quick: usize,
    pub(super) slow: usize,
    pub(super) slow_ended: usize,
    pub(super) handshakes: usize,
    pub(super) tool_calls: usize,
    pub(super) passed: usize,
    pub(super) generation: u64,
    events: usize,
}

impl<'a> Trial<'a> {
    /// Connects.
    pub(super) async fn begin(
        peer: &'a mut Peer,
        name: &'static str,
        options: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self> {
        let (events, heard) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let (kept, notified) = (Arc::clone(&events), Arc::clone(&heard));
        let builder = peer.about.token.into_iter().fold(Client::builder(peer.url()), ClientBuilder::token);
        let builder = builder
            .no_proxy()
            .on_notification(move |notification: &ServerNotification| lock(&notified).push(notification.clone()))
            .on_event(move |event: &Event| lock(&kept).push(event.clone()));
        // A minute, the default, is long for a server of which it is known that it will stay silent.
        let orphan_timeout = if peer.about.resumption == Resumption::Silent { 3 } else { 20 };
        let connect = options(builder.orphan_timeout(Duration::from_secs(orphan_timeout))).connect();
        let client = timeout(STEP, connect).await.context("the handshake hangs")?.context("no handshake")?;
        Ok(Self { peer, name, client, events, heard, outcome: Outcome::default() })
    }

    /// Kills the server and starts it again.
    pub(super) async fn restart(&mut self) -> Result<()> {
        self.peer.process.kill().await?;
        self.peer.process.start_again().await
    }

    /// One call of a method, which must not hang.
    pub(super) async fn call(&self, method: Method) -> Result<()> {
        let call = method.call(&self.client, &self.peer.about);
        timeout(STEP, call).await.unwrap_or_else(|_| bail!("no answer in {} s", STEP.as_secs()))
    }

    /// Calls the slow tool, and does something to it when the server's ledger says that it runs.
    pub(super) async fn slow_until<T>(
        &mut self,
        slow: &Tool,
        options: impl FnOnce(Call<CallToolResult>) -> Call<CallToolResult>,
        fault: impl AsyncFnOnce(&mut Peer) -> T,
    ) -> Result<Struck<T>> {
        let begun = self.slow_runs()? + 1;
        let call = options(self.client.call_tool(slow.name, slow.arguments.clone()));
        // Of a tool that says that it only reads, the loss is not surfaced without the caller's word.
        let call = if self.peer.about.slow_reads { call.resend(Resend::Never) } else { call };
        let peer = &mut *self.peer;
        let fault = async {
            peer.ledger.until(slow.name, |runs| runs.started >= begun, PATIENCE).await?;
            sleep(INTO_THE_CALL).await;
            let hit = Instant::now();
            anyhow::Ok((fault(peer).await, hit))
        };
        let call = async { (timeout(STEP, call.into_future()).await, Instant::now()) };
        let ((answer, ended), fault) = tokio::join!(call, fault);
        let (fault, hit) = fault?;
        let answer = answer.context("the call hangs")?;
        Ok(Struck { answer, elapsed: ended.saturating_duration_since(hit), fault })
    }

    /// What is counted now.
    pub(super) fn before(&self) -> Result<Before> {
        Ok(Before {
            quick: self.quick_runs()?,
            slow: self.slow_runs()?,
            slow_ended: self.slow_ended()?,
            handshakes: self.peer.relay.handshakes(),
            tool_calls: self.peer.relay.tool_calls(),
            passed: self.peer.relay.passed(),
            generation: self.client.generation(),
            events: lock(&self.events).len(),
        })
    }

    /// How often the quick tool began.
    pub(super) fn quick_runs(&self) -> Result<usize> {
        Ok(self.peer.ledger.runs(self.peer.about.quick.name)?.started)
    }

    /// How often the slow tool began.
    pub(super) fn slow_runs(&self) -> Result<usize> {
        Ok(self.peer.ledger.runs(self.peer.about.slow.name)?.started)
    }

    /// How often the slow tool came to its end.
    pub(super) fn slow_ended(&self) -> Result<usize> {
        Ok(self.peer.ledger.runs(self.peer.about.slow.name)?.ended)
    }

    /// What the client told since.
    pub(super) fn events_since(&self, before: &Before) -> Vec<Event> {
        lock(&self.events).iter().skip(before.events).cloned().collect()
    }

    /// How often the server has told this, unasked.
    pub(super) fn heard(&self, method: &str) -> usize {
        lock(&self.heard).iter().filter(|notification| notification.method == method).count()
    }

    /// Something that must hold.
    pub(super) fn check(&mut self, what: impl Display, holds: bool) {
        self.outcome.check(self.name, what, holds);
        if !holds {
            let exchanges = self.peer.relay.since(0);
            for exchange in exchanges.iter().skip(exchanges.len().saturating_sub(8)) {
                println!("[{}]   wire  {exchange}", self.name);
            }
            for event in lock(&self.events).iter().rev().take(4).rev() {
                let (kind, decision) = (event.kind, event.decision);
                println!("[{}]  event  {} {kind:?} {decision:?} {:?}", self.name, event.event, event.reason);
            }
        }
    }

    /// Something that must go well.
    pub(super) fn check_ok(&mut self, what: impl Display, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.check(what, true),
            Err(error) => self.check(format_args!("{what}: {error:#}"), false),
        }
    }

    /// Two things that must be the same.
    pub(super) fn check_equal<T: PartialEq + std::fmt::Debug>(&mut self, what: impl Display, seen: T, right: T) {
        let (text, holds) = compared(what, &seen, &right);
        self.check(text, holds);
    }

    /// One handshake if the session was lost, and none if it was not.
    pub(super) fn recovered(&mut self, before: &Before, what: &str, loss: Loss) {
        if self.peer.about.sessions.lost_by(loss) {
            self.recovered_once(before, what);
        } else {
            self.check_equal(format_args!("{what}: handshakes"), self.peer.relay.handshakes(), before.handshakes);
            self.check_equal(format_args!("{what}: the generation"), self.client.generation(), before.generation);
        }
    }

    /// One handshake, and nothing lost on the way.
    pub(super) fn recovered_once(&mut self, before: &Before, what: &str) {
        self.check_equal(format_args!("{what}: handshakes"), self.peer.relay.handshakes(), before.handshakes + 1);
        self.check_equal(format_args!("{what}: the generation"), self.client.generation(), before.generation + 1);
        let unrestored = self.events_since(before).into_iter().find(|event| event.event == EventName::RestoreFailed);
        if let Some(event) = unrestored {
            self.check(format_args!("{what}: not restored: {:?}", event.reason), false);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
