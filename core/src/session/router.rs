//! Messages of the server that answer nothing: its requests of us, its notifications, progress.
//!
//! Whatever stream they come on, they take this one way. A request is answered by a POST on the session that it came on, never on a
//! newer one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::cache::ResultCache;
use super::subscriptions::acknowledged::ACKNOWLEDGED;
use super::tools::ToolHints;
use crate::exchange::caller::Caller;
use crate::exchange::carrier::Carrier;
use crate::exchange::inbox::Inbox;
use crate::exchange::wire::Wire;
use crate::rpc::id::Id;
use crate::rpc::message::{Message, error_bytes, refusal_bytes, result_bytes};
use crate::vocabulary::handler::{
    CONCURRENT_HANDLERS, CallHandler, HandlerRefusal, Handlers, Progress, RequestHandler, ServerNotification,
};
use crate::vocabulary::lock::lock;

/// Replies under way at once; past that a request of the server is dropped, and its own time-out ends it.
const CONCURRENT_REPLIES: usize = 64;

/// JSON-RPC 2.0, section 5.1: the method does not exist.
const METHOD_NOT_FOUND: i64 = -32_601;
/// JSON-RPC 2.0, section 5.1: an internal error.
const INTERNAL_ERROR: i64 = -32_603;

/// Where a message came in.
#[derive(Clone, Copy, Default)]
pub(crate) struct Origin<'a> {
    /// The session; none before the handshake is done.
    pub(crate) session: Option<&'a Arc<Session>>,
    /// The call whose stream it came on; none on the GET stream.
    pub(crate) call: Option<&'a dyn Caller>,
}

/// Takes the messages of one stream.
pub(crate) struct StreamOf<'a> {
    router: &'a Router,
    origin: Origin<'a>,
}

impl Inbox for StreamOf<'_> {
    fn take(&self, message: Message) {
        self.router.route(message, self.origin);
    }
}

/// Why a request of the server has no answer.
pub(crate) enum Unasked {
    /// The host gave no handler for it.
    NoHandler,
    /// The handler failed, in its own words.
    Failed(String),
}

/// Takes every message that is not the answer to a request of ours.
pub(crate) struct Router {
    wire: Arc<Wire>,
    handlers: Handlers,
    tools: Arc<ToolHints>,
    cache: Arc<ResultCache>,
    handler_slots: Arc<Semaphore>,
    reply_slots: Arc<Semaphore>,
    /// The calls that wait for progress, by progress token.
    progress: Mutex<HashMap<u64, Weak<dyn Caller>>>,
    /// The handlers that run, by generation and id, so that the server can cancel them.
    running: Arc<Mutex<HashMap<(u64, String), CancellationToken>>>,
}

impl fmt::Debug for Router {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Router").finish_non_exhaustive()
    }
}

impl Router {
    pub(crate) fn new(wire: Arc<Wire>, handlers: Handlers, tools: Arc<ToolHints>, cache: Arc<ResultCache>) -> Self {
        Self {
            wire,
            handlers,
            tools,
            cache,
            handler_slots: Arc::new(Semaphore::new(CONCURRENT_HANDLERS)),
            reply_slots: Arc::new(Semaphore::new(CONCURRENT_REPLIES)),
            progress: Mutex::default(),
            running: Arc::default(),
        }
    }

    /// Progress with this token belongs to this call, until the guard is dropped.
    pub(crate) fn expect_progress(self: &Arc<Self>, token: u64, call: &Arc<dyn Caller>) -> ProgressGuard {
        lock(&self.progress).insert(token, Arc::downgrade(call));
        ProgressGuard { router: Arc::clone(self), token }
    }

    /// Takes the messages of a stream of the client's own on this session, or of the handshake.
    pub(crate) fn own<'a>(&'a self, session: Option<&'a Arc<Session>>) -> StreamOf<'a> {
        StreamOf { router: self, origin: Origin { session, call: None } }
    }

