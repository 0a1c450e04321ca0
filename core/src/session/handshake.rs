//! The handshake: `initialize`, then `notifications/initialized`, with two tries and patience for a server that is not up yet, whether its
//! port is closed or a gateway says so for it.
//!
//! Before it stands the question which era the server speaks, unless the host or an answer before has said it. The modern era needs no
//! handshake: there the answer to that question is all.

mod failed;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderValue;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::failed::Failed;
pub(crate) use self::failed::FlightFailure;
use super::Session;
use super::handle::delete;
use crate::auth::TokenError;
use crate::exchange::answer::{Answer, Limits, Position, REFUSAL_PATIENCE};
use crate::exchange::carrier::Carrier;
use crate::exchange::line::Line;
use crate::exchange::post::{ExchangeEnd, Post};
use crate::exchange::request::Request;
use crate::exchange::wire::{Carried, Wire};
use crate::policy::backoff::{Backoff, BackoffBounds, NEVER_SENT_MAX};
use crate::protocol::era::{Lifecycle, MODERN_VERSION};
use crate::protocol::results::{FromRaw, InitializeResult};
use crate::protocol::versions::{VERSIONS, older_than};
use crate::rpc::message::notification_bytes;
use crate::rpc::params::Params;
use crate::session::discover::{Discovery, discover};
use crate::session::router::Router;
use crate::session::terms::{Introduction, Terms};
use crate::transport::classify::{self, BodyFacts, EndFacts, HandshakeConclusion, HandshakeNext, HandshakeStep};
use crate::transport::headers;
use crate::transport::limits::collect;
use crate::transport::probe::Probe;
use crate::vocabulary::config::Era;
use crate::vocabulary::counter::Counter;
use crate::vocabulary::excerpt::EXCERPT;
use crate::vocabulary::lock::lock;
use crate::vocabulary::outcome::Kind;

/// Tries of one flight. Those that found no server, or one that is not up yet, do not count: they have `connect_patience`.
const TRIES: u32 = 2;
/// Refreshes of a login in one flight.
const LOGIN_REFRESHES: u32 = 3;
/// Versions that are offered in one flight.
const OFFERS: usize = 2;
/// How long the question for the era may stay unanswered where the connection is the session's own: some servers of the handshake era say
/// nothing to what comes before `initialize` (MCP 2026-07-28, transports, stdio, backward compatibility).
const QUESTION_PATIENCE: Duration = Duration::from_secs(5);

/// How long a flight waits for the twins that are out. One takes as long as calls that are in flight, up to 25 ms, and an answer; a server that
/// does not answer is not to hold up its successor.
const TWINS_FIRST: Duration = Duration::from_millis(250);

/// What a flight is made with.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    pub(crate) wire: Arc<Wire>,
    pub(crate) router: Arc<Router>,
    pub(crate) limits: Limits,
    pub(crate) era: Era,
    /// The era that the server was found to speak; recovery then costs no question.
    pub(crate) verdict: Arc<Mutex<Option<Lifecycle>>>,
    /// See [`Self::trouble`].
    pub(crate) trouble: Arc<Mutex<Option<Arc<FlightFailure>>>>,
    pub(crate) introduction: Introduction,
    pub(crate) terms: Arc<Terms>,
    pub(crate) timeout: Duration,
    pub(crate) connect_patience: Duration,
    pub(crate) retry_after_max: Duration,
    pub(crate) delete_timeout: Duration,
    pub(crate) backoff: BackoffBounds,
    /// The twins that are out, or about to go.
    pub(crate) twins: Counter,
}

impl Handshake {
    /// Flies until there is a session or no sense in going on.
    pub(crate) async fn fly(&self, generation: u64) -> Result<Session, FlightFailure> {
        // A twin has to find the server as its refused request found it, and some have one session for the whole process: once there is the
        // next one, they say something else of the last.
        let _ = timeout(TWINS_FIRST, self.twins.zero()).await;
        let flown = self.try_on(generation).await;
        // Not before it is known which session is ours.
        self.end_leftovers();
        flown
    }

