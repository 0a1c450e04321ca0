//! The client behind: made when a host introduces itself, and made anew when one introduces itself as another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oncewire::{Client, ClientBuilder, Error, EventName, HandlerError, HandlerRefusal};
use serde_json::Value;
use tokio::sync::mpsc;

use super::era::Introduction;
use super::hearing::Hearing;
use super::host::Host;
use super::notes::Notes;
use super::questions::Questions;
use crate::rpc::error::INTERNAL_ERROR;

/// Notifications of the host that wait to be sent; what finds no room is dropped, and told.
pub(super) const NOTIFICATIONS: usize = 1_024;

/// The client, and what comes from it to the host.
#[derive(Debug)]
pub(super) struct Upstream {
    builder: ClientBuilder,
    questions: Arc<Questions>,
    hearing: Arc<Hearing>,
    notes: Notes,
    current: Mutex<Option<Current>>,
}

#[derive(Debug)]
struct Current {
    introduction: Introduction,
    client: Client,
    notifications: mpsc::Sender<(String, Value)>,
    log_level: Option<String>,
}

impl Upstream {
    pub(super) fn new(builder: ClientBuilder, host: Host, notes: Notes) -> Self {
        let questions = Arc::new(Questions::new(host.clone()));
        let hearing = Arc::new(Hearing::new(host));
        Self { builder, questions, hearing, notes, current: Mutex::default() }
    }

    pub(super) fn questions(&self) -> &Arc<Questions> {
        &self.questions
    }

    pub(super) fn hearing(&self) -> &Arc<Hearing> {
        &self.hearing
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client, if a host has introduced itself.
    pub(super) fn client(&self) -> Option<Client> {
        self.current().as_ref().map(|current| current.client.clone())
    }

    /// The client for a host that says this of itself. One that says something else than before gets another client; the calls of the one
    /// before are over.
    ///
    /// # Errors
    /// An option cannot be used.
    pub(super) fn introduced(&self, introduction: Introduction) -> Result<Client, Error> {
        let mut current = self.current();
        if let Some(current) = current.as_ref().filter(|current| current.introduction == introduction) {
            return Ok(current.client.clone());
        }
        self.hearing.begin(introduction.modern);
        let client = self.build(&introduction)?;
        let (notifications, queue) = mpsc::channel(NOTIFICATIONS);
        tokio::spawn(send_all(client.clone(), queue));
        let new = Current { introduction, client: client.clone(), notifications, log_level: None };
        if let Some(old) = current.replace(new) {
            tokio::spawn(async move { old.client.close().await });
        }
        Ok(client)
    }

    fn build(&self, introduction: &Introduction) -> Result<Client, Error> {
        let (hearing, notes) = (Arc::clone(&self.hearing), self.notes.clone());
        let mut builder = introduction.declare(self.builder.clone()).on_event({
            let hearing = Arc::clone(&hearing);
            move |event| {
                notes.event(event);
                if event.event == EventName::SessionReplaced {
                    hearing.replaced();
                }
            }
        });
        builder = builder.on_notification(move |notification| hearing.heard(notification));
        let modern = introduction.modern;
        let ask = |method: &'static str| {
            let questions = Arc::clone(&self.questions);
            move |params: Value| {
                let questions = Arc::clone(&questions);
                async move { if modern { Err(nobody_asks(method)) } else { questions.ask(method, params).await } }
            }
        };
        if introduction.declares("sampling") {
            builder = builder.on_sampling(ask("sampling/createMessage"));
        }
        if introduction.declares("elicitation") {
            builder = builder.on_elicitation(ask("elicitation/create"));
        }
        if introduction.declares("roots") {
            builder = builder.on_roots(ask("roots/list"));
        }
        builder.build()
    }

    /// Is this another level than the host wanted last?
    pub(super) fn is_new_log_level(&self, level: &str) -> bool {
        let mut current = self.current();
        let Some(current) = current.as_mut() else { return false };
        let new = current.log_level.as_deref() != Some(level);
        current.log_level = Some(level.to_owned());
        new
    }

    /// Sends a notification of the host, behind those before it.
    pub(super) fn notify(&self, method: &str, params: Value) {
        let current = self.current();
        // Before the introduction there is nobody to tell.
        let Some(current) = current.as_ref() else { return };
        if current.notifications.try_send((method.to_owned(), params)).is_err() {
            tracing::warn!(target: "oncewire", method, "a notification of the host was dropped: too many wait");
        }
    }

    /// Ends the client, if there is one.
    pub(super) async fn close(&self) {
        let client = self.client();
        if let Some(client) = client {
            client.close().await;
        }
    }
}

async fn send_all(client: Client, mut queue: mpsc::Receiver<(String, Value)>) {
    while let Some((method, params)) = queue.recv().await {
        if let Err(error) = client.notify(method, params).await {
            tracing::debug!(target: "oncewire", %error, "a notification of the host was not sent");
        }
    }
}

/// In the modern era a server asks in the answer to a request, and nowhere else.
fn nobody_asks(method: &str) -> HandlerError {
    let message = format!("{method} was asked outside of a call, where a host of the era 2026-07-28 cannot be asked");
    HandlerRefusal { code: INTERNAL_ERROR, message, data: None }.into()
}
