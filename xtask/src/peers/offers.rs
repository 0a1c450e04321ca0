//! What a server offers besides tools, and one call of each method of MCP that a client has for it.

use anyhow::{Context as _, Result, ensure};
use oncewire::Client;
use serde_json::{Value, json};

use super::About;

/// One of each thing that a server offers besides its tools.
#[derive(Clone, Debug)]
pub(crate) struct Offers {
    /// A resource.
    pub(crate) resource: &'static str,
    /// A prompt, with its arguments.
    pub(crate) prompt: (&'static str, Value),
    /// The prompt and the argument that can be completed, and what was typed of it.
    pub(crate) completion: (&'static str, &'static str, &'static str),
    /// `logging/setLevel` is offered.
    pub(crate) log_level: bool,
    /// `resources/subscribe` and `resources/unsubscribe` are offered.
    pub(crate) subscriptions: bool,
}

impl Offers {
    /// Tools alone; nothing of this is called.
    pub(crate) fn nothing() -> Self {
        Self {
            resource: "",
            prompt: ("", Value::Null),
            completion: ("", "", ""),
            log_level: false,
            subscriptions: false,
        }
    }

    /// What the small servers that come with this crate have.
    pub(crate) fn small(log_level: bool) -> Self {
        Self {
            resource: "peer://note",
            prompt: ("greet", json!({ "name": "Ada" })),
            completion: ("greet", "name", "A"),
            log_level,
            subscriptions: false,
        }
    }
}

/// A method of MCP that a client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    CallTool,
    ReadResource,
    GetPrompt,
    ListTools,
    ListResources,
    ListResourceTemplates,
    ListPrompts,
    Complete,
    Ping,
    SetLogLevel,
    Subscribe,
    Unsubscribe,
}

impl Method {
    const ALL: [Self; 12] = [
        Self::CallTool,
        Self::ReadResource,
        Self::GetPrompt,
        Self::ListTools,
        Self::ListResources,
        Self::ListResourceTemplates,
        Self::ListPrompts,
        Self::Complete,
        Self::Ping,
        Self::SetLogLevel,
        Self::Subscribe,
        Self::Unsubscribe,
    ];

    /// Those that a server offers.
    pub(crate) fn of(about: &About) -> Vec<Self> {
        let offered = |method: &Self| match method {
            Self::SetLogLevel => about.offers.log_level,
            Self::Subscribe | Self::Unsubscribe => about.offers.subscriptions,
            _ => true,
        };
        Self::ALL.into_iter().filter(offered).collect()
    }

    /// Its name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            Self::ListTools => "tools/list",
            Self::ListResources => "resources/list",
            Self::ListResourceTemplates => "resources/templates/list",
            Self::ListPrompts => "prompts/list",
            Self::Complete => "completion/complete",
            Self::Ping => "ping",
            Self::SetLogLevel => "logging/setLevel",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
        }
    }

    /// Calls it, and looks whether the answer holds something.
    pub(crate) async fn call(self, client: &Client, about: &About) -> Result<()> {
        let Offers { resource, prompt, completion, .. } = &about.offers;
        let count = match self {
            Self::CallTool => {
                let result = client.call_tool(about.quick.name, about.quick.arguments.clone()).await?;
                ensure!(!result.is_error, "the tool says that it failed: {}", result.text());
                result.content.len()
            }
            Self::ReadResource => client.read_resource(*resource).await?.contents.len(),
            Self::GetPrompt => client.get_prompt(prompt.0, prompt.1.clone()).await?.messages.len(),
            Self::ListTools => client.list_tools().await?.items.len(),
            Self::ListResources => client.list_resources().await?.items.len(),
            Self::ListResourceTemplates => client.list_resource_templates().await?.items.len(),
            Self::ListPrompts => client.list_prompts().await?.items.len(),
            Self::Complete => {
                let (prompt, argument, typed) = *completion;
                let reference = json!({ "type": "ref/prompt", "name": prompt });
                client.complete(&reference, argument, typed).await?.values.len()
            }
            Self::Ping => client.ping().await.map(|()| 1)?,
            Self::SetLogLevel => client.set_log_level("warning").await.map(|()| 1)?,
            Self::Subscribe => client.subscribe(*resource).await.map(|()| 1)?,
            Self::Unsubscribe => client.unsubscribe(*resource).await.map(|()| 1)?,
        };
        ensure!(count > 0, "the answer is empty");
        Ok(())
    }
}

/// Are these the offers that the server announced? A method that is called although it is not announced shows nothing, and one that is
/// announced and not called is left out silently.
pub(crate) fn announced(client: &Client, about: &About) -> Result<()> {
    let capabilities = client.capabilities().context("the server announced nothing")?;
    for name in ["tools", "resources", "prompts", "completions"] {
        ensure!(capabilities.get(name).is_some(), "the server does not announce {name}");
    }
    let logging = capabilities.get("logging").is_some();
    ensure!(logging == about.offers.log_level, "logging is announced: {logging}");
    let subscribe = capabilities.pointer("/resources/subscribe") == Some(&Value::Bool(true));
    ensure!(subscribe == about.offers.subscriptions, "subscriptions are announced: {subscribe}");
    Ok(())
}
