//! The client: cheap to clone, one method for each method of MCP.

pub(crate) mod builder;
pub(crate) mod request;
pub(crate) mod settings;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::auth::TokenCache;
use crate::call::cursors::Cursors;
use crate::call::options::{CallExtras, IdempotencyKey};
use crate::client::builder::ClientBuilder;
use crate::client::request::{Call, ListCall};
use crate::client::settings::{Parts, Settings};
use crate::exchange::wire::{OfCaller, Wire};
use crate::policy::budget::Budget;
use crate::protocol::era::Lifecycle;
use crate::protocol::results::{
    CallToolResult, CompleteResult, GetPromptResult, InitializeResult, Prompt, ReadResourceResult, Resource,
    ResourceTemplate, Tool,
};
use crate::rpc::params::Params;
use crate::session::cache::ResultCache;
use crate::session::handshake::Handshake;
use crate::session::listener::Listener;
use crate::session::restorable::{self, SharedRestorable};
use crate::session::router::Router;
use crate::session::sessions::{NoSession, Sessions};
use crate::session::state::State;
use crate::session::subscriptions::Subscriptions;
use crate::session::terms::{Introduction, Terms};
use crate::session::tools::ToolHints;
use crate::session::twin::Twins;
use crate::transport::cookies::CookieJar;
use crate::vocabulary::background::Background;
use crate::vocabulary::config::OptionError;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName, EventSink, EventStream};
use crate::vocabulary::method::Method;
use crate::vocabulary::redact::address;

/// A client of one MCP server. Clones share everything; the last one that is dropped closes it, and [`Client::close`] on any closes
/// all.
#[derive(Clone, Debug)]
pub struct Client {
    handle: Arc<Owner>,
}

/// Closes the client when the last clone is dropped.
#[derive(Debug)]
struct Owner {
    core: Arc<Core>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let core = Arc::clone(&self.core);
        self.core.wire.background.spawn_detached(async move { core.close().await });
    }
}

/// What the clones share, and the tasks of the client hold.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) wire: Arc<Wire>,
    pub(crate) router: Arc<Router>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) tools: Arc<ToolHints>,
    pub(crate) cache: Arc<ResultCache>,
    pub(crate) cursors: Cursors,
    pub(crate) budget: Budget,
    pub(crate) twins: Twins,
    closing: AtomicBool,
    closed: watch::Sender<bool>,
}

impl Core {
    /// Everything ends within `close_timeout`: calls are judged and the server is told, then sessions get their DELETE. The first
    /// caller does it; the others wait for it.
    async fn close(&self) {
        if self.closing.swap(true, Ordering::AcqRel) {
            // The sender lives in self: it cannot be gone.
            let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
            return;
        }
        self.finish_closing().await;
    }

    async fn finish_closing(&self) {
        let background = &self.wire.background;
        let patience = self.settings.close_timeout;
        background.closing().cancel();
        self.sessions.handshake.end_leftovers();
        self.sessions.close();
        // Calls see that the client closes, and let go of their sessions, which ends them. A call that nobody polls does not: half of
        // the time is for it, the other half for the DELETE that it holds up.
        background.wait(patience / 2).await;
        self.sessions.end_all();
        background.wait(patience / 2).await;
        background.end();
        self.wire.hang_up();
        self.wire.events.emit(Event::new(EventName::Closed));
        self.closed.send_replace(true);
    }
}

impl Client {
    /// Begins to make a client of the server at this URL.
    pub fn builder(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(url)
    }

    pub(crate) fn from_parts(parts: Parts) -> Self {
        let Parts { url, settings, exchange, headers, header_provider, secrets, token, handlers, observer } = parts;
        let secrets = Arc::new(secrets);
        let background = Background::new(Handle::current());
        let tokens = TokenCache::new(token, background.clone(), Arc::clone(&secrets));
        let events = EventSink::new(observer, Arc::clone(&secrets), address(&url).into());
        let cookies = settings.cookies.then(CookieJar::default);
        let caller = OfCaller { headers, provider: header_provider, secrets, cookies };
        let wire = Arc::new(Wire::new(exchange, url, caller, tokens, events, background));
        let tools = Arc::new(ToolHints::default());
        let cache = Arc::new(ResultCache::new(settings.cache));
        let introduction = Introduction::new(
            &settings.client_name,
            &settings.client_version,
            handlers.capabilities(),
            &settings.extensions,
        );
        let router = Arc::new(Router::new(Arc::clone(&wire), handlers, Arc::clone(&tools), Arc::clone(&cache)));
        let restorable = SharedRestorable::default();
        let listener = Listener {
            wire: Arc::clone(&wire),
            router: Arc::clone(&router),
            limits: settings.limits,
            unasked: settings.listen,
            subscriptions: Arc::new(Subscriptions::new(Arc::clone(&restorable))),
        };
        let handshake = Handshake {
            wire: Arc::clone(&wire),
            router: Arc::clone(&router),
            limits: settings.limits,
            era: settings.era,
            verdict: Arc::default(),
            trouble: Arc::default(),
            terms: Arc::new(Terms::new(&introduction, Arc::clone(&restorable))),
            introduction,
            timeout: settings.handshake_timeout,
            connect_patience: settings.connect_patience,
            retry_after_max: settings.retry_after_max,
            delete_timeout: settings.close_timeout,
            backoff: settings.backoff,
        };
        let sessions = Arc::new(Sessions::new(handshake, listener, restorable, settings.recovery));
        let budget = Budget::new(settings.budget);
        let twins = Twins::new(Arc::clone(&wire), Arc::clone(&router), settings.limits);
        let core = Core {
            settings,
            wire,
            router,
            sessions,
            tools,
            cache,
            cursors: Cursors::default(),
            budget,
            twins,
            closing: AtomicBool::new(false),
            closed: watch::Sender::new(false),
        };
        Self { handle: Arc::new(Owner { core: Arc::new(core) }) }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.handle.core
    }

