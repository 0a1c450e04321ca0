//! How much a server takes at once, and how large.

use std::time::Instant;

use oncewire::Lifecycle;
use oncewire::diagnose::{Ask, Told};
use oncewire::transport::classify::Class;
use serde_json::json;

use super::answer::{said, short};
use super::catalog;
use super::examine::{Examination, Line, millis};
use super::facts;

/// Requests at once.
const AT_ONCE: usize = 8;
/// One that is quicker says nothing of whether eight are served side by side.
const SLOW_MS: u64 = 40;
/// The large request, in bytes.
const LARGE: usize = 1024 * 1024;

pub(super) async fn examine(examination: &mut Examination<'_>, line: &Line) {
    examination.progress.at("limits");
    let Some(one) = examination.ask(line.harmless()).await else { return };
    let Some(patience) = examination.patience() else { return };
    let started = Instant::now();
    let asking = (0..AT_ONCE).map(|_| examination.prober.ask(line.harmless().patience(patience)));
    let all: Vec<Told> = futures_util::future::join_all(asking).await;
    let all_ms = millis(started.elapsed());
    let one_ms = millis(one.took);
    let limited: Vec<_> = all.iter().filter(|told| told.conclusion.class == Class::RateLimited).collect();
    let answered = all.iter().filter(|told| told.conclusion.class == Class::Answered).count();
    let mut seen = facts::Limits {
        at_once: AT_ONCE,
        answered,
        one_ms,
        all_ms,
        rate_limited: !limited.is_empty(),
        retry_after_s: limited.iter().find_map(|told| told.retry_after).map(|wait| wait.as_secs()),
        ..facts::Limits::default()
    };
    if let Some(told) = limited.first() {
        let detail = format!("{} of {AT_ONCE}: {}", limited.len(), said(told));
        let silent = limited.iter().all(|told| told.retry_after.is_none());
        examination.find(&catalog::RATE_LIMITED, detail);
        if silent {
            examination.find(&catalog::NO_RETRY_AFTER, "there is no Retry-After");
        }
    } else if answered < AT_ONCE {
        let example = all.iter().find(|told| told.conclusion.class != Class::Answered).map(said).unwrap_or_default();
        examination.find(&catalog::UNANSWERED, format!("{answered} of {AT_ONCE} are answered; one gets {example}"));
    } else if one_ms >= SLOW_MS {
        let serial = all_ms >= one_ms.saturating_mul(6);
        seen.serial = Some(serial);
        if serial {
            examination.find(&catalog::SERIAL, format!("one takes {one_ms} ms, {AT_ONCE} at once take {all_ms} ms"));
        }
    }
    large(examination, line, &mut seen).await;
    examination.facts.limits = Some(seen);
}

async fn large(examination: &mut Examination<'_>, line: &Line, seen: &mut facts::Limits) {
    let params = json!({ "_meta": { "dev.oncewire/padding": "x".repeat(LARGE) } });
    let method = if line.lifecycle() == Lifecycle::Modern { "server/discover" } else { "ping" };
    let Some(told) = examination.ask(line.dress(Ask::request(method, params))).await else { return };
    if told.conclusion.class != Class::Answered {
        examination.find(&catalog::SMALL, said(&told));
    }
    seen.large = Some(short(&told));
}
