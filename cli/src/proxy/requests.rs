//! A request of the host, from its introduction to its answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use oncewire::Client;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::calls::Call;
use super::dispatch::{ASKS, Meta, Request};
use super::era::{Introduction, MODERN, SUBSCRIPTION, VERSION};
use super::hearing::{Hearing, LISTENS};
use super::legs::{Legs, Outcome, Running};
use super::progress::ProgressTo;
use super::{Proxy, answers};
use crate::rpc::error::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError};
use crate::rpc::members::{Members, raw};
use crate::rpc::message::Id;

/// MCP 2026-07-28, versioning: the version is not spoken.
const UNSUPPORTED_VERSION: i64 = -32_022;
/// Resources that one stream of `subscriptions/listen` may name.
const RESOURCES: usize = 1_024;

/// One request, as it came.
pub(super) struct Incoming {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

/// A request that is ready to be carried out.
struct Work {
    id: Id,
    method: String,
    params: Option<Members>,
    modern: bool,
    client: Client,
}

impl Proxy {
    /// Begins a request. What makes or replaces the client is done here, in the order of the lines; the rest runs beside the others.
    pub(super) async fn request(&self, call: Call, incoming: Incoming) {
        let id = incoming.id.clone();
        match self.introduce(incoming) {
            Ok(work) => {
                let proxy = self.clone();
                self.calls.spawn(async move {
                    // Every request is answered, whatever goes wrong here.
                    let settled = AssertUnwindSafe(proxy.settle(work, &call)).catch_unwind().await;
                    let outcome =
                        settled.unwrap_or_else(|_| Some(Err(RpcError::new(INTERNAL_ERROR, "a fault of the proxy"))));
                    // The id is free again before the host reads the answer.
                    drop(call);
                    match outcome {
                        Some(Ok(result)) => proxy.host.answer(&id, &result).await,
                        Some(Err(error)) => proxy.host.refuse(Some(&id), &error).await,
                        None => {}
                    }
                });
            }
            Err(outcome) => {
                drop(call);
                match outcome {
                    Ok(result) => self.host.answer(&id, &result).await,
                    Err(error) => self.host.refuse(Some(&id), &error).await,
                }
            }
        }
    }

    /// Finds the client for it, which the first request of a host makes; or what it is answered without one.
    fn introduce(&self, incoming: Incoming) -> Result<Work, Outcome> {
        let Incoming { id, method, params } = incoming;
        let params = match params {
            None => None,
            Some(params) => match Members::of(&params) {
                Some(members) => Some(members),
                None => {
                    return Err(Err(RpcError::new(
                        INVALID_PARAMS,
                        "params: it is no JSON object; nothing was sent to the server",
                    )));
                }
            },
        };
        let meta = params.as_ref().and_then(|params| params.object("_meta"));
        let version = meta.as_ref().and_then(|meta| meta.get(VERSION));
        let modern = version.is_some();
        if let Some(version) = version
            && serde_json::from_str::<String>(version.get()).ok().as_deref() != Some(MODERN)
        {
            return Err(Err(unsupported(version)));
        }
        let introduced =
            |introduction| self.upstream.introduced(introduction).map_err(|error| Err(RpcError::from(&error)));
        let client = match (&meta, self.upstream.client()) {
            (_, _) if method == "initialize" && !modern => {
                introduced(Introduction::of_handshake(&params.clone().unwrap_or_default()))?
            }
            (_, Some(client)) => client,
            (Some(meta), None) if modern => introduced(Introduction::of_meta(meta))?,
            // Whoever asks so early asks for the one that answers.
            (_, None) if method == "ping" => return Err(Ok(raw(&json!({})))),
            (_, None) => return Err(Err(not_introduced(&method))),
        };
        Ok(Work { id, method, params, modern, client })
    }

    /// `None` if the host does not want it any more.
    async fn settle(&self, work: Work, call: &Call) -> Option<Outcome> {
        if work.modern && work.method == "subscriptions/listen" {
            return self.listen(work, call).await;
        }
        tokio::select! {
            biased;
            () = call.cancelled.cancelled() => None,
            outcome = self.carry_out(work) => Some(outcome),
        }
    }

    async fn carry_out(&self, work: Work) -> Outcome {
        let hearing = self.upstream.hearing();
        match work.method.as_str() {
            "initialize" if !work.modern => {
                ready(&work.client).await?;
                let asked = work.params.as_ref().and_then(|params| params.read::<String>("protocolVersion"));
                said(&work.client, hearing, |initialized| answers::initialize(initialized, asked.as_deref()))
            }
            "server/discover" if work.modern => {
                ready(&work.client).await?;
                said(&work.client, hearing, answers::discover)
            }
            _ => self.call(work).await,
        }
    }