    /// Waits for the handshake, and starts it if need be.
    ///
    /// # Errors
    /// The handshake failed, or the client is closed.
    pub async fn ready(&self) -> Result<(), Error> {
        self.core().sessions.acquire().await.map(drop).map_err(|why| self.handshake_failed(&why))
    }

    /// Replaces the session by a new one, whatever its state. The old one ends with its last call.
    ///
    /// # Errors
    /// The handshake failed, or the client is closed.
    pub async fn recover(&self) -> Result<(), Error> {
        self.core().sessions.recover().await.map(drop).map_err(|why| self.handshake_failed(&why))
    }

    fn handshake_failed(&self, why: &NoSession) -> Error {
        crate::call::handshake_failed(self.core(), why)
    }

    /// Closes all clones, within `close_timeout`: new calls fail `closed` and were not executed; calls in flight are cancelled and
    /// judged by what is known of them; the session gets its DELETE. Harmless when it is closed already.
    pub async fn close(&self) {
        // In a task of its own: dropping this future must not leave the client half closed.
        let core = Arc::clone(self.core());
        let background = core.wire.background.clone();
        let (done, closed) = tokio::sync::oneshot::channel();
        background.spawn_detached(async move {
            core.close().await;
            let _ = done.send(());
        });
        if closed.await.is_err() {
            // The client's own runtime is gone, and its tasks with it: what is left is done here.
            self.core().finish_closing().await;
        }
    }

