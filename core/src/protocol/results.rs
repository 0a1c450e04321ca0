//! What the methods return: the fields that most callers read, and the whole result as the server sent it.
//!
//! Nothing is lost: unknown fields and integers of any size stay in `raw`. Nothing fails either: a result that was delivered is an
//! answer, so a field of an unexpected shape is left empty here and can be read from `raw`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::protocol::annotations::ToolAnnotations;
use crate::rpc::params::Params;

/// The result of a method, from the raw JSON.
pub(crate) trait FromRaw: Sized + Send + 'static {
    fn from_raw(raw: Box<RawValue>) -> Self;
}

/// The members of an object, each read on its own, so that one odd member does not cost the others.
struct Members(std::collections::HashMap<String, Box<RawValue>>);

impl Members {
    fn of(raw: &RawValue) -> Self {
        Self(serde_json::from_str(raw.get()).unwrap_or_default())
    }

    fn get<T: DeserializeOwned + Default>(&self, name: &str) -> T {
        self.0.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    fn raw(&self, name: &str) -> Option<Box<RawValue>> {
        self.0.get(name).filter(|raw| raw.get() != "null").cloned()
    }
}

macro_rules! serialise_as_received {
    ($($name:ident),+) => {$(
        /// As the server sent it.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.raw.serialize(serializer)
            }
        }
    )+};
}

serialise_as_received!(
    InitializeResult,
    CallToolResult,
    ReadResourceResult,
    GetPromptResult,
    CompleteResult,
    Tool,
    Resource,
    ResourceTemplate,
    Prompt
);

/// What the server said of itself: the answer to `initialize`, or in the modern era to `server/discover`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InitializeResult {
    /// The version that both sides speak.
    pub protocol_version: String,
    /// What the server offers.
    pub capabilities: Value,
    /// Name, version, … of the server.
    pub server_info: Value,
    /// How the server wants to be used.
    pub instructions: Option<String>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl InitializeResult {
    /// From the answer to `server/discover`, which names all versions that the server speaks. `serverInfo` stands in its `_meta`, or
    /// beside it.
    pub(crate) fn of_discovery(raw: Box<RawValue>) -> Self {
        let mut discovered = Self::from_raw(raw);
        discovered.protocol_version = crate::protocol::era::MODERN_VERSION.to_owned();
        if discovered.server_info.is_null() {
            let meta: Value = Members::of(&discovered.raw).get("_meta");
            if let Some(info) = meta.get("io.modelcontextprotocol/serverInfo") {
                discovered.server_info = info.clone();
            }
        }
        discovered
    }

    /// All of it as the text of one JSON object under the names of `initialize`, whichever request it answers: what the server said
    /// elsewhere is set, the rest is as it sent it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut members = Params::from_json("result", self.raw.get()).unwrap_or_default();
        for (name, value) in [("protocolVersion", &json!(self.protocol_version)), ("serverInfo", &self.server_info)] {
            if members.get(name).is_none() && !value.is_null() {
                members.set(name, serde_json::value::to_raw_value(value).unwrap_or_default());
            }
        }
        members.to_raw().unwrap_or_default().get().to_owned()
    }
}

impl FromRaw for InitializeResult {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        Self {
            protocol_version: members.get("protocolVersion"),
            capabilities: members.get("capabilities"),
            server_info: members.get("serverInfo"),
            instructions: members.get("instructions"),
            raw,
        }
    }
}

/// The result of `tools/call`. A tool that failed says so in `is_error`: that is an answer, not an error of the call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallToolResult {
    /// Content blocks, each as the server sent it.
    pub content: Vec<Value>,
    /// The structured result, exact.
    pub structured_content: Option<Box<RawValue>>,
    /// The tool says that it failed.
    pub is_error: bool,
    /// What kind of result it is: `complete`, or `task` where the server goes on with it in a task (see `task`), or what an extension that
    /// the host declared has of its own. Servers of the handshake era do not say, and mean `complete`.
    pub result_type: String,
    /// The task that the server goes on with (MCP 2026-07-28, tasks extension; MCP 2025-11-25, tasks), as it sent it: the call is not over,
    /// and `content` is empty. Only servers to which the host declared tasks answer so.
    pub task: Option<Box<RawValue>>,
    /// `_meta`
    pub meta: Option<Value>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl FromRaw for CallToolResult {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        let result_type = members.get::<Option<String>>("resultType").unwrap_or_else(|| "complete".to_owned());
        // The extension puts the task's members beside the type, its forerunner into a member of their own.
        let task = members.raw("task").or_else(|| (result_type == "task").then(|| raw.clone()));
        Self {
            content: members.get("content"),
            structured_content: members.raw("structuredContent"),
            is_error: members.get("isError"),
            result_type,
            task,
            meta: members.get("_meta"),
            raw,
        }
    }
}

