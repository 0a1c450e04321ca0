//! The report for a person.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::facts::{Answer, Facts};
use super::report::{Finding, Grade, Letter, Report, ServerReport, Severity};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The whole report, with colours; whoever prints it takes them out where they are not wanted.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for (index, server) in report.servers.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        of_server(server, &mut text);
    }
    text
}

fn of_server(server: &ServerReport, text: &mut String) {
    let name = server.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let _ = writeln!(text, "{BOLD}{name}{}{BOLD:#}", server.target);
    for (room, line) in rooms(&server.facts) {
        let _ = writeln!(text, "  {DIM}{room:<8}{DIM:#} {line}");
    }
    if let Some(family) = &server.family {
        let _ = writeln!(text, "  {DIM}{:<8}{DIM:#} {} (by {})", "family", family.name, family.evidence);
    }
    if !server.findings.is_empty() {
        text.push('\n');
    }
    for finding in &server.findings {
        of_finding(finding, text);
    }
    text.push('\n');
    match &server.grade {
        Some(grade) => of_grade(grade, text),
        None => {
            let _ = writeln!(text, "  retry safety: not graded, for there was too little to see");
        }
    }
}

fn of_finding(finding: &Finding, text: &mut String) {
    let style = match finding.severity {
        Severity::Error => AnsiColor::Red.on_default().bold(),
        Severity::Warning => AnsiColor::Yellow.on_default(),
        Severity::Info => AnsiColor::Cyan.on_default(),
    };
    let _ = writeln!(
        text,
        "  {style}{:<7}{style:#} {} {DIM}[{}]{DIM:#}",
        finding.severity.as_str(),
        finding.title,
        finding.check
    );
    if !finding.detail.is_empty() {
        let _ = writeln!(text, "          {}", finding.detail);
    }
    let _ = writeln!(text, "          fix: {}", finding.fix);
}

fn of_grade(grade: &Grade, text: &mut String) {
    let style = match grade.letter {
        Letter::A | Letter::B => AnsiColor::Green.on_default().bold(),
        Letter::C | Letter::D => AnsiColor::Yellow.on_default().bold(),
        Letter::E | Letter::F => AnsiColor::Red.on_default().bold(),
    };
    let capped = grade.capped_by.map(|check| format!(", no better for {check}")).unwrap_or_default();
    let _ = writeln!(text, "  retry safety: {style}{:?}{style:#} ({} of 100{capped})", grade.letter, grade.score);
    for part in &grade.parts {
        let _ = writeln!(text, "    {:>3}  {}: {}", part.score, part.loss, part.reason);
    }
}

