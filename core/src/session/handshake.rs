//! The handshake: `initialize`, then `notifications/initialized`, with two tries and patience for a server that is not up yet.
//!
//! Before it stands the question which era the server speaks, unless the host or an answer before has said it. The modern era needs no
//! handshake: there the answer to that question is all.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::auth::TokenError;
use crate::call::attempt::{Attempt, Ended, Request};
use crate::config::Era;
use crate::era::discover::{Discovery, discover};
use crate::era::terms::{Introduction, Terms};
use crate::era::{Lifecycle, MODERN_VERSION};
use crate::outcome::Kind;
use crate::policy::backoff::{Backoff, BackoffBounds, NEVER_SENT_MAX};
use crate::results::{FromRaw, InitializeResult};
use crate::rpc::message::notification_bytes;
use crate::rpc::params::Params;
use crate::rpc::router::Router;
use crate::transport::answer::{Answer, Limits, Position};
use crate::transport::classify::{self, End, HandshakeConclusion, HandshakeNext, HandshakeStep};
use crate::transport::headers;
use crate::transport::probe::Probe;
use crate::transport::wire::{Unready, Wire};

/// The versions of the handshake era that this client speaks, newest first.
pub(crate) const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Tries of one flight. Never-sent tries do not count: they have `connect_patience`.
const TRIES: u32 = 2;

/// What a flight is made with.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    pub(crate) wire: Arc<Wire>,
    pub(crate) router: Arc<Router>,
    pub(crate) limits: Limits,
    pub(crate) era: Era,
    /// The era that the server was found to speak; recovery then costs no question.
    pub(crate) verdict: Arc<Mutex<Option<Lifecycle>>>,
    pub(crate) introduction: Introduction,
    pub(crate) terms: Arc<Terms>,
    pub(crate) timeout: Duration,
    pub(crate) connect_patience: Duration,
    pub(crate) delete_timeout: Duration,
    pub(crate) backoff: BackoffBounds,
}

/// Why a flight brought no session.
#[derive(Clone, Debug)]
pub(crate) struct FlightFailure {
    pub(crate) kind: Kind,
    /// In words; holds no secret.
    pub(crate) reason: String,
    pub(crate) http_status: Option<u16>,
    pub(crate) excerpt: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    /// Nothing left this process, and it may work in a moment.
    pub(crate) never_sent: bool,
}

struct Failed {
    next: HandshakeNext,
    failure: FlightFailure,
    token: Option<u64>,
}

