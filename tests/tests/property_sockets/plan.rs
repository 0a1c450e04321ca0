//! What a run is made of: the server's nature and faults, the calls, and what else happens. Plain data, printed when a run fails.

use fastrand::Rng;
use oncewire_tests::server::{Era, Options, Rule};
use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) http2: bool,
    /// The client's tasks run on several threads.
    pub(crate) threads: bool,
    pub(crate) listen: bool,
    pub(crate) recovery: oncewire::Recovery,
    pub(crate) trust: oncewire::TrustAnnotations,
    pub(crate) cache: bool,
    pub(crate) options: Value,
    pub(crate) faults: Vec<Fault>,
    pub(crate) happenings: Vec<(u64, What)>,
    pub(crate) calls: Vec<Call>,
}

/// What the requests of one kind meet.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) when: Value,
    pub(crate) skip: u32,
    pub(crate) times: u32,
    pub(crate) acts: Value,
}

/// The name of rules that may be taken to say that the session is gone.
pub(crate) const SAYS_GONE: &str = "says gone";
/// The name of the rule that refuses everything.
pub(crate) const SHUT: &str = "shut";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Forget,
    /// Everything is refused with this status, for so long.
    Shut(u16, u64),
    Restart,
    Become(Era),
    CutClose,
    CutReset,
    Down(u64),
    Recover,
    Close,
}

impl What {
    /// Requests under way may be lost by it, whatever they are.
    pub(crate) fn cuts(self) -> bool {
        matches!(self, Self::Restart | Self::CutClose | Self::CutReset | Self::Down(_))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) at_ms: u64,
    pub(crate) what: &'static str,
    pub(crate) resend: oncewire::Resend,
    pub(crate) timeout_ms: Option<u64>,
    /// The future is dropped that long after it was made.
    pub(crate) cancel_ms: Option<u64>,
}

fn pick<T: Clone>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())].clone()
}

fn chance(random: &mut Rng, percent: u32) -> bool {
    random.u32(..100) < percent
}

impl Plan {
    pub(crate) fn random(random: &mut Rng) -> Self {
        use oncewire::{Recovery, TrustAnnotations as Trust};
        let http2 = random.bool();
        let options = json!({
            "era": pick(random, &["legacy", "legacy", "modern", "modern", "dual"]),
            "asks": asks(random),
            "keep": if chance(random, 30) { json!({"resources/list": {"ttl_ms": 100}, "resources/read": {"ttl_ms": 50}}) } else { json!({}) },
            "answer": pick(random, &["json", "sse"]),
            "get": pick(random, &["stream", "stream", "not_allowed"]),
            "sessions": chance(random, 85),
            "unknown_session": pick(random, &["json", "server_error", "our_id", "text", "empty"]),
            "idle_close_ms": chance(random, 10).then_some(150),
            "slow_ms": random.u64(50..300),
            "progress_every_ms": 40,
            "max_concurrent_streams": chance(random, 15).then(|| random.u32(2..4)),
        });
        let faults = (0..random.usize(0..=6)).map(|_| Fault::random(random, http2)).collect();
        let mut happenings = Vec::new();
        let down = What::Down(random.u64(20..300));
        let shut = What::Shut(pick(random, &[400, 401, 403, 404, 421, 429, 503]), random.u64(20..300));
        for (what, percent) in [
            (What::Forget, 40),
            (What::Forget, 15),
            (What::Restart, 20),
            (shut, 10),
            (What::Become(pick(random, &[Era::Legacy, Era::Modern, Era::Dual])), 25),
            (What::Become(pick(random, &[Era::Legacy, Era::Modern, Era::Dual])), 10),
            (What::CutClose, 10),
            (What::CutReset, 10),
            (down, 15),
            (What::Recover, 10),
            (What::Close, 10),
        ] {
            if chance(random, percent) {
                happenings.push((random.u64(..400), what));
            }
        }
        Self {
            http2,
            threads: chance(random, 40),
            listen: chance(random, 70),
            recovery: pick(random, &[Recovery::Auto, Recovery::Auto, Recovery::Auto, Recovery::Surface, Recovery::Off]),
            trust: pick(random, &[Trust::Hinted, Trust::Hinted, Trust::ReadOnly, Trust::None]),
            cache: random.bool(),
            options,
            faults,
            happenings,
            calls: (0..random.usize(1..=10)).map(|_| Call::random(random)).collect(),
        }
    }

