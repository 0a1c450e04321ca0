//! What a server is told to be: its options, and the rules that make it fail.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::era::{Era, Lifecycle};
use super::modern::{Asking, Keep, VERSION};
use super::wire::Cut;
use crate::authorization::{Authorization, Protected};

/// The whole behaviour of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// How it behaves when no rule matches.
    pub options: Options,
    /// Tried in order for each request; the first that matches and is not used up decides.
    pub rules: Vec<Rule>,
}

/// The healthy server's switches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Which lifecycle it speaks, or both.
    pub era: Era,
    /// The shape of an answer to a request.
    pub answer: Shape,
    /// What a GET for the event stream gets.
    pub get: GetStream,
    /// Paths that exist; others get a plain 404.
    pub paths: Vec<String>,
    /// Whether `initialize` mints a session.
    pub sessions: bool,
    /// Whether a new `initialize` evicts the sessions before it.
    pub single_session: bool,
    /// Whether requests before the answer to `notifications/initialized` are refused.
    pub strict: bool,
    /// The answer to a session that the server does not know.
    pub unknown_session: Refusal,
    /// The answer to a request that lacks the session header.
    pub missing_session: Refusal,
    /// The status that answers a good DELETE.
    pub delete_status: u16,
    /// Tokens that are accepted; none means that every request is.
    pub tokens: Option<Vec<String>>,
    /// Items on a page of a list; 0 means all.
    pub page_size: usize,
    /// How long the tool `slow` takes, unless its argument `ms` says otherwise.
    pub slow_ms: u64,
    /// How often `slow` reports progress.
    pub progress_every_ms: u64,
    /// Whether a repeated idempotency key is not executed again.
    pub dedupe: bool,
    /// The newest protocol version with a handshake that is spoken; a client that offers another gets this one.
    pub protocol_version: String,
    /// Start with the port closed.
    pub start_down: bool,
    /// Close a connection that was idle for this long.
    pub idle_close_ms: Option<u64>,
    /// How many requests an HTTP/2 client may have under way on a connection.
    pub max_concurrent_streams: Option<u32>,
    /// What happens to connections as soon as they are accepted.
    pub on_accept: Vec<OnAccept>,
    /// Extra members of the description of each tool, by name: overrides of the annotations, for instance. A name that is not in the
    /// catalogue is one more tool.
    pub tools: BTreeMap<String, serde_json::Value>,
    /// What the server says that it can; all that it really can if absent.
    pub capabilities: Option<serde_json::Value>,
    /// The versions of the modern era that are listed and spoken.
    pub modern_versions: Vec<String>,
    /// What `subscriptions/listen` gets; `not_allowed` is 404 and method not found.
    pub listen: GetStream,
    /// How long results of the modern era may be kept, by JSON-RPC method. Those that are not named may not.
    pub keep: BTreeMap<String, Keep>,
    /// What is asked before there is an answer, by tool, prompt or URI. In the modern era alone.
    pub asks: BTreeMap<String, Asking>,
    /// What it is as an authorization server, if it is one.
    pub authorization: Option<Authorization>,
    /// By whose tokens it is protected, if it is. `tokens` has no say then.
    pub protected: Option<Protected>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            era: Era::Legacy,
            answer: Shape::Json,
            get: GetStream::Stream,
            paths: vec!["/mcp".to_owned(), "/mcp/".to_owned()],
            sessions: true,
            single_session: false,
            strict: true,
            unknown_session: Refusal::Json,
            missing_session: Refusal::Json,
            delete_status: 200,
            tokens: None,
            page_size: 0,
            slow_ms: 6_000,
            progress_every_ms: 400,
            dedupe: false,
            protocol_version: "2025-11-25".to_owned(),
            start_down: false,
            idle_close_ms: None,
            max_concurrent_streams: None,
            on_accept: Vec::new(),
            tools: BTreeMap::new(),
            capabilities: None,
            modern_versions: vec![VERSION.to_owned()],
            listen: GetStream::Stream,
            keep: BTreeMap::new(),
            asks: BTreeMap::new(),
            authorization: None,
            protected: None,
        }
    }
}

/// The two shapes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// `application/json`.
    Json,
    /// `text/event-stream` with one event.
    Sse,
}

