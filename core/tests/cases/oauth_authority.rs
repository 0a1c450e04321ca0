//! An authorization server in memory, with an MCP server that takes only its tokens: refresh tokens rotate, and one that is used twice costs
//! the whole family, as RFC 9700, section 4.14.2, has it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use oncewire::oauth::{MemoryStore, OAuth};
use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Client, ClientBuilder, Era};
use serde_json::json;
use url::Url;

use crate::support::Gate;

pub(crate) const MCP: &str = "https://server.test/mcp";
pub(crate) const ISSUER: &str = "https://as.test";

/// What happens to one request to the token endpoint, in place of what should.
#[derive(Clone)]
pub(crate) enum Fault {
    /// It is cut off before the server has looked at it.
    CutBefore,
    /// It is cut off after the server has granted it.
    CutAfter,
    /// It never leaves the client.
    NeverSent,
    /// This status, with this body; nothing is granted.
    Says(u16, &'static str),
    /// It waits here, and is then granted.
    Waits(Gate),
}

#[derive(Default)]
struct State {
    /// The scopes of each code that was given.
    codes: HashMap<String, String>,
    /// Access tokens that are taken, with their scopes.
    live: HashMap<String, String>,
    /// Refresh tokens, each with its family and its scopes.
    refreshable: HashMap<String, (u64, String)>,
    used: HashMap<String, u64>,
    revoked: HashSet<u64>,
    count: u64,
    logins: usize,
    registrations: usize,
    refreshes: usize,
    revocations: usize,
    faults: VecDeque<Fault>,
    expires_in: u64,
    /// The scope that a call of a tool needs.
    needs: Option<&'static str>,
    metadata_status: u16,
    issuer: String,
    asked: Vec<Url>,
}

/// Clones share everything.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) server: Server,
    pub(crate) exchange: Arc<Scripted>,
    pub(crate) store: MemoryStore,
    state: Arc<Mutex<State>>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let state = State { expires_in: 3_600, metadata_status: 200, issuer: ISSUER.to_owned(), ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let server = Server::new();
        let exchange = server.scripted({
            let state = Arc::clone(&state);
            move |arrival, server| {
                let state = Arc::clone(&state);
                async move {
                    state.lock().unwrap().asked.push(arrival.url.clone());
                    match of_authority(&state, &arrival).await {
                        Some(answer) => answer,
                        None => server.answer(&arrival).await,
                    }
                }
            }
        });
        Self { server, exchange, store: MemoryStore::new(), state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// A client whose person says yes at once.
    pub(crate) fn builder(&self) -> ClientBuilder {
        self.builder_with(self.oauth())
    }

    pub(crate) fn builder_with(&self, oauth: OAuth) -> ClientBuilder {
        Client::builder(MCP).exchange(Arc::clone(&self.exchange) as _).era(Era::Legacy).listen(false).oauth(oauth)
    }

    pub(crate) fn oauth(&self) -> OAuth {
        let authority = self.clone();
        OAuth::new().store(Arc::new(self.store.clone())).receive(move |url| {
            let redirect = authority.grants(&url);
            async move { Ok(redirect) }
        })
    }

    /// The person says yes: where the browser is sent.
    pub(crate) fn grants(&self, url: &str) -> String {
        let url = Url::parse(url).unwrap();
        let of = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let mut state = self.state();
        state.logins += 1;
        let code = format!("code-{}", state.logins);
        state.codes.insert(code.clone(), of("scope").unwrap_or_default());
        let mut back = Url::parse(&of("redirect_uri").unwrap()).unwrap();
        back.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &of("state").unwrap())
            .append_pair("iss", ISSUER);
        back.into()
    }

    pub(crate) fn logins(&self) -> usize {
        self.state().logins
    }

    pub(crate) fn refreshes(&self) -> usize {
        self.state().refreshes
    }

    pub(crate) fn registrations(&self) -> usize {
        self.state().registrations
    }

    pub(crate) fn revocations(&self) -> usize {
        self.state().revocations
    }

    /// Requests to this host.
    pub(crate) fn asked(&self, host: &str) -> usize {
        self.state().asked.iter().filter(|url| url.host_str() == Some(host)).count()
    }

    /// Access tokens are taken no more; refresh tokens are.
    pub(crate) fn expire(&self) {
        self.state().live.clear();
    }

    /// No token is taken any more.
    pub(crate) fn revoke_all(&self) {
        let mut state = self.state();
        state.live.clear();
        state.refreshable.clear();
    }

    /// What happens to the next requests to the token endpoint.
    pub(crate) fn faults(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state().faults.extend(faults);
    }

    /// How long the next tokens are said to live, in seconds.
    pub(crate) fn expires_in(&self, seconds: u64) {
        self.state().expires_in = seconds;
    }

    /// Tools need this scope from now on.
    pub(crate) fn needs(&self, scope: &'static str) {
        self.state().needs = Some(scope);
    }

    pub(crate) fn metadata_status(&self, status: u16) {
        self.state().metadata_status = status;
    }

    /// The authorization server that the resource names.
    pub(crate) fn names(&self, issuer: &str) {
        self.state().issuer = issuer.to_owned();
    }

    /// All that must be shown nowhere.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let state = self.state();
        let tokens =
            state.live.keys().chain(state.refreshable.keys()).chain(state.used.keys()).chain(state.codes.keys());
        tokens.cloned().collect()
    }
}

