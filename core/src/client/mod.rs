//! The client: cheap to clone, one method for each method of MCP.

mod assembly;
pub(crate) mod builder;
mod draft;
mod handle;
mod pages;
pub(crate) mod request;

use std::sync::Arc;

use serde_json::{Value, json};

use self::handle::Handle;
use self::request::{Call, ListCall};
use crate::call::engine::Engine;
use crate::call::options::{CallExtras, IdempotencyKey};
use crate::call::run::handshake_failed;
use crate::exchange::answer::Limits;
use crate::exchange::carrier::Carrier;
use crate::exchange::wire::Wire;
use crate::protocol::era::Lifecycle;
use crate::protocol::results::{
    CallToolResult, CompleteResult, GetPromptResult, InitializeResult, Prompt, ReadResourceResult, Resource,
    ResourceTemplate, Tool,
};
use crate::rpc::message::notification_bytes;
use crate::rpc::params::Params;
use crate::session::restorable;
use crate::session::sessions::NoSession;
use crate::session::state::{ClientState, State};
use crate::vocabulary::config::OptionError;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::EventStream;
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::Kind;

/// A client of one MCP server. Clones share everything; the last one that is dropped closes it, and [`Client::close`] on any closes
/// all.
#[derive(Clone, Debug)]
pub struct Client {
    handle: Handle,
}

impl Client {
    fn of(engine: Engine) -> Self {
        Self { handle: Handle::new(engine) }
    }

    fn engine(&self) -> &Arc<Engine> {
        self.handle.engine()
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.engine().wire
    }

    pub(crate) fn limits(&self) -> Limits {
        self.engine().settings.limits
    }

    /// Waits for the handshake, and starts it if need be.
    ///
    /// # Errors
    /// The handshake failed, or the client is closed.
    pub async fn ready(&self) -> Result<(), Error> {
        self.engine().sessions.acquire().await.map(drop).map_err(|why| self.handshake_failed(&why))
    }

    /// Replaces the session by a new one, whatever its state. The old one ends with its last call.
    ///
    /// # Errors
    /// The handshake failed, or the client is closed.
    pub async fn recover(&self) -> Result<(), Error> {
        self.engine().sessions.recover().await.map(drop).map_err(|why| self.handshake_failed(&why))
    }

    /// Makes sure that there is a login: the stored one, refreshed if it is over, or else a new one, for which a person is asked. Whatever
    /// failed a moment ago is tried again. Nothing is sent to the server itself.
    ///
    /// Dropping the future stops neither a refresh nor a login.
    ///
    /// # Errors
    /// There is no login, of kind `auth`; or the client has none to make, for it was given no `oauth`, of kind `config`.
    pub async fn login(&self) -> Result<(), Error> {
        let tokens = &self.engine().wire.tokens;
        if tokens.login().is_none() {
            return Err(self.login_failed(Kind::Config, "the client was given no oauth".to_owned()));
        }
        tokens.log_in().await.map_err(|error| self.login_failed(Kind::Auth, error.to_string()))
    }

    /// Ends the login: it is revoked, as far as the authorization server lets it, and forgotten, for every process that shares the store.
    /// How the client is registered stays. What is called afterwards asks for a new login if the server wants one.
    ///
    /// # Errors
    /// The store failed, of kind `auth`; or the client was given no `oauth`, of kind `config`.
    pub async fn logout(&self) -> Result<(), Error> {
        let tokens = &self.engine().wire.tokens;
        if tokens.login().is_none() {
            return Err(self.login_failed(Kind::Config, "the client was given no oauth".to_owned()));
        }
        tokens.log_out().await.map_err(|error| self.login_failed(Kind::Auth, error.to_string()))
    }

    fn login_failed(&self, kind: Kind, reason: String) -> Error {
        crate::call::run::not_sent(self.engine(), "login", kind, reason)
    }

    fn handshake_failed(&self, why: &NoSession) -> Error {
        handshake_failed(self.engine(), why)
    }

    /// Closes all clones, within `close_timeout`: new calls fail `closed` and were not executed; calls in flight are cancelled and
    /// judged by what is known of them; the session gets its DELETE. Harmless when it is closed already.
    pub async fn close(&self) {
        self.handle.close().await;
    }

    /// Events as they happen, from now on.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.engine().wire.events.subscribe()
    }

    /// Where the client stands; [`ClientState::LoginNeeded`] as long as it waits for a person to log in, whatever the session.
    #[must_use]
    pub fn state(&self) -> ClientState {
        let state = self.engine().sessions.state();
        let waits = self.engine().wire.tokens.login().is_some_and(|login| login.is_waiting());
        if waits && state != State::Closed { ClientState::LoginNeeded } else { state.shown() }
    }

    /// Is the client closed, or closing?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.engine().sessions.state() == State::Closed
    }

    /// The generation of the current session, or of the last one; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.engine().sessions.generation()
    }

    /// What the server said of itself in its last answer to `initialize`, or to `server/discover`.
    #[must_use]
    pub fn initialized(&self) -> Option<Arc<InitializeResult>> {
        self.engine().sessions.last()
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

    /// The era that both sides speak; `None` before the first handshake.
    #[must_use]
    pub fn era(&self) -> Option<Lifecycle> {
        self.engine().sessions.lifecycle()
    }

    fn call<T>(&self, method: Method, name: Option<String>, params: Result<Params, OptionError>) -> Call<T> {
        let settings = &self.engine().settings;
        let tool = name.as_ref().filter(|_| method == Method::CALL_TOOL).and_then(|name| settings.tools.get(name));
        let options = tool.map_or_else(|| settings.defaults.clone(), |tool| tool.or(&settings.defaults));
        let key = if settings.idempotency_keys { IdempotencyKey::Made } else { IdempotencyKey::Off };
        let extras = CallExtras { key, ..CallExtras::default() };
        Call::new(self.handle.clone(), method, name, params, options, extras)
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
        let sessions = Arc::clone(&self.engine().sessions);
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
        let sessions = Arc::clone(&self.engine().sessions);
        // No longer wanted, whatever the server answers.
        self.call(Method::UNSUBSCRIBE, Some(uri.clone()), named("uri", &uri, Ok(None))).first(move || {
            sessions.subscriptions().give_up(&uri);
        })
    }

    /// Sends a notification on the current session, for example `notifications/roots/list_changed`: once, and never again. Nothing answers
    /// one, so nothing is told of what became of it. In the modern era, in which a client has none to send, it is left out. The params are a
    /// JSON object, or null for none.
    ///
    /// # Errors
    /// There is no session, or the params cannot be used.
    pub async fn notify(&self, method: impl Into<String>, params: Value) -> Result<(), Error> {
        let method = method.into();
        let params = if params.is_null() { Ok(Params::none()) } else { Params::from_value("params", &params) };
        let params = params.map_err(|error| Error::config(&Method::raw(method.clone()), None, error))?;
        let session = self.engine().sessions.acquire().await.map_err(|why| self.handshake_failed(&why))?;
        if !session.is_modern() {
            // Whatever the answer, there is nothing to do about it.
            let _ = self.engine().wire.notify(session.carried(), notification_bytes(&method, &params)).await;
        }
        Ok(())
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
