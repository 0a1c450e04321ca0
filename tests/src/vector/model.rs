//! One scenario: servers, a client, steps, expectations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::expect::Expect;
use crate::control::Control;
use crate::server::Script;

/// One case, ready to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// File name and variant: `s03_stream_ends[reset,poke]`.
    #[serde(default)]
    pub name: String,
    /// The cases that it covers.
    pub cases: Vec<String>,
    /// What it is about, in a sentence.
    pub about: String,
    /// Who runs it.
    #[serde(default = "every_language")]
    pub languages: Vec<Language>,
    /// The servers by name. The client connects to `main`.
    #[serde(default = "one_healthy_server")]
    pub servers: BTreeMap<String, Script>,
    /// The client's options.
    #[serde(default)]
    pub client: ClientOptions,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// What must be true in the end.
    #[serde(default)]
    pub expect: Expect,
}

fn every_language() -> Vec<Language> {
    vec![Language::Rust, Language::Python, Language::Node, Language::Swift]
}

fn one_healthy_server() -> BTreeMap<String, Script> {
    [("main".to_owned(), Script::default())].into()
}

/// Who runs a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// The core itself.
    Rust,
    /// Through the Python binding.
    Python,
    /// Through the Node binding.
    Node,
    /// Through the Swift binding.
    Swift,
}

/// The client's options, under their Rust names. Durations are milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientOptions {
    /// The whole call.
    pub timeout: Option<u64>,
    /// No byte for that long.
    pub idle_timeout: Option<u64>,
    /// Progress restarts `timeout`.
    pub reset_on_progress: Option<bool>,
    /// The most that progress can stretch it to.
    pub max_total_timeout: Option<u64>,
    /// Silence on a resumed stream, or on an attempt whose session is gone.
    pub orphan_timeout: Option<u64>,
    /// One connection.
    pub connect_timeout: Option<u64>,
    /// How long never-sent attempts repeat.
    pub connect_patience: Option<u64>,
    /// One try of the handshake.
    pub handshake_timeout: Option<u64>,
    /// All of `close`.
    pub close_timeout: Option<u64>,
    /// The longest `Retry-After` that is waited out.
    pub retry_after_max: Option<u64>,
    /// The largest message in bytes.
    pub max_message: Option<u64>,
    /// The largest event in bytes.
    pub max_event: Option<u64>,
    /// The most pages of a list.
    pub max_pages: Option<u64>,
    /// How long an idle connection is kept.
    pub pool_idle_timeout: Option<u64>,
    /// Never reuse a connection for an unrepeatable call.
    pub fresh_connection: Option<bool>,
    /// Speak HTTP/2 without asking.
    pub http2_only: Option<bool>,
    /// `none`, `read_only` or `hinted`.
    pub trust_annotations: Option<String>,
    /// `always`, `default` or `never`.
    pub resend: Option<String>,
    /// `auto`, `surface` or `off`.
    pub recovery: Option<String>,
    /// `auto`, `legacy` or `modern`. A vector that names none is about the legacy era, and gets that.
    pub era: Option<String>,
    /// Extensions that the host can handle, by id, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<String, Value>>,
    /// Whether results are kept for as long as the server says that they may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// Whether cookies go back to where they are from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookies: Option<bool>,
    /// Whether the first call connects.
    pub lazy: Option<bool>,
    /// Whether `tools/call` carries an idempotency key.
    pub idempotency_keys: Option<bool>,
    /// Options of single tools.
    pub tools: BTreeMap<String, ToolOptions>,
    /// The token provider: it hands out these in turn, the last one for ever. Absent: there is no provider.
    pub tokens: Option<Vec<String>>,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// What the host does for the server.
    pub handlers: Handlers,
}

/// Options of one tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolOptions {
    /// As the client's.
    pub timeout: Option<u64>,
    /// As the client's.
    pub resend: Option<String>,
}

