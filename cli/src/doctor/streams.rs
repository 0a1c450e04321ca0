//! How answers come: as JSON or as events, with ids or without, and whether reading on returns what was missed.

use std::time::Duration;

use http::header::{ACCEPT_ENCODING, HeaderValue};
use oncewire::Lifecycle;
use oncewire::diagnose::{Ask, Chunk, Told};
use serde_json::json;

use super::answer::{header, said, short};
use super::catalog;
use super::events::{Block, blocks};
use super::examine::{Examination, Line, millis};
use super::facts;

/// How long what was missed may take to come again.
const READING_ON: Duration = Duration::from_secs(3);
/// A longer wait before reading on is worth a word.
const LONG: Duration = Duration::from_secs(30);
/// An answer that took longer, all in one moment, was held back.
const HELD_BACK: Duration = Duration::from_millis(300);
/// One moment.
const MOMENT: Duration = Duration::from_millis(20);

/// What is asked for its stream.
fn question(examination: &Examination<'_>, line: &Line) -> Ask {
    if examination.tools.is_empty() { line.harmless() } else { line.dress(Ask::request("tools/list", json!({}))) }
}

pub(super) async fn examine(examination: &mut Examination<'_>, line: &Line) {
    examination.progress.at("streams");
    let ask = question(examination, line);
    let Some(told) = examination.ask(ask).await else { return };
    let mut seen = facts::Streams::default();
    if !told.is_event_stream() {
        seen.shape = told.is_answered().then_some("json");
        if line.lifecycle() == Lifecycle::Legacy && told.is_answered() {
            examination.find(&catalog::JSON_ANSWERS, said_of_shape(&told));
        }
        examination.facts.streams = Some(seen);
        return;
    }
    seen.shape = Some("sse");
    let blocks = blocks(&told.chunks);
    seen.event_ids = blocks.iter().any(|block| block.id.as_deref().is_some_and(|id| !id.is_empty()));
    seen.comments = blocks.iter().any(|block| block.comment);
    seen.retry_ms = told.retry.map(millis);
    timing(examination, &told, &blocks, &mut seen);
    if line.lifecycle() == Lifecycle::Legacy {
        ids(examination, line, &told, &blocks, &mut seen).await;
        if let Some(retry) = told.retry.filter(|retry| *retry > LONG) {
            examination.find(&catalog::RETRY_LONG, format!("retry: {} ms", retry.as_millis()));
        }
    }
    coding(examination, line, &mut seen).await;
    seen.accel_buffering = header(&told, "x-accel-buffering").map(str::to_owned);
    let nginx = header(&told, "server").is_some_and(|server| server.to_ascii_lowercase().contains("nginx"));
    if nginx && seen.accel_buffering.as_deref() != Some("no") {
        examination.find(&catalog::MAY_BUFFER, "the header Server names nginx, and there is no X-Accel-Buffering");
    }
    examination.facts.streams = Some(seen);
}

/// Did what was said at different times come at different times? That it did shows that nothing holds events back; that it did not shows
/// something only where the answer was slow.
fn timing(examination: &mut Examination<'_>, told: &Told, blocks: &[Block], seen: &mut facts::Streams) {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return };
    if blocks.len() < 2 {
        return;
    }
    let apart = last.at.saturating_sub(first.at) > MOMENT;
    let slow = told.head_after.is_some_and(|head| head > HELD_BACK && last.at.saturating_sub(head) < MOMENT);
    if apart {
        seen.spread = Some(true);
    } else if slow {
        seen.spread = Some(false);
        let detail = format!("{} events in one moment, {} ms after the request", blocks.len(), millis(last.at));
        examination.find(&catalog::BUFFERED, detail);
    }
}

/// Ids, and what they are good for.
async fn ids(examination: &mut Examination<'_>, line: &Line, told: &Told, blocks: &[Block], seen: &mut facts::Streams) {
    if !seen.event_ids {
        examination.find(&catalog::NO_IDS, said_of_shape(told));
        return;
    }
    let first = blocks.iter().find_map(|block| block.id.clone().filter(|id| !id.is_empty()).map(|id| (id, block)));
    let Some((id, block)) = first else { return };
    if block.answers(told.id) {
        examination.find(&catalog::NO_PRIMING, "the first event with an id is the answer");
        return;
    }
    seen.priming = true;
    let Some((gave, again)) = read_on(examination, line, &id, told.id, READING_ON).await else { return };
    match gave {
        Gave::Returned => {}
        Gave::Empty => examination.find(&catalog::RESUME_EMPTY, gave.in_words(&again, READING_ON)),
        Gave::Silent | Gave::Refused => examination.find(&catalog::RESUME_BROKEN, gave.in_words(&again, READING_ON)),
    }
    (seen.resume, seen.resume_answer) = (Some(gave.as_str()), Some(short(&again)));
}

/// What reading on gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gave {
    /// The answer.
    Returned,
    /// An end without it.
    Empty,
    /// Nothing, for as long as was waited.
    Silent,
    /// No stream.
    Refused,
}

impl Gave {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Empty => "empty",
            Self::Silent => "silent",
            Self::Refused => "refused",
        }
    }

    pub(super) fn in_words(self, again: &Told, waited: Duration) -> String {
        match self {
            Self::Returned => "GET with Last-Event-ID brings the answer".to_owned(),
            Self::Empty => "GET with Last-Event-ID opens, and ends without the answer".to_owned(),
            Self::Silent => {
                format!("GET with Last-Event-ID opens, and the answer does not come within {} s", waited.as_secs())
            }
            Self::Refused => format!("GET with Last-Event-ID: {}", said(again)),
        }
    }
}

/// Reads on after this event, until the answer to this request is there.
pub(super) async fn read_on(
    examination: &mut Examination<'_>,
    line: &Line,
    after: &str,
    request: u64,
    wait: Duration,
) -> Option<(Gave, Told)> {
    let patience = examination.at_most(wait)?;
    let (again, held) = examination.prober.open(line.dress(Ask::resume(after)).patience(patience)).await;
    let Some(mut held) = held else { return Some((Gave::Refused, again)) };
    let is_there = |chunks: &[Chunk]| blocks(chunks).iter().any(|block| block.answers(request));
    let chunks = held.read(patience, is_there).await;
    let gave = match (is_there(&chunks), held.ended()) {
        (true, _) => Gave::Returned,
        (false, Some(_)) => Gave::Empty,
        (false, None) => Gave::Silent,
    };
    Some((gave, again))
}

/// Is a stream compressed for those who would take that? The client itself asks for no coding; others do.
async fn coding(examination: &mut Examination<'_>, line: &Line, seen: &mut facts::Streams) {
    let ask = question(examination, line).header(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
    let Some(told) = examination.ask(ask).await else { return };
    let coding = match told.codings.is_empty() {
        false => Some(told.codings.join(", ")),
        true => header(&told, "content-encoding").map(str::to_owned),
    };
    if let Some(coding) = coding.as_ref().filter(|_| told.is_event_stream()) {
        examination.find(&catalog::CODED, format!("Content-Encoding: {coding}"));
    }
    seen.coding = coding;
}

fn said_of_shape(told: &Told) -> String {
    format!("the answer to a harmless request is {}", header(told, "content-type").unwrap_or("of no type"))
}
