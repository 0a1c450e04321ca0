//! The stream of `subscriptions/listen`, on which a server of the modern era may speak unasked (MCP 2026-07-28, basic, subscriptions). The
//! GET stream of the handshake era is in `session/listener.rs`, the bounds of both are in `session/opens.rs`.
//!
//! There, a server that was away long enough to exhaust them has lost the session too, and the next one has a stream of its own. Here
//! nothing is lost with the server: the stream that was given up is issued again when an answer to a call shows that it is back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::super::Session;
use super::super::listener::Listener;
use super::super::opens::{Brought, GAP_MAX, Opens};
use super::acknowledged::{ACKNOWLEDGED, Acknowledgement, Agreed};
use crate::exchange::answer::Position;
use crate::exchange::post::Post;
use crate::exchange::request::Request;
use crate::rpc::message::Message;
use crate::rpc::params::Params;
use crate::transport::classify::{self, ListenConclusion};
use crate::transport::probe::Probe;
use crate::vocabulary::event::{Event, EventName};

/// The method, on the wire.
const LISTEN: &str = "subscriptions/listen";

/// Why no stream is issued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Off {
    ClientGone,
    SessionOver,
    NotOffered,
    TooOften,
}

impl Off {
    fn reason(self) -> &'static str {
        match self {
            Self::ClientGone => "the client is gone",
            Self::SessionOver => "the session is over",
            Self::NotOffered => "the server offers none",
            Self::TooOften => "it was opened too often without a message",
        }
    }
}

/// How one stream ended.
enum Stream {
    /// Somebody wants another filter.
    Changed,
    /// It may be issued again.
    Ended(Brought),
    /// The token that it carried was refused.
    Unauthorized(Option<u64>),
    /// For good.
    Off,
    /// The session is over.
    Over,
}