    /// Takes the messages of the stream that carries the answer to a call.
    pub(crate) fn of_call<'a>(&'a self, session: &'a Arc<Session>, call: &'a dyn Caller) -> StreamOf<'a> {
        StreamOf { router: self, origin: Origin { session: Some(session), call: Some(call) } }
    }

    /// Takes one message.
    pub(crate) fn route(&self, message: Message, origin: Origin<'_>) {
        if let Some(session) = origin.session {
            // Who speaks on a session knows it.
            session.note_life();
        }
        match message {
            Message::Request { id, method, params } => self.request(&id, &method, params.as_deref(), origin),
            Message::Notification { method, params } => self.notification(&method, params.as_deref(), origin),
            answer @ (Message::Result { .. } | Message::Error { .. }) => {
                // Nobody waits for it any more, or ever did.
                if self.wire.unanswered.take(answer).is_some() {
                    tracing::debug!(target: "oncewire", "an answer to no request that waits was dropped");
                }
            }
        }
    }

    fn request(&self, id: &Id, method: &str, params: Option<&RawValue>, origin: Origin<'_>) {
        if let Some(call) = origin.call {
            // A server that asks us something on the stream of a call is carrying that call out.
            call.saw_execution();
        }
        let Some(session) = origin.session else { return };
        if session.is_modern() {
            // MCP 2026-07-28, transports, Streamable HTTP: a client must not send responses.
            return;
        }
        if method == "ping" {
            self.reply(origin, session, result_bytes(id, &empty_object()));
            return;
        }
        let Some(handler) = self.handlers.of(method, origin.call.and_then(Caller::on_request)) else {
            self.reply(origin, session, error_bytes(id, METHOD_NOT_FOUND, "this client has no handler for the method"));
            return;
        };
        let Ok(slot) = Arc::clone(&self.handler_slots).try_acquire_owned() else {
            self.reply(origin, session, error_bytes(id, INTERNAL_ERROR, "too many requests of this client at once"));
            return;
        };
        let pause = origin.call.map(|call| call.clock().pause());
        // Nobody waits for the reply once the attempt is over, or, on the GET stream, once the session is no longer the current one.
        let over = origin.call.map_or_else(|| session.retired().clone(), |call| call.over());
        let of_a_call = origin.call.is_some();
        let running = Running::start(&self.running, session.generation, id);
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
        let (wire, session, id) = (Arc::clone(&self.wire), Arc::clone(session), id.clone());
        drop(self.wire.background.spawn(async move {
            let answered = tokio::select! {
                biased;
                // The server no longer wants it, or it belongs to a session that nobody knows: no reply. The stream of a call that is
                // still open shows that somebody does.
                () = running.cancelled.cancelled() => None,
                () = session.gone().cancelled(), if !of_a_call => None,
                () = over.cancelled() => None,
                () = wire.background.closing().cancelled() => None,
                answer = run(handler, params) => Some(answer),
            };
            drop((pause, running, slot));
            if let Some(answer) = answered {
                let body = match answer {
                    Ok(result) => result_bytes(&id, &result),
                    Err(refusal) => refusal_bytes(&id, &refusal),
                };
                if of_a_call || !session.gone().is_cancelled() {
                    send_reply(&wire, &session, body).await;
                }
            }
        }));
    }

    fn notification(&self, method: &str, params: Option<&RawValue>, origin: Origin<'_>) {
        if let Some(call) = origin.call {
            // Whatever it tells on the stream of a call, it tells while it carries that call out.
            call.saw_execution();
        }
        let generation = origin.session.map_or(0, |session| session.generation);
        match method {
            "notifications/progress" => {
                self.progress(params);
                return;
            }
            "notifications/cancelled" => {
                self.cancel_handler(generation, params);
                return;
            }
            // The client's own business.
            ACKNOWLEDGED => return,
            "notifications/tools/list_changed" => self.tools.forget(),
            _ => {}
        }
        self.cache.changed(method, params);
        let Some(handler) = &self.handlers.notification else { return };
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
        let notification = ServerNotification { method: method.to_owned(), params, generation };
        let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handler(&notification)));
        if called.is_err() {
            tracing::error!(target: "oncewire", method, "the notification handler panicked");
        }
    }

    /// Does the host want to hear what the server says unasked?
    pub(crate) fn listens(&self) -> bool {
        self.handlers.any()
    }

    /// What the server would have told of its lists may have been lost.
    pub(crate) fn lists_may_have_changed(&self) {
        self.tools.forget();
        self.cache.clear();
    }

    /// Answers a request that the server put into a result, by the handler for it.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: Option<&RawValue>,
        call: Option<CallHandler>,
    ) -> Result<Box<RawValue>, Unasked> {
        let handler = self.handlers.of(method, call).ok_or(Unasked::NoHandler)?;
        // The call that waits bounds the wait; the semaphore is never closed.
        let _slot = self.handler_slots.acquire().await;
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
        run(handler, params).await.map_err(|refusal| Unasked::Failed(refusal.message))
    }

    fn progress(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct WithToken<'a> {
            #[serde(rename = "progressToken", borrow)]
            token: &'a RawValue,
        }
        let Some(params) = params else { return };
        let Ok(WithToken { token }) = serde_json::from_str::<WithToken<'_>>(params.get()) else { return };
        let Some(token) = Id::from_raw(token.to_owned()).as_ours() else { return };
        let call = lock(&self.progress).get(&token).and_then(Weak::upgrade);
        if let Some(call) = call {
            call.progress(&serde_json::from_str::<Progress>(params.get()).unwrap_or_default());
        }
    }

    fn cancel_handler(&self, generation: u64, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(rename = "requestId", borrow)]
            request_id: &'a RawValue,
        }
        let Some(params) = params else { return };
        if let Ok(cancelled) = serde_json::from_str::<Cancelled<'_>>(params.get()) {
            let id = Id::from_raw(cancelled.request_id.to_owned()).to_json();
            if let Some(running) = lock(&self.running).get(&(generation, id)) {
                running.cancel();
            }
        }
    }

    fn reply(&self, origin: Origin<'_>, session: &Arc<Session>, body: Bytes) {
        let Ok(slot) = Arc::clone(&self.reply_slots).try_acquire_owned() else {
            tracing::warn!(target: "oncewire", "a request of the server was dropped: too many at once");
            return;
        };
        let (wire, session) = (Arc::clone(&self.wire), Arc::clone(session));
        let of_a_call = origin.call.is_some();
        drop(self.wire.background.spawn(async move {
            if of_a_call || !session.gone().is_cancelled() {
                send_reply(&wire, &session, body).await;
            }
            drop(slot);
        }));
    }
}