/// What the authorization server, or the guard of the MCP server, says; `None` lets the request through.
async fn of_authority(state: &Mutex<State>, arrival: &Arrival) -> Option<Result<Reply, Cause>> {
    match (arrival.url.host_str(), arrival.url.path()) {
        (Some("server.test"), "/.well-known/oauth-protected-resource/mcp") => {
            let state = state.lock().unwrap();
            let document = json!({ "resource": MCP, "authorization_servers": [state.issuer] });
            Some(Ok(Reply::json(state.metadata_status, &document)))
        }
        (Some("server.test"), "/mcp") => guard(&state.lock().unwrap(), arrival).map(Ok),
        (Some("as.test"), "/.well-known/oauth-authorization-server") => Some(Ok(Reply::json(
            200,
            &json!({
                "issuer": ISSUER,
                "authorization_endpoint": format!("{ISSUER}/authorize"),
                "token_endpoint": format!("{ISSUER}/token"),
                "registration_endpoint": format!("{ISSUER}/register"),
                "revocation_endpoint": format!("{ISSUER}/revoke"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            }),
        ))),
        (Some("as.test"), "/register") => {
            let mut state = state.lock().unwrap();
            state.registrations += 1;
            Some(Ok(Reply::json(201, &json!({ "client_id": format!("client-{}", state.registrations) }))))
        }
        (Some("as.test"), "/revoke") => {
            let mut state = state.lock().unwrap();
            state.revocations += 1;
            if let Some((family, _)) = arrival.field("token").and_then(|token| state.refreshable.get(&token).cloned()) {
                state.revoked.insert(family);
            }
            Some(Ok(Reply::new(200)))
        }
        (Some("as.test"), "/token") => Some(token(state, arrival).await),
        _ => Some(Ok(Reply::new(404))),
    }
}

/// The MCP server lets nobody in without a token, nor calls a tool without the scope that it needs.
fn guard(state: &State, arrival: &Arrival) -> Option<Reply> {
    let metadata = "https://server.test/.well-known/oauth-protected-resource/mcp";
    let carried = arrival.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let Some(scopes) = carried.and_then(|token| state.live.get(token)) else {
        let scope = "read";
        let challenge = format!("Bearer scope=\"{scope}\", resource_metadata=\"{metadata}\"");
        return Some(Reply::new(401).header("www-authenticate", &challenge));
    };
    let needs = state.needs.filter(|_| arrival.method() == "tools/call")?;
    if scopes.split(' ').any(|scope| scope == needs) {
        return None;
    }
    let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needs}\", resource_metadata=\"{metadata}\"");
    Some(Reply::new(403).header("www-authenticate", &challenge))
}

async fn token(state: &Mutex<State>, arrival: &Arrival) -> Result<Reply, Cause> {
    let fault = state.lock().unwrap().faults.pop_front();
    match fault {
        Some(Fault::NeverSent) => return Err(Cause::Refused),
        Some(Fault::CutBefore) => {
            arrival.take();
            return Err(Cause::Closed);
        }
        Some(Fault::Says(status, body)) => return Ok(Reply::text(status, body)),
        Some(Fault::Waits(gate)) => gate.pass().await,
        Some(Fault::CutAfter) => {
            arrival.take();
            grant(&mut state.lock().unwrap(), arrival);
            return Err(Cause::Closed);
        }
        None => {}
    }
    Ok(grant(&mut state.lock().unwrap(), arrival))
}

fn grant(state: &mut State, arrival: &Arrival) -> Reply {
    let refused = || Reply::json(400, &json!({ "error": "invalid_grant", "error_description": "gone" }));
    let (family, scopes) = match arrival.field("grant_type").as_deref() {
        Some("authorization_code") => {
            let Some(scopes) = arrival.field("code").and_then(|code| state.codes.remove(&code)) else {
                return refused();
            };
            (state.count, scopes)
        }
        Some("refresh_token") => {
            state.refreshes += 1;
            let token = arrival.field("refresh_token").unwrap_or_default();
            if let Some(family) = state.used.get(&token) {
                // Used twice: somebody has stolen it.
                let family = *family;
                state.revoked.insert(family);
                return refused();
            }
            match state.refreshable.remove(&token) {
                Some((family, scopes)) if !state.revoked.contains(&family) => {
                    state.used.insert(token, family);
                    (family, scopes)
                }
                _ => return refused(),
            }
        }
        _ => return Reply::json(400, &json!({ "error": "unsupported_grant_type" })),
    };
    state.count += 1;
    let number = state.count;
    let (access, refresh) = (format!("access-token-{number}"), format!("refresh-token-{number}"));
    state.live.insert(access.clone(), scopes.clone());
    state.refreshable.insert(refresh.clone(), (family, scopes.clone()));
    Reply::json(
        200,
        &json!({ "access_token": access, "token_type": "bearer", "expires_in": state.expires_in,
                 "refresh_token": refresh, "scope": scopes }),
    )
}