    async fn try_on(&self, generation: u64) -> Result<Session, FlightFailure> {
        let began = Instant::now();
        let mut backoff = Backoff::new(self.backoff.capped(NEVER_SENT_MAX));
        let mut tries = 0;
        let mut refreshes = 0;
        let mut asked = false;
        let mut known = *lock(&self.verdict);
        let mut offers = vec![VERSIONS[0]];
        loop {
            let offer = offers.last().copied().unwrap_or(VERSIONS[0]);
            self.await_login().await;
            let mut failed = match timeout(self.timeout, self.once(generation, offer)).await {
                Ok(Ok(session)) => {
                    *lock(&self.trouble) = None;
                    return Ok(session);
                }
                Ok(Err(failed)) => failed,
                Err(_) => self.timed_out(),
            };
            *lock(&self.trouble) = Some(Arc::new((*failed.failure).clone()));
            let other = failed.versions.iter().find(|version| !offers.contains(*version)).copied();
            let mut wait = Duration::ZERO;
            let give_up = match failed.next {
                HandshakeNext::Patience | HandshakeNext::Wait => {
                    if failed.next == HandshakeNext::Wait {
                        self.found(known);
                    }
                    wait = failed.failure.retry_after.unwrap_or_default();
                    if wait > self.retry_after_max {
                        failed.asks_for_too_long();
                    }
                    failed.next == HandshakeNext::GiveUp || began.elapsed() >= self.connect_patience
                }
                HandshakeNext::AskForTheEra if !asked && self.era != Era::Legacy => {
                    asked = true;
                    // What was known is over, also if the question has to be put twice.
                    known = None;
                    self.found(known);
                    continue;
                }
                HandshakeNext::Refresh => {
                    let again = self
                        .refresh(failed.token, refreshes)
                        .await
                        .map_err(|error| FlightFailure { reason: error.to_string(), ..(*failed.failure).clone() })?;
                    refreshes += 1;
                    if again {
                        continue;
                    }
                    true
                }
                // It was the label alone that was refused.
                _ if other.is_some() && offers.len() < OFFERS => {
                    offers.extend(other);
                    continue;
                }
                HandshakeNext::TryAgain => {
                    // What stood in the way may have given the verdict, too: the next try asks for it again.
                    self.found(failed.presumed.or(known));
                    tries += 1;
                    tries >= TRIES
                }
                HandshakeNext::AskForTheEra | HandshakeNext::GiveUp | HandshakeNext::Proceed => true,
            };
            if give_up || self.closing().is_cancelled() {
                // Whatever answers there now may be of another era. One that did not answer at all has changed nothing.
                if failed.next != HandshakeNext::Patience {
                    self.found(None);
                }
                return Err(*failed.failure);
            }
            tokio::select! {
                () = sleep(wait.saturating_add(backoff.next_delay())) => {}
                () = self.closing().cancelled() => return Err(*failed.failure),
            }
        }
    }

    /// Why the latest try failed, as long as none succeeds.
    pub(crate) fn trouble(&self) -> Option<Arc<FlightFailure>> {
        lock(&self.trouble).clone()
    }

    /// Ends the sessions that the server made without being asked.
    pub(crate) fn end_leftovers(&self) {
        for id in self.wire.leftovers.take() {
            delete(&self.wire, Carried { session: Some(id), ..Carried::default() }, None, self.delete_timeout);
        }
    }

    /// When the client closes no further try is begun.
    fn closing(&self) -> &CancellationToken {
        self.wire.background.closing()
    }

    /// A person may take longer to log in than a try of the handshake may take. What comes of it, the try will see.
    async fn await_login(&self) {
        if self.wire.tokens.login().is_none() {
            return;
        }
        tokio::select! {
            _ = self.wire.tokens.get() => {}
            () = self.closing().cancelled() => {}
        }
    }