/// What a GET gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GetStream {
    /// 200 and an open stream.
    Stream,
    /// 405.
    NotAllowed,
    /// Nothing at all, not even a head.
    Silent,
}

/// The wording of a refusal, as real servers differ in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// A JSON-RPC error with a null id.
    Json,
    /// A JSON-RPC error with the id `"server-error"`.
    ServerError,
    /// A JSON-RPC error with the id of the request.
    OurId,
    /// Plain text.
    Text,
    /// No body.
    Empty,
    /// This status and this body, as JSON if it parses as such.
    Custom {
        /// HTTP status.
        status: u16,
        /// Body, with the placeholders of [`Action`].
        body: String,
    },
}

/// A fault before the first byte of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnAccept {
    /// Connections that pass first.
    #[serde(default)]
    pub skip: u32,
    /// How many then fail; absent means all.
    #[serde(default)]
    pub times: Option<u32>,
    /// How.
    pub cut: Cut,
}

/// A matcher and what to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// For the ledger, and for dropping the rule later.
    pub name: String,
    /// Which requests.
    pub when: Matcher,
    /// Matches that pass first.
    pub skip: u32,
    /// How many then count; absent means all.
    pub times: Option<u32>,
    /// Whether it applies before token and session are checked. By default a rule sees only requests that a healthy
    /// server would accept.
    pub early: bool,
    /// What to do, in order. If no response was begun at the end, the healthy answer follows; one that was begun and
    /// not ended is ended properly.
    #[serde(rename = "do")]
    pub actions: Vec<Action>,
}

/// Every member that is present must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Matcher {
    /// HTTP method.
    pub http: Option<String>,
    /// JSON-RPC method, one or several; `"*"` for any.
    pub rpc: Option<OneOrMore>,
    /// Tool, prompt or URI.
    pub name: Option<OneOrMore>,
    /// Whether it carries a session id.
    pub session: Option<bool>,
    /// Whether it carries a session id that is alive.
    pub known_session: Option<bool>,
    /// The session's number: 1 for the first that this server minted.
    pub generation: Option<u64>,
    /// The path.
    pub path: Option<String>,
    /// Whether it carries `Last-Event-ID`.
    pub resume: Option<bool>,
    /// The value of `Last-Event-ID`.
    pub last_event_id: Option<String>,
    /// The attempt number in `_meta`.
    pub attempt: Option<u64>,
    /// Whether it carries a progress token.
    pub progress_token: Option<bool>,
    /// Whether it asks for a further page.
    pub cursor: Option<bool>,
    /// The bearer token.
    pub token: Option<String>,
    /// Whether it is an answer to a request of the server.
    pub response: Option<bool>,
    /// Which lifecycle it means.
    pub era: Option<Lifecycle>,
    /// Whether it goes on with a request that was answered with a question.
    pub leg: Option<bool>,
    /// Whether it carries a cookie.
    pub cookie: Option<bool>,
    /// The `grant_type` of a request to the token endpoint.
    pub grant: Option<String>,
}

/// A string or a list of strings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Any of these.
    More(Vec<String>),
}

impl OneOrMore {
    pub(crate) fn matches(&self, value: Option<&str>) -> bool {
        let Some(value) = value else { return false };
        let hit = |wanted: &str| wanted == "*" || wanted == value;
        match self {
            Self::One(wanted) => hit(wanted),
            Self::More(list) => list.iter().any(|wanted| hit(wanted)),
        }
    }
}

/// What a matcher looks at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) http: String,
    pub(crate) path: String,
    pub(crate) rpc: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) session_known: bool,
    pub(crate) generation: Option<u64>,
    pub(crate) last_event_id: Option<String>,
    pub(crate) attempt: Option<u64>,
    pub(crate) progress_token: bool,
    pub(crate) cursor: bool,
    pub(crate) token: Option<String>,
    pub(crate) response: bool,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) leg: bool,
    pub(crate) cookie: bool,
    pub(crate) grant: Option<String>,
}