impl Listener {
    /// Listens until the session is no longer the current one. A stream that is lost is issued anew, within bounds; one that is off begins
    /// again when somebody subscribes, or when the server is back.
    pub(in super::super) async fn subscribe(&self, session: Arc<Session>) {
        let subscriptions = &self.subscriptions;
        let generation = session.generation;
        let mut changes = subscriptions.changes();
        let mut on = false;
        let listening = async {
            let mut opens = Opens::new();
            loop {
                let (off, change) = self.issue_again_and_again(&session, &mut changes, &mut on, &mut opens).await;
                let refused = off == Off::NotOffered;
                let said = if refused { Acknowledgement::Refused } else { Acknowledgement::Lost };
                subscriptions.hear(generation, change, said);
                self.wire.events.emit(Event::of_generation(EventName::ListenerOff, generation).because(off.reason()));
                on = false;
                // Once in so long at most: calls may be answered where streams never are.
                let back = async {
                    sleep(GAP_MAX).await;
                    session.answers().await;
                };
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { break },
                    () = back, if off == Off::TooOften => self.router.lists_may_have_changed(),
                    () = opens.token_came(&self.wire.tokens) => {}
                }
                opens.begin_anew();
            }
        };
        tokio::select! {
            biased;
            () = session.retired().cancelled() => {}
            () = listening => {}
        }
        if on {
            let reason = "the session is no longer the current one";
            self.wire.events.emit(Event::of_generation(EventName::ListenerOff, generation).because(reason));
        }
    }

    /// Why it is off, and since which change of the filter.
    async fn issue_again_and_again(
        &self,
        session: &Arc<Session>,
        changes: &mut watch::Receiver<u64>,
        on: &mut bool,
        opens: &mut Opens,
    ) -> (Off, u64) {
        let subscriptions = &self.subscriptions;
        let tokens = &self.wire.tokens;
        let mut issued = false;
        loop {
            let change = *changes.borrow_and_update();
            let Some(filter) = subscriptions.filter(&session.initialized.capabilities, self.unasked) else {
                // Nothing is wanted, and so nothing can be refused.
                subscriptions.hear(session.generation, change, Acknowledgement::Given(Agreed::default()));
                if std::mem::take(on) {
                    let off = Event::of_generation(EventName::ListenerOff, session.generation);
                    self.wire.events.emit(off.because("there is nothing left to listen to"));
                }
                if changes.changed().await.is_err() {
                    return (Off::ClientGone, change);
                }
                continue;
            };
            if issued {
                // What changed in between was told to nobody.
                self.router.lists_may_have_changed();
            }
            issued = true;
            let acknowledged = |agreed| {
                subscriptions.hear(session.generation, change, Acknowledgement::Given(agreed));
                if !std::mem::replace(on, true) {
                    self.wire.events.emit(Event::of_generation(EventName::ListenerOn, session.generation));
                }
            };
            match self.issue(session, filter, changes, acknowledged).await {
                Stream::Changed => {
                    opens.begin_anew();
                    continue;
                }
                Stream::Off => return (Off::NotOffered, change),
                Stream::Over => return (Off::SessionOver, change),
                Stream::Ended(brought) => opens.ended(brought, self.is_wanted()),
                Stream::Unauthorized(refused) => {
                    opens.ended(Brought::default(), self.is_wanted());
                    if opens.renew(tokens, refused).await {
                        continue;
                    }
                }
            }
            if opens.are_in_vain() {
                // Who waits for the server to agree hears of it, and may take the wish along.
                subscriptions.hear(session.generation, change, Acknowledgement::Lost);
                if !self.is_wanted() {
                    return (Off::TooOften, change);
                }
            }
            let gap = sleep(opens.gap(Duration::ZERO));
            tokio::select! {
                () = gap => {}
                // Who subscribes does not wait for a gap.
                _ = changes.changed() => {}
                () = opens.token_came(tokens) => opens.begin_anew(),
            }
        }
    }

    async fn issue(
        &self,
        session: &Arc<Session>,
        filter: Value,
        changes: &mut watch::Receiver<u64>,
        mut acknowledged: impl FnMut(Agreed) + Send,
    ) -> Stream {
        let spoke = AtomicBool::new(false);
        let (tell, mut told) = watch::channel(Agreed::default());
        let on_message = |message: &Message| match message {
            Message::Notification { method, params } if method == ACKNOWLEDGED => {
                tell.send_replace(Agreed::of(params.as_deref()));
            }
            Message::Notification { .. } => spoke.store(true, Ordering::Relaxed),
            _ => {}
        };
        let inbox = self.router.own(Some(session));
        let own = Post::of_client(&self.wire, &inbox, self.limits, Some(&**session));
        let attempt = Post { on_message: Some(&on_message), ..own };
        let params = Params::from_value("params", &json!({ "notifications": filter })).unwrap_or_default();
        let probe = Probe::new();
        let mut position = Position::default();
        let mut since = None;
        let (ended, token) = {
            let running = attempt.run(Request::new(LISTEN, params), probe, &mut position);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    biased;
                    changed = told.changed() => {
                        if changed.is_ok() {
                            since = Some(Instant::now());
                            acknowledged(told.borrow_and_update().clone());
                        }
                    }
                    _ = changes.changed() => return Stream::Changed,
                    ended = &mut running => break ended,
                }
            }
        };
        // The stream may have ended right behind its first message.
        if told.has_changed().is_ok_and(|changed| changed) {
            acknowledged(told.borrow_and_update().clone());
        }
        match ended.end(&position).map(classify::listen) {
            Some(ListenConclusion::NotOffered) => Stream::Off,
            Some(ListenConclusion::SessionOver) => Stream::Over,
            Some(ListenConclusion::Unauthorized) => Stream::Unauthorized(token),
            // Without a token or headers of the host it is tried again like anything else.
            Some(ListenConclusion::IssueAgain) | None => {
                Stream::Ended(Brought { since, carried: since.is_some(), spoke: spoke.load(Ordering::Relaxed) })
            }
        }
    }
}
