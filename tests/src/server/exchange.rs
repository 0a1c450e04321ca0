//! One request on its way to a response, or to something worse.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;

use super::action::{BodyFraming, Event, Half, Respond};
use super::catalog;
use super::coding::Encoded;
use super::era::Lifecycle;
use super::modern;
use super::placeholder::{self, Lookup};
use super::request::{Request, Rpc};
use super::script::{Facts, GetStream, Options, Shape};
use super::state::{State, Subject};
use super::wire::{Cut, Framing, Head, Wire};
use super::{admission, script};
use crate::authorization::{self, Route};

/// Why an exchange stops before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The script cuts the connection.
    Cut(Cut),
    /// The script ended this exchange alone.
    Reset,
    /// The connection is of no use any more.
    Broken,
}

impl From<std::io::Error> for Stop {
    fn from(_: std::io::Error) -> Self {
        Self::Broken
    }
}

pub(crate) type Step<T = ()> = Result<T, Stop>;

/// What becomes of the connection after an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It waits for the next request.
    KeepAlive,
    /// It ends.
    End(Cut),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Exchange<'a, W> {
    pub(super) state: &'a Arc<State>,
    pub(super) wire: &'a mut W,
    pub(super) options: Options,
    request: Request,
    pub(super) rpc: Option<Rpc>,
    facts: Facts,
    /// There if it is no MCP, but for the authorization server.
    route: Option<Route>,
    /// The answer to that, once it was made.
    routed: OnceLock<Respond>,
    pub(super) seq: u64,
    /// There until an `initialize` is answered.
    at_work: Option<InitializeGuard>,
    /// What the healthy answer answers.
    subject: Option<Subject>,
    /// How manieth use of its rule this is.
    pub(super) nth: usize,
    framing: Framing,
    pub(super) begun: bool,
    ended: bool,
    /// Whether the answer of the subject is in this response.
    pub(super) delivered: bool,
    pub(super) split_at: Option<usize>,
    pub(super) cut_after: Option<(usize, Cut)>,
    sent: usize,
    encoded: Encoded,
    pub(super) more_headers: Vec<(String, String)>,
}

impl<W> Lookup for Exchange<'_, W> {
    fn lookup(&self, name: &str) -> Option<Value> {
        let subject = self.subject.as_ref();
        match name {
            "id" => Some(subject.and_then(|subject| subject.rpc.id.clone()).unwrap_or_default()),
            "session" => self.facts.session.clone().map(Value::from),
            "token" => subject.and_then(|subject| subject.rpc.progress_token()),
            "url" => Some(Value::from(self.state.url.as_str())),
            "origin" => Some(Value::from(self.state.url.strip_suffix("/mcp")?)),
            _ => {
                if let Some(of) = name.strip_prefix("last_id.") {
                    return Some(self.state.last_id(of)).filter(|id| !id.is_null());
                }
                let urls = self.state.urls.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                urls.get(name.strip_prefix("url.")?).map(|url| Value::from(url.as_str()))
            }
        }
    }
}

/// Serves one request.
pub(crate) async fn serve<W: Wire>(state: &Arc<State>, connection: u64, request: Request, wire: &mut W) -> Flow {
    let rpc = Rpc::parse(&request.body);
    let (seq, facts) = state.arrive(connection, &request, rpc.as_ref());
    let initializing = facts.rpc.as_deref() == Some("initialize");
    if initializing {
        state.initialize_begins();
    }
    let at_work = initializing.then(|| InitializeGuard(Arc::clone(state)));
    let close = request.close;
    let options = state.options();
    let mut exchange = Exchange {
        route: authorization::route(&options, &request),
        routed: OnceLock::new(),
        options,
        state,
        wire,
        request,
        rpc,
        facts,
        seq,
        at_work,
        subject: None,
        nth: 0,
        framing: Framing::None,
        begun: false,
        ended: false,
        delivered: false,
        split_at: None,
        cut_after: None,
        sent: 0,
        encoded: Encoded::default(),
        more_headers: Vec::new(),
    };
    let outcome = exchange.run().await;
    let until_close = exchange.framing == Framing::UntilClose && !W::SHARED;
    drop(exchange.at_work);
    match outcome {
        Ok(()) if close || until_close => Flow::End(Cut::Close),
        Ok(()) => Flow::KeepAlive,
        Err(Stop::Cut(how)) => Flow::End(how),
        Err(Stop::Reset) => Flow::KeepAlive,
        Err(Stop::Broken) => {
            // A client that left at once did so before there was an arrival to note it of.
            state.client_left(seq);
            if W::SHARED { Flow::KeepAlive } else { Flow::End(Cut::Close) }
        }
    }
}

