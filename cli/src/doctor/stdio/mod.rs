//! A server on stdio: how it starts, what it says, what it writes besides messages, and how it ends.

mod pipes;

use std::time::{Duration, Instant};

use oncewire::Era;
use serde_json::{Value, json};

pub(crate) use self::pipes::Program;
use self::pipes::{End, Pipes};
use super::answer::one_line;
use super::budget::Budget;
use super::examine::{Plan, millis};
use super::facts::{Facts, Process};
use super::progress::Progress;
use super::report::{Finding, ServerReport, Transport};
use super::{catalog, era, grade, tools};

/// How long a process may take until it answers: some are fetched first (`npx`, `uvx`).
const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// How long it may take to end when its stdin is closed.
const END: Duration = Duration::from_secs(5);
/// Pages of tools that are read.
const PAGES: usize = 50;

/// Examines the server that this program is.
pub(super) async fn examine(name: Option<String>, program: &Program, plan: &Plan, progress: &Progress) -> ServerReport {
    let started = Instant::now();
    let budget = Budget::of(plan.timeout);
    let (mut facts, mut findings) = (Facts::default(), Vec::new());
    let mut process = Process::default();
    let mut complete = true;
    match Pipes::start(program) {
        Err(why) => findings.push(Finding::new(&catalog::SPAWN_FAILED, why)),
        Ok(mut pipes) => {
            let mut conversation =
                Conversation { pipes: &mut pipes, plan, budget, progress, facts: &mut facts, findings: &mut findings };
            complete = tokio::select! {
                said = conversation.all(&mut process) => said.is_some(),
                _ = plan.interrupt.given() => false,
            };
            progress.at("end");
            let early = pipes.ended();
            let End { ended, stray, first_stray, stderr_lines } = pipes.close(END).await;
            (process.stray_lines, process.first_stray, process.stderr_lines) = (stray, first_stray, stderr_lines);
            if let Some(line) = &process.first_stray {
                let more = if stray > 1 { format!(", and {} more", stray - 1) } else { String::new() };
                findings.push(Finding::new(&catalog::STRAY_OUTPUT, format!("{line:?}{more}")));
            }
            match (early, ended) {
                (Some(status), _) => findings.push(Finding::new(&catalog::SPAWN_FAILED, format!("it ended: {status}"))),
                (None, None) => {
                    let detail = format!("it was ended after {} s", END.as_secs());
                    findings.push(Finding::new(&catalog::EXITS_LATE, detail));
                }
                (None, Some((took, status))) => {
                    process.exit_ms = Some(millis(took));
                    process.exit_code = status.code();
                    if !status.success() {
                        findings.push(Finding::new(&catalog::EXIT_CODE, status.to_string()));
                    }
                }
            }
        }
    }
    facts.process = Some(process);
    let grade = grade::grade(&facts, &findings);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    ServerReport {
        name,
        target: program.program.clone(),
        transport: Transport::Stdio,
        complete,
        took_ms: millis(started.elapsed()),
        grade,
        family: None,
        facts,
        findings,
    }
}

/// What is said while the process runs.
struct Conversation<'a> {
    pipes: &'a mut Pipes,
    plan: &'a Plan,
    budget: Budget,
    progress: &'a Progress,
    facts: &'a mut Facts,
    findings: &'a mut Vec<Finding>,
}

