//! A new login: a person in a browser, or a grant that needs none.

use std::sync::atomic::Ordering;

use tokio::time::timeout;
use url::Url;

use super::authorize::{self, Authorization};
use super::browser;
use super::classify::TokenAnswer;
use super::discovery::{Found, discover};
use super::error::LoginError;
use super::login::{Access, Login, Waiting};
use super::loopback::{Loopback, LoopbackError};
use super::record::{Origin, Record, Registration};
use super::registration;
use super::step_up::step_up;
use super::token_request::Asker;
use crate::transport::challenge::Asked;
use crate::vocabulary::event::EventName;

/// The path that the browser is sent to.
const PATH: &str = "/callback";
/// Where the browser is sent of whom a host receives what comes back, if it says nothing else: a person can copy it from there.
const PASTED: &str = "http://127.0.0.1:33418/callback";

/// Where the browser is sent, and who waits for it there.
struct Back {
    uri: String,
    /// None if the host receives it.
    listener: Option<Loopback>,
}

impl Back {
    /// This process listens, on this port or on a free one.
    async fn listening(port: Option<u16>) -> Result<Self, LoopbackError> {
        let listener = Loopback::bind(port).await?;
        Ok(Self { uri: format!("http://127.0.0.1:{}{PATH}", listener.port()), listener: Some(listener) })
    }
}

