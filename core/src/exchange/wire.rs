//! One request on its way out: its headers, its token, the redirects that it follows. Everything that a client sends goes through here.

use std::fmt;
use std::hash::RandomState;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, header};
use tokio::time::timeout;
use url::Url;

use super::elsewhere::Unanswered;
use super::line::Line;
use crate::auth::{PROVIDER_PATIENCE, ProviderError, Token, TokenCache, TokenError};
use crate::oauth::{DPOP, LoginError};
use crate::rpc::id::IdSource;
use crate::transport::classify::{self, Redirect};
use crate::transport::cookies::CookieJar;
use crate::transport::exchange::{Cause, Exchange, WireFailure, WireRequest, WireResponse};
use crate::transport::headers::{self, SessionId, Standing};
use crate::transport::leftovers::Leftovers;
use crate::transport::probe::Probe;
use crate::vocabulary::background::Background;
use crate::vocabulary::event::EventSink;
use crate::vocabulary::redact::Secrets;

/// Hops of same-origin 307 and 308 that one request follows.
pub(crate) const REDIRECTS: usize = 5;

/// How long the answer to a notification or a reply may take; nobody waits for it, but its task must end.
const NOTIFICATION_PATIENCE: Duration = Duration::from_secs(30);

/// Gives headers for each attempt, by name and value.
pub(crate) type HeaderProvider =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Vec<(String, String)>, ProviderError>> + Send + Sync>;

/// What the caller gives to be sent with every request.
pub(crate) struct OfCaller {
    pub(crate) headers: HeaderMap,
    /// These take the place of equal names.
    pub(crate) provider: Option<HeaderProvider>,
    /// What is secret of all that is sent.
    pub(crate) secrets: Arc<Secrets>,
    /// `None` if cookies are not wanted.
    pub(crate) cookies: Option<CookieJar>,
}

/// All that is needed to send: shared by the client and by each of its sessions.
pub(crate) struct Wire {
    /// `None` once the client is closed and its connections with it.
    exchange: Mutex<Option<Arc<dyn Exchange>>>,
    url: Url,
    caller: OfCaller,
    /// The key of the digests of headers; never shown, and another one in each client.
    digests: RandomState,
    pub(crate) tokens: TokenCache,
    pub(crate) ids: IdSource,
    /// Requests whose answer may come on another stream.
    pub(crate) unanswered: Unanswered,
    pub(crate) events: Arc<EventSink>,
    pub(crate) background: Background,
    pub(crate) leftovers: Leftovers,
}

impl fmt::Debug for Wire {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Wire").finish_non_exhaustive()
    }
}

/// What a request carries of the session; default before there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) session: Option<SessionId>,
    pub(crate) version: Option<HeaderValue>,
    /// What a request of the modern era says of itself outside of its body.
    pub(crate) routing: HeaderMap,
    /// What it goes over, where the session has a connection of its own.
    pub(crate) line: Option<Arc<Line>>,
}

/// A request that has its headers and only needs to be sent.
pub(crate) struct Ready {
    request: WireRequest,
    /// The serial of the token that it carries.
    pub(crate) token: Option<u64>,
    /// What it carries besides its body.
    pub(crate) standing: Arc<Standing>,
    /// Whose it is; none of one that carries what another has carried.
    pub(crate) identity: Option<Identity>,
    line: Option<Arc<Line>>,
}

/// Whose a request is, as far as its headers tell: the serial of its token, and a digest of the caller's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    token: Option<u64>,
    headers: u64,
}

#[cfg(test)]
impl Identity {
    pub(crate) fn for_tests(headers: u64) -> Self {
        Self { token: None, headers }
    }
}

impl Ready {
    /// The same, over this line.
    pub(crate) fn over(self, line: Option<Arc<Line>>) -> Self {
        Self { line, ..self }
    }
}

/// Why a request could not be made ready. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unready {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the header provider failed: {0}")]
    Headers(String),
}

impl Wire {
    pub(crate) fn new(
        exchange: Arc<dyn Exchange>,
        url: Url,
        caller: OfCaller,
        tokens: TokenCache,
        events: Arc<EventSink>,
        background: Background,
    ) -> Self {
        Self {
            exchange: Mutex::new(Some(exchange)),
            url,
            caller,
            digests: RandomState::new(),
            tokens,
            ids: IdSource::default(),
            unanswered: Unanswered::default(),
            events,
            background,
            leftovers: Leftovers::default(),
        }
    }