/// Counts an `initialize` as at work until it is dropped, however the exchange ends. An answer that is on its way is the end: the client may
/// be on before this task is.
#[derive(Debug)]
struct InitializeGuard(Arc<State>);

impl Drop for InitializeGuard {
    fn drop(&mut self) {
        self.0.initialize_ends();
    }
}

impl<W: Wire> Exchange<'_, W> {
    async fn run(&mut self) -> Step {
        self.subject = match &self.rpc {
            Some(rpc) => Some(Subject { seq: self.seq, rpc: rpc.clone(), session: self.facts.session.clone() }),
            None => self.state.unanswered(self.facts.session.as_deref()),
        };
        if self.facts.lifecycle == Lifecycle::Modern {
            // Whoever is asked: the form of such a request depends on nothing that only the server knows.
            let fault = modern::refuse(&self.options, &self.request, self.rpc.as_ref());
            if let Some(what) = fault.and_then(|fault| fault.malformed) {
                self.state.malformed(self.seq, &what);
            }
        }
        let refusal =
            |this: &Self| admission::refuse(this.state, &this.options, &this.request, this.rpc.as_ref(), &this.facts);
        if let Some(hit) = self.state.pick(&self.facts, true) {
            self.follow(hit).await?;
        } else if let Some(refusal) = self.route.is_none().then(|| refusal(self)).flatten() {
            self.respond(&refusal).await?;
        } else if let Some(hit) = self.state.pick(&self.facts, false) {
            self.follow(hit).await?;
        }
        if !self.begun {
            self.answer(None).await?;
        } else if !self.ended {
            self.end().await?;
        }
        Ok(())
    }

    async fn follow(&mut self, hit: script::Hit) -> Step {
        self.state.ruled(self.seq, &hit.name);
        self.nth = usize::try_from(hit.nth).unwrap_or_default();
        self.perform(&hit.actions).await
    }

    pub(super) fn text(&self, text: &str) -> String {
        placeholder::in_text(text, self)
    }

    pub(super) fn value(&self, value: &Value) -> Value {
        placeholder::in_value(value, self)
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.facts.session.as_deref()
    }

    // ---- what the server does ----

    pub(super) fn execute(&self) {
        if self.route.is_some() {
            self.routed();
            return;
        }
        if let Some(run) = self.begin_execution() {
            self.state.end_execution(run);
        }
    }

    /// What the authorization server answers, after doing what it was asked to, once.
    fn routed(&self) -> Option<&Respond> {
        let route = self.route?;
        Some(self.routed.get_or_init(|| {
            let by = self.options.protected.as_ref().and_then(|protected| self.state.authority_named(&protected.by));
            let (authority, url) = (&self.state.authority, self.state.url.as_str());
            let answer = authorization::answer(route, authority, by.as_deref(), &self.options, &self.request, url);
            self.state.touch();
            answer
        }))
    }

    pub(super) fn begin_execution(&self) -> Option<usize> {
        let subject = self.subject.as_ref()?;
        let lifecycle = ["initialize", "server/discover", "subscriptions/listen"];
        let counts = subject.rpc.method.as_deref().is_some_and(|method| !lifecycle.contains(&method));
        if counts && subject.rpc.is_request() { self.state.execute(subject, self.options.dedupe) } else { None }
    }

    /// The healthy answer as a JSON-RPC message, after running the request.
    pub(super) fn message(&self) -> Value {
        if let Some(answer) = self.routed() {
            return answer.json.clone().unwrap_or_default();
        }
        self.execute();
        let generation = self.facts.generation.unwrap_or_default();
        let Some(subject) = &self.subject else { return Value::Null };
        let message = catalog::answer(&self.options, self.lifecycle(), generation, &subject.rpc);
        if message["result"]["resultType"] == "input_required" {
            self.state.asked(subject.seq);
        }
        message
    }

    /// By whose rules the request is served.
    fn lifecycle(&self) -> Lifecycle {
        let meant = self.facts.lifecycle;
        if self.options.era.speaks(meant) { meant } else { Lifecycle::Legacy }
    }

    /// The healthy answer.
    pub(super) async fn answer(&mut self, shape: Option<Shape>) -> Step {
        if let Some(answer) = self.routed().cloned() {
            return self.respond(&answer).await;
        }
        match self.request.method.as_str() {
            "GET" => return self.listen().await,
            "DELETE" => {
                if let Some(session) = self.session() {
                    self.state.delete(session);
                }
                let status = self.options.delete_status;
                return self.respond(&Respond { status, ..Respond::default() }).await;
            }
            _ => {}
        }
        let Some(rpc) = self.rpc.clone().filter(Rpc::is_request) else {
            return self.respond(&Respond { status: 202, ..Respond::default() }).await;
        };
        let modern = self.lifecycle() == Lifecycle::Modern;
        if modern && rpc.method.as_deref() == Some("subscriptions/listen") {
            return self.subscribe().await;
        }
        let mut shape = shape.unwrap_or(self.options.answer);
        if rpc.name.as_deref() == Some("slow") && !self.subject.as_ref().is_some_and(|of| self.was_executed(of.seq)) {
            let run = self.begin_execution();
            let ms = rpc.params()["arguments"]["ms"].as_u64().unwrap_or(self.options.slow_ms);
            if rpc.progress_token().is_some() {
                shape = Shape::Sse;
                self.begin_sse().await?;
            }
            let written = self.be_slow(ms, modern).await;
            match run {
                Some(run) if modern && written.is_err() => self.state.cancel_execution(run),
                Some(run) => self.state.end_execution(run),
                None => {}
            }
            written?;
        }
        let message = self.message();
        let status = if modern { modern::status(&message) } else { 200 };
        match shape {
            // A stream is a 200: an error that has a status of its own is no stream.
            _ if status != 200 && !self.begun => {
                self.respond(&Respond { status, json: Some(message), ..Respond::default() }).await
            }
            Shape::Json => self.respond(&Respond { json: Some(message), ..Respond::default() }).await,
            Shape::Sse => {
                self.event(&Event { json: Some(message), ..Event::default() }).await?;
                self.end().await
            }
        }
    }

    fn was_executed(&self, seq: u64) -> bool {
        self.state.ledger().executions.iter().any(|run| run.arrival == seq)
    }

    /// The tool works on when the client has gone; only the writing fails then. In the modern era it stops: the end of the stream is how a
    /// client cancels.
    async fn be_slow(&mut self, ms: u64, modern: bool) -> Step {
        let every = self.options.progress_every_ms.max(1);
        let (mut left, mut told, mut written) = (ms, 0_u64, Ok(()));
        while left > 0 {
            let step = left.min(every);
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(step)) => {}
                () = self.wire.client_gone(), if modern => return Err(Stop::Broken),
            }
            left -= step;
            if self.begun && left > 0 && written.is_ok() {
                told += 1;
                written = self.progress(told, ms / every).await;
            }
        }
        written
    }

    pub(super) async fn progress(&mut self, nth: u64, of: u64) -> Step {
        let Some(token) = self.subject.as_ref().and_then(|subject| subject.rpc.progress_token()) else {
            return Ok(());
        };
        let params = serde_json::json!({"progressToken": token, "progress": nth, "total": of.max(nth)});
        self.message_event("notifications/progress", &params, None).await
    }

    async fn listen(&mut self) -> Step {
        if self.options.get == GetStream::Silent {
            return self.hold().await;
        }
        let mut messages = self.state.listeners.open(None);
        self.begin_sse().await?;
        loop {
            let message = tokio::select! {
                message = messages.recv() => message,
                () = self.wire.client_gone() => return Err(Stop::Broken),
            };
            let Some(message) = message else { return self.end().await };
            self.event(&Event { json: Some(message), ..Event::default() }).await?;
        }
    }

    pub(super) async fn hold(&mut self) -> Step {
        self.wire.client_gone().await;
        Err(Stop::Broken)
    }

    // ---- what goes out ----

    /// A JSON-RPC request (with an id) or notification as an SSE event.
    pub(super) async fn message_event(&mut self, method: &str, params: &Value, id: Option<&Value>) -> Step {
        let mut message = serde_json::json!({"jsonrpc": "2.0", "method": method});
        if let Some(id) = id {
            message["id"] = id.clone();
        }
        if !params.is_null() {
            message["params"] = params.clone();
        }
        self.event(&Event { json: Some(message), ..Event::default() }).await
    }

    pub(super) async fn begin(&mut self, status: u16, mut headers: Vec<(String, String)>, framing: Framing) -> Step {
        if status < 300 {
            match (self.facts.rpc.as_deref(), self.session()) {
                // The handshake counts as over when its answer is on the way: the client cannot know it earlier.
                (Some("notifications/initialized"), Some(session)) => self.state.initialized(session),
                (Some("initialize"), None) if self.options.sessions && status == 200 => {
                    let session = self.state.mint_session(self.options.single_session);
                    headers.push(("Mcp-Session-Id".to_owned(), session));
                }
                _ => {}
            }
        }
        headers.append(&mut self.more_headers);
        let framing = match (self.encoded.header(), framing) {
            (None, framing) => framing,
            (Some(header), framing) => {
                headers.push(("Content-Encoding".to_owned(), header));
                // What the length will be is not known yet.
                if framing == Framing::None { framing } else { Framing::Chunked }
            }
        };
        self.begun = true;
        self.framing = framing;
        self.state.status(self.seq, status);
        Ok(self.wire.head(&Head { status, headers, framing }).await?)
    }

    pub(super) async fn begin_sse(&mut self) -> Step {
        if self.begun {
            return Ok(());
        }
        let headers = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.begin(200, headers.into(), Framing::Chunked).await
    }

    pub(super) fn encode(&mut self, codings: &[String]) {
        self.encoded = Encoded::new(codings);
    }

    pub(super) async fn body(&mut self, bytes: &[u8]) -> Step {
        let bytes = &self.encoded.part(bytes)?;
        self.write(bytes).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Step {
        let start = self.sent;
        let end = start + bytes.len();
        self.sent = end;
        if let Some((after, how)) = self.cut_after.filter(|(after, _)| *after < end) {
            let kept = bytes.get(..after.saturating_sub(start)).unwrap_or_default();
            self.wire.data(kept).await?;
            return Err(Stop::Cut(how));
        }
        match self.split_at.filter(|at| start < *at && *at < end) {
            None => self.wire.data(bytes).await?,
            Some(at) => {
                let (first, second) = bytes.split_at(at - start);
                self.wire.data(first).await?;
                // The kernel may merge two writes that follow at once; the pause is what makes this a split at all.
                tokio::time::sleep(Duration::from_millis(1)).await;
                self.wire.data(second).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn end(&mut self) -> Step {
        let rest = self.encoded.rest()?;
        if !rest.is_empty() && self.framing != Framing::None {
            self.write(&rest).await?;
        }
        self.ended = true;
        self.at_work = None;
        self.wire.end().await?;
        self.state.answered(self.seq);
        // A resumed stream that delivered the answer settles the request that it stands for.
        if let Some(subject) = self.subject.as_ref().filter(|_| self.delivered) {
            self.state.answered(subject.seq);
        }
        Ok(())
    }

    pub(super) async fn respond(&mut self, answer: &Respond) -> Step {
        let json = answer.json.as_ref().map(|json| self.value(json).to_string());
        let body = json.or_else(|| answer.text.as_ref().map(|text| self.text(text))).unwrap_or_default();
        let mut headers: Vec<_> = answer.headers.iter().map(|(name, value)| (name.clone(), self.text(value))).collect();
        let typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if answer.json.is_some() && !typed {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let framing = match answer.framing {
            BodyFraming::Length => Framing::Length(body.len()),
            BodyFraming::Chunked => Framing::Chunked,
            BodyFraming::UntilClose => Framing::UntilClose,
            BodyFraming::None => Framing::None,
        };
        let framing = if matches!(answer.status, 204 | 304) { Framing::None } else { framing };
        self.at_work = None;
        self.begin(answer.status, headers, framing).await?;
        if framing != Framing::None {
            self.body(body.as_bytes()).await?;
        }
        self.end().await
    }

    pub(super) async fn event(&mut self, event: &Event) -> Step {
        self.begin_sse().await?;
        let mut text = String::new();
        let mut field = |name: &str, value: &str| text.push_str(&format!("{name}: {value}\n"));
        if let Some(id) = &event.id {
            field("id", id);
        }
        if let Some(name) = &event.event {
            field("event", name);
        }
        if let Some(retry) = event.retry {
            field("retry", &retry.to_string());
        }
        if let Some(json) = &event.json {
            field("data", &self.value(json).to_string());
        }
        for line in event.data.iter().flat_map(|data| data.split('\n')) {
            field("data", &self.text(line));
        }
        if event.blank_line {
            text.push('\n');
        }
        self.body(text.as_bytes()).await
    }

    pub(super) async fn half_answer(&mut self, half: Half) -> Step {
        let message = self.message().to_string();
        let middle = message.len() / 2;
        let first = message.as_bytes().get(..middle).unwrap_or_default();
        let json = || vec![("Content-Type".to_owned(), "application/json".to_owned())];
        match half {
            Half::Length => {
                self.begin(200, json(), Framing::Length(message.len())).await?;
                self.body(first).await
            }
            Half::Chunked => {
                self.begin(200, json(), Framing::Chunked).await?;
                self.body(first).await
            }
            Half::Sse => {
                self.begin_sse().await?;
                self.body(format!("data: {message}\n").as_bytes()).await
            }
            Half::SseHalf => {
                self.begin_sse().await?;
                self.body(b"data: ").await?;
                self.body(first).await
            }
        }
    }
}
