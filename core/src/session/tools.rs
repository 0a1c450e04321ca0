//! What the server says of its tools, per generation: their hints, and which of their arguments it wants to see in headers. Neither is
//! ever carried over to a session that it was not told in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::policy::decide::Hints;
use crate::protocol::annotations::ToolAnnotations;
use crate::protocol::parameter_headers::{self, ParameterHeader};

#[derive(Debug, Default)]
struct Known {
    generation: u64,
    /// The whole list was read in this generation.
    complete: bool,
    tools: HashMap<String, ToolFacts>,
    /// The list was asked for: it is not asked for again before a call.
    asked: bool,
    /// Counts the times that what was known was dropped, so that a list that was asked for before is not taken for new.
    epoch: u64,
}

/// What is kept of one tool.
#[derive(Debug)]
struct ToolFacts {
    read_only: bool,
    idempotent: bool,
    headers: Arc<[ParameterHeader]>,
}

/// The hints of the tools of the current generation.
#[derive(Debug, Default)]
pub(crate) struct ToolHints {
    known: Mutex<Known>,
    /// Held by whoever asks the server for its tools before a call: the others wait for the same answer.
    asking: tokio::sync::Mutex<()>,
}

impl ToolHints {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of this tool in this generation.
    pub(crate) fn hints(&self, generation: u64, tool: &str) -> Hints {
        let known = self.known();
        if known.generation != generation {
            return Hints::Unknown;
        }
        match known.tools.get(tool) {
            Some(&ToolFacts { read_only, idempotent, .. }) if known.complete => Hints::Known { read_only, idempotent },
            None if known.complete => Hints::Unavailable,
            _ => Hints::Unknown,
        }
    }

    /// The headers that this tool wants for these arguments (modern era).
    pub(crate) fn parameter_headers(&self, generation: u64, tool: &str, arguments: Option<&RawValue>) -> HeaderMap {
        let annotated = {
            let known = self.known();
            let facts = known.tools.get(tool).filter(|_| known.generation == generation);
            facts.map(|facts| Arc::clone(&facts.headers))
        };
        annotated.map_or_else(HeaderMap::new, |annotated| parameter_headers::headers(&annotated, arguments))
    }

    /// Would it help to ask the server for its tools?
    pub(crate) fn is_unasked(&self, generation: u64) -> bool {
        let known = self.known();
        known.generation != generation || !(known.complete || known.asked)
    }

    /// Held while the server is asked.
    pub(crate) async fn asking(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.asking.lock().await
    }

    /// The server was asked at this epoch: if in vain, it is not asked again, unless the tools have changed meanwhile.
    pub(crate) fn asked(&self, generation: u64, epoch: u64) {
        let mut known = self.known();
        if known.epoch != epoch || known.generation > generation {
            return;
        }
        if known.generation < generation {
            *known = Known { generation, epoch, ..Known::default() };
        }
        known.asked = true;
    }

    /// To be taken before a list is asked for, and given to [`Self::record`] with it.
    pub(crate) fn epoch(&self) -> u64 {
        self.known().epoch
    }

    /// A whole list of this generation, unless the tools changed while it was read.
    pub(crate) fn record<'a>(&self, generation: u64, epoch: u64, tools: impl Iterator<Item = &'a RawValue>) {
        #[derive(Deserialize)]
        struct Listed {
            name: String,
            #[serde(default)]
            annotations: Option<ToolAnnotations>,
            #[serde(rename = "inputSchema", default)]
            input_schema: Option<Box<RawValue>>,
        }
        let tools = tools
            .filter_map(|tool| serde_json::from_str::<Listed>(tool.get()).ok())
            .map(|tool| {
                let annotations = tool.annotations.unwrap_or_default();
                let headers = tool.input_schema.and_then(|schema| parameter_headers::annotations(&schema).ok());
                let facts = ToolFacts {
                    read_only: annotations.read_only_hint == Some(true),
                    idempotent: annotations.idempotent_hint == Some(true),
                    headers: headers.unwrap_or_default().into(),
                };
                (tool.name, facts)
            })
            .collect();
        let mut known = self.known();
        if known.epoch == epoch && generation >= known.generation {
            *known = Known { generation, complete: true, tools, asked: true, epoch };
        }
    }

    /// The tools changed, or the session did.
    pub(crate) fn forget(&self) {
        let mut known = self.known();
        *known = Known { generation: known.generation, epoch: known.epoch + 1, ..Known::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn hints_hold_for_the_generation_they_were_told_in() {
        let hints = ToolHints::default();
        let tool = raw(r#"{"name":"peek","annotations":{"readOnlyHint":true}}"#);
        assert_eq!(hints.hints(1, "peek"), Hints::Unknown);
        hints.record(1, hints.epoch(), [&*tool].into_iter());
        assert_eq!(hints.hints(1, "peek"), Hints::Known { read_only: true, idempotent: false });
        assert_eq!(hints.hints(1, "poke"), Hints::Unavailable);
        assert_eq!(hints.hints(2, "peek"), Hints::Unknown);
    }

    #[test]
    fn a_list_asked_for_before_a_change_is_not_taken_for_new() {
        let hints = ToolHints::default();
        let epoch = hints.epoch();
        hints.forget();
        hints.record(1, epoch, [&*raw(r#"{"name":"peek","annotations":{"readOnlyHint":true}}"#)].into_iter());
        assert_eq!(hints.hints(1, "peek"), Hints::Unknown);
    }
}
