//! The client: one method for each of the core's, in its order. Each that sends something starts a call and gives its handle.

use std::sync::Arc;

use oncewire::{Client, Error, ServerCommand};
use serde_json::Value;

use crate::call::{self, CallExtras, PendingCall, ProgressSink};
use crate::call_options::{CallOptions, json_argument};
use crate::events::EventFeed;
use crate::options::{self, ClientOptions};
use crate::runtime::{Pending, Settled, runtime};

/// Starts to connect to the server at this URL.
#[uniffi::export]
#[must_use]
pub fn connect(url: String, options: ClientOptions) -> Arc<PendingConnect> {
    let pending = Pending::start(async move { options::apply(Client::builder(url), options)?.connect().await });
    Arc::new(PendingConnect { pending })
}

/// Starts a server by this command, described as JSON, and to connect to it.
#[uniffi::export]
#[must_use]
pub fn connect_stdio(command: String, options: ClientOptions) -> Arc<PendingConnect> {
    let pending = Pending::start(async move {
        let command =
            ServerCommand::from_json(&command).map_err(|error| Error::from_option("initialize", None, error))?;
        options::apply(Client::stdio(command), options)?.connect().await
    });
    Arc::new(PendingConnect { pending })
}

/// How connecting ended.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum ConnectOutcome {
    /// With a client.
    Connected {
        /// It.
        client: Arc<NativeClient>,
    },
    /// With an error.
    Failed {
        /// The core's error, as one JSON object.
        json: String,
    },
    /// It was cancelled.
    Cancelled,
}

/// A client that connects.
#[derive(uniffi::Object)]
pub struct PendingConnect {
    pending: Pending<Result<Client, Error>>,
}

impl std::fmt::Debug for PendingConnect {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PendingConnect").finish_non_exhaustive()
    }
}

#[uniffi::export]
impl PendingConnect {
    /// Cancels it, if it is not over.
    pub fn cancel(&self) {
        self.pending.cancel();
    }

    /// Waits for its end; to be called once.
    pub async fn result(&self) -> ConnectOutcome {
        match self.pending.settled().await {
            Settled::Done(Ok(client)) => ConnectOutcome::Connected { client: Arc::new(NativeClient { client }) },
            Settled::Done(Err(error)) => ConnectOutcome::Failed { json: error.to_json().to_string() },
            Settled::Cancelled => ConnectOutcome::Cancelled,
            Settled::Broken => ConnectOutcome::Failed { json: call::broken() },
        }
    }
}

/// A client. When Swift lets go of it, it closes by itself.
#[derive(Debug, uniffi::Object)]
pub struct NativeClient {
    client: Client,
}

#[uniffi::export]
impl NativeClient {
    /// See the core.
    pub fn ready(&self) -> Arc<PendingCall> {
        let client = self.client.clone();
        PendingCall::start(Ok(Box::pin(async move { client.ready().await })))
    }

    /// See the core.
    pub fn recover(&self) -> Arc<PendingCall> {
        let client = self.client.clone();
        PendingCall::start(Ok(Box::pin(async move { client.recover().await })))
    }

    /// See the core.
    pub fn login(&self) -> Arc<PendingCall> {
        let client = self.client.clone();
        PendingCall::start(Ok(Box::pin(async move { client.login().await })))
    }

    /// See the core.
    pub fn logout(&self) -> Arc<PendingCall> {
        let client = self.client.clone();
        PendingCall::start(Ok(Box::pin(async move { client.logout().await })))
    }

    /// Closes all; not to be cancelled.
    pub async fn close(&self) {
        let client = self.client.clone();
        // In a task of our runtime; a panic in it leaves nothing to wait for.
        let _ = runtime().spawn(async move { client.close().await }).await;
    }

    /// Events from now on.
    pub fn events(&self) -> Arc<EventFeed> {
        EventFeed::new(self.client.events())
    }

    /// See the core.
    pub fn state(&self) -> String {
        self.client.state().as_str().to_owned()
    }

    /// See the core.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// See the core.
    pub fn generation(&self) -> u64 {
        self.client.generation()
    }

    /// What the server said of itself, as it sent it, under the names of `initialize`.
    pub fn initialized(&self) -> Option<String> {
        self.client.initialized().map(|result| result.to_json())
    }

    /// See the core.
    pub fn era(&self) -> Option<String> {
        self.client.era().map(|era| era.as_str().to_owned())
    }

