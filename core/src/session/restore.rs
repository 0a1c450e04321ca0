//! What a new session gets back from the one before: the log level and the subscriptions, in parallel, one attempt each. Nobody waits
//! for it; what fails is an event.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::time::timeout;

use super::Session;
use super::handshake::Handshake;
use super::sessions::Sessions;
use crate::call::attempt::{Attempt, Ended, Request};
use crate::event::{Event, EventName};
use crate::method::Method;
use crate::rpc::params::Params;
use crate::transport::answer::{Answer, Position};
use crate::transport::probe::Probe;

/// What the next session gets back from the one before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restorable {
    pub(crate) log_level: Option<String>,
    pub(crate) subscriptions: BTreeSet<String>,
}

/// What the sessions keep, and the requests of the modern era read.
pub(crate) type SharedRestorable = Arc<Mutex<Restorable>>;

impl Sessions {
    pub(crate) fn restorable(&self) -> MutexGuard<'_, Restorable> {
        self.restorable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts one task for each thing to be restored. In the modern era nothing is: every request says it anew.
pub(crate) fn restore(handshake: &Handshake, session: &Arc<Session>, restorable: Restorable) {
    if session.is_modern() {
        return;
    }
    if let Some(level) = restorable.log_level {
        spawn(handshake, session, Method::SET_LOG_LEVEL, json!({ "level": level }), None);
    }
    for uri in restorable.subscriptions {
        spawn(handshake, session, Method::SUBSCRIBE, json!({ "uri": uri }), Some(uri));
    }
}

fn spawn(
    handshake: &Handshake,
    session: &Arc<Session>,
    method: Method,
    params: serde_json::Value,
    name: Option<String>,
) {
    let (handshake, session) = (handshake.clone(), Arc::clone(session));
    let background = handshake.wire.background.clone();
    drop(background.spawn(async move {
        let problem = tokio::select! {
            problem = timeout(handshake.timeout, request(&handshake, &session, &method, &params)) => {
                problem.unwrap_or_else(|_| Some("no answer in time".to_owned()))
            }
            // The next session restores it again.
            () = session.retired().cancelled() => None,
        };
        if let Some(problem) = problem {
            let event = Event::of_generation(EventName::RestoreFailed, session.generation).because(problem);
            handshake.wire.events.emit(Event { method: Some(method.to_string()), name, ..event });
        }
    }));
}

/// One attempt; what went wrong, in words.
async fn request(
    handshake: &Handshake,
    session: &Arc<Session>,
    method: &Method,
    params: &serde_json::Value,
) -> Option<String> {
    let wire = &handshake.wire;
    let attempt = Attempt::of_client(wire, &handshake.router, handshake.limits, Some(session));
    let params = Params::from_value("params", params).unwrap_or_default();
    let request = Request::new(method.as_str(), params);
    let (ended, _) = attempt.run(request, Probe::new(), &mut Position::default()).await;
    match ended {
        Ended::Head { answer: Answer::Result(_), .. } => None,
        ended => Some(crate::text::of_end(&ended, None)),
    }
}