/// Canned answers of the host: the result, as on the wire. A handler that is absent is not registered; one whose answer is `{"$fails": TEXT}`
/// fails with that text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Handlers {
    /// For `sampling/createMessage`.
    pub sampling: Option<Value>,
    /// For `elicitation/create`.
    pub elicitation: Option<Value>,
    /// For `roots/list`.
    pub roots: Option<Value>,
    /// How long each handler takes.
    pub takes_ms: u64,
}

/// One thing that happens.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A call, awaited.
    Call(Call),
    /// Calls that start at once; all are awaited.
    Together(Vec<Call>),
    /// A call that goes on in the background.
    Start(Call),
    /// Awaits the call that was started under this name (all of them, if it was started several times).
    Wait(String),
    /// Cancels it by the means of the host language, and does not wait.
    Cancel(String),
    /// Something on the side of the servers.
    Control(ControlStep),
}

/// Something on the side of a server. Runners pass it on unread.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlStep {
    /// Which server.
    #[serde(default = "main")]
    pub on: String,
    /// What.
    #[serde(rename = "do")]
    pub action: Control,
}

pub(crate) fn main() -> String {
    "main".to_owned()
}

/// One call of the client.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The client's method.
    pub method: Method,
    /// Its arguments by name: `name` and `arguments` of a tool or prompt, `uri`, `cursor`, `level`, `ref` and `argument`, or
    /// `method` and `params` of a raw request.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Options of this call alone.
    #[serde(default)]
    pub options: CallOptions,
    /// The name of its outcome in the report; the method's if absent. With `times` they are `NAME.0`, `NAME.1`, ….
    #[serde(default, rename = "as")]
    pub save: Option<String>,
    /// How many of it: one after the other in `call`, at once in `together` and `start`.
    #[serde(default)]
    pub times: Option<u32>,
}

impl Call {
    /// The names of its outcomes.
    pub fn names(&self) -> Vec<String> {
        let base = self.save.clone().unwrap_or_else(|| self.method.as_str().to_owned());
        match self.times {
            None => vec![base],
            Some(times) => (0..times).map(|nth| format!("{base}.{nth}")).collect(),
        }
    }
}

/// The client's methods, under their Python names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Builds the client and connects it. With `lazy` it only builds.
    Connect,
    /// Closes it. If no step does, the runner does after the last step, and does not report it.
    Close,
    /// `tools/list`
    ListTools,
    /// `resources/list`
    ListResources,
    /// `resources/templates/list`
    ListResourceTemplates,
    /// `prompts/list`
    ListPrompts,
    /// `tools/call`
    CallTool,
    /// `resources/read`
    ReadResource,
    /// `prompts/get`
    GetPrompt,
    /// `completion/complete`
    Complete,
    /// `ping`
    Ping,
    /// `logging/setLevel`
    SetLogLevel,
    /// `resources/subscribe`
    Subscribe,
    /// `resources/unsubscribe`
    Unsubscribe,
    /// Any method.
    Request,
    /// Replaces a lost session.
    Recover,
}

impl Method {
    /// The Python name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Close => "close",
            Self::ListTools => "list_tools",
            Self::ListResources => "list_resources",
            Self::ListResourceTemplates => "list_resource_templates",
            Self::ListPrompts => "list_prompts",
            Self::CallTool => "call_tool",
            Self::ReadResource => "read_resource",
            Self::GetPrompt => "get_prompt",
            Self::Complete => "complete",
            Self::Ping => "ping",
            Self::SetLogLevel => "set_log_level",
            Self::Subscribe => "subscribe",
            Self::Unsubscribe => "unsubscribe",
            Self::Request => "request",
            Self::Recover => "recover",
        }
    }
}

/// Options of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallOptions {
    /// The whole call, in milliseconds.
    pub timeout: Option<u64>,
    /// No byte for that long.
    pub idle_timeout: Option<u64>,
    /// Progress restarts `timeout`.
    pub reset_on_progress: Option<bool>,
    /// The most that progress can stretch it to.
    pub max_total_timeout: Option<u64>,
    /// `always`, `default` or `never`.
    pub resend: Option<String>,
    /// The caller's own key.
    pub idempotency_key: Option<String>,
    /// More members of `_meta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// Whether a progress callback is given; what it gets goes into the report.
    pub on_progress: bool,
}
