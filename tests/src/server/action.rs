//! The primitive acts of which every fault is composed.
//!
//! In every string the placeholders `$id` (the JSON-RPC id of the request), `$session`, `$token` (its progress token),
//! `$last_id.NAME` (the JSON-RPC id of the latest request for that method, tool, prompt or URI), `$url` (this server), `$origin` (the
//! same without its path) and `$url.NAME` (another server of the scenario) are replaced; a string that is nothing but a placeholder takes the value's type.
//!
//! *The request* is the one that the rule matched. For a GET that is the latest request on the same session that has
//! no answer yet, so that a resumed stream can deliver it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::era::Era;
use super::script::Shape;
use super::wire::{Cut, H2Error, LastStream};

/// One act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    // What the server does.
    /// Runs the request to its end at once, and notes it as executed. `answer` and its kin do so too if it was not done.
    Execute,
    /// Runs it for a while.
    ExecuteFor(ExecuteFor),
    /// Waits.
    DelayMs(u64),
    /// Tells that this point is reached, then waits until the control side releases it. Once released it stays open.
    Gate(String),
    /// Tells that this point is reached, and goes on.
    Mark(String),
    /// Forgets all sessions.
    ForgetSessions,
    /// Forgets the session of this request.
    ForgetSession,
    /// Becomes a server of another era, and forgets all sessions.
    Become(Era),
    /// Closes the port and cuts all connections, this one too, and opens the port again later.
    GoDownMs(u64),
    /// Cuts all connections, this one too.
    CutConnections(Cut),
    /// From now on these tokens are accepted.
    AcceptTokens(Vec<String>),
    /// Sends a message on every open GET stream, and on those of `subscriptions/listen` that let it through.
    Push(Push),

    // Whole answers.
    /// More headers of the response to come.
    Headers(BTreeMap<String, String>),
    /// The healthy answer.
    Answer,
    /// The healthy answer in this shape.
    AnswerAs(Shape),
    /// The first half of the healthy answer, after running the request. What follows decides how it ends.
    HalfAnswer(Half),
    /// A response of one's own.
    Respond(Respond),
    /// A redirect.
    Redirect(Redirect),
    /// 401, with a challenge or without.
    Unauthorized {
        /// Whether `WWW-Authenticate` is sent.
        challenge: bool,
    },

    // Pieces of a response.
    /// Status line and headers.
    Head(HeadSpec),
    /// Body text.
    Send(String),
    /// As `send`, each character as the one byte that it is in Latin-1: for what is no UTF-8.
    SendLatin1(String),
    /// Bytes below the framing of HTTP.
    Raw(String),
    /// An SSE comment. This and the other SSE acts begin the response if nothing did.
    Comment(String),
    /// An SSE event.
    Event(Event),
    /// The healthy answer as an SSE event, after running the request.
    AnswerEvent(AnswerEvent),
    /// The healthy answer on every open GET stream, after running the request; the request itself gets what follows.
    AnswerElsewhere,
    /// Progress notifications, if the request carried a token.
    Progress(Progress),
    /// A notification as an SSE event.
    Notify(Notify),
    /// The first message of a stream of `subscriptions/listen`.
    Acknowledge,
    /// The result that ends such a stream properly.
    EndSubscription,
    /// A request to the client as an SSE event; waits for the reply unless told otherwise.
    Request(ServerRequest),
    /// The proper end of the response.
    End,

    // How the connection ends.
    /// FIN.
    Close,
    /// RST.
    Reset,
    /// FIN for our direction only, then as `hold`.
    HalfClose,
    /// Nothing more, until the client closes the connection or the server goes down.
    Hold,

    // HTTP/2 only.
    /// RST_STREAM: this exchange ends, the connection lives on.
    ResetStream(H2Error),
    /// GOAWAY, and go on.
    GoAway(GoAway),

    // How bytes go out from here on.
    /// The body goes out in these content codings, the first one applied first, each write flushed. Those that the server does not know
    /// are named in the head and not applied.
    Encode(Vec<String>),
    /// Every write in pieces of this size, head and framing included.
    Pieces(usize),
    /// The body in two writes, split at this byte.
    SplitBodyAt(usize),
    /// As `split_body_at`, at byte n for the nth use of the rule.
    SplitSweep,
    /// The connection ends after so many bytes of the body.
    CutBody(CutBody),
    /// As `cut_body`, after n bytes for the nth use of the rule.
    CutSweep(Cut),

    /// The same acts several times.
    Repeat(Repeat),
}