impl Handshake {
    /// Flies until there is a session or no sense in going on.
    pub(crate) async fn fly(&self, generation: u64) -> Result<Session, FlightFailure> {
        let began = Instant::now();
        let mut backoff = Backoff::new(self.backoff.capped(NEVER_SENT_MAX));
        let mut tries = 0;
        let mut refreshed = false;
        let mut asked = false;
        let mut known = *lock(&self.verdict);
        loop {
            let failed = match timeout(self.timeout, self.once(generation)).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(failed)) => failed,
                Err(_) => self.timed_out(),
            };
            let give_up = match failed.next {
                HandshakeNext::Patience => began.elapsed() >= self.connect_patience,
                HandshakeNext::TryAgain => {
                    // What stood in the way may have given the verdict, too: the next try asks for it again.
                    self.found(known);
                    tries += 1;
                    tries >= TRIES
                }
                HandshakeNext::Refresh => {
                    let again = self
                        .refresh(failed.token, refreshed)
                        .await
                        .map_err(|error| FlightFailure { reason: error.to_string(), ..failed.failure.clone() })?;
                    refreshed = true;
                    if again {
                        continue;
                    }
                    true
                }
                HandshakeNext::AskForTheEra if !asked && self.era != Era::Legacy => {
                    asked = true;
                    // What was known is over, also if the question has to be put twice.
                    known = None;
                    self.found(known);
                    continue;
                }
                HandshakeNext::AskForTheEra | HandshakeNext::GiveUp | HandshakeNext::Proceed => true,
            };
            if give_up || self.closing().is_cancelled() {
                // Whatever answers there now may be of another era. One that did not answer at all has changed nothing.
                if !failed.failure.never_sent {
                    self.found(None);
                }
                return Err(failed.failure);
            }
            tokio::select! {
                () = sleep(backoff.next_delay()) => {}
                () = self.closing().cancelled() => return Err(failed.failure),
            }
        }
    }

    /// When the client closes no further try is begun.
    fn closing(&self) -> &CancellationToken {
        self.wire.background.closing()
    }

    /// True if there is a token that was not refused yet.
    async fn refresh(&self, refused: Option<u64>, refreshed: bool) -> Result<bool, TokenError> {
        match refused {
            Some(refused) if !refreshed => Ok(self.wire.tokens.refresh(refused).await?.is_some()),
            _ => Ok(false),
        }
    }

    fn found(&self, verdict: Option<Lifecycle>) {
        *lock(&self.verdict) = verdict;
    }

    /// The era to begin with; `None` if the server has to be asked.
    fn expected(&self) -> Option<Lifecycle> {
        match self.era {
            Era::Legacy => Some(Lifecycle::Legacy),
            Era::Modern => Some(Lifecycle::Modern),
            Era::Auto => *lock(&self.verdict),
        }
    }

    async fn once(&self, generation: u64) -> Result<Session, Failed> {
        if self.expected() != Some(Lifecycle::Legacy)
            && let Some(session) = self.discovered(generation).await?
        {
            return Ok(session);
        }
        let session = self.initialize(generation).await?;
        // From here on the server holds a session: dropping ours ends it with a DELETE. A client that closes does so at once.
        tokio::select! {
            biased;
            () = self.closing().cancelled() => {
                Err(failed(gives_up(Kind::Closed), crate::text::of_interruption(Kind::Closed).to_owned(), None))
            }
            initialized = self.initialized(&session) => initialized.map(|()| session),
        }
    }

    /// Asks the server for its era, and is done if it is the modern one. `None` if it is the other, and the host leaves the choice.
    async fn discovered(&self, generation: u64) -> Result<Option<Session>, Failed> {
        let candidate = Arc::new(self.modern(generation, InitializeResult::from_raw(Box::default())));
        match discover(&self.wire, &self.router, self.limits, &candidate).await {
            Discovery::Modern(said) => {
                self.found(Some(Lifecycle::Modern));
                Ok(Some(self.modern(generation, said)))
            }
            Discovery::Legacy if self.era == Era::Auto => {
                self.found(Some(Lifecycle::Legacy));
                Ok(None)
            }
            Discovery::Legacy => {
                let reason = format!("the server does not speak protocol version {MODERN_VERSION}");
                Err(failed(gives_up(Kind::Protocol), reason, None))
            }
            Discovery::AskAgain => {
                let conclusion = HandshakeConclusion { next: HandshakeNext::AskForTheEra, kind: Some(Kind::Protocol) };
                let reason = format!("the server refuses protocol version {MODERN_VERSION}, which it says it speaks");
                Err(failed(conclusion, reason, None))
            }
            Discovery::Neither(versions) => {
                let spoken = self.wire.secrets().shown(&versions.join(", "), 200);
                let reason = format!(
                    "the server speaks protocol versions {spoken}, this client {MODERN_VERSION}, {}",
                    VERSIONS.join(", ")
                );
                Err(failed(gives_up(Kind::Protocol), reason, None))
            }
            Discovery::Nothing { conclusion, ended, token } => Err(explain(conclusion, &ended, token)),
            Discovery::Unready(unready) => Err(host_failed(&unready)),
        }
    }

    /// The client's side of a connection of the modern era: there is nothing of it on the server.
    fn modern(&self, generation: u64, said: InitializeResult) -> Session {
        let mut session = self.session(generation, &http::HeaderMap::new());
        session.version = Terms::version();
        session.initialized = Arc::new(said);
        session.terms = Some(Arc::clone(&self.terms));
        session
    }

    async fn initialized(&self, session: &Session) -> Result<(), Failed> {
        let probe = Probe::new();
        let body = notification_bytes("notifications/initialized", &Params::none());
        let ready = match self.wire.post(session.carried(), body, probe.clone(), false).await {
            Ok(ready) => ready,
            Err(unready) => return Err(host_failed(&unready)),
        };
        let token = ready.token;
        match self.wire.send(ready).await {
            Ok(response) => {
                let end = End::Head {
                    status: response.status,
                    headers: &response.headers,
                    body: classify::BodyEnd::NoAnswer { excerpt: "" },
                };
                let conclusion = classify::handshake(HandshakeStep::Initialized, probe.body_taken(), end);
                if conclusion.next == HandshakeNext::Proceed {
                    return Ok(());
                }
                let reason = format!("HTTP {} to notifications/initialized", response.status.as_u16());
                let mut refused = failed(conclusion, reason, token);
                refused.failure.http_status = Some(response.status.as_u16());
                Err(refused)
            }
            Err(failure) => {
                let conclusion =
                    classify::handshake(HandshakeStep::Initialized, probe.body_taken(), End::NoHead(failure.cause));
                Err(failed(conclusion, crate::text::of_failure(&failure), token))
            }
        }
    }

    async fn initialize(&self, generation: u64) -> Result<Session, Failed> {
        let params = json!({
            "protocolVersion": VERSIONS[0],
            "capabilities": self.introduction.capabilities,
            "clientInfo": self.introduction.client_info,
        });
        let params = Params::from_value("params", &params).unwrap_or_default();
        let probe = Probe::new();
        // The server holds a session from the head of its answer on, whatever becomes of the rest: dropping ours ends it with a DELETE.
        let given = Mutex::new(None);
        let on_head = |status, headers: &http::HeaderMap| {
            // None is ever taken from an error answer.
            if classify::is_success(status) {
                *lock(&given) = Some(self.session(generation, headers));
            }
        };
        let own = Attempt::of_client(&self.wire, &self.router, self.limits, None);
        let attempt = Attempt { on_head: Some(&on_head), ..own };
        let mut position = Position::default();
        let request = Request::new("initialize", params);
        let (ended, token) = attempt.run(request, probe.clone(), &mut position).await;
        let Some(end) = ended.end(&position) else {
            return Err(match &ended {
                Ended::Unready(unready) => host_failed(unready),
                _ => self.timed_out(),
            });
        };
        let conclusion = classify::handshake(HandshakeStep::Initialize, probe.body_taken(), end);
        match ended {
            Ended::Head { headers, answer: Answer::Result(raw), .. } if conclusion.next == HandshakeNext::Proceed => {
                let session = lock(&given).take().unwrap_or_else(|| self.session(generation, &headers));
                self.adopt(session, InitializeResult::from_raw(raw))
            }
            ended => Err(explain(conclusion, &ended, token)),
        }
    }

    /// The session that the server gives. Its id is taken from here and from nowhere else.
    fn session(&self, generation: u64, headers: &http::HeaderMap) -> Session {
        let id = headers::session_id(headers);
        if let Some(id) = &id {
            self.wire.secrets().add_session(id.reveal());
        }
        Session {
            generation,
            id,
            version: HeaderValue::from_static(VERSIONS[0]),
            initialized: Arc::new(InitializeResult::from_raw(Box::default())),
            terms: None,
            gone: CancellationToken::new(),
            retired: CancellationToken::new(),
            answered: Notify::new(),
            ended: AtomicBool::new(false),
            wire: Arc::clone(&self.wire),
            delete_timeout: self.delete_timeout,
        }
    }

    /// The session with what the server said of itself.
    fn adopt(&self, mut session: Session, initialized: InitializeResult) -> Result<Session, Failed> {
        let spoken = VERSIONS.into_iter().find(|version| *version == initialized.protocol_version);
        if let Some(version) = spoken {
            session.version = HeaderValue::from_static(version);
            session.initialized = Arc::new(initialized);
            return Ok(session);
        }
        // MCP 2025-11-25, lifecycle, version negotiation: the client should disconnect; dropping the session does.
        let spoken = self.wire.secrets().shown(&initialized.protocol_version, 40);
        let reason = format!("the server speaks protocol version {spoken:?}, this client {}", VERSIONS.join(", "));
        Err(failed(gives_up(Kind::Protocol), reason, None))
    }

    fn timed_out(&self) -> Failed {
        let conclusion = classify::handshake(
            HandshakeStep::Initialize,
            true,
            End::Interrupted { kind: Kind::Timeout, head_arrived: false },
        );
        failed(conclusion, format!("the handshake took longer than {} s", self.timeout.as_secs_f64()), None)
    }
}

