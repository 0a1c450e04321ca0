//! What takes the place of requests that the modern era does not have: `ping`, `logging/setLevel`, `resources/subscribe` and
//! `resources/unsubscribe` (MCP 2026-07-28, changelog).

use std::sync::Arc;

use http::HeaderMap;
use serde_json::value::RawValue;

use super::driver::Driver;
use super::hints;
use super::spec::Answered;
use super::verdict::{self, Circumstances};
use crate::session::Session;
use crate::session::discover::DISCOVER;
use crate::vocabulary::error::Error;
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::{Kind, Phase};

/// What is to be done for a call on this session.
pub(super) enum StandIn {
    /// Send it.
    Send,
    /// It is done without a request of its own.
    Done(Answered),
    /// The session is no longer the current one.
    Moved,
}

impl Driver {
    /// Does what the call wants without a request of its own, where the era has none for it.
    pub(super) async fn stand_in(&mut self, session: &Arc<Session>) -> Result<StandIn, Error> {
        if !session.is_modern() && self.legs > 1 {
            // To a server of the other era it would be a call like any other, and run from its beginning.
            return Err(self.unusable(Kind::Protocol, "the server does not know what it asked for any more".to_owned()));
        }
        if !session.is_modern() || self.spec.method.is_raw() {
            return Ok(StandIn::Send);
        }
        let method = &self.spec.method;
        if *method == Method::CALL_TOOL {
            hints::have_looked_up(&self.engine, session).await;
        }
        // The level goes along in every request from now on.
        if *method == Method::SET_LOG_LEVEL {
            return Ok(StandIn::Done(nothing(session)));
        }
        let subscribes = *method == Method::SUBSCRIBE;
        if !subscribes && *method != Method::UNSUBSCRIBE {
            return Ok(StandIn::Send);
        }
        let subscriptions = Arc::clone(self.engine.sessions.subscriptions());
        if !subscribes {
            // Nobody has to agree to it that something is no longer wanted.
            subscriptions.change();
            return Ok(StandIn::Done(nothing(session)));
        }
        let acknowledged = subscriptions.renew(session.generation);
        tokio::select! {
            acknowledgement = acknowledged => {
                let denied = self.wish.take().map_or(Ok(()), |wish| wish.settle(&acknowledgement));
                denied.map(|()| StandIn::Done(nothing(session))).map_err(|denied| {
                    let circumstances = Circumstances { reason: denied.reason.to_owned(), ..Circumstances::default() };
                    verdict::failed(&self.record, denied.kind, Phase::Queued, circumstances)
                })
            }
            () = session.retired().cancelled() => Ok(StandIn::Moved),
        }
    }

    /// The method on the wire. Instead of a ping the server is asked what it is.
    pub(super) fn method_on(&self, session: &Session) -> Method {
        let method = &self.spec.method;
        let pings = session.is_modern() && *method == Method::PING && !method.is_raw();
        if pings { Method::raw(DISCOVER) } else { method.clone() }
    }

    /// The headers that the server wants to see for the arguments of this tool.
    pub(super) fn parameter_headers(&self, session: &Session) -> HeaderMap {
        let spec = &self.spec;
        match &spec.name {
            Some(tool) if session.is_modern() && spec.method == Method::CALL_TOOL => {
                self.engine.tools.parameter_headers(session.generation, tool, spec.params.get("arguments"))
            }
            _ => HeaderMap::new(),
        }
    }
}

fn nothing(session: &Session) -> Answered {
    Answered {
        raw: RawValue::from_string("{}".to_owned()).unwrap_or_default(),
        generation: session.generation,
        lifecycle: session.lifecycle(),
        legs: 1,
    }
}