    /// `tools/list`
    pub fn list_tools(
        &self,
        cursor: Option<String>,
        options: CallOptions,
        params: Option<String>,
        on_progress: Option<Arc<dyn ProgressSink>>,
    ) -> Arc<PendingCall> {
        PendingCall::start(call::with_page(
            "tools/list",
            self.client.list_tools(),
            cursor,
            options,
            params,
            on_progress,
        ))
    }

    /// `resources/list`
    pub fn list_resources(
        &self,
        cursor: Option<String>,
        options: CallOptions,
        params: Option<String>,
        on_progress: Option<Arc<dyn ProgressSink>>,
    ) -> Arc<PendingCall> {
        PendingCall::start(call::with_page(
            "resources/list",
            self.client.list_resources(),
            cursor,
            options,
            params,
            on_progress,
        ))
    }

    /// `resources/templates/list`
    pub fn list_resource_templates(
        &self,
        cursor: Option<String>,
        options: CallOptions,
        params: Option<String>,
        on_progress: Option<Arc<dyn ProgressSink>>,
    ) -> Arc<PendingCall> {
        PendingCall::start(call::with_page(
            "resources/templates/list",
            self.client.list_resource_templates(),
            cursor,
            options,
            params,
            on_progress,
        ))
    }

    /// `prompts/list`
    pub fn list_prompts(
        &self,
        cursor: Option<String>,
        options: CallOptions,
        params: Option<String>,
        on_progress: Option<Arc<dyn ProgressSink>>,
    ) -> Arc<PendingCall> {
        PendingCall::start(call::with_page(
            "prompts/list",
            self.client.list_prompts(),
            cursor,
            options,
            params,
            on_progress,
        ))
    }

    /// `tools/call`
    pub fn call_tool(
        &self,
        name: String,
        arguments: Option<String>,
        options: CallOptions,
        extras: CallExtras,
    ) -> Arc<PendingCall> {
        let call = match arguments {
            Some(arguments) => self.client.call_tool_json(name, &arguments),
            None => self.client.call_tool(name, Value::Null),
        };
        PendingCall::start(call::with("tools/call", call, options, extras))
    }

    /// `resources/read`
    pub fn read_resource(&self, uri: String, options: CallOptions, extras: CallExtras) -> Arc<PendingCall> {
        let call = self.client.read_resource(uri);
        PendingCall::start(call::with("resources/read", call, options, extras))
    }

    /// `prompts/get`
    pub fn get_prompt(
        &self,
        name: String,
        arguments: Option<String>,
        options: CallOptions,
        extras: CallExtras,
    ) -> Arc<PendingCall> {
        let call = match arguments {
            Some(arguments) => self.client.get_prompt_json(name, &arguments),
            None => self.client.get_prompt(name, Value::Null),
        };
        PendingCall::start(call::with("prompts/get", call, options, extras))
    }

    /// `completion/complete`
    pub fn complete(
        &self,
        reference: String,
        argument: String,
        value: String,
        context: Option<String>,
        options: CallOptions,
        extras: CallExtras,
    ) -> Arc<PendingCall> {
        let method = "completion/complete";
        let call = || {
            let reference: Value = json_argument(method, "ref", &reference)?;
            let mut call = self.client.complete(&reference, argument, value);
            if let Some(context) = context {
                call = call.param("context", json_argument(method, "context", &context)?);
            }
            call::with(method, call, options, extras)
        };
        PendingCall::start(call())
    }

    /// `ping`
    pub fn ping(&self, options: CallOptions) -> Arc<PendingCall> {
        PendingCall::start(Ok(self.client.ping().options(&options.into())))
    }

    /// `logging/setLevel`
    pub fn set_log_level(&self, level: String, options: CallOptions) -> Arc<PendingCall> {
        PendingCall::start(Ok(self.client.set_log_level(level).options(&options.into())))
    }

    /// `resources/subscribe`
    pub fn subscribe(&self, uri: String, options: CallOptions) -> Arc<PendingCall> {
        PendingCall::start(Ok(self.client.subscribe(uri).options(&options.into())))
    }

    /// `resources/unsubscribe`
    pub fn unsubscribe(&self, uri: String, options: CallOptions) -> Arc<PendingCall> {
        PendingCall::start(Ok(self.client.unsubscribe(uri).options(&options.into())))
    }

    /// Any other request.
    pub fn request(
        &self,
        method: String,
        params: Option<String>,
        options: CallOptions,
        extras: CallExtras,
    ) -> Arc<PendingCall> {
        let call = match params {
            Some(params) => self.client.request_json(method.clone(), &params),
            None => self.client.request(method.clone(), Value::Null),
        };
        PendingCall::start(call::with(&method, call, options, extras))
    }
}
