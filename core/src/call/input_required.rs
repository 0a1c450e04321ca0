//! Multi-round-trip requests of the modern era: a result that asks for something, and the request sent anew with the answers (MCP
//! 2026-07-28, basic, "Multi round-trip requests").
//!
//! The next leg is no resend: the server has answered the one before. It has an id and an idempotency key of its own, and where it is lost
//! the same rules hold for it as for any call.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::driver::Driver;
use super::spec::Answered;
use super::verdict::{self, Circumstances};
use crate::exchange::caller::Caller;
use crate::protocol::era::Lifecycle;
use crate::rpc::params::Params;
use crate::session::router::Unasked;
use crate::vocabulary::error::Error;
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::{Kind, Phase};

/// Legs of one call.
const LEGS: u32 = 16;

/// What a result is.
pub(super) enum Reading {
    /// The answer to the call.
    Whole(Answered),
    /// The server wants something first.
    Wanted(Wanted),
}

/// What the server wants.
#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(rename = "inputRequests", default)]
    requests: BTreeMap<String, InputRequest>,
    /// Opaque; goes back byte for byte.
    #[serde(rename = "requestState", default)]
    state: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct InputRequest {
    method: String,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

impl Driver {
    /// What kind of result this is. A result of a raw request is the host's to read, whatever JSON it is; one of a method that gives nothing
    /// is not read at all.
    pub(super) fn read(&self, answered: Answered) -> Result<Reading, Error> {
        #[derive(Deserialize)]
        struct Typed {
            #[serde(rename = "resultType", default)]
            result_type: Option<String>,
        }
        let method = &self.spec.method;
        let is_object = answered.raw.get().starts_with('{');
        if method.is_raw() || (method.gives_nothing() && !is_object) {
            return Ok(Reading::Whole(answered));
        }
        if !is_object {
            return Err(verdict::no_result(&self.record, answered.raw));
        }
        if answered.lifecycle == Lifecycle::Legacy {
            return Ok(Reading::Whole(answered));
        }
        let Ok(Typed { result_type }) = serde_json::from_str(answered.raw.get()) else {
            return Err(self.unusable(Kind::Protocol, "its result has no readable resultType".to_owned()));
        };
        let asks = *method == Method::CALL_TOOL || *method == Method::READ_RESOURCE || *method == Method::GET_PROMPT;
        match result_type.as_deref() {
            // What is absent is complete.
            None | Some("complete") => Ok(Reading::Whole(answered)),
            Some("input_required") if asks => serde_json::from_str(answered.raw.get())
                .ok()
                .filter(|wanted: &Wanted| !wanted.requests.is_empty() || wanted.state.is_some())
                .map(Reading::Wanted)
                .ok_or_else(|| {
                    self.unusable(Kind::Protocol, "it asks for input, and does not say for what".to_owned())
                }),
            Some("task") if *method == Method::CALL_TOOL => Ok(Reading::Whole(answered)),
            // It may be of an extension that the host declared: then the host knows what to make of it.
            Some(_) if self.engine.settings.declares_extensions() => Ok(Reading::Whole(answered)),
            Some(other) => {
                let other = self.engine.wire.secrets().shown(other, 40);
                Err(self.unusable(
                    Kind::Protocol,
                    format!("its result is of type {other:?}, which this client does not know"),
                ))
            }
        }
    }

    /// Asks the host, and makes the call the next leg.
    pub(super) async fn next_leg(&mut self, wanted: Wanted) -> Result<(), Error> {
        self.legs += 1;
        if self.legs > LEGS {
            return Err(self.unusable(Kind::Protocol, format!("it asks for input again and again ({LEGS} times)")));
        }
        let Wanted { requests, state } = wanted;
        let router = &self.engine.router;
        let answers = {
            // The server waits for the host: the time is not its own.
            let _pause = self.record.clock().pause();
            try_join_all(requests.iter().map(async |(key, request)| {
                let answer = router.ask(&request.method, request.params.as_deref(), self.record.on_request()).await;
                answer.map(|answer| (key.clone(), answer)).map_err(|unasked| (request.method.clone(), unasked))
            }))
            .await
        };
        let answers = answers.map_err(|(method, unasked)| match unasked {
            Unasked::NoHandler => {
                let method = self.engine.wire.secrets().shown(&method, 40);
                self.unusable(Kind::Protocol, format!("it asks for {method}, for which the client has no handler"))
            }
            Unasked::Failed(text) => self.unusable(Kind::Config, format!("the handler of {method} failed: {text}")),
        })?;
        let params = &mut self.spec.params;
        if answers.is_empty() {
            params.remove("inputResponses");
        } else {
            let mut responses = Params::empty();
            for (key, answer) in answers {
                responses.set(&key, answer);
            }
            params.set("inputResponses", responses.to_raw().unwrap_or_default());
        }
        match state {
            Some(state) => params.set("requestState", state),
            None => params.remove("requestState"),
        }
        self.record.next_leg(self.spec.key_of_leg(self.legs));
        Ok(())
    }

    /// The server answered, and the call cannot go on. What it did before it answered is not known.
    pub(super) fn unusable(&self, kind: Kind, reason: String) -> Error {
        let circumstances =
            Circumstances { reason: format!("the server answered, but {reason}"), ..Circumstances::default() };
        verdict::failed(&self.record, kind, Phase::Streaming, circumstances)
    }
}
