//! `subscriptions/listen`: a POST whose stream carries the notifications that its filter names.

use serde_json::{Map, Value, json};

use super::{SERVER_INFO, SUBSCRIPTION};
use crate::server::action::{Event, Respond};
use crate::server::catalog;
use crate::server::exchange::{Exchange, Step, Stop};
use crate::server::script::GetStream;
use crate::server::wire::Wire;

/// What an open stream is for.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::server) struct Subscription {
    id: Value,
    /// The part of the filter that the server can serve.
    filter: Map<String, Value>,
}

impl Subscription {
    fn new(id: Value, wanted: &Map<String, Value>, capabilities: &Value) -> Self {
        let changes =
            [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")];
        let mut filter = Map::new();
        for (what, member) in changes {
            if wanted.get(member) == Some(&Value::Bool(true)) && capabilities[what]["listChanged"] == true {
                filter.insert(member.to_owned(), Value::Bool(true));
            }
        }
        let uris =
            wanted.get("resourceSubscriptions").filter(|uris| uris.as_array().is_some_and(|uris| !uris.is_empty()));
        if let Some(uris) = uris.filter(|_| capabilities["resources"]["subscribe"] == true) {
            filter.insert("resourceSubscriptions".to_owned(), uris.clone());
        }
        Self { id, filter }
    }

    /// The message as this stream gets it, if its filter lets it through.
    pub(in crate::server) fn passes(&self, message: &Value) -> Option<Value> {
        let wanted = |member: &str| self.filter.contains_key(member);
        let uris = self.filter.get("resourceSubscriptions").and_then(Value::as_array);
        let passes = match message["method"].as_str()? {
            "notifications/tools/list_changed" => wanted("toolsListChanged"),
            "notifications/prompts/list_changed" => wanted("promptsListChanged"),
            "notifications/resources/list_changed" => wanted("resourcesListChanged"),
            "notifications/resources/updated" => uris.is_some_and(|uris| uris.contains(&message["params"]["uri"])),
            _ => false,
        };
        passes.then(|| self.stamped(message.clone()))
    }

    fn stamped(&self, mut message: Value) -> Value {
        message["params"]["_meta"][SUBSCRIPTION] = self.id.clone();
        message
    }

    fn acknowledged(&self) -> Value {
        self.stamped(json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": self.filter},
        }))
    }

    fn ended(&self) -> Value {
        let meta = json!({SUBSCRIPTION: self.id, SERVER_INFO: catalog::server_info()});
        json!({"jsonrpc": "2.0", "id": self.id, "result": {"resultType": "complete", "_meta": meta}})
    }
}

impl<W: Wire> Exchange<'_, W> {
    /// The healthy answer to `subscriptions/listen`.
    pub(in crate::server) async fn subscribe(&mut self) -> Step {
        match self.options.listen {
            GetStream::Stream => {}
            GetStream::NotAllowed => {
                let error = catalog::error(&self.id(), -32601, "Method not found");
                return self.respond(&Respond { status: 404, json: Some(error), ..Respond::default() }).await;
            }
            GetStream::Silent => return self.hold().await,
        }
        let Some(subscription) = self.subscription() else {
            let wording = "Invalid params: 'notifications' is required and must be a valid filter";
            self.state.malformed(self.seq, wording);
            let error = catalog::error(&self.id(), -32602, wording);
            return self.respond(&Respond { json: Some(error), ..Respond::default() }).await;
        };
        // Before the head: whoever sees the head may push.
        let mut messages = self.state.listeners.open(Some(subscription.clone()));
        self.say(subscription.acknowledged()).await?;
        while !subscription.filter.is_empty() {
            let message = tokio::select! {
                message = messages.recv() => message,
                () = self.wire.client_gone() => return Err(Stop::Broken),
            };
            let Some(message) = message else { break };
            self.say(message).await?;
        }
        self.say(subscription.ended()).await?;
        self.end().await
    }

    /// The first message of such a stream, and nothing after it.
    pub(in crate::server) async fn acknowledge(&mut self) -> Step {
        match self.subscription() {
            Some(subscription) => self.say(subscription.acknowledged()).await,
            None => Ok(()),
        }
    }

    /// The proper end of such a stream.
    pub(in crate::server) async fn end_subscription(&mut self) -> Step {
        match self.subscription() {
            Some(subscription) => self.say(subscription.ended()).await,
            None => Ok(()),
        }
    }

    fn subscription(&self) -> Option<Subscription> {
        let params = self.rpc.as_ref()?.params();
        let wanted = params["notifications"].as_object()?;
        Some(Subscription::new(self.id(), wanted, &catalog::capabilities(&self.options)))
    }

    fn id(&self) -> Value {
        self.rpc.as_ref().and_then(|rpc| rpc.id.clone()).unwrap_or_default()
    }

    async fn say(&mut self, message: Value) -> Step {
        self.event(&Event { json: Some(message), ..Event::default() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_and_can_be_served_passes_with_the_id() {
        let wanted =
            json!({"toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["mem://a"]});
        let capabilities = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
        let wanted = wanted.as_object().cloned().unwrap_or_default();
        let subscription = Subscription::new(json!(7), &wanted, &capabilities);
        let acknowledged = subscription.acknowledged();
        assert_eq!(
            acknowledged["params"]["notifications"],
            json!({"toolsListChanged": true, "resourceSubscriptions": ["mem://a"]})
        );
        let passed = subscription.passes(&json!({"method": "notifications/tools/list_changed"}));
        assert_eq!(passed.unwrap_or_default()["params"]["_meta"][SUBSCRIPTION], 7);
        for (uri, passes) in [("mem://a", true), ("mem://b", false)] {
            let message = json!({"method": "notifications/resources/updated", "params": {"uri": uri}});
            assert_eq!(subscription.passes(&message).is_some(), passes, "{uri}");
        }
        assert!(subscription.passes(&json!({"method": "notifications/prompts/list_changed"})).is_none());
        assert_eq!(Subscription::new(json!(1), &wanted, &json!({})).filter, Map::new());
    }
}