impl Login {
    /// A person logs in; the lock is held.
    pub(super) async fn log_in(&self, record: &mut Record, asked: &Asked) -> Result<Access, LoginError> {
        let wants_scope = asked.error.as_deref() == Some("insufficient_scope");
        let before = if wants_scope {
            let granted = record.tokens.as_ref().map(|tokens| tokens.scopes.as_slice()).unwrap_or_default();
            let wanted = asked.scope.as_deref().unwrap_or_default();
            let so_far = self.step_ups.fetch_add(1, Ordering::Relaxed);
            step_up(&record.asked, granted, wanted, so_far)?
        } else {
            Vec::new()
        };
        let found = self.find(record, asked).await?;
        let back = self.back(record, &found).await?;
        let uri = back.uri.clone();
        let client = registration::client(&self.fetch, &self.oauth, record, &found, &uri).await?;
        if let Some(secret) = &client.client_secret {
            self.secret(secret);
        }
        let before: Vec<String> = if found.server.issuer == record.origin.issuer { before } else { Vec::new() };
        let scopes = authorize::scopes(self.oauth.scopes.as_deref(), asked.scope.as_deref(), &found, &before);
        let thumbprint = self.prover(record)?.map(|prover| prover.thumbprint()).transpose()?;
        let unlisted = &self.oauth.without_pkce;
        let request = authorize::request(&found, &client, &uri, &scopes, unlisted, thumbprint.as_deref())?;
        self.secret(request.pkce.verifier());
        if let Some(why) = self.fetch.refusal(&request.url).await {
            return Err(LoginError::lasting(format!("the authorization endpoint is not opened: {why}")));
        }
        // The client is registered, whatever becomes of the login. The tokens in the record, if any, stay those of their own issuer.
        self.save(record).await?;
        let code = self.person(&found, &request, back).await?;
        self.secret(&code);
        let origin = origin_of(&found)?;
        let parameters = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", request.redirect_uri.as_str()),
            ("code_verifier", request.pkce.verifier()),
        ];
        self.redeem(record, origin, Some(&client), &parameters, &scopes).await.map_err(|(error, client_is_dead)| {
            if client_is_dead {
                record.clients.remove(&found.server.issuer);
            }
            error
        })
    }

    /// Who gives tokens, by what the server says now.
    pub(super) async fn find(&self, record: &Record, asked: &Asked) -> Result<Found, LoginError> {
        let wanted = match &self.oauth.issuer {
            Some(issuer) => vec![issuer.as_str()],
            None => vec![record.origin.issuer.as_str()],
        };
        let found = discover(&self.fetch, &self.server, asked.metadata.as_deref(), &wanted).await?;
        if self.oauth.dpop && !found.server.dpop_signing_alg_values_supported.iter().any(|name| name == "ES256") {
            return Err(LoginError::lasting("the authorization server offers no DPoP with ES256, which is asked for"));
        }
        Ok(found)
    }

    async fn back(&self, record: &Record, found: &Found) -> Result<Back, LoginError> {
        let uri = match (&self.oauth.redirect_uri, self.oauth.redirect_port) {
            (Some(uri), _) => Some(uri.clone()),
            (None, Some(port)) => Some(format!("http://127.0.0.1:{port}{PATH}")),
            (None, None) => None,
        };
        if self.oauth.receive.is_some() {
            return Ok(Back { uri: uri.unwrap_or_else(|| PASTED.to_owned()), listener: None });
        }
        let failed = |error: LoopbackError| LoginError::lasting(error.to_string());
        let port_of = |uri: &str| Url::parse(uri).ok().and_then(|uri| uri.port_or_known_default());
        if let Some(uri) = uri {
            let listener = Loopback::bind(port_of(&uri)).await.map_err(failed)?;
            return Ok(Back { uri, listener: Some(listener) });
        }
        // Many authorization servers take only the port that was registered. If it is taken, the client registers itself anew.
        let registered = record.clients.get(&found.server.issuer).and_then(|client| client.redirect_uri.as_deref());
        if let Some(port) = registered.and_then(port_of)
            && let Ok(back) = Back::listening(Some(port)).await
        {
            return Ok(back);
        }
        Back::listening(None).await.map_err(failed)
    }

    /// Sends a person to the authorization server, and waits for the code.
    async fn person(&self, found: &Found, request: &Authorization, back: Back) -> Result<String, LoginError> {
        let _waiting = Waiting::begin(&self.waiting);
        self.tell_url(&request.url, None);
        let shown = async {
            match &self.oauth.open {
                Some(open) => Self::of_host("open", open(request.url.clone())).await,
                None if self.oauth.receive.is_some() => Ok(()),
                None => browser::open(&request.url)
                    .await
                    .map_err(|error| LoginError::lasting(format!("the browser was not opened: {error}"))),
            }
        };
        let coming = async {
            // Somebody may see the URL in another way, by the event: without a browser the login is waited for all the same.
            if let Err(error) = shown.await {
                if self.oauth.open.is_some() {
                    return Err(error);
                }
                self.tell_url(&request.url, Some(error.to_string()));
            }
            match (&back.listener, &self.oauth.receive) {
                (Some(listener), _) => {
                    let path = Url::parse(&back.uri).map(|uri| uri.path().to_owned()).unwrap_or_default();
                    let came = listener.receive(&path, &request.state, self.oauth.login_timeout).await;
                    came.map(String::from).map_err(|error| LoginError::lasting(error.to_string()))
                }
                (None, Some(receive)) => Self::of_host("receive", receive(request.url.clone())).await,
                (None, None) => Err(LoginError::lasting("nobody receives what comes back")),
            }
        };
        let patience = self.oauth.login_timeout;
        let redirect = tokio::select! {
            came = timeout(patience, coming) => came
                .map_err(|_| LoginError::lasting(format!("nobody logged in within {} s", patience.as_secs())))??,
            () = self.background.closing().cancelled() => return Err(LoginError::passing("the client was closed")),
        };
        authorize::code(&redirect, request, found)
    }

    /// Makes tokens of what was granted, and stores them. The error tells whether the client is known to be dead.
    pub(super) async fn redeem(
        &self,
        record: &mut Record,
        origin: Origin,
        client: Option<&Registration>,
        parameters: &[(&str, &str)],
        scopes: &[String],
    ) -> Result<Access, (LoginError, bool)> {
        let alive = |error| (error, false);
        let prover = self.prover(record).map_err(alive)?;
        let resource = origin.resource.clone();
        let mut parameters = parameters.to_vec();
        parameters.extend(resource.as_deref().map(|resource| ("resource", resource)));
        let asker = Asker {
            fetch: &self.fetch,
            origin: &origin,
            client,
            key: self.signing_key.as_ref(),
            prover: prover.as_deref(),
        };
        let (reason, passing, client_is_dead) = match asker.ask(&parameters).await.map_err(alive)? {
            TokenAnswer::Granted(granted) => {
                self.take(record, &granted, scopes).map_err(alive)?;
                record.origin = origin;
                record.asked = scopes.iter().filter(|scope| *scope != authorize::OFFLINE).cloned().collect();
                self.save_granted(record).await.map_err(alive)?;
                self.tell(EventName::LoginDone, None);
                let Some(tokens) = &record.tokens else {
                    return Err(alive(LoginError::passing("no token was granted")));
                };
                return self.adopt(record, tokens).map_err(alive);
            }
            TokenAnswer::DeadClient(reason) => (reason, false, true),
            TokenAnswer::DeadGrant(reason) | TokenAnswer::Refused(reason) => (reason, false, false),
            TokenAnswer::NotNow { reason, .. } | TokenAnswer::NeverSent(reason) | TokenAnswer::Lost(reason) => {
                (reason, true, false)
            }
            TokenAnswer::Nonce => ("it wants a nonce".to_owned(), true, false),
        };
        let reason = format!("the authorization server gave no token: {reason}");
        Err((if passing { LoginError::passing(reason) } else { LoginError::lasting(reason) }, client_is_dead))
    }
}

/// What of it a refresh needs.
pub(super) fn origin_of(found: &Found) -> Result<Origin, LoginError> {
    let server = &found.server;
    let token_endpoint = server
        .token_endpoint
        .clone()
        .ok_or_else(|| LoginError::lasting("the authorization server has no token endpoint"))?;
    Ok(Origin {
        issuer: server.issuer.clone(),
        resource: found.resource.clone(),
        token_endpoint,
        revocation_endpoint: server.revocation_endpoint.clone(),
        auth_methods: server.token_endpoint_auth_methods_supported.clone(),
    })
}