    /// What is never shown.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.caller.secrets
    }

    /// A POST of this body.
    pub(crate) async fn post(
        &self,
        carried: Carried,
        body: Bytes,
        probe: Probe,
        fresh: bool,
    ) -> Result<Ready, Unready> {
        let line = carried.line.clone();
        let (standing, identity) = self.standing(carried).await?;
        let ready = self.post_as(standing, identity.token, body, probe, fresh);
        Ok(Ready { identity: Some(identity), line, ..ready })
    }

    /// A POST of this body that carries what another request has carried.
    pub(crate) fn post_as(
        &self,
        standing: Standing,
        token: Option<u64>,
        body: Bytes,
        probe: Probe,
        fresh: bool,
    ) -> Ready {
        let request = self.request(Method::POST, standing.post(), Some(body), probe);
        ready(WireRequest { fresh_connection: fresh, ..request }, standing, token)
    }

    /// A POST that nobody waits for: a notification, or a reply to a request of the server. One attempt. `None` if it was not answered at
    /// all.
    pub(crate) async fn notify(&self, carried: Carried, body: Bytes) -> Option<WireResponse> {
        let sending = async {
            let ready = self.post(carried, body, Probe::new(), false).await.ok()?;
            self.send(ready).await.ok()
        };
        timeout(NOTIFICATION_PATIENCE, sending).await.ok().flatten()
    }

    /// A GET that listens or, after an event id, reads on.
    pub(crate) async fn get(&self, carried: Carried, last_event_id: Option<HeaderValue>) -> Result<Ready, Unready> {
        let (standing, identity) = self.standing(carried).await?;
        let request = self.request(Method::GET, standing.get(last_event_id), None, Probe::new());
        Ok(ready(request, standing, identity.token))
    }

    /// A DELETE of the session.
    pub(crate) async fn delete(&self, carried: Carried) -> Result<Ready, Unready> {
        let (standing, identity) = self.standing(carried).await?;
        let request = self.request(Method::DELETE, standing.delete(), None, Probe::new());
        Ok(ready(request, standing, identity.token))
    }

    /// Whose the next request would be. Asks for its token and headers, and sends nothing.
    pub(crate) async fn identity(&self) -> Result<Identity, Unready> {
        let token = self.tokens.get().await?;
        let caller = self.caller_headers().await?;
        Ok(self.identity_of(token.as_ref(), &caller))
    }

    fn identity_of(&self, token: Option<&Token>, caller: &HeaderMap) -> Identity {
        let headers = headers::digest(caller, &self.digests);
        let token = token.map(|token| token.serial).or_else(|| self.tokens.serial_of_none());
        Identity { token, headers }
    }

    pub(crate) async fn standing(&self, carried: Carried) -> Result<(Standing, Identity), Unready> {
        let token = self.tokens.get().await?;
        let caller = self.caller_headers().await?;
        let identity = self.identity_of(token.as_ref(), &caller);
        let expired = token.as_ref().is_some_and(|token| token.has_expired(SystemTime::now()));
        let renewals = token.as_ref().and_then(|token| token.renewals);
        let standing = Standing {
            caller,
            authorization: token.map(|token| token.header),
            session: carried.session,
            version: carried.version,
            routing: carried.routing,
            expired,
            renewals,
        };
        Ok((standing, identity))
    }

    /// The headers of the caller, those that its function gives for this one request included.
    async fn caller_headers(&self) -> Result<HeaderMap, Unready> {
        let mut caller = self.caller.headers.clone();
        let Some(provider) = &self.caller.provider else { return Ok(caller) };
        let asking = AssertUnwindSafe(timeout(PROVIDER_PATIENCE, async move { provider().await })).catch_unwind();
        let pairs = match asking.await {
            Ok(Ok(pairs)) => pairs.map_err(|error| Unready::Headers(error.to_string()))?,
            Ok(Err(_)) => {
                let seconds = PROVIDER_PATIENCE.as_secs();
                return Err(Unready::Headers(format!("no headers within {seconds} s")));
            }
            Err(_) => return Err(Unready::Headers("it panicked".to_owned())),
        };
        let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let given = headers::from_caller(pairs).map_err(|error| Unready::Headers(error.to_string()))?;
        self.caller.secrets.add_headers(&given);
        let mut last = None;
        for (name, value) in given {
            // `HeaderMap` names only the first of several values of one name.
            if let Some(name) = name {
                caller.remove(&name);
                last = Some(name);
            }
            if let Some(name) = &last {
                caller.append(name.clone(), value);
            }
        }
        Ok(caller)
    }

    fn request(&self, method: Method, headers: HeaderMap, body: Option<Bytes>, probe: Probe) -> WireRequest {
        WireRequest { method, url: self.url.clone(), headers, body, probe, fresh_connection: false }
    }

    /// Where everything goes.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends it, and follows redirects that preserve the request within the origin. The last hop is the one to be judged, but what a hop
    /// before it did with the body nobody knows: a redirect can come after the effect like any other refusal.
    pub(crate) async fn send(&self, ready: Ready) -> Result<WireResponse, WireFailure> {
        let mut request = ready.request;
        if let Some(line) = ready.line {
            return line.send(request).await;
        }
        for hop in 0.. {
            let exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let Some(exchange) = exchange else { return Err(WireFailure::new(Cause::Other)) };
            let mut sent = request.clone();
            if let Some(cookies) = &self.caller.cookies {
                cookies.give(&sent.url, &mut sent.headers);
            }
            self.prove(&mut sent)
                .map_err(|error| WireFailure { cause: Cause::BadRequest, source: Some(Box::new(error)) })?;
            let mut response = exchange.send(sent).await.map_err(|failure| after_hops(hop, failure))?;
            if let Some(cookies) = &self.caller.cookies {
                cookies.take(&request.url, &response.headers, self.secrets());
            }
            if let Some(login) = self.tokens.login() {
                login.heard(response.status, &response.headers);
            }
            let target = match classify::redirect(response.status, &response.headers, &request.url) {
                Redirect::Follow(url) if hop < REDIRECTS => {
                    request.url = url;
                    continue;
                }
                Redirect::Follow(url) | Redirect::Refuse(url) => url,
                Redirect::None => {
                    if !classify::is_success(response.status) {
                        self.leftovers.refused(&request.headers, &response.headers);
                    }
                    return Ok(response);
                }
            };
            // What is told of it holds no secret.
            name_target(&mut response.headers, target);
            return Ok(response);
        }
        Err(WireFailure::new(Cause::Other))
    }

    /// A token that is bound to a key goes out with a proof of its own for each request.
    fn prove(&self, request: &mut WireRequest) -> Result<(), LoginError> {
        let (Some(login), Some(authorization)) = (self.tokens.login(), request.headers.get(AUTHORIZATION)) else {
            return Ok(());
        };
        if let Some(proof) = login.proof(&request.method, &request.url, authorization)? {
            request.headers.insert(DPOP, proof);
        }
        Ok(())
    }

    /// Opens what the requests of a new session go over, where that is a connection of its own; its end may take so long.
    pub(crate) async fn open(&self, patience: Duration) -> Result<Option<Arc<Line>>, WireFailure> {
        let exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(exchange) = exchange else { return Err(WireFailure::new(Cause::Other)) };
        let channel = exchange.open().await?;
        Ok(channel.map(|channel| Arc::new(Line::new(channel, self.background.clone(), patience))))
    }

    /// Closes the connections that nobody uses any more.
    pub(crate) fn hang_up(&self) {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// What would be certain of a request that went nowhere else is not certain of one that a hop before had taken.
fn after_hops(hops: usize, failure: WireFailure) -> WireFailure {
    if hops > 0 && failure.cause == Cause::GoneAway { WireFailure { cause: Cause::Closed, ..failure } } else { failure }
}

fn ready(request: WireRequest, standing: Standing, token: Option<u64>) -> Ready {
    Ready { request, token, standing: Arc::new(standing), identity: None, line: None }
}

/// Leaves a target without credentials, query and fragment in the place of the one that the server wrote.
fn name_target(headers: &mut HeaderMap, mut target: Url) {
    // Both fail only for a URL that cannot have credentials.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    target.set_query(None);
    target.set_fragment(None);
    match HeaderValue::try_from(target.as_str()) {
        Ok(value) => headers.insert(header::LOCATION, value),
        Err(_) => headers.remove(header::LOCATION),
    };
}
