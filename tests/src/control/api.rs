//! The control port: a small HTTP API with JSON in and out.
//!
//! | request | body | answer |
//! | --- | --- | --- |
//! | `GET /vectors` or `/vectors/{language}` | | the vectors, expanded |
//! | `POST /scenarios` | `{"vector": …}` or `{"servers": {name: script}}` | `{"id", "servers": {name: {"url", "port"}}}` |
//! | `POST /scenarios/{id}/control` | `{"on": name, "do": …}` (a control step) | `{}` when it is done |
//! | `GET /scenarios/{id}/ledger/{name}` | | the ledger |
//! | `POST /scenarios/{id}/judge` | the report | `{"failures": [text]}` |
//! | `DELETE /scenarios/{id}` | | `{}` |
//!
//! Whatever goes wrong is answered 400 with `{"error": text}`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::scenario::Scenario;
use crate::server::Script;
use crate::server::http1::Reader;
use crate::server::request::Request;
use crate::vector::{self, ControlStep, Vector};

/// How long the answer to the end of a scenario waits for its ports to close.
const ENDING: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
struct Hub {
    scenarios: Mutex<(u64, BTreeMap<String, Arc<Scenario>>)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewScenario {
    vector: Option<Box<Vector>>,
    servers: Option<BTreeMap<String, Script>>,
}

/// Serves the control API for ever.
///
/// # Errors
/// If the listener breaks.
pub async fn serve(listener: TcpListener) -> std::io::Result<()> {
    let hub = Arc::new(Hub::default());
    loop {
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        tokio::spawn(connection(Arc::clone(&hub), stream));
    }
}

async fn connection(hub: Arc<Hub>, mut stream: TcpStream) {
    let (read, mut write) = stream.split();
    let mut reader = Reader::new(read);
    while let Ok(Some(request)) = reader.next().await {
        // Boxed: starting a scenario is a large future, and every connection would carry it.
        let (status, body) = match Box::pin(hub.answer(&request)).await {
            Ok(body) => ("200 OK", body),
            Err(error) => ("400 Bad Request", json!({"error": format!("{error:#}")})),
        };
        let body = body.to_string();
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        if write.write_all(format!("{head}{body}").as_bytes()).await.is_err() || request.close {
            return;
        }
    }
}

impl Hub {
    async fn answer(&self, request: &Request) -> Result<Value> {
        let path: Vec<_> = request.path.trim_matches('/').split('/').collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET", ["vectors"]) => Ok(serde_json::to_value(vector::all()?)?),
            ("GET", ["vectors", language]) => {
                let language = serde_json::from_value(json!(language))?;
                Ok(serde_json::to_value(vector::for_language(language)?)?)
            }
            ("POST", ["scenarios"]) => self.start(serde_json::from_slice(&request.body)?).await,
            ("POST", ["scenarios", id, "control"]) => {
                let step: ControlStep = serde_json::from_slice(&request.body)?;
                self.scenario(id)?.control(&step.on, &step.action).await?;
                Ok(json!({}))
            }
            ("GET", ["scenarios", id, "ledger", name]) => {
                Ok(serde_json::to_value(self.scenario(id)?.server(name)?.ledger())?)
            }
            ("POST", ["scenarios", id, "judge"]) => {
                let report = serde_json::from_slice(&request.body)?;
                Ok(json!({"failures": self.scenario(id)?.judge(&report).await?}))
            }
            ("DELETE", ["scenarios", id]) => {
                let scenario = self.scenarios.lock().unwrap_or_else(PoisonError::into_inner).1.remove(*id);
                if let Some(scenario) = scenario {
                    let ended = scenario.ended();
                    drop(scenario);
                    // A step that is under way holds it up; whoever ends the scenario then does not wait for that.
                    let _ = timeout(ENDING, ended).await;
                }
                Ok(json!({}))
            }
            _ => bail!("there is no {} {}", request.method, request.path),
        }
    }

    async fn start(&self, new: NewScenario) -> Result<Value> {
        let scenario = match (new.vector, new.servers) {
            (Some(vector), None) => Scenario::of(*vector).await?,
            (None, Some(servers)) => Scenario::start(servers).await?,
            _ => bail!("either a vector or servers"),
        };
        let addresses = scenario.addresses();
        let mut scenarios = self.scenarios.lock().unwrap_or_else(PoisonError::into_inner);
        scenarios.0 += 1;
        let id = scenarios.0.to_string();
        scenarios.1.insert(id.clone(), Arc::new(scenario));
        Ok(json!({"id": id, "servers": addresses}))
    }

    fn scenario(&self, id: &str) -> Result<Arc<Scenario>> {
        let scenarios = self.scenarios.lock().unwrap_or_else(PoisonError::into_inner);
        scenarios.1.get(id).cloned().with_context(|| format!("there is no scenario {id}"))
    }
}
