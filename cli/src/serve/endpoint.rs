//! The endpoint: POST, GET and DELETE of Streamable HTTP (MCP 2025-11-25, transports), and the sessions behind it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::answers::{Body, empty, error, json, last_of, streamed};
use super::behind::Behind;
use super::guard::{Guard, Refusal};
use super::process::{MAX_LINE, Process};
use super::session::{Refused, Session};
use super::shared::Shared;
use super::store::place;
use crate::rpc::error::{INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use crate::rpc::members::Members;
use crate::rpc::message::{Id, Line, Message, read};

/// Sessions at once, each with a process of its own.
pub(super) const SESSIONS: usize = 64;
/// The longest body of a request, in bytes.
const MAX_BODY: usize = MAX_LINE;
/// How long a process may take to answer `initialize`.
const INTRODUCTION: Duration = Duration::from_secs(60);
/// The versions with a handshake; of a client of another one the process is not asked.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// MCP 2026-07-28, versioning: the version is not spoken.
const UNSUPPORTED_VERSION: i64 = -32_022;

const SESSION_ID: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const LAST_EVENT_ID: &str = "last-event-id";
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// The endpoint.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) path: String,
    pub(super) guard: Guard,
    pub(super) command: Vec<OsString>,
    /// How long a session may be unused.
    pub(super) idle: Duration,
    pub(super) sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// The process of all sessions, if they share one, once it is there.
    pub(super) shared: Option<tokio::sync::Mutex<Option<Arc<Shared>>>>,
}

