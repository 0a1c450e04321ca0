//! One call: from the name of a method of the client and the text of its params to the text of its result.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use oncewire::{Call, Client, Error, ListCall, OptionError, Progress};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::mailbox::{Kind, Mailbox};
use crate::options::{self, CallOptions, IdempotencyKey};

/// What JavaScript asks for.
pub(crate) struct Request {
    pub(crate) id: u32,
    /// The method of the client, as JavaScript calls it.
    pub(crate) method: String,
    /// A JSON object.
    pub(crate) params: Option<String>,
    /// A JSON object.
    pub(crate) options: Option<String>,
    /// Somebody listens to progress.
    pub(crate) progress: bool,
}

/// Carries it out. The result is the JSON text that the server sent, every digit of it.
pub(crate) async fn carry_out(client: &Client, request: Request, mailbox: &Arc<Mailbox>) -> Result<String, Error> {
    let wire = wire_name(&request.method);
    let unusable = |error| Error::from_option(wire, None, error);
    let mut members = Members::read(request.params.as_deref()).map_err(unusable)?;
    let options = options::read(request.options.as_deref().unwrap_or("{}")).map_err(unusable)?;
    let way = Way { id: request.id, options, progress: request.progress, mailbox: Arc::clone(mailbox) };
    match request.method.as_str() {
        "callTool" => {
            let name = members.text("name").map_err(unusable)?;
            let call = match members.take("arguments") {
                Some(arguments) => client.call_tool_json(name, arguments.get()),
                None => client.call_tool(name, Value::Null),
            };
            way.call(call, members).await
        }
        "listTools" => way.list(client.list_tools(), members).await,
        "listResources" => way.list(client.list_resources(), members).await,
        "listResourceTemplates" => way.list(client.list_resource_templates(), members).await,
        "listPrompts" => way.list(client.list_prompts(), members).await,
        "readResource" => {
            let uri = members.text("uri").map_err(unusable)?;
            way.call(client.read_resource(uri), members).await
        }
        "getPrompt" => {
            let name = members.text("name").map_err(unusable)?;
            let call = match members.take("arguments") {
                Some(arguments) => client.get_prompt_json(name, arguments.get()),
                None => client.get_prompt(name, Value::Null),
            };
            way.call(call, members).await
        }
        "complete" => {
            // Its event and its errors name the argument; `argument` itself goes out as it came.
            let argument = members.argument().map_err(unusable)?;
            way.call(client.complete(&Value::Null, argument.name, argument.value), members).await
        }
        "ping" => way.call(client.ping(), members).await,
        "setLogLevel" => {
            let level = members.text("level").map_err(unusable)?;
            way.call(client.set_log_level(level), members).await
        }
        "subscribe" => {
            let uri = members.text("uri").map_err(unusable)?;
            way.call(client.subscribe(uri), members).await
        }
        "unsubscribe" => {
            let uri = members.text("uri").map_err(unusable)?;
            way.call(client.unsubscribe(uri), members).await
        }
        "request" => {
            let method = members.text("method").map_err(unusable)?;
            let call = match members.take("params") {
                Some(params) => client.request_json(method, params.get()),
                None => client.request(method, Value::Null),
            };
            way.call(call, members).await
        }
        _ => Err(unusable(OptionError::new("method", "the client has no such method"))),
    }
}

fn wire_name(method: &str) -> &'static str {
    match method {
        "callTool" => "tools/call",
        "listTools" => "tools/list",
        "listResources" => "resources/list",
        "listResourceTemplates" => "resources/templates/list",
        "listPrompts" => "prompts/list",
        "readResource" => "resources/read",
        "getPrompt" => "prompts/get",
        "complete" => "completion/complete",
        "ping" => "ping",
        "setLogLevel" => "logging/setLevel",
        "subscribe" => "resources/subscribe",
        "unsubscribe" => "resources/unsubscribe",
        _ => "request",
    }
}

/// What goes along with a call, whatever its method.
struct Way {
    id: u32,
    options: CallOptions,
    progress: bool,
    mailbox: Arc<Mailbox>,
}

impl Way {
    async fn call<T>(self, mut call: Call<T>, members: Members) -> Result<String, Error>
    where
        T: Serialize,
        Call<T>: IntoFuture<Output = Result<T, Error>>,
    {
        call = call.options(&self.options.to_core());
        call = match &self.options.idempotency_key {
            Some(IdempotencyKey::Given(key)) => call.idempotency_key(key),
            Some(IdempotencyKey::Switch(false)) => call.without_idempotency_key(),
            Some(IdempotencyKey::Switch(true)) | None => call,
        };
        for (name, value) in members.0 {
            call = call.param(&name, value);
        }
        if self.progress {
            call = call.on_progress(move |progress| self.post(progress));
        }
        Ok(text(&call.await?))
    }

    async fn list<T>(self, mut list: ListCall<T>, mut members: Members) -> Result<String, Error>
    where
        ListCall<T>: IntoFuture<Output = Result<oncewire::ListResult<T>, Error>>,
    {
        list = list.options(&self.options.to_core());
        if let Some(cursor) = members.take("cursor") {
            let cursor: String = serde_json::from_str(cursor.get())
                .map_err(|_| Error::from_option("list", None, OptionError::new("cursor", "it is not a string")))?;
            list = list.cursor(cursor);
        }
        for (name, value) in members.0 {
            list = list.param(&name, value);
        }
        if self.progress {
            list = list.on_progress(move |progress| self.post(progress));
        }
        Ok(text(&list.await?))
    }

    fn post(&self, progress: &Progress) {
        let mut text = json!({ "progress": progress.progress });
        if let Some(total) = progress.total {
            text["total"] = total.into();
        }
        if let Some(message) = &progress.message {
            text["message"] = message.as_str().into();
        }
        self.mailbox.post(Kind::Progress, self.id, text.to_string());
    }
}

/// Results serialise as they were received.
fn text(result: &impl Serialize) -> String {
    serde_json::to_string(result).unwrap_or_default()
}

/// The members of the params, in their order, exact.
#[derive(Default)]
struct Members(Vec<(String, Box<RawValue>)>);

/// The argument that is being completed.
#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

impl Members {
    fn read(text: Option<&str>) -> Result<Self, OptionError> {
        let Some(text) = text else { return Ok(Self::default()) };
        serde_json::from_str(text).map_err(|_| OptionError::new("params", "it is not a JSON object"))
    }

    fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        let index = self.0.iter().position(|(member, _)| member == name)?;
        Some(self.0.remove(index).1)
    }

    fn text(&mut self, field: &'static str) -> Result<String, OptionError> {
        let raw = self.take(field).ok_or_else(|| OptionError::new(field, "it is missing"))?;
        serde_json::from_str(raw.get()).map_err(|_| OptionError::new(field, "it is not a string"))
    }

    fn argument(&self) -> Result<Argument, OptionError> {
        let argument = self.0.iter().find(|(member, _)| member == "argument");
        let (_, raw) = argument.ok_or_else(|| OptionError::new("argument", "it is missing"))?;
        serde_json::from_str(raw.get())
            .map_err(|_| OptionError::new("argument", "it is not an object with a name and a value, both strings"))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
