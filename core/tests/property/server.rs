//! The server of a run: a healthy one, but for the faults that the script plans.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oncewire::Lifecycle;
use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::refusal::{Gate, Told};
use crate::script::{Dial, Fault, Listening, Nature, Refusal, Script, Target};

/// What the server knows of the requests, besides the ledgers of the exchange and of the healthy server.
#[derive(Debug, Default)]
pub(crate) struct Known {
    seen: HashMap<Target, usize>,
    /// Arrivals that get no answer although the server is alive.
    pub(crate) hung: HashSet<usize>,
    /// Arrivals whose body holds the whole answer.
    pub(crate) answered: HashSet<usize>,
    /// Arrivals that were led elsewhere: the arrival there is the same attempt.
    pub(crate) led_on: HashSet<usize>,
    /// Arrivals that were told that their session is gone, and the session, empty if they carried none. Whatever a ping is refused with may be taken for that.
    pub(crate) told_gone: HashMap<usize, String>,
    /// Those of them whose session the server does not know.
    pub(crate) disowned: HashSet<usize>,
    /// Arrivals that were refused in whatever way.
    pub(crate) refused: HashSet<usize>,
    /// Arrivals whose answer the client need not read to its end.
    pub(crate) may_be_left: HashSet<usize>,
    /// Arrivals of `initialize` that were answered with a session.
    pub(crate) gave: HashSet<usize>,
    /// Requests that were executed and whose answer waits for a resume, by the event id.
    stored: HashMap<String, Value>,
    events: u64,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) healthy: Server,
    nature: Nature,
    faults: HashMap<(Target, usize), Fault>,
    healed: AtomicBool,
    known: Mutex<Known>,
    /// What refuses everything, and until when.
    gate: Mutex<Option<(Instant, Gate)>>,
    /// The newest token that was seen, the first that is accepted, and how the others are told.
    tokens: Mutex<Tokens>,
    /// From when on no session is lost any more, if that is known.
    no_more_losses: Option<Instant>,
    /// See [`Script::tokens_last`].
    tokens_last: bool,
}

#[derive(Debug, Default)]
struct Tokens {
    newest: usize,
    first: usize,
    challenge: bool,
}

impl Faulty {
    pub(crate) fn new(script: &Script) -> Arc<Self> {
        let (nature, faults) = (&script.server, &script.faults);
        let healthy = if nature.stateful { Server::new() } else { Server::stateless() };
        if nature.modern {
            healthy.change_era(Lifecycle::Modern);
        }
        let faults = faults.iter().map(|planned| ((planned.target, planned.nth), planned.fault.clone())).collect();
        let (healed, known) = (AtomicBool::new(false), Mutex::default());
        let (gate, tokens) = (Mutex::default(), Mutex::default());
        let no_more_losses = script.no_more_losses_ms().map(|last| Instant::now() + Duration::from_millis(last));
        let (nature, tokens_last) = (nature.clone(), script.tokens_last());
        Arc::new(Self { healthy, nature, faults, healed, known, gate, tokens, no_more_losses, tokens_last })
    }

    pub(crate) fn exchange(self: &Arc<Self>) -> Arc<Scripted> {
        let server = Arc::clone(self);
        Scripted::new(move |arrival| {
            let server = Arc::clone(&server);
            async move { server.answer(&arrival).await }
        })
    }

    /// An upgrade, or a rollback.
    pub(crate) fn change_era(&self) {
        self.healthy.change_era(match self.healthy.era() {
            Lifecycle::Modern => Lifecycle::Legacy,
            _ => Lifecycle::Modern,
        });
    }

    /// No more faults.
    pub(crate) fn heal(&self) {
        self.healed.store(true, Ordering::Relaxed);
    }

    /// From now on everything is refused, for a while.
    pub(crate) fn shut(&self, gate: &Gate) {
        *self.gate.lock().unwrap() = Some((Instant::now() + Duration::from_millis(gate.for_ms), gate.clone()));
    }

    /// The token that was seen last is accepted no more, nor are those before it.
    pub(crate) fn revoke(&self, challenge: bool) {
        let mut tokens = self.tokens.lock().unwrap();
        (tokens.first, tokens.challenge) = (tokens.newest + 1, challenge);
    }