    /// Every plan that has one thing less.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut plans = Vec::new();
        let mut less = |change: &dyn Fn(&mut Self)| {
            let mut plan = self.clone();
            change(&mut plan);
            plans.push(plan);
        };
        (0..self.faults.len()).for_each(|nth| {
            less(&|plan| {
                plan.faults.remove(nth);
            });
        });
        (0..self.happenings.len()).for_each(|nth| {
            less(&|plan| {
                plan.happenings.remove(nth);
            });
        });
        // The last call first: the others keep their numbers, which are in their keys.
        (1..self.calls.len()).rev().for_each(|nth| {
            less(&|plan| {
                plan.calls.remove(nth);
            });
        });
        plans
    }

    pub(crate) fn rules(&self) -> Vec<Rule> {
        let rule = |fault: &Fault| {
            let name = if fault.says_gone() { SAYS_GONE } else { "fault" };
            let rule =
                json!({"name": name, "when": fault.when, "skip": fault.skip, "times": fault.times, "do": fault.acts});
            serde_json::from_value(rule).unwrap()
        };
        self.faults.iter().map(rule).collect()
    }

    pub(crate) fn options(&self) -> Options {
        let mut options = serde_json::to_value(Options::default()).unwrap();
        for (name, value) in self.options.as_object().unwrap() {
            options[name] = value.clone();
        }
        serde_json::from_value(options).unwrap()
    }
}

/// What some tools and others ask before they answer; with this state or none, once or twice.
fn asks(random: &mut Rng) -> Value {
    let mut asks = json!({});
    for name in ["poke", "peek", "nudge", "mem://a", "hello"] {
        if chance(random, 25) {
            let rounds = (0..random.usize(1..3)).map(|nth| {
                let state = if random.bool() { json!(format!("{name} {nth}")) } else { Value::Null };
                let requests = if state.is_null() || random.bool() {
                    json!({format!("r{nth}"): {"method": "roots/list"}})
                } else {
                    json!({})
                };
                json!({"requests": requests, "state": state})
            });
            asks[name] = json!({"rounds": rounds.collect::<Vec<_>>()});
        }
    }
    asks
}

impl Call {
    fn random(random: &mut Rng) -> Self {
        use oncewire::Resend::{Always, Default, Never};
        Self {
            at_ms: random.u64(..300),
            what: pick(
                random,
                &["poke", "poke", "poke", "slow", "peek", "nudge", "nudge", "read", "prompt", "list", "raw"],
            ),
            resend: pick(random, &[Default, Default, Default, Default, Default, Default, Always, Never]),
            timeout_ms: chance(random, 25).then(|| random.u64(1..1_500)),
            cancel_ms: chance(random, 20).then(|| random.u64(..500)),
        }
    }
}

impl Fault {
    /// May a client take it to say that the session is gone?
    fn says_gone(&self) -> bool {
        let acts = self.acts.to_string();
        ["404", "410", "ession"].iter().any(|word| acts.contains(word)) || self.when["rpc"][0] == "ping"
    }

    /// How many runs more it may cost a call that may run twice: what is refused after it ran is asked for again, within the bounds.
    pub(crate) fn runs_more(&self) -> usize {
        let acts = self.acts.to_string();
        if acts.contains("execute") && acts.contains("status") || acts.contains("unauthorized") {
            usize::try_from(self.times).unwrap_or_default()
        } else {
            0
        }
    }

    fn random(random: &mut Rng, http2: bool) -> Self {
        let when = match random.u32(..23) {
            20 => json!({"rpc": "server/discover"}),
            21 => json!({"rpc": "subscriptions/listen"}),
            22 => json!({"leg": true, "rpc": "tools/call"}),
            0 => json!({"rpc": "initialize"}),
            1 => json!({"rpc": "notifications/initialized"}),
            2 => json!({"http": "GET"}),
            3 => json!({"http": "DELETE"}),
            4 => json!({"rpc": ["ping", "tools/list"]}),
            5 => json!({"rpc": ["resources/read", "prompts/get", "resources/list", "dev.oncewire.tests/custom"]}),
            6..9 => json!({"name": ["nudge", "peek"]}),
            _ => json!({"rpc": "tools/call"}),
        };
        let runs = when.get("name").is_some() || when["rpc"] == "tools/call";
        let acts = if when["http"] == "GET" { Self::of_stream(random) } else { Self::acts(random, http2, runs) };
        Self { when, skip: random.u32(..3), times: random.u32(1..3), acts }
    }

