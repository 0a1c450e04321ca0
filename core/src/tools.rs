//! What the server says of its tools, per generation: hints are never carried over to a session that they were not told in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::policy::decide::Hints;

/// The annotations of a tool (MCP 2025-11-25, schema, ToolAnnotations). What is not said is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// A name for people.
    pub title: Option<String>,
    /// The tool changes nothing. The specification's default is false.
    pub read_only_hint: Option<bool>,
    /// The tool may destroy. The specification's default is true.
    pub destructive_hint: Option<bool>,
    /// Calling it again with the same arguments has no further effect. The specification's default is false.
    pub idempotent_hint: Option<bool>,
    /// The tool reaches beyond the server. The specification's default is true.
    pub open_world_hint: Option<bool>,
}

#[derive(Debug, Default)]
struct Known {
    generation: u64,
    /// The whole list was read in this generation.
    complete: bool,
    tools: HashMap<String, (bool, bool)>,
    /// Counts the times that what was known was dropped, so that a list that was asked for before is not taken for new.
    epoch: u64,
}

/// The hints of the tools of the current generation.
#[derive(Debug, Default)]
pub(crate) struct ToolHints(Mutex<Known>);

impl ToolHints {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of this tool in this generation.
    pub(crate) fn hints(&self, generation: u64, tool: &str) -> Hints {
        let known = self.known();
        if known.generation != generation {
            return Hints::Unknown;
        }
        match known.tools.get(tool) {
            Some(&(read_only, idempotent)) if known.complete => Hints::Known { read_only, idempotent },
            None if known.complete => Hints::Unavailable,
            _ => Hints::Unknown,
        }
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
        }
        let tools = tools
            .filter_map(|tool| serde_json::from_str::<Listed>(tool.get()).ok())
            .map(|tool| {
                let annotations = tool.annotations.unwrap_or_default();
                let read_only = annotations.read_only_hint == Some(true);
                (tool.name, (read_only, annotations.idempotent_hint == Some(true)))
            })
            .collect();
        let mut known = self.known();
        if known.epoch == epoch && generation >= known.generation {
            *known = Known { generation, complete: true, tools, epoch };
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
