//! What a new session gets back from the one before: the log level and the subscriptions, in parallel, one attempt each. Nobody waits
//! for it; what fails is an event.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::time::timeout;

use super::Session;
use super::handshake::Handshake;
use super::sessions::Sessions;
use crate::exchange::answer::{Answer, Position};
use crate::exchange::attempt::{Attempt, Ended, Request};
use crate::rpc::params::Params;
use crate::transport::probe::Probe;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::method::Method;

/// What the next session gets back from the one before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restorable {
    pub(crate) log_level: Option<String>,
    pub(crate) subscriptions: BTreeSet<String>,
}

/// What the sessions keep, and the requests of the modern era read.
pub(crate) type SharedRestorable = Arc<Mutex<Restorable>>;

impl Sessions {
    pub(crate) fn restorable(&self) -> &SharedRestorable {
        &self.restorable
    }
}

/// Something that a call asked for, and that is restored from the moment that it is asked for: a session that is replaced while the call is
/// under way must not cost it. It is taken back if the call fails or is given up.
pub(crate) struct Kept(Option<Box<dyn FnOnce() + Send>>);

impl Kept {
    pub(crate) fn unless_granted(take_back: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(take_back)))
    }

    /// The server did it.
    pub(crate) fn granted(mut self) {
        self.0 = None;
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(take_back) = self.0.take() {
            take_back();
        }
    }
}

/// Keeps this log level.
pub(crate) fn keep_log_level(restorable: &SharedRestorable, level: &str) -> Kept {
    let before = lock(restorable).log_level.replace(level.to_owned());
    let (restorable, level) = (Arc::clone(restorable), level.to_owned());
    Kept::unless_granted(move || {
        let mut kept = lock(&restorable);
        // Another call may have asked for another one since.
        if kept.log_level == Some(level) {
            kept.log_level = before;
        }
    })
}

fn lock(restorable: &SharedRestorable) -> MutexGuard<'_, Restorable> {
    restorable.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts one task for each thing to be restored. In the modern era nothing is: every request says it anew.
pub(crate) fn restore(handshake: &Handshake, session: &Arc<Session>, restorable: &SharedRestorable) {
    if session.is_modern() {
        return;
    }
    let Restorable { log_level, subscriptions } = lock(restorable).clone();
    if let Some(level) = log_level {
        spawn(handshake, session, Method::SET_LOG_LEVEL, json!({ "level": level }), None);
    }
    for uri in subscriptions {
        let wanted = Wanted { restorable: Arc::clone(restorable), uri };
        spawn(handshake, session, Method::SUBSCRIBE, json!({ "uri": wanted.uri }), Some(wanted));
    }
}

/// A subscription that is restored, and that may be given up meanwhile.
struct Wanted {
    restorable: SharedRestorable,
    uri: String,
}

impl Wanted {
    fn still(&self) -> bool {
        lock(&self.restorable).subscriptions.contains(&self.uri)
    }
}

fn spawn(
    handshake: &Handshake,
    session: &Arc<Session>,
    method: Method,
    params: serde_json::Value,
    wanted: Option<Wanted>,
) {
    let (handshake, session) = (handshake.clone(), Arc::clone(session));
    let background = handshake.wire.background.clone();
    drop(background.spawn(async move {
        let restoring = async {
            if wanted.as_ref().is_some_and(|wanted| !wanted.still()) {
                return None;
            }
            let problem = request(&handshake, &session, &method, &params).await;
            if wanted.as_ref().is_some_and(|wanted| !wanted.still()) {
                // It was unsubscribed while it was restored: which of the two the server saw first cannot be told.
                return request(&handshake, &session, &Method::UNSUBSCRIBE, &params).await;
            }
            problem
        };
        let problem = tokio::select! {
            problem = timeout(handshake.timeout, restoring) => {
                problem.unwrap_or_else(|_| Some("no answer in time".to_owned()))
            }
            // The next session restores it again.
            () = session.retired().cancelled() => None,
        };
        if let Some(problem) = problem {
            let event = Event::of_generation(EventName::RestoreFailed, session.generation).because(problem);
            let name = wanted.map(|wanted| wanted.uri);
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
        ended => Some(crate::exchange::text::of_end(&ended, None)),
    }
}
