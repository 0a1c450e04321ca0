//! One proxy before a backend that fails as its script says, in every situation. The backend's ledger is complete: it says what ran.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use oncewire::{CallToolResult, Client, ClientBuilder, Error, Execution};
use oncewire_tests::server::{Cut, FaultServer, Ledger, Options, Rule, Script, Shape};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::super::situations::{Outcome, UNKNOWN, Words};
use super::super::trial::STEP;
use super::configuration::IDLE;
use super::{Front, Proxy, Wire};

/// The situations, as the heads of the table.
pub(crate) const SITUATIONS: [&str; 7] = [
    "closes without a byte",
    "closes without a byte, each time",
    "runs, then refuses",
    "down",
    "restarted",
    "login ends, rate limit",
    "idle connections",
];

/// A tool that says nothing of itself, one that says that it only reads.
pub(super) const POKE: &str = "poke";
const PEEK: &str = "peek";
/// How long the backend asks to wait, in seconds; it refuses everything for a little less than that. Longer than what lets the proxy cut the
/// client's idle connection, so that the two do not meet.
const WAIT: u64 = 2;
/// The backend cuts its idle connections after this, in milliseconds.
const BACKEND_IDLE: u64 = 100;

/// One proxy, one backend, one client at a time.
pub(super) struct Trial {
    pub(super) name: &'static str,
    pub(super) server: FaultServer,
    front: Front,
    pub(super) outcome: Outcome,
}

/// Puts the proxy through all of it; the text says why it is not there.
pub(crate) async fn all(name: &'static str, proxy: Proxy, wire: Wire) -> Result<Result<Outcome, String>> {
    let mut trial = match Trial::start(name, proxy, wire, None).await? {
        Ok(trial) => trial,
        Err(problem) => return Ok(Err(problem)),
    };
    for situation in SITUATIONS {
        let words = match situation {
            "closes without a byte" => trial.closes(false).await,
            "closes without a byte, each time" => trial.closes(true).await,
            "runs, then refuses" => trial.refuses().await,
            "down" => trial.down().await,
            "restarted" => trial.restarted().await,
            "login ends, rate limit" => trial.standing().await,
            _ => trial.idle().await,
        };
        if !trial.close_cell(words) {
            break;
        }
    }
    trial.front.end().await?;
    Ok(Ok(trial.outcome))
}

impl Trial {
    pub(super) async fn start(
        name: &'static str,
        proxy: Proxy,
        wire: Wire,
        repeating: Option<super::Repeating>,
    ) -> Result<Result<Self, String>> {
        let options = Options { answer: Shape::Json, ..Options::default() };
        let server = FaultServer::start(Script { options, rules: Vec::new() }).await?;
        let front = proxy.start(name, server.port(), wire, repeating).await.context("the proxy does not start")?;
        Ok(front.map(|front| Self { name, server, front, outcome: Outcome::default() }))
    }

    pub(super) async fn end(mut self) -> Result<Outcome> {
        self.front.end().await?;
        Ok(self.outcome)
    }

