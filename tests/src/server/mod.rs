//! The fault server: a correct MCP server of both eras, and a script that makes it fail.
//!
//! A request goes through *admission* (path, token, session), then to the first rule that matches, else to the healthy
//! answer. The rule's acts write to a `Wire`, of which there is one for HTTP/1.1 and one for HTTP/2 with prior knowledge, on the same port.

mod action;
mod admission;
pub(crate) mod catalog;
mod coding;
mod connection;
mod era;
mod exchange;
mod gate;
pub(crate) mod http1;
mod http2;
mod ledger;
mod listener;
mod listeners;
mod modern;
mod perform;
mod placeholder;
pub(crate) mod request;
mod script;
mod state;
pub(crate) mod wire;

use std::io;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::state::lock;
use crate::authorization::{Authorities, Authority};

pub use self::action::{
    Action, AnswerEvent, BodyFraming, CutBody, Event, ExecuteFor, GoAway, Half, HeadSpec, Notify, Progress, Push,
    Redirect, Repeat, Respond, ServerRequest,
};
pub use self::era::{Era, Lifecycle};
pub use self::gate::GateState;
pub use self::ledger::{Arrival, Cancelled, Connections, Execution, GateNote, Ledger, Session};
pub use self::modern::{Asking, Keep, Round};
pub use self::script::{GetStream, Matcher, OnAccept, OneOrMore, Options, Refusal, Rule, Script, Shape};
pub(crate) use self::state::Urls;
pub use self::wire::{Cut, H2Error, LastStream};

/// A running server. Dropping it closes the port and cuts every connection.
#[derive(Debug)]
pub struct FaultServer {
    state: Arc<state::State>,
    port: u16,
    listening: watch::Receiver<bool>,
    task: JoinHandle<io::Result<()>>,
}

impl FaultServer {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::start_named("main", script, Urls::default(), Authorities::default()).await
    }

    /// Starts a server with a correct behaviour.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn healthy() -> io::Result<Self> {
        Self::start(Script::default()).await
    }

    pub(crate) async fn start_named(
        name: &str,
        script: Script,
        urls: Urls,
        authorities: Authorities,
    ) -> io::Result<Self> {
        let reserved = listener::Reserved::bind(0)?;
        let port = reserved.port;
        let url = format!("http://127.0.0.1:{port}/mcp");
        lock(&urls).insert(name.to_owned(), url.clone());
        let authority = Arc::new(Authority::of(script.options.authorization.as_ref(), &url));
        lock(&authorities).insert(name.to_owned(), Arc::clone(&authority));
        let state = Arc::new(state::State::new(script, url, urls, authority, authorities));
        let (listening, is_listening) = watch::channel(false);
        let task = tokio::spawn(listener::run(Arc::clone(&state), reserved, listening));
        let server = Self { state, port, listening: is_listening, task };
        let up = *server.state.up.borrow();
        server.port_is(up).await;
        Ok(server)
    }

    /// The MCP endpoint.
    pub fn url(&self) -> &str {
        &self.state.url
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A copy of what was noted so far.
    pub fn ledger(&self) -> Ledger {
        self.state.ledger()
    }

    /// Resolves when the ledger is as wanted.
    pub async fn until(&self, wanted: impl FnMut(&Ledger) -> bool) {
        self.state.until(wanted).await;
    }

    /// Replaces the rules.
    pub fn set_rules(&self, rules: Vec<Rule>) {
        self.state.set_rules(rules);
    }

    /// Puts rules before those that are there.
    pub fn add_rules(&self, rules: Vec<Rule>) {
        self.state.add_rules(rules);
    }

    /// Takes the rules with this name away; whether there was one.
    pub fn drop_rule(&self, name: &str) -> bool {
        self.state.drop_rule(name)
    }

    /// Changes the options for requests to come.
    pub fn change_options(&self, change: impl FnOnce(&mut Options)) {
        self.state.change_options(change);
    }

    /// Changes the options that are named.
    pub(crate) fn merge_options(&self, members: &serde_json::Map<String, serde_json::Value>) -> serde_json::Result<()> {
        let mut options = serde_json::to_value(self.state.options())?;
        for (name, value) in members {
            options[name] = value.clone();
        }
        let options = serde_json::from_value(options)?;
        self.state.change_options(|old| *old = options);
        Ok(())
    }

    /// From now on only these tokens are accepted.
    pub fn accept_tokens<T: Into<String>>(&self, tokens: impl IntoIterator<Item = T>) {
        let tokens = tokens.into_iter().map(Into::into).collect();
        self.state.change_options(|options| options.tokens = Some(tokens));
    }

    /// Forgets all sessions, as a restart does, and leaves the connections as they are.
    pub fn forget_sessions(&self) {
        self.state.forget_all();
    }

    /// Cuts every connection, those with an open answer and GET streams included.
    pub fn cut_connections(&self, how: Cut) {
        self.state.cut_all(how);
    }

    /// Closes the port and cuts every connection. When this returns, connecting is refused.
    pub async fn go_down(&self) {
        self.state.up.send_replace(false);
        self.state.cut_all(Cut::Close);
        self.port_is(false).await;
    }

    /// Opens the port again.
    pub async fn come_up(&self) {
        self.state.up.send_replace(true);
        self.port_is(true).await;
    }

    /// Goes down now and comes up by itself.
    pub fn go_down_for_ms(&self, ms: u64) {
        perform::go_down_for(&self.state, ms);
    }

    /// The process is replaced: connections cut, sessions forgotten, the same port.
    pub async fn restart(&self) {
        self.go_down().await;
        self.forget_sessions();
        self.come_up().await;
    }

    /// Opens a gate, for those who wait at it and those who come later.
    pub fn release(&self, gate: &str) {
        self.state.gates.release(gate);
    }

    /// Resolves when a script has come to this gate or mark so many times.
    pub async fn reached(&self, gate: &str, times: u64) {
        self.state.gates.reached(gate, times).await;
    }

    /// Becomes a server of another era, which knows no session. Connections stay.
    pub fn become_era(&self, era: Era) {
        self.state.become_era(era);
    }

    /// Sends a message on every open GET stream, and on those of `subscriptions/listen` that let it through; how many there were.
    pub fn push(&self, push: &Push) -> usize {
        self.state.listeners.push(&perform::push_message(push))
    }

    /// Ends the streams of `subscriptions/listen` properly; how many there were.
    pub fn end_subscriptions(&self) -> usize {
        self.state.listeners.end_subscriptions()
    }

    /// No access token that it issued so far is good any more; the logins live on.
    pub fn expire_access_tokens(&self) {
        self.state.authority.expire_access_tokens();
    }

    /// Ends every login that it gave.
    pub fn revoke_logins(&self) {
        self.state.authority.revoke_logins("revoked by the server");
        self.state.touch();
    }

    /// Proofs of possession need another nonce from now on.
    pub fn change_nonce(&self) {
        self.state.authority.change_nonce();
    }

    async fn port_is(&self, open: bool) {
        // An error means that the listening task ended: nothing will change any more.
        let _ = self.listening.clone().wait_for(|listening| *listening == open).await;
    }
}

impl FaultServer {
    /// Completes when the server was dropped and its port is closed.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut listening = self.listening.clone();
        // The sender goes with the listening task, after its socket.
        async move { while listening.changed().await.is_ok() {} }
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
