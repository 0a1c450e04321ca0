//! Sends single requests, and gives everything that came of each.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use rustls::ClientConfig;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::ask::{Ask, What};
use super::heard::Heard;
use super::line::Line;
use super::open::OpenStream;
use super::told::{RpcError, Told};
use crate::client::Client;
use crate::client::builder::ClientBuilder;
use crate::exchange::answer::{Activity, Answer, AnswerReader, Position, Waiting};
use crate::exchange::wire::{Carried, Ready, Wire};
use crate::oauth::Fetch;
use crate::protocol::era::Lifecycle;
use crate::rpc::message::{Message, ParseError, notification_bytes, request_bytes};
use crate::rpc::params::{Params, raw_string};
use crate::session::terms::{
    CLIENT_CAPABILITIES_IN_META, CLIENT_INFO_IN_META, PROTOCOL_VERSION_IN_META, routing_headers,
};
use crate::transport::classify::{self, AnswerId, BodyFacts, EndFacts, Evidence, HandshakeStep, Login};
use crate::transport::exchange::{Exchange as _, Spoken, WireFailure, WireRequest, WireResponse};
use crate::transport::headers::{self, SessionId, Standing};
use crate::transport::http::{HttpExchange, HttpSettings};
use crate::transport::probe::Probe;
use crate::transport::tls::{TlsOptions, client_config};
use crate::vocabulary::config::OptionError;
use crate::vocabulary::error::Error;
use crate::vocabulary::method::Method as OfMcp;
use crate::vocabulary::outcome::Kind;
use crate::vocabulary::redact::address;

/// The most of a body that is given as text, in characters.
const TEXT: usize = 64 * 1024;
/// Notifications and requests of the server that are named, beside one answer.
const OTHERS: usize = 256;

/// Asks a server single things. It makes no handshake and opens no session by itself.
#[derive(Debug)]
pub struct Prober {
    client: Client,
    /// For what is to be seen as it is: nothing on top of it.
    bare: HttpExchange,
    pub(super) http: HttpSettings,
    pub(super) tls: ClientConfig,
}