    /// Events as they happen, from now on.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.core().wire.events.subscribe()
    }

    /// Where the client stands: `idle`, `connecting`, `ready`, `recovering`, `lost`, `closed`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        self.core().sessions.state().as_str()
    }

    /// Is the client closed, or closing?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.core().sessions.state() == State::Closed
    }

    /// The generation of the current session, or of the last one; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.core().sessions.generation()
    }

    /// What the server said of itself in its last answer to `initialize`, or to `server/discover`.
    #[must_use]
    pub fn initialized(&self) -> Option<Arc<InitializeResult>> {
        self.core().sessions.last()
    }

    /// Name, version, … of the server.
    #[must_use]
    pub fn server_info(&self) -> Option<Value> {
        self.initialized().map(|initialized| initialized.server_info.clone())
    }

    /// What the server offers.
    #[must_use]
    pub fn capabilities(&self) -> Option<Value> {
        self.initialized().map(|initialized| initialized.capabilities.clone())
    }

    /// How the server wants to be used.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.initialized().and_then(|initialized| initialized.instructions.clone())
    }

    /// The version that both sides speak.
    #[must_use]
    pub fn protocol_version(&self) -> Option<String> {
        self.initialized().map(|initialized| initialized.protocol_version.clone())
    }

    /// The era that both sides speak, `legacy` or `modern`; `None` before the first handshake.
    #[must_use]
    pub fn era(&self) -> Option<&'static str> {
        self.core().sessions.lifecycle().map(Lifecycle::as_str)
    }

    fn call<T>(&self, method: Method, name: Option<String>, params: Result<Params, OptionError>) -> Call<T> {
        let settings = &self.core().settings;
        let tool = name.as_ref().filter(|_| method == Method::CALL_TOOL).and_then(|name| settings.tools.get(name));
        let options = tool.map_or_else(|| settings.defaults.clone(), |tool| tool.or(&settings.defaults));
        let key = if settings.idempotency_keys { IdempotencyKey::Made } else { IdempotencyKey::Off };
        let extras = CallExtras { key, ..CallExtras::default() };
        Call::new(self.clone(), method, name, params, options, extras)
    }

    fn list<T>(&self, method: Method) -> ListCall<T> {
        ListCall::new(self.call(method, None, Ok(Params::empty())))
    }

    /// `tools/list`: all pages, unless a cursor is given.
    pub fn list_tools(&self) -> ListCall<Tool> {
        self.list(Method::LIST_TOOLS)
    }

    /// `resources/list`: all pages, unless a cursor is given.
    pub fn list_resources(&self) -> ListCall<Resource> {
        self.list(Method::LIST_RESOURCES)
    }

    /// `resources/templates/list`: all pages, unless a cursor is given.
    pub fn list_resource_templates(&self) -> ListCall<ResourceTemplate> {
        self.list(Method::LIST_RESOURCE_TEMPLATES)
    }

    /// `prompts/list`: all pages, unless a cursor is given.
    pub fn list_prompts(&self) -> ListCall<Prompt> {
        self.list(Method::LIST_PROMPTS)
    }

    /// `tools/call`. The arguments are a JSON object, or null for none.
    pub fn call_tool(&self, name: impl Into<String>, arguments: Value) -> Call<CallToolResult> {
        let name = name.into();
        let arguments =
            if arguments.is_null() { Ok(None) } else { Params::from_value("arguments", &arguments).map(Some) };
        self.call(Method::CALL_TOOL, Some(name.clone()), named("name", &name, arguments))
    }

    /// As [`Self::call_tool`], with the arguments as the text of a JSON object: integers of any size and the order of the members
    /// stay as they are.
    pub fn call_tool_json(&self, name: impl Into<String>, arguments: &str) -> Call<CallToolResult> {
        let name = name.into();
        let arguments = Params::from_json("arguments", arguments).map(Some);
        self.call(Method::CALL_TOOL, Some(name.clone()), named("name", &name, arguments))
    }

    /// `resources/read`
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<ReadResourceResult> {
        let uri = uri.into();
        self.call(Method::READ_RESOURCE, Some(uri.clone()), named("uri", &uri, Ok(None)))
    }

    /// `prompts/get`. The arguments are a JSON object of strings, or null for none.
    pub fn get_prompt(&self, name: impl Into<String>, arguments: Value) -> Call<GetPromptResult> {
        let name = name.into();
        let arguments =
            if arguments.is_null() { Ok(None) } else { Params::from_value("arguments", &arguments).map(Some) };
        self.call(Method::GET_PROMPT, Some(name.clone()), named("name", &name, arguments))
    }

    /// As [`Self::get_prompt`], with the arguments as the text of a JSON object.
    pub fn get_prompt_json(&self, name: impl Into<String>, arguments: &str) -> Call<GetPromptResult> {
        let name = name.into();
        let arguments = Params::from_json("arguments", arguments).map(Some);
        self.call(Method::GET_PROMPT, Some(name.clone()), named("name", &name, arguments))
    }

    /// `completion/complete`: what to complete (`{"type": "ref/prompt", "name": …}`), the name of its argument, and what was typed.
    pub fn complete(
        &self,
        reference: &Value,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Call<CompleteResult> {
        let name = reference.get("name").or_else(|| reference.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let params = json!({ "ref": reference, "argument": { "name": argument.into(), "value": value.into() } });
        self.call(Method::COMPLETE, name, Params::from_value("params", &params))
    }

    /// `ping`; in the modern era, which has none, `server/discover`.
    pub fn ping(&self) -> Call<()> {
        self.call(Method::PING, None, Ok(Params::none()))
    }

    /// `logging/setLevel`; the level is set again on each new session. In the modern era every request says it, and this sends nothing.
    pub fn set_log_level(&self, level: impl Into<String>) -> Call<()> {
        let level = level.into();
        let params = Params::from_value("params", &json!({ "level": level }));
        let sessions = Arc::clone(&self.core().sessions);
        self.call(Method::SET_LOG_LEVEL, None, params)
            .keeping(move || restorable::keep_log_level(sessions.restorable(), &level))
    }

    /// `resources/subscribe`; the subscription is made again on each new session. In the modern era the stream of
    /// `subscriptions/listen` is issued anew with it.
    pub fn subscribe(&self, uri: impl Into<String>) -> Call<()> {
        let uri = uri.into();
        self.call(Method::SUBSCRIBE, Some(uri.clone()), named("uri", &uri, Ok(None)))
    }

    /// `resources/unsubscribe`
    pub fn unsubscribe(&self, uri: impl Into<String>) -> Call<()> {
        let uri = uri.into();
        let sessions = Arc::clone(&self.core().sessions);
        // No longer wanted, whatever the server answers.
        self.call(Method::UNSUBSCRIBE, Some(uri.clone()), named("uri", &uri, Ok(None))).first(move || {
            sessions.subscriptions().give_up(&uri);
        })
    }

    /// Any other request. Nothing is known of it, so it is never repeated after an ambiguous loss unless `resend` says so. The params
    /// are a JSON object, or null for none; the result is raw JSON.
    pub fn request(&self, method: impl Into<String>, params: Value) -> Call<Box<serde_json::value::RawValue>> {
        let params = if params.is_null() { Ok(Params::none()) } else { Params::from_value("params", &params) };
        self.call(Method::raw(method), None, params)
    }

    /// As [`Self::request`], with the params as the text of a JSON object.
    pub fn request_json(&self, method: impl Into<String>, params: &str) -> Call<Box<serde_json::value::RawValue>> {
        self.call(Method::raw(method), None, Params::from_json("params", params))
    }
}

/// Params with a name or URI and, where there are any, arguments.
fn named(member: &str, name: &str, arguments: Result<Option<Params>, OptionError>) -> Result<Params, OptionError> {
    let mut params = Params::from_value("params", &json!({ member: name }))?;
    if let Some(arguments) = arguments?.and_then(|arguments| arguments.to_raw()) {
        params.set("arguments", arguments);
    }
    Ok(params)
}