/// One POST; a reply is never repeated.
async fn send_reply(wire: &Wire, session: &Session, body: Bytes) {
    if wire.notify(session.carried(), body).await.is_none() {
        tracing::debug!(target: "oncewire", generation = session.generation, "a reply could not be delivered");
    }
}

async fn run(handler: RequestHandler, params: Value) -> Result<Box<RawValue>, HandlerRefusal> {
    let internal = |message: String| HandlerRefusal { code: INTERNAL_ERROR, message, data: None };
    let handled = std::panic::AssertUnwindSafe(async move { handler(params).await }).catch_unwind().await;
    match handled {
        Ok(Ok(result)) => serde_json::value::to_raw_value(&result).map_err(|error| internal(error.to_string())),
        Ok(Err(error)) => Err(match error.downcast::<HandlerRefusal>() {
            Ok(refusal) => *refusal,
            Err(error) => internal(error.to_string()),
        }),
        Err(_) => Err(internal("the handler failed".to_owned())),
    }
}

/// A handler that runs; taken off the list when dropped.
struct Running {
    list: Arc<Mutex<HashMap<(u64, String), CancellationToken>>>,
    key: (u64, String),
    cancelled: CancellationToken,
}

impl Running {
    fn start(list: &Arc<Mutex<HashMap<(u64, String), CancellationToken>>>, generation: u64, id: &Id) -> Self {
        let key = (generation, id.to_json());
        let cancelled = CancellationToken::new();
        lock(list).insert(key.clone(), cancelled.clone());
        Self { list: Arc::clone(list), key, cancelled }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.list).remove(&self.key);
    }
}

/// While it lives, progress with its token reaches its call.
pub(crate) struct ProgressGuard {
    router: Arc<Router>,
    token: u64,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        lock(&self.router.progress).remove(&self.token);
    }
}

/// `{}`, the result of a ping.
fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}