    /// True if there is a token that was not refused yet.
    async fn refresh(&self, refused: Option<u64>, refreshes: u32) -> Result<bool, TokenError> {
        // Of a login that does not exist yet the first refusal is the question, and the next one may ask for a nonce.
        let most = if self.wire.tokens.login().is_some() { LOGIN_REFRESHES } else { 1 };
        match refused {
            Some(refused) if refreshes < most => Ok(self.wire.tokens.refresh(refused).await?.is_some()),
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

    /// One try. `offer` is the version that `initialize` offers.
    async fn once(&self, generation: u64, offer: &'static str) -> Result<Session, Failed> {
        // Each try has a connection of its own, where there are such: it ends with the try that fails.
        let line = match self.wire.open(self.delete_timeout).await {
            Ok(line) => line,
            Err(failure) => {
                let end = EndFacts::NoHead(failure.cause);
                let conclusion = classify::handshake(HandshakeStep::Initialize, false, end);
                return Err(Failed::of_end(conclusion, ExchangeEnd::NoHead(failure), None));
            }
        };
        let mut unheard = false;
        if self.expected() != Some(Lifecycle::Legacy)
            && let Some(session) = self.discovered(generation, line.as_ref(), &mut unheard).await?
        {
            return Ok(session);
        }
        let initializing = self.initialize(generation, offer, line.as_ref()).await;
        let session = initializing.map_err(|failed| if unheard { failed.after_silence() } else { failed })?;
        // From here on the server holds a session: dropping ours ends it with a DELETE. A client that closes does so at once.
        tokio::select! {
            biased;
            () = self.closing().cancelled() => {
                Err(Failed::for_good(Kind::Closed, crate::exchange::text::of_interruption(Kind::Closed).to_owned()))
            }
            initialized = self.initialized(&session) => initialized.map(|()| session),
        }
    }

    /// Asks the server for its era, and is done if it is the modern one. `None` if it is the other, and the host leaves the choice.
    /// `unheard` is set if it did not answer in time.
    async fn discovered(
        &self,
        generation: u64,
        line: Option<&Arc<Line>>,
        unheard: &mut bool,
    ) -> Result<Option<Session>, Failed> {
        let candidate = Arc::new(self.modern(generation, InitializeResult::from_raw(Box::default())).over(line));
        let asking = discover(&self.wire, &self.router, self.limits, &candidate);
        let discovery = if line.is_some() && self.era == Era::Auto {
            timeout(QUESTION_PATIENCE, asking).await.unwrap_or_else(|_| {
                *unheard = true;
                Discovery::Legacy
            })
        } else {
            asking.await
        };
        match discovery {
            Discovery::Modern(said) => {
                self.found(Some(Lifecycle::Modern));
                Ok(Some(self.modern(generation, said).over(line)))
            }
            Discovery::Legacy if self.era == Era::Auto => {
                self.found(Some(Lifecycle::Legacy));
                Ok(None)
            }
            Discovery::Legacy => {
                let reason = format!("the server does not speak protocol version {MODERN_VERSION}");
                Err(Failed::for_good(Kind::Protocol, reason))
            }
            Discovery::AskAgain => {
                let conclusion = HandshakeConclusion { next: HandshakeNext::AskForTheEra, kind: Some(Kind::Protocol) };
                let reason = format!("the server refuses protocol version {MODERN_VERSION}, which it says it speaks");
                Err(Failed::new(conclusion, reason, None))
            }
            Discovery::Neither(versions) => {
                let spoken = self.wire.secrets().shown(&versions.join(", "), 200);
                let reason = format!(
                    "the server speaks protocol versions {spoken}, this client {MODERN_VERSION}, {}",
                    VERSIONS.join(", ")
                );
                Err(Failed::for_good(Kind::Protocol, reason))
            }
            Discovery::Nothing { conclusion, ended, token } => {
                let failed = Failed::of_end(conclusion, ended, token);
                // There are servers of the handshake era that end at what they do not know.
                let ended_at_it = self.era == Era::Auto && line.is_some_and(|line| line.is_over());
                Err(Failed { presumed: ended_at_it.then_some(Lifecycle::Legacy), ..failed })
            }
            Discovery::Unready(unready) => Err(Failed::of_host(&unready)),
        }
    }

    /// The client's side of a connection of the modern era: there is nothing of it on the server.
    fn modern(&self, generation: u64, said: InitializeResult) -> Session {
        self.session(generation, &http::HeaderMap::new()).agreed(Terms::version(), said).on_terms(&self.terms)
    }

    async fn initialized(&self, session: &Session) -> Result<(), Failed> {
        let probe = Probe::new();
        let body = notification_bytes("notifications/initialized", &Params::none());
        let ready = match self.wire.post(session.carried(), body, probe.clone(), false).await {
            Ok(ready) => ready,
            Err(unready) => return Err(Failed::of_host(&unready)),
        };
        let token = ready.token;
        match self.wire.send(ready).await {
            Ok(response) => {
                let (status, headers) = (response.status, response.headers);
                let judged = |body| {
                    let end = EndFacts::Head { status, headers: &headers, body };
                    classify::handshake(HandshakeStep::Initialized, probe.body_taken(), end)
                };
                let conclusion = judged(BodyFacts::NoAnswer { excerpt: "" });
                if conclusion.next == HandshakeNext::Proceed {
                    return Ok(());
                }
                let reason = format!("HTTP {} to notifications/initialized", status.as_u16());
                let mut refused = Failed::new(conclusion, reason, token);
                refused.answered(status.as_u16(), &headers);
                // Some servers look at the version here only.
                let body = timeout(REFUSAL_PATIENCE, collect(response.body, EXCERPT)).await;
                if let Ok(Ok(body)) = body {
                    let excerpt = self.wire.secrets().excerpt(&body);
                    refused.failure.reason = crate::exchange::text::with_gist(refused.failure.reason, &excerpt);
                    refused.read(&Answer::missing(excerpt, &body));
                }
                Err(refused)
            }
            Err(failure) => {
                let conclusion = classify::handshake(
                    HandshakeStep::Initialized,
                    probe.body_taken(),
                    EndFacts::NoHead(failure.cause),
                );
                Err(Failed::new(conclusion, crate::exchange::text::of_failure(&failure), token))
            }
        }
    }

    async fn initialize(
        &self,
        generation: u64,
        offer: &'static str,
        line: Option<&Arc<Line>>,
    ) -> Result<Session, Failed> {
        let params = json!({
            "protocolVersion": offer,
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
        let inbox = self.router.own(None);
        let own = Post::of_client(&self.wire, &inbox, self.limits, None);
        let attempt = Post { on_head: Some(&on_head), line: line.cloned(), ..own };
        let mut position = Position::default();
        let request = Request::new("initialize", params);
        let (ended, token) = attempt.run(request, probe.clone(), &mut position).await;
        let Some(end) = ended.end(&position) else {
            return Err(match &ended {
                ExchangeEnd::Unready(unready) => Failed::of_host(unready),
                _ => self.timed_out(),
            });
        };
        let conclusion = classify::handshake(HandshakeStep::Initialize, probe.body_taken(), end);
        match ended {
            ExchangeEnd::Head { answer: Answer::Result(raw), .. }
            | ExchangeEnd::Message { answer: Answer::Result(raw) }
                if conclusion.next == HandshakeNext::Proceed =>
            {
                let session = lock(&given).take().unwrap_or_else(|| self.session(generation, &http::HeaderMap::new()));
                self.adopt(session.over(line), InitializeResult::from_raw(raw))
            }
            ended => Err(Failed::of_end(conclusion, ended, token)),
        }
    }

    /// The session that the server gives. Its id is taken from here and from nowhere else.
    fn session(&self, generation: u64, headers: &http::HeaderMap) -> Session {
        let id = headers::session_id(headers);
        if let Some(id) = &id {
            self.wire.secrets().add_session(id.reveal());
            self.wire.leftovers.is_ours(id);
        }
        Session::new(generation, id, &self.wire, self.delete_timeout)
    }

    /// The session with what the server said of itself.
    fn adopt(&self, session: Session, initialized: InitializeResult) -> Result<Session, Failed> {
        let spoken = VERSIONS.into_iter().find(|version| *version == initialized.protocol_version);
        if let Some(version) = spoken {
            return Ok(session.agreed(HeaderValue::from_static(version), initialized));
        }
        // MCP 2025-11-25, lifecycle, version negotiation: the client should disconnect; dropping the session does.
        let spoken = self.wire.secrets().shown(&initialized.protocol_version, 40);
        let reason = format!("the server speaks protocol version {spoken:?}, this client {}", VERSIONS.join(", "));
        Err(Failed { versions: older_than(&spoken), ..Failed::for_good(Kind::Protocol, reason) })
    }

    fn timed_out(&self) -> Failed {
        let conclusion = classify::handshake(
            HandshakeStep::Initialize,
            true,
            EndFacts::Interrupted { kind: Kind::Timeout, head_arrived: false },
        );
        Failed::new(conclusion, format!("the handshake took longer than {} s", self.timeout.as_secs_f64()), None)
    }
}