fn gives_up(kind: Kind) -> HandshakeConclusion {
    HandshakeConclusion { next: HandshakeNext::GiveUp, kind: Some(kind) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(conclusion: HandshakeConclusion, reason: String, token: Option<u64>) -> Failed {
    Failed {
        next: conclusion.next,
        failure: FlightFailure {
            kind: conclusion.kind.unwrap_or(Kind::Protocol),
            reason,
            http_status: None,
            excerpt: None,
            retry_after: None,
            never_sent: conclusion.next == HandshakeNext::Patience,
        },
        token,
    }
}

fn host_failed(unready: &Unready) -> Failed {
    let kind = match unready {
        Unready::Token(_) => Kind::Auth,
        Unready::Headers(_) => Kind::Config,
    };
    failed(gives_up(kind), unready.to_string(), None)
}

fn explain(conclusion: HandshakeConclusion, ended: &Ended, token: Option<u64>) -> Failed {
    let mut failed = failed(conclusion, crate::text::of_end(ended, conclusion.kind), token);
    if let Ended::Head { status, headers, answer } = ended {
        failed.failure.http_status = Some(status.as_u16());
        failed.failure.retry_after = headers::retry_after(headers, SystemTime::now());
        if let Answer::Missing { excerpt } = answer {
            failed.failure.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
        }
    }
    failed
}
