//! What becomes of sessions: one that is not known, one that is missing, a second stream, a second session, and the end.

use std::time::Duration;

use oncewire::diagnose::{Ask, Line as OfTable, Told};
use oncewire::transport::classify::{Class, ListenerConclusion};
use serde_json::{Value, json};

use super::answer::{said, short};
use super::catalog;
use super::era;
use super::examine::{Examination, OpenSession};

/// The head of a GET stream.
const HEAD: Duration = Duration::from_secs(3);
/// A random id of fewer characters can be guessed: 16 of hex are 64 bits.
const SHORTEST: usize = 16;

/// While the session lives.
pub(super) async fn examine_living(examination: &mut Examination<'_>, open: &OpenSession) {
    examination.progress.at("session");
    if let Some(length) = open.id.as_ref().map(|id| id.chars().count()).filter(|length| *length < SHORTEST) {
        examination.find(&catalog::ID_SHORT, format!("{length} characters"));
    }
    unknown(examination, open).await;
    if open.id.is_some() {
        missing(examination, open).await;
    }
    streams(examination, open).await;
    if examination.plan.intrusive && open.id.is_some() {
        two(examination, open).await;
    }
}

/// A session that the server does not know: what a client sees after a restart.
async fn unknown(examination: &mut Examination<'_>, open: &OpenSession) {
    let unknown = uuid::Uuid::new_v4().to_string();
    let on = |ask: Ask| ask.session(Some(&unknown)).version(Some(&open.version));
    let Some(list) = examination.ask(on(Ask::request("tools/list", json!({})))).await else { return };
    let Some(ping) = examination.ask(on(Ask::request("ping", Value::Null))).await else { return };
    let confirmed = ping.confirms(&list);
    if open.id.is_some() {
        judge(examination, &list, &ping, confirmed);
    }
    if let Some(session) = &mut examination.facts.session {
        session.unknown = Some(short(&list));
        session.unknown_confirmed = (list.conclusion.claim.is_some()).then_some(confirmed);
    }
    examination.unknown_session = Some(list);
}

fn judge(examination: &mut Examination<'_>, list: &Told, ping: &Told, confirmed: bool) {
    match list.conclusion.class {
        Class::SessionRejected => {
            if !matches!(list.status, Some(404 | 410)) {
                examination.find(&catalog::LOST_BY_WORDS, said(list));
            }
            if !confirmed {
                let detail = format!("a list gets {}; a ping gets {}", said(list), said(ping));
                examination.find(&catalog::LOST_UNCONFIRMED, detail);
            }
        }
        _ if list.result.is_some() || ping.result.is_some() => {
            examination.find(&catalog::NOT_CHECKED, format!("a list on an id that was never given: {}", said(list)));
        }
        // Who asks, or how often, is looked at before the session is.
        Class::Unauthorized | Class::ScopeMissing | Class::RateLimited => {}
        class => {
            let detail = format!("{}; that is {}, by {}", said(list), class.as_str(), list.line);
            examination.find(&catalog::LOST_UNSEEN, detail);
        }
    }
}

async fn missing(examination: &mut Examination<'_>, open: &OpenSession) {
    let ask = Ask::request("ping", Value::Null).version(Some(&open.version));
    let Some(told) = examination.ask(ask).await else { return };
    if told.line == OfTable::Result {
        examination.find(&catalog::MISSING_ACCEPTED, said(&told));
    }
    if let Some(session) = &mut examination.facts.session {
        session.missing = Some(short(&told));
    }
}

/// The stream on which the server may speak unasked, and another one beside it.
async fn streams(examination: &mut Examination<'_>, open: &OpenSession) {
    let on = |ask: Ask, patience| ask.session(open.id.as_deref()).version(Some(&open.version)).patience(patience);
    let Some(patience) = examination.up_to(HEAD) else { return };
    let (first, held) = examination.prober.open(on(Ask::listen(), patience)).await;
    match first.listener {
        _ if first.timed_out && first.status.is_none() => examination.find(&catalog::GET_SILENT, said(&first)),
        Some(ListenerConclusion::Open | ListenerConclusion::NotOffered) => {}
        _ => examination.find(&catalog::GET_ODD, said(&first)),
    }
    let mut second = None;
    if held.is_some()
        && let Some(patience) = examination.up_to(HEAD)
    {
        let (told, _) = examination.prober.open(on(Ask::listen(), patience)).await;
        second = Some(short(&told));
    }
    drop(held);
    if let Some(session) = &mut examination.facts.session {
        (session.get, session.second_get) = (Some(short(&first)), second);
    }
}

/// Does the first session live beside a second?
async fn two(examination: &mut Examination<'_>, open: &OpenSession) {
    let Some(second) = era::second(examination, &open.version).await else { return };
    let ask = Ask::request("ping", Value::Null).session(open.id.as_deref()).version(Some(&open.version));
    let Some(told) = examination.ask(ask).await else { return };
    let lives = told.conclusion.class == Class::Answered;
    if !lives {
        examination.find(&catalog::ONE_SESSION, format!("a ping on the first: {}", said(&told)));
    }
    if let Some(session) = &mut examination.facts.session {
        session.holds_two = Some(lives);
    }
    let ask = Ask::end().session(second.id.as_deref()).version(Some(&second.version));
    if examination.ask(ask).await.is_some() {
        examination.ended(&second);
    }
}

/// The end of the session.
pub(super) async fn examine_end(examination: &mut Examination<'_>, open: &OpenSession) {
    if open.id.is_none() {
        return;
    }
    examination.progress.at("end");
    let on = |ask: Ask| ask.session(open.id.as_deref()).version(Some(&open.version));
    let Some(told) = examination.ask(on(Ask::end())).await else { return };
    examination.ended(open);
    let delete = Some(short(&told));
    let mut after = None;
    match told.status {
        Some(405) => examination.find(&catalog::DELETE_REFUSED, said(&told)),
        _ if told.gone != Some(true) => examination.find(&catalog::DELETE_FAILED, said(&told)),
        _ => {
            if let Some(ping) = examination.ask(on(Ask::request("ping", Value::Null))).await {
                let checked = examination.facts.session.as_ref().and_then(|session| session.unknown.as_ref());
                // Where sessions are not looked at, none is ever gone.
                let looks = checked.is_some_and(|answer| answer.class != Class::Answered.as_str());
                if ping.result.is_some() && looks {
                    examination
                        .find(&catalog::LIVES_ON, format!("DELETE: {}; a ping after it: {}", said(&told), said(&ping)));
                }
                after = Some(short(&ping));
            }
        }
    }
    if let Some(session) = &mut examination.facts.session {
        (session.delete, session.after_delete) = (delete, after);
    }
}