    /// The token of this number is given out.
    pub(crate) fn gives(&self, number: usize) {
        if self.nature.rotates {
            let mut tokens = self.tokens.lock().unwrap();
            tokens.first = tokens.first.max(number);
        }
    }

    pub(crate) fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap()
    }

    async fn answer(&self, arrival: &Arrival) -> Result<Reply, Cause> {
        let target = target(arrival);
        let nth = {
            let mut known = self.known();
            let count = known.seen.entry(target).or_default();
            *count += 1;
            *count - 1
        };
        let fault = self.faults.get(&(target, nth)).filter(|_| !self.healed.load(Ordering::Relaxed));
        match fault {
            None => self.well(arrival, 0, false).await,
            Some(fault) => self.faulty(arrival, fault, target).await,
        }
    }

    async fn well(&self, arrival: &Arrival, body_ms: u64, ping: bool) -> Result<Reply, Cause> {
        arrival.take();
        let asks_how_it_is = match target(arrival) {
            Target::Ping => true,
            // The first of them is the probe.
            Target::Discover => self.known().seen.get(&Target::Discover).is_some_and(|seen| *seen > 1),
            _ => false,
        };
        let slow = asks_how_it_is && !self.healed.load(Ordering::Relaxed);
        // It is slow to look, or slow to say.
        let looks_late = arrival.number.is_multiple_of(2);
        if slow && looks_late {
            pause(self.nature.ping_ms).await;
        }
        let refusal = self.refusal(arrival);
        if slow && !looks_late {
            pause(self.nature.ping_ms).await;
        }
        if let Some(refusal) = refusal {
            return Ok(refusal);
        }
        match target(arrival) {
            Target::Call | Target::Ping => {}
            Target::Get => return Ok(self.listen()),
            Target::Resume => return Ok(self.resume(arrival)),
            Target::Discover => return Ok(Server::discovery(arrival, &self.capabilities())),
            Target::Listen => return Ok(self.subscribe(arrival)),
            Target::Initialize => {
                if self.nature.stateful {
                    self.known().gave.insert(arrival.number);
                }
                return self.healthy.answer(arrival).await;
            }
            Target::Initialized | Target::Notification | Target::Delete => return self.healthy.answer(arrival).await,
        }
        let tools = arrival.method() == "tools/call";
        if tools && self.nature.asks && self.is_modern() && arrival.param("/requestState").is_none() {
            let requests = json!({ "who": { "method": "elicitation/create", "params": { "message": "who?" } } });
            let asked = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "asked" });
            return Ok(arrival.result(&asked));
        }
        let answer = self.execute(arrival);
        self.known().answered.insert(arrival.number);
        if !self.nature.streams && body_ms == 0 && !ping {
            return Ok(Reply::json(200, &answer));
        }
        let mut reply = Reply::event_stream();
        if ping {
            reply =
                reply.event(&json!({ "jsonrpc": "2.0", "id": format!("ping-{}", arrival.number), "method": "ping" }));
        }
        if body_ms > 0 {
            reply = reply.wait(Duration::from_millis(body_ms));
        }
        Ok(reply.event(&answer))
    }

    async fn faulty(&self, arrival: &Arrival, fault: &Fault, target: Target) -> Result<Reply, Cause> {
        match *fault {
            Fault::Slow { connect_ms, head_ms, body_ms, ping } => {
                pause(connect_ms).await;
                arrival.take();
                let reply = self.well(arrival, body_ms, ping).await;
                pause(head_ms).await;
                return reply;
            }
            Fault::NeverSent { after_ms, dial } => {
                pause(after_ms).await;
                return Err(cause(dial));
            }
            Fault::RefusedStream { taken: false, .. } => return Err(Cause::RefusedStream),
            Fault::GoneAway { taken } => {
                if taken {
                    arrival.take();
                }
                return Err(Cause::GoneAway);
            }
            Fault::Restart => {
                self.healthy.forget_sessions();
                return self.well(arrival, 0, false).await;
            }
            Fault::ChangeEra => {
                self.change_era();
                return self.well(arrival, 0, false).await;
            }
            _ => {}
        }
        arrival.take();
        // What does not belong to the server is refused, whatever else goes wrong; only a proxy in front of it can fail first.
        let of_a_call = matches!(target, Target::Call | Target::Ping);
        let knows = !of_a_call || self.standing(arrival).is_none() && self.healthy.refusal(arrival).is_none();
        let run = |executes: bool| (executes && knows).then(|| self.execute_any(arrival, target));
        match *fault {
            Fault::Lost { executes, after_ms, reset } => {
                run(executes);
                pause(after_ms).await;
                Err(if reset { Cause::Reset } else { Cause::Closed })
            }
            Fault::RefusedStream { executes, .. } => {
                run(executes);
                Err(Cause::RefusedStream)
            }
            Fault::Refuses(ref refuses) => {
                run(refuses.executes);
                let refuses = refuses.of_its_own(&self.nature, target);
                let says_gone = matches!(refuses.status, 404 | 410) || refuses.words.tell_of_a_loss();
                if target == Target::Ping || of_a_call && says_gone {
                    self.told_gone(arrival);
                }
                self.known().refused.insert(arrival.number);
                let of_the_house = refuses.executes && target == Target::Call && arrival.number.is_multiple_of(2);
                if let Some(reply) = self.of_the_house(arrival).filter(|_| of_the_house) {
                    if let Told::Slow { after_ms } = refuses.told {
                        pause(after_ms).await;
                    }
                    self.told_gone(arrival);
                    return Ok(reply);
                }
                if refuses.may_be_left() {
                    self.known().may_be_left.insert(arrival.number);
                }
                Ok(refuses.reply(arrival, arrival.method()))
            }
            Fault::TermsRefused { executes, mismatch } => {
                run(executes);
                self.known().refused.insert(arrival.number);
                if target == Target::Ping {
                    self.told_gone(arrival);
                }
                Ok(if mismatch {
                    Reply::json(400, &arrival.error_message(-32_020, "Header mismatch"))
                } else {
                    Server::other_versions(arrival, &["2026-07-28"])
                })
            }
            Fault::Cut { executes, event_id, orderly, after_ms } => {
                let answer = run(executes);
                let mut reply = Reply::event_stream();
                if event_id {
                    reply = reply.event_with_id(&self.store(answer), &Value::Null);
                } else {
                    reply = reply.chunk(": here\n\n");
                }
                reply = reply.wait(Duration::from_millis(after_ms));
                Ok(if orderly { reply } else { reply.broken(Cause::Reset) })
            }
            Fault::Redirect { status, same_origin, executes } => {
                let leads_on = same_origin && matches!(status, 307 | 308);
                // One that is followed is the same request once more: to have run it first is the sin of a proxy that repeats a POST.
                run(executes && !leads_on);
                if leads_on {
                    self.known().led_on.insert(arrival.number);
                } else {
                    self.known().refused.insert(arrival.number);
                }
                // Where it leads is said of this request alone, as are the words of other refusals.
                let of = arrival.method();
                let to = if same_origin { format!("/elsewhere/{of}") } else { format!("http://other.test/{of}") };
                Ok(Reply::new(status).header("location", &to))
            }
            Fault::Stray { executes, answers } => {
                let stray = json!({ "jsonrpc": "2.0", "id": 987_654_321, "result": { "_meta": { "call": 99 } } });
                // Of a request that is over: one that bears the id of a call that waits answers that call.
                let before = 1;
                let error = json!({ "code": -32_603, "message": "Session not found, of another" });
                let of_another = json!({ "jsonrpc": "2.0", "id": before, "error": error });
                let reply = Reply::event_stream().event(&stray);
                if !(answers && knows && of_a_call) {
                    run(executes);
                    return Ok(reply);
                }
                let answer = self.execute(arrival);
                self.known().answered.insert(arrival.number);
                Ok(reply.event(&of_another).event(&json!([stray, answer])))
            }
            Fault::Lingers if knows && of_a_call => {
                let answer = self.execute(arrival);
                self.known().answered.insert(arrival.number);
                Ok(Reply::event_stream().event(&answer).never())
            }
            Fault::Half { executes } => {
                run(executes);
                let reply = Reply::new(200).header("content-type", "application/json");
                Ok(reply.chunk("{\"jsonrpc\":\"2.0\",\"id\":").broken(Cause::Closed))
            }
            Fault::Hang { executes, head } => {
                run(executes);
                self.known().hung.insert(arrival.number);
                if head {
                    return Ok(Reply::event_stream().chunk(": here\n\n").never());
                }
                std::future::pending().await
            }
            Fault::EmptyResume { new_id } => {
                let answer = arrival.last_event_id().and_then(|id| self.known().stored.get(id).cloned());
                let reply = Reply::event_stream();
                Ok(if new_id { reply.event_with_id(&self.store(answer), &Value::Null) } else { reply })
            }
            Fault::Slow { .. }
            | Fault::NeverSent { .. }
            | Fault::GoneAway { .. }
            | Fault::Restart
            | Fault::ChangeEra
            | Fault::Lingers => self.well(arrival, 0, false).await,
        }
    }

    /// Runs a call; a session that is made and never told is nothing that a client could end.
    fn execute_any(&self, arrival: &Arrival, target: Target) -> Value {
        if matches!(target, Target::Call | Target::Ping) { self.execute(arrival) } else { Value::Null }
    }

    /// Runs it; the answer bears the mark of the call.
    fn execute(&self, arrival: &Arrival) -> Value {
        let mut result = self.healthy.execute(arrival);
        if let Some(call) = mark(arrival.message.get("params").unwrap_or(&Value::Null)) {
            result["_meta"] = json!({ "call": call });
        }
        arrival.result_message(&result)
    }

    /// Why it looks at no request at all, or at none with this token.
    fn standing(&self, arrival: &Arrival) -> Option<Reply> {
        if self.healed.load(Ordering::Relaxed) {
            return None;
        }
        let gate = self.gate.lock().unwrap();
        if let Some((_, gate)) = gate.as_ref().filter(|(until, _)| Instant::now() < *until) {
            if matches!(gate.status, 404 | 410) || gate.words.tell_of_a_loss() {
                self.told_gone(arrival);
            }
            return Some(gate.reply(arrival));
        }
        let number =
            arrival.header("authorization").and_then(|field| field.rsplit_once("token-")?.1.parse::<usize>().ok());
        let mut tokens = self.tokens.lock().unwrap();
        tokens.newest = tokens.newest.max(number.unwrap_or_default());
        if number.unwrap_or_default() >= tokens.first {
            return None;
        }
        Some(refuse_token(tokens.challenge))
    }

    /// Why it does not even look at the request: as the healthy server would, but for the words on a session that is not known.
    fn refusal(&self, arrival: &Arrival) -> Option<Reply> {
        let refusal = self.standing(arrival).or_else(|| {
            let refusal = self.healthy.refusal(arrival)?;
            match target(arrival) {
                Target::Resume if !self.is_modern() => None,
                Target::Get if !self.is_modern() => Some(Reply::new(404)),
                Target::Call | Target::Ping if !self.is_modern() && arrival.session().is_some() => {
                    Some(self.refuse(arrival))
                }
                _ => Some(refusal),
            }
        });
        if refusal.is_some() {
            self.known().refused.insert(arrival.number);
            if target(arrival) == Target::Ping {
                self.told_gone(arrival);
            }
        }
        refusal
    }

    fn refuse(&self, arrival: &Arrival) -> Reply {
        self.told_gone(arrival);
        self.known().disowned.insert(arrival.number);
        self.disown(arrival)
    }

    /// The words that the server has for everything it refuses, out of the mouth of a tool: those of a gate that is open again, of sessions
    /// that are lost no more, or of tokens that are worth something until the client asks for the next one. Only what was refused while they
    /// held can be told so too.
    fn of_the_house(&self, arrival: &Arrival) -> Option<Reply> {
        let now = Instant::now();
        if self.tokens_last {
            return Some(refuse_token(false));
        }
        if let Some((until, gate)) = &*self.gate.lock().unwrap() {
            return (now >= *until).then(|| gate.reply(arrival));
        }
        let lost_no_more = self.no_more_losses.is_some_and(|since| now > since) && !self.is_modern();
        (lost_no_more && arrival.session().is_some()).then(|| self.disown(arrival))
    }

    /// As it says that it does not know the session.
    fn disown(&self, arrival: &Arrival) -> Reply {
        let error = |status: u16, id: Value, code: i64, message: &str| {
            let error = json!({ "code": code, "message": message });
            Reply::json(status, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        };
        let wording = "Bad Request: No valid session ID provided";
        match self.nature.refusal {
            Refusal::NotFoundText => Reply::text(404, "no such session"),
            Refusal::NotFoundError => error(404, arrival.json_id(), -32_001, "Session not found"),
            Refusal::NotFoundMadeUp => error(404, Value::from("server-error"), -32_600, "Session not found"),
            Refusal::NotFoundEmpty => Reply::new(404),
            Refusal::Gone => Reply::new(410),
            Refusal::BadRequestWording => error(400, Value::Null, -32_000, wording),
            Refusal::BadRequestOurId => error(400, arrival.json_id(), -32_000, wording),
            Refusal::UnavailableWording => error(503, Value::Null, -32_001, "Session not found"),
            Refusal::UnauthorizedWording => Reply::text(401, "Unauthorized: Session not found"),
            Refusal::Unlisted => Reply::text(422, "Unexpected message, expect initialize request"),
        }
    }

    fn told_gone(&self, arrival: &Arrival) {
        let session = arrival.session().unwrap_or_default().to_owned();
        self.known().told_gone.insert(arrival.number, session);
    }

    fn store(&self, answer: Option<Value>) -> String {
        let mut known = self.known();
        known.events += 1;
        let id = format!("event-{}", known.events);
        if let Some(answer) = answer {
            known.stored.insert(id.clone(), answer);
        }
        id
    }

    fn is_modern(&self) -> bool {
        self.healthy.era() == Lifecycle::Modern
    }

    fn listen(&self) -> Reply {
        match self.nature.listener {
            Listening::NotOffered => Reply::new(405),
            Listening::Held => Reply::event_stream().never(),
            Listening::Shuts => Reply::event_stream(),
        }
    }

    /// What it says of itself in the modern era.
    fn capabilities(&self) -> Value {
        json!({ "tools": { "listChanged": self.nature.listener != Listening::NotOffered }, "resources": {} })
    }

    fn subscribe(&self, arrival: &Arrival) -> Reply {
        let reply = Reply::event_stream().event(&arrival.acknowledgement());
        match self.nature.listener {
            Listening::NotOffered => Reply::json(404, &arrival.error_message(-32_601, "Method not found")),
            Listening::Held => reply.never(),
            Listening::Shuts => reply,
        }
    }

    fn resume(&self, arrival: &Arrival) -> Reply {
        let Some(answer) = arrival.last_event_id().and_then(|id| self.known().stored.get(id).cloned()) else {
            return Reply::event_stream();
        };
        Reply::event_stream().event(&answer)
    }
}

