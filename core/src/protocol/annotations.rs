//! What a server says of how a tool behaves. Hints: nobody vouches for them.

use serde::Deserialize;

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