/// One line for each room that was looked into.
fn rooms(facts: &Facts) -> Vec<(&'static str, String)> {
    let mut rooms = Vec::new();
    if let Some(reach) = &facts.reach {
        let described = reach.addresses.iter().map(|address| match address.connect_ms {
            Some(ms) => format!("{} {ms} ms", address.ip),
            None => format!("{} fails", address.ip),
        });
        let addresses: Vec<_> = described.collect();
        let addresses = if addresses.is_empty() { vec!["no address".to_owned()] } else { addresses };
        let mut line = match &reach.proxy {
            Some(proxy) => format!("through {proxy}"),
            None => addresses.join(", "),
        };
        if let Some(tls) = &reach.tls {
            let days = tls.certificate_days_left.map(|days| format!(", certificate {days} days")).unwrap_or_default();
            line = format!("{line}, TLS {}{days}", tls.version);
        }
        for more in reach
            .http
            .iter()
            .map(|version| format!("HTTP/{version}"))
            .chain(reach.server.clone())
            .chain(reach.via.clone())
        {
            line = format!("{line}, {more}");
        }
        rooms.push(("reach", line));
    }
    if let Some(auth) = facts.auth.as_ref().filter(|auth| auth.required) {
        let issuer = auth.issuer.as_ref().map(|issuer| format!(", tokens from {issuer}")).unwrap_or_default();
        rooms.push((
            "auth",
            format!("a login is wanted, {} was given{issuer}", if auth.login == "none" { "none" } else { "one" }),
        ));
    }
    if let Some(era) = &facts.era {
        let who = match (&era.server_name, &era.server_version) {
            (Some(name), Some(version)) => format!(", {name} {version}"),
            (Some(name), None) => format!(", {name}"),
            _ => String::new(),
        };
        let version = era.version.as_deref().unwrap_or("nothing was agreed on");
        let era_name = era.speaks.map(|era| format!(" ({era})")).unwrap_or_default();
        let can =
            if era.capabilities.is_empty() { String::new() } else { format!(": {}", era.capabilities.join(", ")) };
        rooms.push(("era", format!("{version}{era_name}{who}{can}")));
    }
    if let Some(session) = &facts.session {
        let mut line = if session.given { "given".to_owned() } else { "none is given".to_owned() };
        let answers = [
            ("unknown", &session.unknown),
            ("missing", &session.missing),
            ("GET", &session.get),
            ("second GET", &session.second_get),
            ("DELETE", &session.delete),
            ("after it", &session.after_delete),
        ];
        for (what, answer) in answers {
            if let Some(answer) = answer {
                line = format!("{line}, {what} {}", brief(answer));
            }
        }
        rooms.push(("session", line));
        if let Some(unknown) = session.unknown.as_ref().filter(|_| session.given) {
            let confirmed = match session.unknown_confirmed {
                Some(true) => ", and a ping confirms it",
                Some(false) => ", and a ping does not confirm it",
                None => "",
            };
            rooms.push((
                "",
                format!("an unknown session is understood as {} by {}{confirmed}", unknown.class, unknown.line),
            ));
        }
    }
    if let Some(streams) = &facts.streams {
        let mut line = streams.shape.unwrap_or("unknown").to_owned();
        if streams.shape == Some("sse") {
            line = format!("{line}, {}", if streams.event_ids { "event ids" } else { "no event ids" });
        }
        for (is, what) in [(streams.priming, "priming event"), (streams.comments, "comments")] {
            if is {
                line = format!("{line}, {what}");
            }
        }
        if let Some(retry) = streams.retry_ms {
            line = format!("{line}, retry {retry} ms");
        }
        if let Some(resume) = streams.resume {
            line = format!("{line}, reading on: {resume}");
        }
        if let Some(resume) = streams.resume_running {
            line = format!("{line}, while a tool runs: {resume}");
        }
        rooms.push(("streams", line));
    }
    if let Some(limits) = &facts.limits {
        let how = match limits.serial {
            Some(true) => ", one after the other",
            Some(false) => ", side by side",
            None => "",
        };
        rooms.push(("limits", format!("{} of {} at once answered{how}", limits.answered, limits.at_once)));
    }
    if let Some(tools) = &facts.tools {
        let line = format!(
            "{}: {} only read, {} can be repeated, {} write, {} say nothing",
            tools.count, tools.read_only, tools.idempotent, tools.writing, tools.silent
        );
        rooms.push(("tools", line));
    }
    if let Some(idle) = &facts.idle {
        let after = |what: &str, ms: Option<u64>| match ms {
            Some(ms) => format!("{what} ended after {:.1} s", std::time::Duration::from_millis(ms).as_secs_f64()),
            None => format!("{what} lived on"),
        };
        let line = format!(
            "{}, {}",
            after("connection", idle.connection_closed_after_ms),
            after("stream", idle.stream_cut_after_ms)
        );
        rooms.push(("idle", line));
    }
    if let Some(process) = &facts.process {
        let exit = match (process.exit_ms, process.exit_code) {
            (Some(ms), Some(code)) => format!("ended {ms} ms after its stdin with {code}"),
            (Some(ms), None) => format!("ended {ms} ms after its stdin"),
            (None, _) => "did not end with its stdin".to_owned(),
        };
        rooms.push((
            "process",
            format!("{} stray lines, {} lines on stderr, {exit}", process.stray_lines, process.stderr_lines),
        ));
    }
    rooms
}

fn brief(answer: &Answer) -> String {
    match (answer.status, answer.code) {
        (Some(status), Some(code)) => format!("{status}/{code}"),
        (Some(status), None) => status.to_string(),
        (None, _) => "no answer".to_owned(),
    }
}