/// As it refuses every token that is worth nothing.
fn refuse_token(challenge: bool) -> Reply {
    let reply = Reply::json(401, &json!({ "error": "invalid_token", "error_description": "Token has expired" }));
    if challenge { reply.header("www-authenticate", "Bearer error=\"invalid_token\"") } else { reply }
}

pub(crate) fn target(arrival: &Arrival) -> Target {
    match arrival.method() {
        "GET" => Target::Get,
        "resume" => Target::Resume,
        "DELETE" => Target::Delete,
        "server/discover" => Target::Discover,
        "subscriptions/listen" => Target::Listen,
        "initialize" => Target::Initialize,
        "notifications/initialized" => Target::Initialized,
        "ping" => Target::Ping,
        method if arrival.id().is_none() || method.is_empty() => Target::Notification,
        _ => Target::Call,
    }
}

/// Which call of the script these params belong to.
pub(crate) fn mark(params: &Value) -> Option<usize> {
    let call = params.pointer("/_meta/call").and_then(Value::as_u64);
    let listed = || params.get("cursor").and_then(Value::as_str)?.strip_prefix("call-")?.parse().ok();
    call.or_else(listed).and_then(|call| usize::try_from(call).ok())
}

async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        sleep(Duration::from_millis(milliseconds)).await;
    }
}

fn cause(dial: Dial) -> Cause {
    match dial {
        Dial::Refused => Cause::Refused,
        Dial::Unreachable => Cause::Unreachable,
        Dial::Reset => Cause::ConnectReset,
        Dial::Timeout => Cause::ConnectTimeout,
        Dial::Dns => Cause::DnsTemporary,
        Dial::Tls => Cause::Tls,
    }
}