impl Matcher {
    pub(crate) fn matches(&self, facts: &Facts) -> bool {
        fn same<T: PartialEq>(wanted: &Option<T>, value: Option<&T>) -> bool {
            wanted.as_ref().is_none_or(|wanted| Some(wanted) == value)
        }
        same(&self.http, Some(&facts.http))
            && self.rpc.as_ref().is_none_or(|rpc| rpc.matches(facts.rpc.as_deref()))
            && self.name.as_ref().is_none_or(|name| name.matches(facts.name.as_deref()))
            && same(&self.session, Some(&facts.session.is_some()))
            && same(&self.known_session, Some(&facts.session_known))
            && same(&self.generation, facts.generation.as_ref())
            && same(&self.path, Some(&facts.path))
            && same(&self.resume, Some(&facts.last_event_id.is_some()))
            && same(&self.last_event_id, facts.last_event_id.as_ref())
            && same(&self.attempt, facts.attempt.as_ref())
            && same(&self.progress_token, Some(&facts.progress_token))
            && same(&self.cursor, Some(&facts.cursor))
            && same(&self.token, facts.token.as_ref())
            && same(&self.response, Some(&facts.response))
            && same(&self.era, Some(&facts.lifecycle))
            && same(&self.leg, Some(&facts.leg))
            && same(&self.cookie, Some(&facts.cookie))
            && same(&self.grant, facts.grant.as_ref())
    }
}

/// The rules in force, with their counts.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    live: Vec<(Rule, u32)>,
}

/// A rule that applies, and the how manieth use of it this is (from 0).
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) name: String,
    pub(crate) actions: Vec<Action>,
    pub(crate) nth: u32,
}

impl Rules {
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        Self { live: rules.into_iter().map(|rule| (rule, 0)).collect() }
    }

    /// New rules go before those that are there.
    pub(crate) fn add(&mut self, rules: Vec<Rule>) {
        let old = std::mem::take(&mut self.live);
        self.live = rules.into_iter().map(|rule| (rule, 0)).chain(old).collect();
    }

    pub(crate) fn drop_named(&mut self, name: &str) -> bool {
        let before = self.live.len();
        self.live.retain(|(rule, _)| rule.name != name);
        self.live.len() < before
    }

    /// The rule for this request. Each rule counts its own matches, so one that is used up or still skips lets the
    /// next one try.
    pub(crate) fn pick(&mut self, facts: &Facts, early: bool) -> Option<Hit> {
        for (rule, seen) in &mut self.live {
            if rule.early != early || !rule.when.matches(facts) {
                continue;
            }
            let nth = *seen;
            *seen = seen.saturating_add(1);
            if nth < rule.skip || rule.times.is_some_and(|times| nth - rule.skip >= times) {
                continue;
            }
            return Some(Hit { name: rule.name.clone(), actions: rule.actions.clone(), nth: nth - rule.skip });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        Rules::new(serde_json::from_str(text).unwrap())
    }

    fn poke() -> Facts {
        Facts { rpc: Some("tools/call".into()), name: Some("poke".into()), ..Facts::default() }
    }

    #[test]
    fn skip_and_times_count_the_matches_of_their_own_rule() {
        let mut rules = rules(
            r#"[{"name":"a","when":{"name":"poke"},"skip":1,"times":1,"do":["close"]},{"name":"b","times":2,"do":["reset"]}]"#,
        );
        let picked: Vec<_> = (0..4).map(|_| rules.pick(&poke(), false).map(|hit| hit.name)).collect();
        assert_eq!(picked, [Some("b".into()), Some("a".into()), Some("b".into()), None]);
    }

    #[test]
    fn early_rules_are_kept_apart() {
        let mut rules = rules(r#"[{"name":"e","early":true,"do":["close"]}]"#);
        assert!(rules.pick(&poke(), false).is_none());
        assert!(rules.pick(&poke(), true).is_some());
    }

    #[test]
    fn a_member_that_nobody_knows_is_refused() {
        let wrong = r#"{"when":{"tool":"poke"},"do":[]}"#;
        assert!(serde_json::from_str::<Rule>(wrong).unwrap_err().to_string().contains("tool"));
    }

    #[test]
    fn a_matcher_takes_lists_and_presence() {
        let matcher: Matcher =
            serde_json::from_str(r#"{"rpc":["ping","tools/call"],"session":false,"resume":false}"#).unwrap();
        assert!(matcher.matches(&poke()));
        assert!(!matcher.matches(&Facts { session: Some("s".into()), ..poke() }));
        assert!(!matcher.matches(&Facts { rpc: None, ..poke() }));
    }
}
