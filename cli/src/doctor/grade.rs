//! How safe retries are: of the ways in which a call can be lost, how many can be told for sure or made good.
//!
//! Four ways, each with a weight and a score from 0 to 100; what a server does not have (sessions, logins, tools) is left out, and the
//! grade is the mean of the rest. A finding can bound it.

use super::catalog::CHECKS;
use super::facts::{Facts, Session, Tools};
use super::report::{Finding, Grade, Letter, Part};

/// The best letter that this score gives.
const LETTERS: [(u32, Letter); 5] =
    [(90, Letter::A), (75, Letter::B), (60, Letter::C), (40, Letter::D), (20, Letter::E)];

/// The grade; none if the server was not spoken to.
pub(super) fn grade(facts: &Facts, findings: &[Finding]) -> Option<Grade> {
    let era = facts.era.as_ref()?;
    let modern = era.speaks? == "modern";
    let parts: Vec<Part> = [
        (!modern).then(|| restart(facts.session.as_ref(), findings)).flatten(),
        cut(facts, modern),
        facts.auth.as_ref().filter(|auth| auth.required).map(|auth| login(auth.challenge, auth.own_metadata)),
        facts.tools.as_ref().and_then(hints),
    ]
    .into_iter()
    .flatten()
    .collect();
    let weight: u32 = parts.iter().map(|part| part.weight).sum();
    let sum: u32 = parts.iter().map(|part| part.weight * part.score).sum();
    let score = (sum + weight / 2).checked_div(weight).unwrap_or(100);
    let letter = LETTERS.iter().find(|(least, _)| score >= *least).map_or(Letter::F, |(_, letter)| *letter);
    let cap = findings
        .iter()
        .filter_map(|finding| CHECKS.iter().find(|check| check.id == finding.check))
        .filter_map(|check| check.cap.map(|cap| (cap, check.id)))
        .max_by_key(|(cap, _)| *cap);
    let (letter, capped_by) = match cap {
        Some((cap, id)) if cap > letter => (cap, Some(id)),
        _ => (letter, None),
    };
    Some(Grade { letter, score, capped_by, parts })
}

fn part(loss: &'static str, weight: u32, score: u32, reason: impl Into<String>) -> Part {
    Part { loss, weight, score, reason: reason.into() }
}

/// The server was restarted, and the session is gone.
fn restart(session: Option<&Session>, findings: &[Finding]) -> Option<Part> {
    const LOSS: &str = "the session is lost";
    let session = session?;
    let has = |check: &str| findings.iter().any(|finding| finding.check == check);
    if !session.given {
        return None;
    }
    let unknown = session.unknown.as_ref()?;
    Some(if has("session.not_checked") {
        part(LOSS, 30, 100, "sessions are not looked at, so none is lost")
    } else if has("session.lost_unseen") {
        part(LOSS, 30, 0, format!("it is told in a way that no client understands ({})", unknown.class))
    } else if unknown.class != "session_rejected" {
        part(LOSS, 30, 50, format!("it was not to be seen what is said then ({})", unknown.class))
    } else if has("session.lost_unconfirmed") {
        part(LOSS, 30, 40, "it is told, and a ping does not confirm it: a tool without hints is not sent again")
    } else if has("session.lost_by_words") {
        part(LOSS, 30, 90, "it is told by words alone, and a ping confirms it")
    } else {
        part(LOSS, 30, 100, "it is told, and a ping confirms it: every call is sent again, once")
    })
}

/// The connection is cut while a tool runs.
fn cut(facts: &Facts, modern: bool) -> Option<Part> {
    const LOSS: &str = "an answer is cut off";
    let tools = facts.tools.as_ref().filter(|tools| tools.count > 0)?;
    let repeatable = percent(tools.read_only + tools.idempotent, tools.count);
    let others = tools.count - tools.read_only - tools.idempotent;
    let by_hints = |why: &str| match others {
        0 => part(LOSS, 40, 100, format!("{why}; every tool may be repeated by its hints")),
        _ => part(
            LOSS,
            40,
            repeatable,
            format!("{why}, and {others} of {} tools may not be repeated by their hints", tools.count),
        ),
    };
    if facts.process.is_some() {
        return Some(by_hints("nothing can be read on from a process that is gone"));
    }
    let streams = facts.streams.as_ref()?;
    let unknown = "of a tool that still runs only --call can tell";
    Some(match (streams.resume_running, streams.resume) {
        _ if modern => by_hints("nothing can be read on in this era"),
        (Some("returned"), _) => part(LOSS, 40, 100, "it is read on while the tool runs"),
        (Some(_), _) => by_hints("of a tool that still runs nothing is read on"),
        (None, Some("returned")) => {
            part(LOSS, 40, repeatable.max(80), format!("an answer that is over is read on; {unknown}"))
        }
        (None, Some("empty")) => {
            part(LOSS, 40, repeatable.max(60), format!("of an answer that is over nothing comes again; {unknown}"))
        }
        (None, Some(_)) => by_hints("event ids are given, and reading on gives nothing"),
        (None, None) if streams.event_ids => by_hints("there is no event id before the answer"),
        (None, None) => by_hints("there are no event ids"),
    })
}

/// The login is refused.
fn login(challenge: bool, own: bool) -> Part {
    const LOSS: &str = "the login is refused";
    match (challenge, own) {
        (true, true) => part(LOSS, 15, 100, "the challenge names this resource: the call did not run"),
        (true, false) => part(LOSS, 15, 70, "the challenge does not name this resource: a ping has to confirm it"),
        (false, _) => part(
            LOSS,
            15,
            30,
            "there is no challenge of OAuth: it may be said of a session, or of somebody else's login",
        ),
    }
}

/// The model has to decide.
fn hints(tools: &Tools) -> Option<Part> {
    const LOSS: &str = "somebody has to decide about a lost call";
    if tools.count == 0 {
        return None;
    }
    let spoken = tools.count - tools.silent;
    Some(match tools.silent {
        0 => part(LOSS, 15, 100, "every tool says what it does"),
        silent => {
            part(LOSS, 15, percent(spoken, tools.count), format!("{silent} of {} tools have no hints", tools.count))
        }
    })
}

fn percent(part: usize, whole: usize) -> u32 {
    u32::try_from((part * 100).checked_div(whole).unwrap_or(100)).unwrap_or(100)
}