    /// A client of its own for one situation, with a healthy backend.
    pub(super) async fn client(&self, options: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<Client> {
        self.server.set_rules(Vec::new());
        let connect = options(self.front.client()).connect();
        let client = timeout(STEP, connect).await.context("the handshake hangs")?.context("no handshake")?;
        client.list_tools().await.context("the tools are not listed")?;
        Ok(client)
    }

    pub(super) fn rules(&self, rules: Value) -> Result<()> {
        self.server.set_rules(serde_json::from_value::<Vec<Rule>>(rules)?);
        Ok(())
    }

    pub(super) async fn call(&self, client: &Client, tool: &'static str) -> Result<Result<CallToolResult, Error>> {
        timeout(STEP, client.call_tool(tool, json!({})).into_future()).await.context("the call hangs")
    }

    pub(super) fn runs(&self, tool: &str) -> usize {
        let Ledger { executions, .. } = self.server.ledger();
        executions.iter().filter(|execution| execution.name.as_deref() == Some(tool)).count()
    }

    /// The backend runs the tool and closes the connection without a byte, once or each time: on a connection that the proxy has just made,
    /// and on one that it keeps.
    async fn closes(&mut self, each_time: bool) -> Result<Words> {
        let client = self.client(|client| client).await?;
        let mut seen = BTreeSet::new();
        for kept in [true, false] {
            let connection = if kept { "kept" } else { "new" };
            let times = if each_time { Value::Null } else { json!(1) };
            let closes = |tool| json!([{ "when": { "name": tool }, "times": times, "do": ["execute", "close"] }]);
            self.rules(closes(POKE))?;
            self.connection(&client, kept).await?;
            let before = self.runs(POKE);
            let answer = self.call(&client, POKE).await?;
            let ran = self.runs(POKE) - before;
            seen.insert(self.unknown(format!("{connection} connection"), answer));
            self.check_equal(format!("{connection} connection: runs of the tool"), ran, 1);

            // With leave it is sent again, and not for ever.
            self.rules(closes(PEEK))?;
            let before = self.runs(PEEK);
            let answer = self.call(&client, PEEK).await?;
            let ran = self.runs(PEEK) - before;
            let right = if each_time { 2..=3 } else { 2..=2 };
            self.check(
                format!("{connection} connection: a tool that only reads ran {ran} times"),
                right.contains(&ran),
            );
            self.check(format!("{connection} connection: and is answered, or not"), answer.is_ok() != each_time);

            self.server.set_rules(Vec::new());
            let before = self.runs(POKE);
            let answer = self.call(&client, POKE).await?;
            self.answered(format!("{connection} connection: the next call"), answer);
            self.check_equal("runs of the tool", self.runs(POKE), before + 1);
        }
        client.close().await;
        let seen = seen.into_iter().collect::<Vec<_>>().join(" or ");
        Ok((format!("{UNKNOWN}: {seen}"), None))
    }

    /// Makes sure that the proxy has a connection to the backend that it can use again, or none.
    async fn connection(&self, client: &Client, kept: bool) -> Result<()> {
        client.list_tools().await.context("the tools are not listed")?;
        if !kept {
            self.server.cut_connections(Cut::Close);
            // It takes the proxy a moment to notice.
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// The tool runs, and then the backend says one of the words that otherwise mean that nothing ran.
    async fn refuses(&mut self) -> Result<Words> {
        for status in [400, 401, 403, 404, 410, 429] {
            let client = self.client(|client| client).await?;
            let respond = json!({ "respond": { "status": status, "text": "Session not found", "headers": { "content-type": "text/plain" } } });
            self.rules(json!([{ "when": { "name": POKE }, "times": 1, "do": ["execute", respond] }]))?;
            let before = self.runs(POKE);
            let answer = self.call(&client, POKE).await?;
            self.check_equal(format!("{status} after it: runs of the tool"), self.runs(POKE) - before, 1);
            let _ = self.unknown(format!("{status} after it"), answer);
            let answer = self.call(&client, POKE).await?;
            self.answered(format!("{status} after it: the next call"), answer);
            client.close().await;
        }
        Ok((UNKNOWN.into(), None))
    }

    /// Nobody listens behind the proxy.
    async fn down(&mut self) -> Result<Words> {
        let client = self.client(|client| client).await?;
        self.server.go_down().await;
        sleep(Duration::from_millis(100)).await;
        let before = self.runs(POKE);
        let answer = self.call(&client, POKE).await?;
        self.check_equal("down: runs of the tool", self.runs(POKE) - before, 0);
        let told = match &answer {
            Ok(_) => "answered".to_owned(),
            Err(error) => describe(error),
        };
        self.check(
            format!("down: told {told}"),
            matches!(&answer, Err(error) if error.execution() != Execution::Answered),
        );
        self.server.come_up().await;
        sleep(Duration::from_millis(100)).await;
        let answer = self.call(&client, POKE).await?;
        self.answered("down: the next call, when it is up", answer);
        self.check_equal("down: runs of the tool in the end", self.runs(POKE) - before, 1);
        client.close().await;
        Ok((told, None))
    }

    /// The backend is restarted, and knows no session any more.
    async fn restarted(&mut self) -> Result<Words> {
        let client = self.client(|client| client).await?;
        self.server.restart().await;
        sleep(Duration::from_millis(100)).await;
        let (before, handshakes) = (self.runs(POKE), self.handshakes());
        let answer = self.call(&client, POKE).await?;
        self.answered("restarted: the next call", answer);
        self.check_equal("restarted: runs of the tool", self.runs(POKE) - before, 1);
        self.check_equal("restarted: handshakes", self.handshakes() - handshakes, 1);
        client.close().await;
        Ok(("recovers".into(), None))
    }

    /// The backend refuses everything for a reason that can be mended.
    async fn standing(&mut self) -> Result<Words> {
        let tokens = AtomicUsize::new(0);
        self.server.accept_tokens(["0"]);
        let provider = move |_| {
            let next = tokens.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok(next.to_string()))
        };
        let client = self.client(|client| client.token_provider(provider)).await?;
        self.server.accept_tokens(["1"]);
        let (before, handshakes) = (self.runs(POKE), self.handshakes());
        let answer = self.call(&client, POKE).await?;
        self.answered("the token ends: the next call", answer);
        self.check_equal("the token ends: runs of the tool", self.runs(POKE) - before, 1);
        self.check_equal("the token ends: handshakes", self.handshakes() - handshakes, 0);
        client.close().await;
        self.server.change_options(|options| options.tokens = None);

        let client = self.client(|client| client).await?;
        let limit = json!({ "respond": { "status": 429, "text": "slow down", "headers": { "retry-after": WAIT.to_string() } } });
        self.rules(json!([{ "name": "limit", "early": true, "when": { "http": "POST" }, "do": [limit] }]))?;
        let before = self.runs(POKE);
        let lifted = async {
            sleep(Duration::from_secs(WAIT) - Duration::from_millis(200)).await;
            self.server.drop_rule("limit");
        };
        let (answer, ()) = tokio::join!(self.call(&client, POKE), lifted);
        self.answered("a rate limit: the call", answer?);
        self.check_equal("a rate limit: runs of the tool", self.runs(POKE) - before, 1);
        client.close().await;
        Ok(("a new token, a wait: answered".into(), None))
    }

    /// The proxy cuts the idle connections of its clients, and the backend those of the proxy.
    async fn idle(&mut self) -> Result<Words> {
        let client = self.client(|client| client).await?;
        sleep(Duration::from_secs(IDLE) + Duration::from_millis(300)).await;
        let (before, handshakes) = (self.runs(POKE), self.handshakes());
        let answer = self.call(&client, POKE).await?;
        self.answered("idle: the next call", answer);
        self.check_equal("idle: runs of the tool", self.runs(POKE) - before, 1);
        self.check_equal("idle: handshakes", self.handshakes() - handshakes, 0);

        // A call may meet the very moment in which the backend closes: it is lost then, or not.
        self.server.change_options(|options| options.idle_close_ms = Some(BACKEND_IDLE));
        let (mut answered, mut unknown) = (0, 0);
        for late in [0, 1, 2, 3, 5, 10] {
            let before = self.runs(POKE);
            let answer = self.call(&client, POKE).await?;
            let ran = self.runs(POKE) - before;
            let holds = match &answer {
                Ok(_) => ran == 1,
                Err(error) => ran <= usize::from(error.execution() != Execution::NotExecuted),
            };
            let told = answer.as_ref().map_or_else(describe, |_| "answered".into());
            self.check(format!("the backend is idle: {told}, and the tool ran {ran} times"), holds);
            if answer.is_ok() {
                answered += 1;
            } else {
                unknown += 1;
            }
            sleep(Duration::from_millis(BACKEND_IDLE - 2 + late)).await;
        }
        println!(
            "[{}]    saw  {answered} answered, {unknown} not, near the end of the backend's connections",
            self.name
        );
        self.server.change_options(|options| options.idle_close_ms = None);
        client.close().await;
        Ok(("answered".into(), None))
    }

    fn handshakes(&self) -> u64 {
        self.server.ledger().by_rpc.get("initialize").copied().unwrap_or_default()
    }

    /// The verdict that must be; in words what the client got.
    fn unknown(&mut self, what: String, answer: Result<CallToolResult, Error>) -> String {
        match answer {
            Ok(_) => {
                self.check(format!("{what}: was answered"), false);
                "an answer".into()
            }
            Err(error) => {
                println!("[{}]    saw  {error} ({})", self.name, error.kind());
                let right = Execution::MayHaveExecuted;
                self.check_equal(format!("{what}: the verdict"), error.execution(), right);
                got(&error)
            }
        }
    }

    pub(super) fn answered(&mut self, what: impl Display, answer: Result<CallToolResult, Error>) {
        match answer {
            Ok(_) => self.check(what, true),
            Err(error) => self.check(format_args!("{what}: {error}"), false),
        }
    }

    pub(super) fn check(&mut self, what: impl Display, holds: bool) {
        self.outcome.check(self.name, what, holds);
    }

    pub(super) fn check_equal<T: PartialEq + Debug>(&mut self, what: impl Display, seen: T, right: T) {
        self.outcome.check_equal(self.name, what, seen, right);
    }

    /// Ends a cell. Does the row go on?
    pub(super) fn close_cell(&mut self, words: Result<Words>) -> bool {
        match words {
            Ok(words) => {
                self.outcome.close_cell(words);
                true
            }
            Err(error) => {
                self.check(format_args!("it broke off: {error:#}"), false);
                false
            }
        }
    }
}

/// What an error says, in the words of the table.
pub(super) fn describe(error: &Error) -> String {
    format!("`{}`: {}", error.execution(), got(error))
}

/// What the proxy sent.
fn got(error: &Error) -> String {
    let status = match error {
        Error::NotExecuted(failure) | Error::MayHaveExecuted(failure) => failure.http_status,
        Error::Answered(failure) => failure.http_status,
        _ => None,
    };
    match status {
        Some(status) => status.to_string(),
        None if error.to_string().to_lowercase().contains("refused the stream") => {
            "`RST_STREAM(REFUSED_STREAM)`".into()
        }
        None => "the end of the connection".into(),
    }
}