impl Prober {
    /// One that sends as the client would that this builder makes. Sends nothing yet.
    ///
    /// # Errors
    /// An option that cannot be used.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(builder: &ClientBuilder) -> Result<Self, Error> {
        let http = builder.http().clone();
        let unusable = |error| Error::config(&OfMcp::raw("diagnose"), None, error);
        let tls = client_config(&TlsOptions {
            root_certificates: http.root_certificates_pem.as_deref(),
            trusted_files: &http.trusted_files,
            identity: http.client_identity.as_ref(),
            http_version: http.http_version,
        })
        .map_err(unusable)?;
        let bare = HttpExchange::new(http.clone()).map_err(unusable)?;
        let client = builder.clone().lazy(true).build()?;
        if !matches!(client.wire().url().scheme(), "http" | "https") {
            return Err(unusable(OptionError::new("command", "a server on stdio is asked nothing over HTTP")));
        }
        Ok(Self { client, bare, http, tls })
    }

    /// The client that the requests are those of. It has made no handshake unless it was asked for something.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Where requests go.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.wire().url()
    }

    /// Where the server is, fit for a report: its origin and path, without secrets.
    #[must_use]
    pub fn address(&self) -> String {
        address(self.url())
    }

    pub(super) fn wire(&self) -> &Wire {
        self.client.wire()
    }

    pub(super) fn fetch(&self) -> Result<Fetch, OptionError> {
        Fetch::over_network(&self.http, self.url())
    }

    /// The text without what was sent as secret.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        self.wire().secrets().cut(text).into_owned()
    }

    /// Lets go of all connections. Sessions that were opened by asking are the asker's to end.
    pub async fn close(&self) {
        self.client.close().await;
    }

    /// Sends it once, and reads what comes of it.
    pub async fn ask(&self, ask: Ask) -> Told {
        self.carry_out(&ask, false).await.0
    }

    /// Opens a stream, and leaves it open for as long as the second of what is returned is held. None of it if there is no stream.
    pub async fn open(&self, ask: Ask) -> (Told, Option<OpenStream>) {
        self.carry_out(&ask, true).await
    }

    /// Sends it once. An answer is read, unless it is a stream that is to be kept open.
    async fn carry_out(&self, ask: &Ask, keep_open: bool) -> (Told, Option<OpenStream>) {
        let started = Instant::now();
        let heard = Heard::since(started);
        let deadline = started + ask.patience;
        let id = self.wire().ids.next();
        let probe = Probe::new();
        let sent = self.send(ask, id, &probe, deadline).await;
        let head_after = sent.response.is_ok().then(|| started.elapsed());
        let mut seen = Seen::new(ask, probe, sent.login, head_after);
        let mut open = None;
        match sent.response {
            Err(Unsent::Failed(failure)) => {
                seen.cause = Some(failure.cause);
                seen.failure = Some(chain(&failure));
            }
            Err(Unsent::Unready(why)) => seen.failure = Some(why),
            Err(Unsent::TimedOut) => seen.timed_out = true,
            Ok(response)
                if keep_open
                    && classify::is_success(response.status)
                    && headers::is_event_stream(&response.headers) =>
            {
                seen.head(&response);
                open = Some(OpenStream { body: heard.copying(response.body), heard: heard.clone() });
            }
            Ok(response) => self.read(response, id, deadline, &heard, &mut seen).await,
        }
        (self.told(ask, id, seen, &heard), open)
    }

    async fn send(&self, ask: &Ask, id: u64, probe: &Probe, deadline: Instant) -> Sent {
        let mut login = Login::None;
        let sending = async {
            let ready = self.ready(ask, id, probe, &mut login).await?;
            match ready {
                Outgoing::AsAClient(ready) => self.wire().send(*ready).await.map_err(Unsent::Failed),
                Outgoing::Raw(request) => self.bare.send(*request).await.map_err(Unsent::Failed),
            }
        };
        let response = match timeout_at(deadline, sending).await {
            Ok(response) => response,
            Err(_) => Err(Unsent::TimedOut),
        };
        Sent { response, login }
    }

    async fn ready(&self, ask: &Ask, id: u64, probe: &Probe, login: &mut Login) -> Result<Outgoing, Unsent> {
        let body = ask.body(id)?;
        let carried = ask.carried()?;
        let wire = self.wire();
        if !ask.raw && ask.headers.is_empty() {
            let ready = match &ask.what {
                What::Request { .. } | What::Notification { .. } => {
                    wire.post(carried, body.unwrap_or_default(), probe.clone(), false).await
                }
                What::Listen => wire.get(carried, None).await,
                What::Resume { after } => wire.get(carried, headers::last_event_id(after)).await,
                What::End => wire.delete(carried).await,
            }
            .map_err(|unready| Unsent::Unready(unready.to_string()))?;
            *login = ready.standing.login();
            return Ok(Outgoing::AsAClient(Box::new(ready)));
        }
        let (mut standing, _) = wire.standing(carried).await.map_err(|unready| Unsent::Unready(unready.to_string()))?;
        if ask.anonymous {
            standing = Standing { authorization: None, ..standing };
            standing.caller.remove(AUTHORIZATION);
        }
        *login = standing.login();
        let (method, mut headers) = match &ask.what {
            What::Request { .. } | What::Notification { .. } => (Method::POST, standing.post()),
            What::Listen => (Method::GET, standing.get(None)),
            What::Resume { after } => (Method::GET, standing.get(headers::last_event_id(after))),
            What::End => (Method::DELETE, standing.delete()),
        };
        for (name, value) in &ask.headers {
            headers.insert(name.clone(), value.clone());
        }
        let url = self.url().clone();
        let request = WireRequest { method, url, headers, body, probe: probe.clone(), fresh_connection: false };
        Ok(Outgoing::Raw(Box::new(request)))
    }

    async fn read(&self, response: WireResponse, id: u64, deadline: Instant, heard: &Heard, seen: &mut Seen) {
        seen.head(&response);
        let wire = self.wire();
        let response = WireResponse { body: heard.copying(response.body), ..response };
        if seen.asks_nothing {
            // A notification, a DELETE, a GET that was refused: the body is read for what it says.
            let mut body = response.body;
            while let Ok(Some(Ok(_))) = timeout_at(deadline, body.next()).await {}
            return;
        }
        let others = Mutex::new(Vec::new());
        let take = |message: Message| {
            let mut others = others.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let (Message::Request { method, .. } | Message::Notification { method, .. }, true) =
                (message, others.len() < OTHERS)
            {
                others.push(method);
            }
        };
        let waiting = Waiting::default();
        let reader = AnswerReader {
            our_id: id,
            ids: &wire.ids,
            background: &wire.background,
            limits: self.client.limits(),
            activity: Arc::new(Activity::start()),
            waiting: &waiting,
            secrets: wire.secrets(),
            other: &take,
            unreadable: &|_: ParseError| {},
        };
        match timeout_at(deadline, reader.read(response, &mut seen.position)).await {
            Ok(answer) => seen.answer = Some(answer),
            Err(_) => seen.timed_out = true,
        }
        seen.others = others.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    }

    /// Puts it all together, and has it judged.
    fn told(&self, ask: &Ask, id: u64, seen: Seen, heard: &Heard) -> Told {
        let chunks = heard.chunks();
        let all: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect();
        let raw_text = String::from_utf8_lossy(&all);
        let text: String = self.redacted(&raw_text).chars().take(TEXT).collect();
        let excerpt = self.wire().secrets().excerpt(&all);
        let empty = HeaderMap::new();
        let headers = seen.headers.as_ref().unwrap_or(&empty);
        let body = match &seen.answer {
            Some(answer) => Some(answer.body_end(&seen.position)),
            None if seen.asks_nothing && !seen.timed_out => Some(BodyFacts::NoAnswer { excerpt: &excerpt }),
            None => None,
        };
        let end = match (seen.status, body, seen.cause) {
            (Some(status), Some(body), _) => EndFacts::Head { status, headers, body },
            (Some(_), None, _) => EndFacts::Interrupted { kind: Kind::Timeout, head_arrived: true },
            (None, _, Some(cause)) => EndFacts::NoHead(cause),
            (None, ..) => EndFacts::Interrupted { kind: Kind::Timeout, head_arrived: false },
        };
        let conclusion = classify::call(&Evidence {
            carried_session: ask.session.is_some(),
            lifecycle: if ask.modern { Lifecycle::Modern } else { Lifecycle::Legacy },
            body_taken: seen.probe.body_taken(),
            url: self.url(),
            login: seen.login,
            seen: !seen.others.is_empty(),
            end,
        });
        let head = seen.status.map(|status| (status, headers));
        let cause = seen.cause.unwrap_or(crate::transport::exchange::Cause::Other);
        let method =
            if let What::Request { method, .. } | What::Notification { method } = &ask.what { method } else { "" };
        let step = match method {
            "initialize" => Some(HandshakeStep::Initialize),
            "notifications/initialized" => Some(HandshakeStep::Initialized),
            _ => None,
        };
        let words = seen.status.and_then(|status| seen.answer.as_ref()?.words(status, headers));
        let session = headers::session_id(headers);
        if let Some(session) = &session {
            self.wire().secrets().add_session(session.reveal());
        }
        let (result, error) = match &seen.answer {
            Some(Answer::Result(raw)) => (serde_json::from_str(raw.get()).ok(), None),
            Some(Answer::Error { error, id, .. }) => {
                let error = RpcError {
                    code: error.code,
                    message: self.redacted(&error.message),
                    data: error.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok()),
                    ours: *id == AnswerId::Ours,
                    well_formed: error.well_formed,
                };
                (None, Some(error))
            }
            _ => (None, None),
        };
        let failure = seen.failure.or(match &seen.answer {
            Some(Answer::Stopped { failure: Some(failure) }) => Some(chain(failure)),
            Some(Answer::Unread { why }) => Some(why.clone()),
            Some(Answer::TooLarge) => Some("the answer was larger than allowed".to_owned()),
            _ => None,
        });
        Told {
            id,
            status: seen.status.map(|status| status.as_u16()),
            http: seen.spoken.version,
            remote: seen.spoken.remote,
            codings: seen.spoken.codings,
            failure: failure.map(|failure| self.redacted(&failure)),
            cause: seen.cause,
            timed_out: seen.timed_out,
            result,
            error,
            others: seen.others,
            chunks,
            head_after: seen.head_after,
            took: heard.since_start(),
            ended_after: heard.ended(),
            event_id: seen.position.last_event_id,
            retry: seen.position.retry,
            session: session.map(|session| session.reveal().to_owned()),
            retry_after: headers::retry_after(headers, SystemTime::now()),
            line: Line::of(&conclusion, seen.status.is_some()),
            era: (method == "server/discover").then(|| classify::probe(seen.probe.body_taken(), end)),
            handshake: step.map(|step| classify::handshake(step, seen.probe.body_taken(), end)),
            listener: matches!(ask.what, What::Listen)
                .then(|| classify::listener(head.map(|(status, headers)| (status, headers, &*excerpt)).ok_or(cause))),
            resume: matches!(ask.what, What::Resume { .. }).then(|| classify::resume(head.ok_or(cause))),
            gone: matches!(ask.what, What::End).then(|| classify::delete(seen.status.ok_or(cause))),
            conclusion,
            text,
            words,
            headers: seen.headers.unwrap_or_default(),
        }
    }
}