impl Endpoint {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| !session.over.is_cancelled());
        sessions
    }

    /// Ends all sessions, and waits until their processes are gone.
    pub(super) async fn end(&self) {
        let ended: Vec<_> = self.sessions().drain().map(|(_, session)| session).collect();
        if let Some(shared) = &self.shared
            && let Some(shared) = shared.lock().await.as_ref()
        {
            shared.end();
        }
        let gone: Vec<_> = ended.iter().map(|session| session.gone().clone()).collect();
        for session in &ended {
            session.end();
        }
        drop(ended);
        for gone in gone {
            gone.cancelled().await;
        }
        if let Some(shared) = &self.shared
            && let Some(shared) = shared.lock().await.take()
        {
            shared.gone().cancelled().await;
        }
    }

    /// Answers one request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let origin = request.headers().get(ORIGIN).cloned();
        let mut response = self.admitted(request).await;
        let allowed = origin.filter(|origin| origin.to_str().is_ok_and(|origin| self.guard.allows(origin)));
        if let Some(origin) = allowed {
            let headers = response.headers_mut();
            headers.insert("access-control-allow-origin", origin);
            headers.insert("access-control-expose-headers", HeaderValue::from_static("mcp-session-id"));
            headers.insert("vary", HeaderValue::from_static("origin"));
        }
        response
    }

    async fn admitted(&self, request: Request<Incoming>) -> Response<Body> {
        let preflight = request.method() == Method::OPTIONS;
        match self.guard.admits(request.headers()) {
            Ok(()) => {}
            // A browser asks without its token whether it may ask with it.
            Err(Refusal::Token) if preflight => {}
            Err(Refusal::Token) => {
                let mut response = refused(StatusCode::UNAUTHORIZED, "this server wants its bearer token");
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return response;
            }
            Err(Refusal::Host) => {
                return refused(StatusCode::FORBIDDEN, "Host: not a name of this server (--allow-host)");
            }
            Err(Refusal::Origin) => return refused(StatusCode::FORBIDDEN, "Origin: not allowed (--allow-origin)"),
        }
        if request.uri().path().trim_end_matches('/') != self.path.trim_end_matches('/') {
            return refused(StatusCode::NOT_FOUND, &format!("the endpoint is {}", self.path));
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => self.get(request.headers()),
            Method::DELETE => self.delete(request.headers()),
            Method::OPTIONS => preflight_allowed(),
            _ => not_allowed(),
        }
    }

    async fn post(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let headers = head.headers;
        let is = |name, wanted: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains(wanted))
        };
        if !is(CONTENT_TYPE, "application/json") {
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type: it must be application/json");
        }
        let (streams, documents) = (is(ACCEPT, "text/event-stream"), is(ACCEPT, "application/json"));
        let any = !headers.contains_key(ACCEPT) || is(ACCEPT, "*/*");
        if !(streams || documents || any) {
            return refused(StatusCode::NOT_ACCEPTABLE, "Accept: it must be application/json, text/event-stream");
        }
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return refused(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body has more than {MAX_BODY} bytes"));
            }
            // Nobody is there to read it.
            Err(_) => return empty(StatusCode::BAD_REQUEST),
        };
        let message = match read(&body) {
            Line::One(Ok(message)) => message,
            Line::One(Err(wrong)) => return error(StatusCode::BAD_REQUEST, wrong.id.as_ref(), &wrong.error),
            Line::Batch(_) => return refused(StatusCode::BAD_REQUEST, "a batch is no message of MCP since 2025-06-18"),
            Line::Blank => return refused(StatusCode::BAD_REQUEST, "the body is empty"),
        };
        if let Some(response) = other_version(&headers, &message) {
            return response;
        }
        let line = one_line(&body);
        match message {
            Message::Request { id, method, params } if method == "initialize" && !headers.contains_key(SESSION_ID) => {
                self.initialize(id, params.as_deref(), line).await
            }
            Message::Request { id, params, .. } => {
                let session = match self.session(&headers, Some(&id)) {
                    Ok(session) => session,
                    Err(response) => return *response,
                };
                match session.request(id.clone(), params.as_deref(), line).await {
                    Ok(events) if streams || any => streamed(events),
                    Ok(events) => match last_of(events).await {
                        Some(message) => json(StatusCode::OK, message),
                        None => gone(&id),
                    },
                    Err(Refused::Gone) => lost(Some(&id)),
                    Err(Refused::Twice) => refused_as(&id, "a request with this id is under way already"),
                    Err(Refused::TooMany) => {
                        let text = "too many requests are under way";
                        error(StatusCode::TOO_MANY_REQUESTS, Some(&id), &RpcError::new(INVALID_REQUEST, text))
                    }
                }
            }
            Message::Notification { .. } | Message::Answer { .. } => match self.session(&headers, None) {
                Ok(session) if session.notify(line).await => empty(StatusCode::ACCEPTED),
                Ok(_) => lost(None),
                Err(response) => *response,
            },
        }
    }

    /// Begins a session, with a process of its own.
    async fn initialize(&self, id: Id, params: Option<&RawValue>, line: Bytes) -> Response<Body> {
        let failed = |text: String| error(StatusCode::BAD_GATEWAY, Some(&id), &RpcError::new(INTERNAL_ERROR, text));
        if self.sessions().len() >= SESSIONS {
            let text = format!("{SESSIONS} sessions are open, which is as many as there may be");
            return error(StatusCode::SERVICE_UNAVAILABLE, Some(&id), &RpcError::new(INTERNAL_ERROR, text));
        }
        if let Some(shared) = &self.shared {
            return match self.join(shared).await {
                Ok((session, introduction)) => {
                    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{introduction}}}", id.to_json());
                    self.begun(session, Bytes::from(answer))
                }
                Err(problem) => failed(problem),
            };
        }
        let (process, lines) = match Process::start(&self.command) {
            Ok(started) => started,
            Err(problem) => return failed(format!("the command cannot be started: {problem}")),
        };
        let session = Session::begin(Behind::Own(process), lines, self.idle);
        let answer = match session.request(id.clone(), params, line).await {
            Ok(events) => timeout(INTRODUCTION, last_of(events)).await,
            // It was gone before anything could be written to it.
            Err(_) => Ok(None),
        };
        let Ok(Some(answer)) = answer else {
            session.end();
            let text =
                if answer.is_err() { "does not answer `initialize`" } else { "ended before it answered `initialize`" };
            return failed(format!("the command {text}: its standard error says more"));
        };
        if !matches!(read(&answer), Line::One(Ok(Message::Answer { outcome: Ok(_), .. }))) {
            session.end();
            return json(StatusCode::OK, answer);
        }
        self.begun(session, answer)
    }

    /// A session with a place at the process of all, which is started if it is not there, and what that said of itself.
    async fn join(
        &self,
        shared: &tokio::sync::Mutex<Option<Arc<Shared>>>,
    ) -> Result<(Arc<Session>, Box<RawValue>), String> {
        // One start at a time, and whoever comes meanwhile waits for it.
        let mut current = shared.lock().await;
        if let Some(running) = current.as_ref()
            && let Some((member, lines)) = running.join()
        {
            let introduction = running.introduction().to_owned();
            return Ok((Session::begin(Behind::Shared(member), lines, self.idle), introduction));
        }
        let started = Shared::start(&self.command, INTRODUCTION).await?;
        let (member, lines) = started.join().ok_or("the command ended at once: its standard error says more")?;
        let introduction = started.introduction().to_owned();
        *current = Some(started);
        Ok((Session::begin(Behind::Shared(member), lines, self.idle), introduction))
    }

    /// The session has a name from now on.
    fn begun(&self, session: Arc<Session>, answer: Bytes) -> Response<Body> {
        let name = uuid::Uuid::now_v7().simple().to_string();
        let mut response = json(StatusCode::OK, answer);
        if let Ok(value) = HeaderValue::from_str(&name) {
            response.headers_mut().insert(SESSION_ID, value);
        }
        self.sessions().insert(name, session);
        response
    }

    fn get(&self, headers: &HeaderMap) -> Response<Body> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if !text(ACCEPT.as_str()).is_some_and(|accept| accept.contains("text/event-stream")) {
            return refused(StatusCode::NOT_ACCEPTABLE, "Accept: it must be text/event-stream");
        }
        let session = match self.session(headers, None) {
            Ok(session) => session,
            Err(response) => return *response,
        };
        if let Some(last) = text(LAST_EVENT_ID) {
            let Some((stream, number)) = place(last) else {
                return refused(StatusCode::BAD_REQUEST, "Last-Event-ID: no id of this server");
            };
            return match session.read_on(stream, number) {
                Some(events) => streamed(events),
                None => refused(StatusCode::BAD_REQUEST, "Last-Event-ID: what came after it is not kept any more"),
            };
        }
        match session.listen() {
            Some(events) => streamed(events),
            None => refused(StatusCode::CONFLICT, "the stream of this session is read already"),
        }
    }

    fn delete(&self, headers: &HeaderMap) -> Response<Body> {
        match self.session(headers, None) {
            Ok(session) => {
                session.end();
                drop(self.sessions());
                empty(StatusCode::OK)
            }
            Err(response) => *response,
        }
    }

    /// The session that a request names.
    fn session(&self, headers: &HeaderMap, id: Option<&Id>) -> Result<Arc<Session>, Box<Response<Body>>> {
        let Some(name) = headers.get(SESSION_ID) else {
            let text = "Bad Request: Mcp-Session-Id header is required";
            return Err(Box::new(error(StatusCode::BAD_REQUEST, id, &RpcError::new(INVALID_REQUEST, text))));
        };
        let found = name.to_str().ok().and_then(|name| self.sessions().get(name).cloned());
        found.ok_or_else(|| Box::new(lost(id)))
    }
}

