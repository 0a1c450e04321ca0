//! One server, from its address to its last DELETE.

use std::time::{Duration, Instant};

use oncewire::diagnose::{Ask, Prober, Told};
use oncewire::{ClientBuilder, Era, Lifecycle};

use super::budget::Budget;
use super::catalog::{self, Check};
use super::facts::Facts;
use super::progress::Progress;
use super::report::{Finding, ServerReport, Transport};
use super::{auth, call, era, family, grade, idle, limits, reach, session, streams, tools};
use crate::interrupt::Interrupt;

/// What is examined, and how far.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// All of it, for one server.
    pub(super) timeout: Duration,
    /// Silence is watched, too.
    pub(super) slow: Option<Duration>,
    /// A second session beside the first is allowed.
    pub(super) intrusive: bool,
    /// A tool that may be called once, without arguments.
    pub(super) call: Option<String>,
    /// The login may be used up to its refresh.
    pub(super) login: bool,
    /// A login was given.
    pub(super) has_login: bool,
    /// The era that is looked at where a server speaks both.
    pub(super) era: Era,
    /// Tells of Ctrl+C, which ends it in good order.
    pub(super) interrupt: Interrupt,
}

/// The examination of one server, while it goes on.
pub(super) struct Examination<'a> {
    pub(super) prober: Prober,
    pub(super) plan: &'a Plan,
    pub(super) progress: &'a Progress,
    budget: Budget,
    pub(super) facts: Facts,
    pub(super) findings: Vec<Finding>,
    /// The answer to a list on an unknown session: what the family is known by.
    pub(super) unknown_session: Option<Told>,
    /// Sessions that were opened, and are to be ended.
    pub(super) sessions: Vec<OpenSession>,
    /// What the tools are, if they were listed.
    pub(super) tools: Vec<serde_json::Value>,
    out_of_time: bool,
}

/// A session of ours.
#[derive(Clone, Debug)]
pub(super) struct OpenSession {
    pub(super) id: Option<String>,
    pub(super) version: String,
}

/// How requests are sent once the era is known.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// On a session, which may have no id.
    Legacy(OpenSession),
    /// With this version in each request.
    Modern(String),
}

impl Line {
    /// The request, dressed for this line.
    pub(super) fn dress(&self, ask: Ask) -> Ask {
        match self {
            Self::Legacy(session) => ask.session(session.id.as_deref()).version(Some(&session.version)),
            Self::Modern(version) => ask.modern(version),
        }
    }

    /// A request that every server of the era answers, and that does nothing.
    pub(super) fn harmless(&self) -> Ask {
        self.dress(match self {
            Self::Legacy(_) => Ask::request("ping", serde_json::Value::Null),
            Self::Modern(_) => Ask::request("server/discover", serde_json::Value::Null),
        })
    }

    pub(super) fn lifecycle(&self) -> Lifecycle {
        match self {
            Self::Legacy(_) => Lifecycle::Legacy,
            Self::Modern(_) => Lifecycle::Modern,
        }
    }
}

/// Examines the server that this builder makes a client of.
pub(super) async fn examine(
    name: Option<String>,
    builder: &ClientBuilder,
    plan: &Plan,
    progress: &Progress,
) -> Result<ServerReport, oncewire::Error> {
    let started = Instant::now();
    let prober = Prober::new(builder)?;
    let target = prober.address();
    let mut examination = Examination {
        prober,
        plan,
        progress,
        budget: Budget::of(plan.timeout),
        facts: Facts::default(),
        findings: Vec::new(),
        unknown_session: None,
        sessions: Vec::new(),
        tools: Vec::new(),
        out_of_time: false,
    };
    tokio::select! {
        () = examination.everything() => {}
        _ = plan.interrupt.given() => {}
    }
    examination.end_sessions().await;
    examination.prober.close().await;
    let Examination { prober, facts, mut findings, unknown_session, out_of_time, tools, .. } = examination;
    if out_of_time {
        let detail = format!("{} s were not enough", plan.timeout.as_secs_f64());
        findings.push(Finding::new(&catalog::OUT_OF_TIME, detail));
    }
    let grade = grade::grade(&facts, &findings);
    let family = family::family(&facts, unknown_session.as_ref());
    drop(tools);
    let mut report = ServerReport {
        name,
        target,
        transport: Transport::Http,
        complete: !out_of_time,
        took_ms: millis(started.elapsed()),
        grade,
        family,
        facts,
        findings,
    };
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in &mut report.findings {
        finding.detail = prober.redacted(&finding.detail);
    }
    Ok(report)
}

impl Examination<'_> {
    async fn everything(&mut self) {
        if !reach::examine(self).await {
            return;
        }
        if !auth::examine(self).await {
            return;
        }
        let Some(line) = era::examine(self).await else { return };
        if let Line::Legacy(session) = &line {
            session::examine_living(self, session).await;
        }
        tools::examine(self, &line).await;
        streams::examine(self, &line).await;
        call::examine(self, &line).await;
        limits::examine(self, &line).await;
        idle::examine(self, &line).await;
        if let Line::Legacy(session) = &line {
            session::examine_end(self, session).await;
        }
    }

    /// Asks, if there is time left.
    pub(super) async fn ask(&mut self, ask: Ask) -> Option<Told> {
        let patience = self.patience()?;
        Some(self.prober.ask(ask.patience(patience)).await)
    }

    /// How long the next answer may take; none, and noted, if the time is over.
    pub(super) fn patience(&mut self) -> Option<Duration> {
        let patience = self.budget.next();
        self.out_of_time |= patience.is_none();
        patience
    }

    /// As long as that, or what is left of the time.
    pub(super) fn up_to(&mut self, most: Duration) -> Option<Duration> {
        let patience = self.budget.up_to(most);
        self.out_of_time |= patience.is_none_or(|patience| patience < most);
        patience
    }

    /// The same, and less is no matter.
    pub(super) fn at_most(&mut self, most: Duration) -> Option<Duration> {
        let patience = self.budget.up_to(most);
        self.out_of_time |= patience.is_none();
        patience
    }

    pub(super) fn find(&mut self, check: &'static Check, detail: impl Into<String>) {
        self.findings.push(Finding::new(check, detail));
    }

    /// Every session that was opened gets its DELETE, also when the time is over.
    async fn end_sessions(&mut self) {
        for session in std::mem::take(&mut self.sessions) {
            let Some(id) = &session.id else { continue };
            let ask = Ask::end().session(Some(id)).version(Some(&session.version)).patience(self.budget.for_the_end());
            let _ = self.prober.ask(ask).await;
        }
    }

    /// This session was opened by us.
    pub(super) fn opened(&mut self, session: &OpenSession) {
        self.sessions.push(session.clone());
    }

    /// This session had its DELETE.
    pub(super) fn ended(&mut self, session: &OpenSession) {
        self.sessions.retain(|open| open.id != session.id);
    }
}

/// In whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