impl CallToolResult {
    /// The text of all text blocks, one to a line.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
        texts.filter_map(|block| block.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n")
    }
}

/// The result of `resources/read`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// Text or blob contents, each as the server sent it.
    pub contents: Vec<Value>,
    /// `_meta`
    pub meta: Option<Value>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl FromRaw for ReadResourceResult {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        Self { contents: members.get("contents"), meta: members.get("_meta"), raw }
    }
}

/// The result of `prompts/get`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GetPromptResult {
    /// What the prompt is for.
    pub description: Option<String>,
    /// The messages, each as the server sent it.
    pub messages: Vec<Value>,
    /// `_meta`
    pub meta: Option<Value>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl FromRaw for GetPromptResult {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        let description = members.get("description");
        Self { description, messages: members.get("messages"), meta: members.get("_meta"), raw }
    }
}

/// The result of `completion/complete`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompleteResult {
    /// The completions.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: Option<u64>,
    /// There are more than those.
    pub has_more: bool,
    /// `_meta`
    pub meta: Option<Value>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl FromRaw for CompleteResult {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        let completion = members.raw("completion").map(|raw| Members::of(&raw));
        let completion = completion.unwrap_or(Members(std::collections::HashMap::new()));
        Self {
            values: completion.get("values"),
            total: completion.get("total"),
            has_more: completion.get("hasMore"),
            meta: members.get("_meta"),
            raw,
        }
    }
}

/// The result of a method of which nothing is read.
impl FromRaw for Box<RawValue> {
    fn from_raw(raw: Box<RawValue>) -> Self {
        raw
    }
}

/// The result of a method that has none, for example `ping`.
impl FromRaw for () {
    fn from_raw(_: Box<RawValue>) -> Self {}
}

/// One tool of `tools/list`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tool {
    /// The name to call it by.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The JSON schema of its arguments, exact.
    pub input_schema: Option<Box<RawValue>>,
    /// The JSON schema of its structured result, exact.
    pub output_schema: Option<Box<RawValue>>,
    /// What the server says of its effects.
    pub annotations: ToolAnnotations,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl FromRaw for Tool {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        Self {
            name: members.get("name"),
            title: members.get("title"),
            description: members.get("description"),
            input_schema: members.raw("inputSchema"),
            output_schema: members.raw("outputSchema"),
            annotations: members.get("annotations"),
            raw,
        }
    }
}

/// One resource of `resources/list`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resource {
    /// The URI to read it by.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl FromRaw for Resource {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        Self {
            uri: members.get("uri"),
            name: members.get("name"),
            title: members.get("title"),
            description: members.get("description"),
            mime_type: members.get("mimeType"),
            raw,
        }
    }
}

/// One template of `resources/templates/list`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The URI template (RFC 6570).
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// The media type of what it names.
    pub mime_type: Option<String>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

impl FromRaw for ResourceTemplate {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        Self {
            uri_template: members.get("uriTemplate"),
            name: members.get("name"),
            title: members.get("title"),
            description: members.get("description"),
            mime_type: members.get("mimeType"),
            raw,
        }
    }
}

/// One prompt of `prompts/list`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prompt {
    /// The name to get it by.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its arguments.
    pub arguments: Vec<PromptArgument>,
    /// As the server sent it.
    pub raw: Box<RawValue>,
}

/// One argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Must it be given?
    pub required: bool,
}

impl FromRaw for Prompt {
    fn from_raw(raw: Box<RawValue>) -> Self {
        let members = Members::of(&raw);
        Self {
            name: members.get("name"),
            title: members.get("title"),
            description: members.get("description"),
            arguments: members.get("arguments"),
            raw,
        }
    }
}