    /// Acts that fit any request. What was executed may be refused in any way, but not in words that the server has for anything else (a twin
    /// would be told the same), nor by a GOAWAY, which would be a lie.
    fn acts(random: &mut Rng, http2: bool, runs: bool) -> Value {
        let status = |status: u16, text: &str| json!({"respond": {"status": status, "text": text}});
        let executes = runs && random.bool();
        let first = if executes { json!("execute") } else { json!({"delay_ms": 0}) };
        let later = json!({"delay_ms": random.u64(..60)});
        let cut = pick(random, &["close", "reset"]);
        let gateway = pick(random, &[500, 502, 503, 504, 408, 409, 422, 425, 202, 204]);
        let half = pick(random, &["length", "chunked", "sse", "sse_half"]);
        match random.u32(..if http2 { 20 } else { 15 } + if runs { 8 } else { 3 }) {
            0..3 => json!([first, later, cut]),
            3 => json!([first, later, status(gateway, if runs { "<html>" } else { "<html>no</html>" })]),
            4 => json!([first, {"comment": "working"}, later, cut]),
            5 if executes => json!([{"half_answer": half}, later, cut]),
            5 => json!([{"head": {"status": 200}}, later, cut]),
            6 if runs => {
                json!([first, later, {"redirect": {"status": pick(random, &[307, 308]), "to": "http://127.0.0.2:1/mcp"}}])
            }
            7 if runs => json!([first, {"unauthorized": {"challenge": random.bool()}}]),
            8 if runs => {
                json!([first, {"respond": {"status": 429, "headers": {"Retry-After": pick(random, &["0", "3600"])}}}])
            }
            9 => json!(["forget_session", status(pick(random, &[404, 410]), "no such session")]),
            10 => json!([{"delay_ms": random.u64(50..400)}, "answer"]),
            12 if runs => {
                json!([first, {"redirect": {"status": pick(random, &[301, 302, 303]), "to": "http://127.0.0.2:1/mcp"}}])
            }
            13 => json!([first, {"delay_ms": random.u64(200..500)}, cut]),
            14 => json!([{"event": {"id": "e-1", "data": ""}}, first, later, "end"]),
            16 if http2 => json!([first, later, {"reset_stream": "refused_stream"}]),
            17 if http2 => json!([{"go_away": {"last": "below"}}, pick(random, &["close", "hold"])]),
            18 if http2 => json!([first, {"go_away": {"last": pick(random, &["newest", "max"])}}, later, "close"]),
            19 if http2 => json!([{"go_away": {"last": pick(random, &["newest", "max"])}}, "answer"]),
            15 if http2 => {
                json!([first, later, {"reset_stream": pick(random, &["cancel", "internal_error", "enhance_your_calm", "no_error"])}])
            }
            _ => refusal(random, &first, &later, if runs { "tool" } else { "server" }),
        }
    }

    /// Acts on the GET: the listener's, or one that resumes.
    fn of_stream(random: &mut Rng) -> Value {
        match random.u32(..6) {
            0 => json!(["close"]),
            1 => json!([{"comment": "hello"}, "reset"]),
            2 => json!([{"respond": {"status": pick(random, &[404, 405, 500]), "text": ""}}]),
            3 => json!([{"event": {"id": "g-1", "data": ""}}, "end"]),
            4 => json!([{"delay_ms": 100}, "close"]),
            _ => json!([{"head": {"status": 200}}, "end"]),
        }
    }
}

/// A refusal: a status, words and a shape, said after the request ran or instead of running it; `of` says who says so.
fn refusal(random: &mut Rng, first: &Value, later: &Value, of: &str) -> Value {
    const STATUSES: [u16; 26] = [
        400, 400, 401, 401, 402, 403, 403, 404, 404, 405, 406, 407, 410, 411, 413, 414, 415, 417, 421, 422, 426, 429,
        431, 500, 503, 200,
    ];
    let status = pick(random, &STATUSES);
    let id = pick(random, &[json!("$id"), Value::Null, json!("server-error")]);
    let code = pick(random, &[-32_000, -32_001, -32_002, -32_602, -32_603, -31_000]);
    let message =
        pick(random, &["it broke", "the session of the cart was not found", "User session expired", "no such order"]);
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": format!("{of}: {message}")}});
    let error = error.to_string().replace("\"$id\"", "$id");
    let body = match random.u32(..6) {
        0 => format!("a text of the {of}"),
        1 => format!("<!doctype html><h1>Cannot POST to the {of}</h1>"),
        2 => json!({"detail": format!("{of}: User session expired")}).to_string(),
        _ => error,
    };
    let mut headers = json!({"Content-Type": "application/json"});
    match (status, random.u32(..4)) {
        (401 | 403, 0) => headers["WWW-Authenticate"] = json!("Bearer error=\"invalid_token\""),
        (401 | 403, 1) => {
            let metadata = "resource_metadata=\"http://upstream.test/.well-known/oauth-protected-resource\"";
            headers["WWW-Authenticate"] =
                json!(format!("Bearer error=\"insufficient_scope\", scope=\"a\", {metadata}"));
        }
        (429 | 503, 0 | 1) => headers["Retry-After"] = json!(pick(random, &["0", "3600"])),
        _ => {}
    }
    // The id is put in when the text goes out, so nothing but its end is cut off.
    let cut = body.get(..body.len().saturating_sub(10)).unwrap_or_default();
    match random.u32(..10) {
        0 => {
            json!([first, later, {"head": {"status": status, "headers": headers, "framing": "length", "length": 400}}, {"send": cut}, later, "close"])
        }
        1 => json!([first, later, {"head": {"status": status, "headers": headers}}, {"send": cut}, "reset"]),
        2 => json!([first, later, {"head": {"status": status}}, {"send": format!("data: {body}\n\n")}]),
        3 => {
            headers["Content-Encoding"] = json!("x-quux");
            json!([first, later, {"head": {"status": status, "headers": headers}}, {"send": body}])
        }
        4 => json!([first, {"head": {"status": status, "headers": headers}}, later, {"send": body}]),
        _ => json!([first, later, {"head": {"status": status, "headers": headers}}, {"send": body}]),
    }
}
