//! An answer in short, with what the core makes of it.

use oncewire::diagnose::Told;

use super::facts::Answer;
use crate::output::harmless;

/// Characters of a message that are repeated.
const SAYS: usize = 200;

/// The answer in short.
pub(super) fn short(told: &Told) -> Answer {
    let content_type =
        header(told, "content-type").map(|value| value.split(';').next().unwrap_or_default().trim().to_owned());
    let says = match &told.error {
        Some(error) => Some(error.message.clone()),
        None if told.result.is_some() => None,
        None => Some(told.text.clone()),
    };
    let failure = if told.timed_out { Some(silence(told)) } else { told.failure.clone() };
    Answer {
        status: told.status,
        content_type: content_type.filter(|value| !value.is_empty()),
        code: told.error.as_ref().map(|error| error.code),
        says: says.map(|text| one_line(&text)).filter(|text| !text.is_empty()),
        line: told.line.to_string(),
        class: told.conclusion.class.as_str(),
        failure,
    }
}

/// The answer in one line for a person.
pub(super) fn said(told: &Told) -> String {
    let short = short(told);
    let mut text = match short.status {
        Some(status) => format!("HTTP {status}"),
        None => "no answer".to_owned(),
    };
    if let Some(code) = short.code {
        text = format!("{text} with error {code}");
    }
    for more in [short.failure, short.says].into_iter().flatten() {
        text = format!("{text}: {more}");
    }
    text
}

/// One header of the answer, as text.
pub(super) fn header<'a>(told: &'a Told, name: &str) -> Option<&'a str> {
    told.headers.get(name).and_then(|value| value.to_str().ok())
}

/// A text in one line, and not too long.
pub(super) fn one_line(text: &str) -> String {
    let text = harmless(text);
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(SAYS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn silence(told: &Told) -> String {
    let so_far = if told.status.is_some() { "the answer did not end" } else { "nothing came" };
    format!("{so_far} within {:.0} s", told.took.as_secs_f64())
}