/// A request that is ready to go.
enum Outgoing {
    AsAClient(Box<Ready>),
    Raw(Box<WireRequest>),
}

/// Why there is no head.
enum Unsent {
    Failed(WireFailure),
    Unready(String),
    TimedOut,
}

struct Sent {
    response: Result<WireResponse, Unsent>,
    login: Login,
}

/// What was seen of one exchange.
struct Seen {
    probe: Probe,
    login: Login,
    /// Nothing that is answered by a message.
    asks_nothing: bool,
    head_after: Option<Duration>,
    status: Option<StatusCode>,
    headers: Option<HeaderMap>,
    spoken: Spoken,
    cause: Option<crate::transport::exchange::Cause>,
    failure: Option<String>,
    timed_out: bool,
    answer: Option<Answer>,
    position: Position,
    others: Vec<String>,
}

impl Seen {
    fn new(ask: &Ask, probe: Probe, login: Login, head_after: Option<Duration>) -> Self {
        Self {
            probe,
            login,
            asks_nothing: !matches!(ask.what, What::Request { .. }),
            head_after,
            status: None,
            headers: None,
            spoken: Spoken::default(),
            cause: None,
            failure: None,
            timed_out: false,
            answer: None,
            position: Position::default(),
            others: Vec::new(),
        }
    }

