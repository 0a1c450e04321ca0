//! What a new session gets back from the one before: the log level and the subscriptions, in parallel, one attempt each. Nobody waits
//! for it; what fails is an event.

use std::sync::Arc;

use serde_json::json;
use tokio::time::timeout;

use super::Session;
use super::handshake::Handshake;
use super::restorable::{Restorable, SharedRestorable, lock};
use crate::exchange::answer::{Answer, Position};
use crate::exchange::post::{ExchangeEnd, Post};
use crate::exchange::request::Request;
use crate::rpc::params::Params;
use crate::transport::probe::Probe;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::method::Method;

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
    let inbox = handshake.router.own(Some(session));
    let attempt = Post::of_client(wire, &inbox, handshake.limits, Some(&**session));
    let params = Params::from_value("params", params).unwrap_or_default();
    let request = Request::new(method.as_str(), params);
    let (ended, _) = attempt.run(request, Probe::new(), &mut Position::default()).await;
    match ended {
        ExchangeEnd::Head { answer: Answer::Result(_), .. } | ExchangeEnd::Message { answer: Answer::Result(_) } => {
            None
        }
        ended => Some(crate::exchange::text::of_end(&ended, None)),
    }
}
