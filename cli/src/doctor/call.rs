//! The tool that a person named (`--call`): it runs once, without arguments. Where its stream has event ids, that is cut while the tool runs, and
//! read on: this runs nothing again, and shows what no harmless request can.

use std::time::Duration;

use oncewire::Lifecycle;
use oncewire::diagnose::{Ask, Chunk, Told};
use serde_json::{Value, json};

use super::answer::{one_line, said};
use super::catalog;
use super::events::{Block, blocks};
use super::examine::{Examination, Line};
use super::streams::{Gave, read_on};

/// How long the tool may run.
const RUN: Duration = Duration::from_secs(30);
/// The longest `retry:` that is kept to.
const RETRY: Duration = Duration::from_secs(5);

const BY_ITS_WORD: &str = "it says that it failed";

pub(super) async fn examine(examination: &mut Examination<'_>, line: &Line) {
    let Some(name) = examination.plan.call.clone() else { return };
    examination.progress.at("call");
    let Some(patience) = examination.at_most(RUN) else { return };
    let ask = line.dress(Ask::request("tools/call", json!({ "name": name, "arguments": {} }))).patience(patience);
    let (told, held) = examination.prober.open(ask).await;
    let Some(mut held) = held else { return judge_whole(examination, &name, &told) };
    let reads_on = line.lifecycle() == Lifecycle::Legacy;
    let has_id = |block: &Block| block.id.as_deref().is_some_and(|id| !id.is_empty());
    let is_enough =
        |chunks: &[Chunk]| blocks(chunks).iter().any(|block| block.answers(told.id) || reads_on && has_id(block));
    let chunks = held.read(patience, is_enough).await;
    let seen = blocks(&chunks);
    if let Some(answer) = seen.iter().find(|block| block.answers(told.id)) {
        return judge(examination, &name, answer);
    }
    let last = seen.iter().rev().find(|block| has_id(block));
    let Some(id) = last.and_then(|block| block.id.clone()) else {
        let end = if held.ended().is_some() { "its stream ends without an answer" } else { "no answer" };
        return examination.find(&catalog::CALL_FAILED, format!("{name:?}: {end}"));
    };
    drop(held);
    let retry = seen.iter().rev().find_map(|block| block.retry).map_or(Duration::ZERO, Duration::from_millis);
    tokio::time::sleep(retry.min(RETRY)).await;
    let Some((gave, again)) = read_on(examination, line, &id, told.id, RUN).await else { return };
    if gave != Gave::Returned {
        let detail = format!("while the tool of --call ran: {}", gave.in_words(&again, RUN));
        examination.find(&catalog::RESUME_BROKEN, detail);
    }
    if let Some(streams) = &mut examination.facts.streams {
        streams.resume_running = Some(gave.as_str());
    }
}

fn failed_by_its_word(result: &Value) -> bool {
    result["isError"] == true
}

/// An answer that came in one piece, or none.
fn judge_whole(examination: &mut Examination<'_>, name: &str, told: &Told) {
    let problem = match &told.result {
        Some(result) if failed_by_its_word(result) => BY_ITS_WORD.to_owned(),
        Some(_) => return,
        None => format!("{}, by {}", said(told), told.line),
    };
    examination.find(&catalog::CALL_FAILED, format!("{name:?}: {problem}"));
}

/// An answer on a stream.
fn judge(examination: &mut Examination<'_>, name: &str, answer: &Block) {
    let message = answer.data.as_deref().and_then(|data| serde_json::from_str::<Value>(data).ok()).unwrap_or_default();
    let problem = match message.get("result") {
        Some(result) if failed_by_its_word(result) => BY_ITS_WORD.to_owned(),
        Some(_) => return,
        None => one_line(&message["error"].to_string()),
    };
    examination.find(&catalog::CALL_FAILED, format!("{name:?}: {problem}"));
}