impl Conversation<'_> {
    /// All of it; none if it broke off.
    async fn all(&mut self, process: &mut Process) -> Option<()> {
        self.progress.at("era");
        let started = Instant::now();
        let mut seen = super::facts::Era::default();
        let patience = self.budget.up_to(FIRST_ANSWER)?;
        let mut modern = false;
        if self.plan.era != Era::Legacy {
            let discovered = self.pipes.ask("server/discover", self.meta(json!({})), patience).await;
            match discovered {
                Some(answer) => {
                    process.first_answer_ms = Some(millis(started.elapsed()));
                    if let Some(result) = answer.get("result") {
                        era::introduce(&mut seen, result);
                        seen.versions = era::texts(&result["supportedVersions"]);
                        modern = seen.versions.iter().any(|version| version == era::MODERN);
                    }
                }
                None if self.pipes.ended().is_some() => return None,
                None => {
                    let detail = format!("nothing came within {} s", patience.as_secs());
                    self.findings.push(Finding::new(&catalog::PROBE_SILENT, detail));
                }
            }
        }
        if modern {
            (seen.speaks, seen.version) = (Some("modern"), Some(era::MODERN.to_owned()));
        } else {
            self.handshake(&mut seen, process, started).await?;
        }
        self.facts.era = Some(seen);
        self.tools(modern).await?;
        self.call(modern).await;
        Some(())
    }

    async fn handshake(&mut self, seen: &mut super::facts::Era, process: &mut Process, started: Instant) -> Option<()> {
        let patience = self.budget.up_to(FIRST_ANSWER)?;
        let params = json!({
            "protocolVersion": era::LEGACY,
            "capabilities": {},
            "clientInfo": { "name": "oncewire", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = self.pipes.ask("initialize", params, patience).await;
        let Some(result) = answer.as_ref().and_then(|answer| answer.get("result")) else {
            let detail = match answer.as_ref().map(|answer| &answer["error"]["message"]) {
                Some(message) => one_line(message.as_str().unwrap_or("an error without words")),
                None => "no answer".to_owned(),
            };
            self.findings.push(Finding::new(&catalog::HANDSHAKE_FAILED, detail));
            return None;
        };
        process.first_answer_ms.get_or_insert_with(|| millis(started.elapsed()));
        era::introduce(seen, result);
        seen.speaks = Some("legacy");
        seen.version = result["protocolVersion"].as_str().map(one_line);
        self.pipes.tell("notifications/initialized", self.budget.next()?).await
    }

    async fn tools(&mut self, modern: bool) -> Option<()> {
        let offers = self.facts.era.as_ref().is_some_and(|era| era.capabilities.iter().any(|name| name == "tools"));
        if !offers {
            return Some(());
        }
        self.progress.at("tools");
        let (mut all, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let params = if modern { self.meta(params) } else { params };
            let answer = self.pipes.ask("tools/list", params, self.budget.next()?).await;
            let Some(result) = answer.as_ref().and_then(|answer| answer.get("result")) else {
                let detail =
                    answer.map_or_else(|| "no answer".to_owned(), |answer| one_line(&answer["error"].to_string()));
                self.findings.push(Finding::new(&catalog::NO_TOOLS, detail));
                return Some(());
            };
            pages += 1;
            all.extend(result["tools"].as_array().cloned().unwrap_or_default());
            let next = result["nextCursor"].clone();
            if next.is_null() {
                break;
            }
            if pages >= PAGES || next == cursor {
                self.findings.push(Finding::new(&catalog::PAGES_ENDLESS, format!("page {pages} names another one")));
                break;
            }
            cursor = next;
        }
        let (mut seen, found) = tools::judge(&all);
        seen.pages = pages;
        self.facts.tools = Some(seen);
        self.findings.extend(found);
        Some(())
    }

    /// The tool that a person named.
    async fn call(&mut self, modern: bool) -> Option<()> {
        let name = self.plan.call.as_ref()?;
        let params = json!({ "name": name, "arguments": {} });
        let params = if modern { self.meta(params) } else { params };
        let answer = self.pipes.ask("tools/call", params, self.budget.next()?).await;
        let detail = match &answer {
            None => "no answer".to_owned(),
            Some(answer) if answer["result"]["isError"] == true => "it says that it failed".to_owned(),
            Some(answer) if answer.get("result").is_some() => return Some(()),
            Some(answer) => one_line(&answer["error"].to_string()),
        };
        self.findings.push(Finding::new(&catalog::CALL_FAILED, format!("{name:?}: {detail}")));
        Some(())
    }

    /// The params with what a request of the modern era says of itself.
    fn meta(&self, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": era::MODERN,
            "io.modelcontextprotocol/clientInfo": { "name": "oncewire", "version": env!("CARGO_PKG_VERSION") },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params
    }
}
