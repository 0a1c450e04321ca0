//! What the core asks the host: token, headers, and the requests and notifications of the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use oncewire::oauth::{Asked, OAuth};
use oncewire::{ClientBuilder, OptionError};
use serde_json::{Value, json};

use crate::mailbox::{Kind, Mailbox};

/// A builder that asks JavaScript for what it has functions for, by their names in the options.
pub(crate) fn hang(
    mut builder: ClientBuilder,
    hooks: &[String],
    mailbox: &Arc<Mailbox>,
) -> Result<ClientBuilder, String> {
    let events = Arc::clone(mailbox);
    builder = builder.on_event(move |event| {
        events.post_event(|| serde_json::to_string(event).unwrap_or_default());
    });
    for hook in hooks {
        let mailbox = Arc::clone(mailbox);
        builder = match hook.as_str() {
            "token" => builder.token_provider(move |refused| {
                let mailbox = Arc::clone(&mailbox);
                async move {
                    let refused = Value::from(refused).to_string();
                    Ok(serde_json::from_str(&mailbox.ask(Kind::Token, refused).await?)?)
                }
            }),
            "headers" => builder.header_provider(move || {
                let mailbox = Arc::clone(&mailbox);
                async move {
                    let headers: BTreeMap<String, String> =
                        serde_json::from_str(&mailbox.ask(Kind::Headers, String::new()).await?)?;
                    Ok(headers.into_iter().collect())
                }
            }),
            "onSampling" => builder.on_sampling(move |params| ask(&mailbox, Kind::Sampling, &params)),
            "onElicitation" => builder.on_elicitation(move |params| ask(&mailbox, Kind::Elicitation, &params)),
            "onRoots" => builder.on_roots(move |params| ask(&mailbox, Kind::Roots, &params)),
            "onNotification" => builder.on_notification(move |notification| {
                let text = json!({
                    "method": notification.method,
                    "params": notification.params,
                    "generation": notification.generation,
                });
                mailbox.post(Kind::Notification, 0, text.to_string());
            }),
            other => return Err(format!("there is no callback {other}")),
        };
    }
    Ok(builder)
}

/// The login with these options; what it asks of the host goes to JavaScript.
pub(crate) fn oauth(options: &Value, mailbox: &Arc<Mailbox>) -> Result<OAuth, OptionError> {
    let mailbox = Arc::clone(mailbox);
    let asked: Asked = Arc::new(move |question| {
        let asking = Arc::clone(&mailbox).ask(Kind::OAuth, question);
        Box::pin(async move { Ok(asking.await?) })
    });
    OAuth::of_binding(&options.to_string(), asked)
}

fn ask(
    mailbox: &Arc<Mailbox>,
    kind: Kind,
    params: &Value,
) -> impl Future<Output = Result<Value, oncewire::HandlerError>> + Send + 'static + use<> {
    let (mailbox, params) = (Arc::clone(mailbox), params.to_string());
    async move { Ok(serde_json::from_str(&mailbox.ask(kind, params).await?)?) }
}