    fn head(&mut self, response: &WireResponse) {
        self.status = Some(response.status);
        self.headers = Some(response.headers.clone());
        self.spoken.clone_from(&response.spoken);
    }
}

impl Ask {
    fn body(&self, id: u64) -> Result<Option<bytes::Bytes>, Unsent> {
        let (method, params) = match &self.what {
            What::Request { method, params } => (method, params),
            What::Notification { method } => return Ok(Some(notification_bytes(method, &Params::none()))),
            What::Listen | What::Resume { .. } | What::End => return Ok(None),
        };
        Ok(Some(request_bytes(id, method, &self.params(params)?)))
    }

    fn params(&self, params: &Value) -> Result<Params, Unsent> {
        let params = match params {
            Value::Null => Params::none(),
            params => Params::from_value("params", params).map_err(|error| Unsent::Unready(error.to_string()))?,
        };
        if !self.modern {
            return Ok(params);
        }
        let raw = |text: String| RawValue::from_string(text).unwrap_or_default();
        let version = self.version.as_deref().unwrap_or_default();
        Ok(params.with_meta([
            (PROTOCOL_VERSION_IN_META, raw_string(version)),
            (CLIENT_INFO_IN_META, raw(client_info().to_string())),
            (CLIENT_CAPABILITIES_IN_META, raw("{}".to_owned())),
        ]))
    }

    fn carried(&self) -> Result<Carried, Unsent> {
        let unusable = |what: &str| Unsent::Unready(format!("the {what} cannot be sent in a header"));
        let value = |what: &str, text: &str| HeaderValue::from_str(text).map_err(|_| unusable(what));
        let session = match &self.session {
            None => None,
            Some(id) => Some(SessionId::new(&value("session id", id)?).ok_or_else(|| unusable("session id"))?),
        };
        let version = self.version.as_deref().map(|version| value("version", version)).transpose()?;
        let routing = match &self.what {
            What::Request { method, params } if self.modern => routing_headers(method, &self.params(params)?),
            _ => HeaderMap::new(),
        };
        Ok(Carried { session, version, routing, line: None })
    }
}

fn client_info() -> Value {
    serde_json::json!({ "name": "oncewire", "version": env!("CARGO_PKG_VERSION") })
}

/// The failure and what is underneath it, in one line.
fn chain(failure: &WireFailure) -> String {
    crate::exchange::text::of_failure(failure)
}