    /// Any request that is a call.
    async fn call(&self, work: Work) -> Outcome {
        let Work { method, mut params, modern, client, .. } = work;
        let meta = params.as_mut().map(Meta::take).unwrap_or_default();
        let named = |member: &str| params.as_ref().and_then(|params| params.read::<String>(member));
        let name = named("name").or_else(|| named("uri"));
        if method == "tools/call"
            && let Some(name) = name.as_deref().filter(|name| self.filter.hides(name))
        {
            return Err(RpcError::new(INVALID_PARAMS, format!("Unknown tool: {name}")));
        }
        let level = meta.log_level.clone().filter(|_| modern);
        if let Some(level) = level.filter(|level| self.upstream.is_new_log_level(level)) {
            self.upstream.hearing().wants_logs();
            // A server without logs is as good as one that has nothing to tell.
            let _ = client.set_log_level(level).await;
        }
        let asks = modern && matches!(method.as_str(), "tools/call" | "resources/read" | "prompts/get");
        let outcome = if asks {
            self.leg(&client, &method, name.as_deref(), params, meta).await
        } else {
            let progress = ProgressTo::new(self.host.clone(), meta.progress_token.clone());
            let request = Request { method: method.clone(), params, meta, on_progress: progress.hook(), asks: None };
            request.carry_out(&client).await.map_err(|error| RpcError::from(&error))
        };
        let result = outcome?;
        if let (false, Some(uri)) = (modern, &name) {
            match method.as_str() {
                "resources/subscribe" => self.upstream.hearing().subscribed(uri, true),
                "resources/unsubscribe" => self.upstream.hearing().subscribed(uri, false),
                _ => {}
            }
        }
        let result = if method == "tools/list" { self.filter.shown(result) } else { result };
        Ok(if modern { answers::dress(&method, result) } else { result })
    }

    /// A call of a modern host, or its next leg.
    async fn leg(
        &self,
        client: &Client,
        method: &str,
        name: Option<&str>,
        params: Option<Members>,
        meta: Meta,
    ) -> Outcome {
        let of = format!("{method} {}", name.unwrap_or_default());
        if let Some(params) = params.as_ref().filter(|params| Legs::is_ours(params)) {
            let running = self.legs.next(params, &of)?;
            running.progress.to(meta.progress_token);
            return self.legs.follow(running).await;
        }
        let (asking, asks) = mpsc::channel(ASKS);
        let progress = ProgressTo::new(self.host.clone(), meta.progress_token.clone());
        let on_progress = progress.hook();
        let request = Request { method: method.to_owned(), params, meta, on_progress, asks: Some(asking) };
        let client = client.clone();
        // In a task of its own: it goes on while the host makes up its mind.
        let call =
            tokio::spawn(async move { request.carry_out(&client).await.map_err(|error| RpcError::from(&error)) });
        self.legs.follow(Running { of, call: AbortOnDropHandle::new(call), asks, progress }).await
    }

    /// `subscriptions/listen`: until the host does not want it any more, or the proxy ends.
    async fn listen(&self, work: Work, call: &Call) -> Option<Outcome> {
        let Work { id, params, client, .. } = work;
        let filter = params.and_then(|params| params.read::<Map<String, Value>>("notifications"));
        let Some(filter) = filter else {
            let text = "params.notifications: it must be a filter, a JSON object; nothing was sent to the server";
            return Some(Err(RpcError::new(INVALID_PARAMS, text)));
        };
        let wanted = filter.get("resourceSubscriptions").and_then(Value::as_array);
        let wanted: Vec<_> = wanted.into_iter().flatten().filter_map(Value::as_str).take(RESOURCES).collect();
        let hearing = self.upstream.hearing();
        let mut uris = std::collections::BTreeSet::new();
        let prepared = tokio::select! {
            biased;
            () = call.cancelled.cancelled() => None,
            prepared = async {
                ready(&client).await?;
                said(&client, hearing, answers::discover)?;
                for uri in wanted {
                    // What the server does not agree to is not in what is acknowledged.
                    if client.subscribe(uri).await.is_ok() {
                        uris.insert(uri.to_owned());
                    }
                }
                Ok::<_, RpcError>(())
            } => Some(prepared),
        };
        let outcome = match prepared {
            None => None,
            Some(Err(error)) => Some(Err(error)),
            Some(Ok(())) => {
                if hearing.listen(&id, hearing.lists(&filter), uris.clone()) {
                    tokio::select! {
                        biased;
                        () = call.cancelled.cancelled() => None,
                        () = call.ending.cancelled() => return Some(Ok(ended(&id))),
                    }
                } else {
                    Some(Err(RpcError::new(INVALID_REQUEST, format!("{LISTENS} subscriptions are open already"))))
                }
            }
        };
        for uri in hearing.end(&id, uris) {
            // Whatever the server says: nobody listens.
            let _ = client.unsubscribe(uri).await;
        }
        outcome
    }
}

/// Waits for a session.
async fn ready(client: &Client) -> Result<(), RpcError> {
    client.ready().await.map_err(|error| {
        let RpcError { code, message, data } = RpcError::from(&error);
        RpcError { code, message: format!("{message}. `oncewire doctor` with the same URL says more"), data }
    })
}

/// What is told of the server; from now on the host hears of what it offers.
fn said(
    client: &Client,
    hearing: &Arc<Hearing>,
    tell: impl FnOnce(&oncewire::InitializeResult) -> (Box<RawValue>, Value),
) -> Outcome {
    let Some(initialized) = client.initialized() else {
        return Err(RpcError::new(INTERNAL_ERROR, "the server has said nothing of itself"));
    };
    let (result, capabilities) = tell(&initialized);
    hearing.offer(&capabilities);
    Ok(result)
}

/// The end of a subscription that is not the host's doing.
fn ended(id: &Id) -> Box<RawValue> {
    let id: Value = serde_json::from_str(id.to_json()).unwrap_or_default();
    raw(&json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: id } }))
}

fn unsupported(version: &RawValue) -> RpcError {
    let requested: Value = serde_json::from_str(version.get()).unwrap_or_default();
    let data = json!({ "supported": [MODERN], "requested": requested });
    RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version").with_data(&data)
}

fn not_introduced(method: &str) -> RpcError {
    let code = if method == "server/discover" { METHOD_NOT_FOUND } else { INVALID_REQUEST };
    let text = format!(
        "{method} came before the host said what it is: `initialize` first, or `_meta` with {VERSION}; nothing was sent to the server"
    );
    RpcError::new(code, text)
}