/// The words by which clients know that they have to begin anew.
fn lost(id: Option<&Id>) -> Response<Body> {
    error(StatusCode::NOT_FOUND, id, &RpcError::new(INVALID_REQUEST, "Session not found"))
}

/// The process ended before it answered.
fn gone(id: &Id) -> Response<Body> {
    let text = "the command ended before it answered; it may have done what it was asked";
    error(StatusCode::BAD_GATEWAY, Some(id), &RpcError::new(INTERNAL_ERROR, text))
}

fn refused(status: StatusCode, text: &str) -> Response<Body> {
    error(status, None, &RpcError::new(INVALID_REQUEST, text))
}

fn refused_as(id: &Id, text: &str) -> Response<Body> {
    error(StatusCode::BAD_REQUEST, Some(id), &RpcError::new(INVALID_REQUEST, text))
}

fn not_allowed() -> Response<Body> {
    let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, "the methods are POST, GET and DELETE");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    response
}

fn preflight_allowed() -> Response<Body> {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert("access-control-allow-methods", HeaderValue::from_static("POST, GET, DELETE"));
    let allowed = "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, last-event-id";
    headers.insert("access-control-allow-headers", HeaderValue::from_static(allowed));
    response
}

/// What a client of another version is told: one of 2026-07-28 goes on with the handshake then.
fn other_version(headers: &HeaderMap, message: &Message) -> Option<Response<Body>> {
    let (id, params) = match message {
        Message::Request { id, params, .. } => (Some(id), params.as_deref()),
        Message::Notification { params, .. } => (None, params.as_deref()),
        Message::Answer { .. } => (None, None),
    };
    let meta = params.and_then(Members::of).and_then(|params| params.object("_meta"));
    let in_meta = meta.and_then(|meta| meta.read::<String>(VERSION_IN_META));
    let in_header = headers.get(PROTOCOL_VERSION).map(|value| value.to_str().unwrap_or_default().to_owned());
    let asked = in_meta.or(in_header)?;
    if VERSIONS.contains(&asked.as_str()) {
        return None;
    }
    let data = serde_json::json!({ "supported": VERSIONS, "requested": asked });
    let told = RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version").with_data(&data);
    Some(error(StatusCode::BAD_REQUEST, id, &told))
}

/// Between tokens a space is as good as a line end, and inside of texts there is none.
fn one_line(body: &Bytes) -> Bytes {
    if !body.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return body.clone();
    }
    body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect::<Vec<u8>>().into()
}