/// The kinds of things that a server lists.
pub(crate) trait Listed: FromRaw {
    /// The member of the result that holds the items.
    const MEMBER: &'static str;
}

impl Listed for Tool {
    const MEMBER: &'static str = "tools";
}

impl Listed for Resource {
    const MEMBER: &'static str = "resources";
}

impl Listed for ResourceTemplate {
    const MEMBER: &'static str = "resourceTemplates";
}

impl Listed for Prompt {
    const MEMBER: &'static str = "prompts";
}

/// A list: all pages of it, or the one page that was asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListResult<T> {
    /// The items, in the server's order.
    pub items: Vec<T>,
    /// Where the next page begins. After all pages were asked for, only there if a bound was hit.
    pub next_cursor: Option<String>,
    /// `_meta` of the last page.
    pub meta: Option<Value>,
    /// The last page as the server sent it, with the items of all pages in place of its own.
    pub raw: Box<RawValue>,
}

impl<T> Serialize for ListResult<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

/// One page as it came.
pub(crate) struct Page {
    pub(crate) items: Vec<Box<RawValue>>,
    pub(crate) next_cursor: Option<String>,
    /// Every member in its order, exact.
    frame: Params,
}

impl Page {
    pub(crate) fn of(raw: &RawValue, member: &str) -> Self {
        let members = Members::of(raw);
        let frame = Params::from_json("result", raw.get()).unwrap_or_default();
        Self { items: members.get(member), next_cursor: members.get("nextCursor"), frame }
    }
}

impl<T> ListResult<T> {
    /// The items of all pages, in the frame of the last page.
    pub(crate) fn of(items: Vec<Box<RawValue>>, last: Page) -> Self
    where
        T: Listed,
    {
        let mut frame = last.frame;
        let all = items.iter().map(|item| item.get()).collect::<Vec<_>>().join(",");
        frame.set(T::MEMBER, RawValue::from_string(format!("[{all}]")).unwrap_or_default());
        Self {
            next_cursor: last.next_cursor,
            meta: frame.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok()),
            raw: frame.to_raw().unwrap_or_default(),
            items: items.into_iter().map(T::from_raw).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn a_result_keeps_what_is_not_known_of_and_every_digit() {
        let text = r#"{"content":[{"type":"hologram","n":1}],"structuredContent":{"n":123456789012345678901234567890},"future":7}"#;
        let result = CallToolResult::from_raw(raw(text));
        assert_eq!(result.structured_content.as_ref().unwrap().get(), r#"{"n":123456789012345678901234567890}"#);
        assert_eq!(result.content.len(), 1);
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
    }

    #[test]
    fn what_a_server_says_of_itself_has_the_same_names_in_both_eras() {
        let shaken = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"s"},"n":18446744073709551616}"#;
        assert_eq!(InitializeResult::from_raw(raw(shaken)).to_json(), shaken);
        let told = r#"{"n":18446744073709551616,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}"#;
        let discovered = InitializeResult::of_discovery(raw(&format!("{told}}}")));
        let added = r#","protocolVersion":"2026-07-28","serverInfo":{"name":"s"}}"#;
        assert_eq!(discovered.to_json(), format!("{told}{added}"));
    }

    #[test]
    fn an_odd_member_does_not_cost_the_others() {
        let result = CallToolResult::from_raw(raw(r#"{"content":"text","isError":true}"#));
        assert!(result.content.is_empty());
        assert!(result.is_error);
    }

    #[test]
    fn pages_are_put_together_in_the_frame_of_the_last() {
        let first = Page::of(&raw(r#"{"tools":[{"name":"a","x":10000000000000000000000}],"nextCursor":"2"}"#), "tools");
        let last = Page::of(&raw(r#"{"z":18446744073709551616,"tools":[{"name":"b"}],"_meta":{"m":1}}"#), "tools");
        let items = first.items.into_iter().chain(last.items.clone()).collect();
        let list = ListResult::<Tool>::of(items, last);
        assert_eq!(list.items.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(list.next_cursor, None);
        assert_eq!(
            serde_json::to_string(&list).unwrap(),
            r#"{"z":18446744073709551616,"tools":[{"name":"a","x":10000000000000000000000},{"name":"b"}],"_meta":{"m":1}}"#
        );
    }
}
