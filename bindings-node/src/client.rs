//! The object that JavaScript holds: one client of the core, the calls that run, and its mailbox.
//!
//! When JavaScript collects it, or its thread ends, the client of the core is dropped, which closes it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::FutureExt as _;
use napi::Env;
use napi::bindgen_prelude::{FnArgs, Function};
use napi_derive::napi;
use oncewire::{Client, ClientBuilder, Error, OptionError, ServerCommand};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::call::{self, Request};
use crate::mailbox::{Kind, Mailbox, Message};
use crate::options::{self, ClientOptions};
use crate::{hooks, runtime};

/// The calls that run, and how to cancel each.
type Running = Arc<Mutex<HashMap<u32, CancellationToken>>>;

/// A client and the way to its thread.
#[napi]
#[derive(Debug)]
pub struct NativeClient {
    core: Arc<OnceLock<Client>>,
    mailbox: Arc<Mailbox>,
    running: Running,
}

#[napi]
impl NativeClient {
    /// Messages go to this function, many at once.
    #[napi(constructor)]
    pub fn new(deliver: Function<'_, FnArgs<(Vec<Message>,)>, ()>) -> napi::Result<Self> {
        Ok(Self { core: Arc::default(), mailbox: Mailbox::new(&deliver)?, running: Running::default() })
    }

    /// Call `id`: makes the client and, unless it is lazy, its handshake. `hooks` are the names of the options that are functions.
    #[napi]
    pub fn connect(&self, id: u32, url: String, options: String, hooks: Vec<String>) -> napi::Result<()> {
        self.begin(id, Ok(Client::builder(url)), options, hooks)
    }

    /// Call `id`: the same, of a server that this command starts, in JSON.
    #[napi]
    pub fn connect_stdio(&self, id: u32, command: String, options: String, hooks: Vec<String>) -> napi::Result<()> {
        self.begin(id, ServerCommand::from_json(&command).map(Client::stdio), options, hooks)
    }

    fn begin(
        &self,
        id: u32,
        begun: Result<ClientBuilder, OptionError>,
        options: String,
        hooks: Vec<String>,
    ) -> napi::Result<()> {
        let (core, mailbox) = (Arc::clone(&self.core), Arc::clone(&self.mailbox));
        self.start(id, async move {
            let unusable = |error| Error::from_option("initialize", None, error);
            let mut options: ClientOptions = options::read(&options).map_err(unusable)?;
            let oauth = options.oauth.take();
            let begun = begun.map_err(unusable)?;
            let mut builder = hooks::hang(options.builder(begun), &hooks, &mailbox)
                .map_err(|problem| unusable(OptionError::new("options", problem)))?;
            if let Some(oauth) = oauth {
                builder = builder.oauth(hooks::oauth(&oauth, &mailbox).map_err(unusable)?);
            }
            // Only a second connect of the same object could find it set, and JavaScript makes none.
            let _ = core.set(builder.connect().await?);
            Ok(Value::Null.to_string())
        })
    }

    /// Call `id`: any method that sends a request.
    #[napi]
    pub fn call(
        &self,
        id: u32,
        method: String,
        params: Option<String>,
        options: Option<String>,
        progress: bool,
    ) -> napi::Result<()> {
        let (client, mailbox) = (self.client()?, Arc::clone(&self.mailbox));
        let request = Request { id, method, params, options, progress };
        self.start(id, async move { call::carry_out(&client, request, &mailbox).await })
    }

    /// Call `id`: replaces the session.
    #[napi]
    pub fn recover(&self, id: u32) -> napi::Result<()> {
        let client = self.client()?;
        self.start(id, async move { client.recover().await.map(|()| Value::Null.to_string()) })
    }

    /// Call `id`: makes sure that there is a login.
    #[napi]
    pub fn login(&self, id: u32) -> napi::Result<()> {
        let client = self.client()?;
        self.start(id, async move { client.login().await.map(|()| Value::Null.to_string()) })
    }

    /// Call `id`: ends the login.
    #[napi]
    pub fn logout(&self, id: u32) -> napi::Result<()> {
        let client = self.client()?;
        self.start(id, async move { client.logout().await.map(|()| Value::Null.to_string()) })
    }

    /// Call `id`: closes the client.
    #[napi]
    pub fn close(&self, id: u32) -> napi::Result<()> {
        let client = self.client()?;
        self.start(id, async move {
            client.close().await;
            Ok(Value::Null.to_string())
        })
    }

    /// Cancels a call. Nothing is delivered for it any more.
    #[napi]
    pub fn cancel(&self, id: u32) {
        if let Some(cancelled) = lock(&self.running).remove(&id) {
            cancelled.cancel();
        }
    }

    /// The answer to a question: JSON, or the text of what went wrong.
    #[napi]
    pub fn answer(&self, id: u32, answered: bool, text: String) {
        self.mailbox.answer(id, if answered { Ok(text) } else { Err(text) });
    }

    /// Are events of any use?
    #[napi]
    pub fn want_events(&self, wanted: bool) {
        self.mailbox.want_events(wanted);
    }

    /// Holds the event loop open, or lets it end.
    #[napi]
    pub fn hold(&self, env: Env, hold: bool) -> napi::Result<()> {
        self.mailbox.hold(&env, hold)
    }

    /// Where the client stands.
    #[napi(getter)]
    pub fn state(&self) -> Option<String> {
        self.core.get().map(|client| client.state().as_str().to_owned())
    }

    /// The generation of the session.
    #[napi(getter)]
    pub fn generation(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a client that lives through 2^53 sessions does not exist")]
        self.core.get().map(|client| client.generation() as f64)
    }

    /// The era.
    #[napi(getter)]
    pub fn era(&self) -> Option<String> {
        self.core.get().and_then(Client::era).map(|era| era.as_str().to_owned())
    }

    /// What the server said of itself, as it sent it, under the names of `initialize`.
    #[napi(getter)]
    pub fn initialized(&self) -> Option<String> {
        self.core.get().and_then(Client::initialized).map(|initialized| initialized.to_json())
    }

    fn client(&self) -> napi::Result<Client> {
        self.core.get().cloned().ok_or_else(|| napi::Error::from_reason("the client is not connected"))
    }

    /// Runs a call in a task of its own, until it is over or cancelled.
    fn start(&self, id: u32, call: impl Future<Output = Result<String, Error>> + Send + 'static) -> napi::Result<()> {
        let cancelled = CancellationToken::new();
        lock(&self.running).insert(id, cancelled.clone());
        let (running, mailbox) = (Arc::clone(&self.running), Arc::clone(&self.mailbox));
        runtime::handle()?.spawn(async move {
            tokio::select! {
                biased;
                () = cancelled.cancelled() => {}
                outcome = AssertUnwindSafe(call).catch_unwind() => {
                    lock(&running).remove(&id);
                    match outcome {
                        Ok(Ok(text)) => mailbox.post(Kind::Result, id, text),
                        Ok(Err(error)) => mailbox.post(Kind::Failure, id, failure(&error)),
                        // A fault of ours, and still every call settles.
                        Err(_) => mailbox.post(Kind::Panic, id, String::new()),
                    }
                }
            }
        });
        Ok(())
    }
}

impl Drop for NativeClient {
    fn drop(&mut self) {
        self.mailbox.shut();
        // Calls hold the client of the core; without them nothing does.
        for (_, cancelled) in lock(&self.running).drain() {
            cancelled.cancel();
        }
    }
}

/// The error as the core writes it, and the texts of what is underneath.
fn failure(error: &Error) -> String {
    let mut causes = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    json!({ "error": error.to_json(), "causes": causes }).to_string()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