/// A run that takes time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExecuteFor {
    /// How long.
    pub ms: u64,
    /// Instead: until this gate is released.
    pub until: Option<String>,
    /// Whether the following acts go on meanwhile, and the run survives the connection.
    pub detached: bool,
}

/// Half an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// JSON under the `Content-Length` of the whole.
    Length,
    /// JSON in a chunk, without the last chunk.
    Chunked,
    /// The whole JSON text as an SSE event that lacks its blank line.
    Sse,
    /// Half of the JSON text in an SSE event that lacks its line end.
    SseHalf,
}

/// A response of one's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Respond {
    /// HTTP status.
    pub status: u16,
    /// Headers, besides the framing's.
    pub headers: BTreeMap<String, String>,
    /// A JSON body.
    pub json: Option<Value>,
    /// A body of text.
    pub text: Option<String>,
    /// How the length is told.
    pub framing: BodyFraming,
}

impl Default for Respond {
    fn default() -> Self {
        Self { status: 200, headers: BTreeMap::new(), json: None, text: None, framing: BodyFraming::Length }
    }
}

/// How the length of a body is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyFraming {
    /// `Content-Length`.
    #[default]
    Length,
    /// Chunks.
    Chunked,
    /// The connection's end.
    UntilClose,
    /// No body at all, nor a length.
    None,
}

/// Status line and headers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeadSpec {
    /// HTTP status.
    pub status: u16,
    /// Headers; `Content-Type` is `text/event-stream` unless given.
    pub headers: BTreeMap<String, String>,
    /// How the length is told, chunks by default.
    pub framing: BodyFraming,
    /// The length to announce with the framing `length`.
    pub length: usize,
}

impl Default for HeadSpec {
    fn default() -> Self {
        Self { status: 200, headers: BTreeMap::new(), framing: BodyFraming::Chunked, length: 0 }
    }
}

/// An SSE event, in the order id, event, retry, data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Event {
    /// `id:`.
    pub id: Option<String>,
    /// `event:`.
    pub event: Option<String>,
    /// `retry:`.
    pub retry: Option<u64>,
    /// `data:` as JSON.
    pub json: Option<Value>,
    /// `data:` as it is, one field for each line.
    pub data: Option<String>,
    /// Whether the blank line that dispatches the event is written.
    pub blank_line: bool,
}

impl Default for Event {
    fn default() -> Self {
        Self { id: None, event: None, retry: None, json: None, data: None, blank_line: true }
    }
}

/// The healthy answer as an SSE event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnswerEvent {
    /// `id:`.
    pub id: Option<String>,
    /// `event:`.
    pub event: Option<String>,
    /// Line end: `"\n"`, `"\r\n"` or `"\r"`.
    pub eol: String,
    /// Whether a blank follows the colons.
    pub space: bool,
    /// Whether the JSON is spread over several `data:` lines.
    pub pretty: bool,
    /// Whether the blank line that dispatches the event is written.
    pub blank_line: bool,
    /// Instead of the text of the tool's result.
    pub text: Option<String>,
}

impl Default for AnswerEvent {
    fn default() -> Self {
        Self { id: None, event: None, eol: "\n".to_owned(), space: true, pretty: false, blank_line: true, text: None }
    }
}

/// Progress notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// How many.
    pub count: u64,
    /// The time before each.
    #[serde(default)]
    pub every_ms: u64,
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Its method.
    pub method: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Value,
}

/// A request to the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerRequest {
    /// Its JSON-RPC id.
    pub id: Value,
    /// Its method.
    pub method: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Value,
    /// Whether to wait for the reply.
    #[serde(default = "yes")]
    pub wait: bool,
}

fn yes() -> bool {
    true
}

/// A message on the GET streams: a request if it has an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// JSON-RPC id, of a request.
    #[serde(default)]
    pub id: Option<Value>,
    /// Method.
    pub method: String,
    /// Parameters.
    #[serde(default)]
    pub params: Value,
}

/// A redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// HTTP status.
    pub status: u16,
    /// `Location`.
    pub to: String,
}

/// A GOAWAY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoAway {
    /// Up to which stream the server says that it may have processed requests.
    pub last: LastStream,
    /// Why.
    #[serde(default)]
    pub error: H2Error,
}

/// A body that ends too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutBody {
    /// After so many bytes.
    pub after: usize,
    /// How the connection ends.
    pub cut: Cut,
}

/// Acts to repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How often.
    pub times: u32,
    /// What.
    #[serde(rename = "do")]
    pub actions: Vec<Action>,
}
