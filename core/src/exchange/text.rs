//! What happened, in words that are fit for a model: never the words of a lost session for a lost answer.

use std::error::Error;

use crate::exchange::answer::Answer;
use crate::exchange::post::ExchangeEnd;
use crate::rpc::message::ErrorObject;
use crate::transport::classify;
use crate::transport::exchange::{Cause, WireFailure};
use crate::transport::headers;
use crate::vocabulary::outcome::Kind;

mod gist;

/// Characters of a line that is no message that a text repeats.
const MESSAGE_SHOWN: usize = 200;

/// The longest chain of causes that a text repeats.
const CAUSES: usize = 6;

/// A failure of the HTTP stack: what it is and, where that says something to a person, what was underneath it. What was underneath a
/// connection that ended is the stack's own talk; the error's source has it.
pub(crate) fn of_failure(failure: &WireFailure) -> String {
    let mut text = failure.to_string();
    if failure.cause == Cause::Tls && is_no_tls(failure) {
        return format!("{text}: what answered there speaks no TLS (is the URL to begin with http://?)");
    }
    if matches!(failure.cause, Cause::Closed | Cause::Reset | Cause::Refused | Cause::RefusedStream | Cause::GoneAway) {
        return text;
    }
    let mut source = failure.source();
    let mut said = text.clone();
    for _ in 0..CAUSES {
        let Some(error) = source else { break };
        let cause = error.to_string();
        // Wrapped errors often repeat what they wrap.
        if !cause.is_empty() && !said.contains(&cause) {
            text = format!("{text}: {cause}");
            said = text.clone();
        }
        source = error.source();
    }
    text
}

/// Was the hello of TLS answered in another language?
fn is_no_tls(failure: &WireFailure) -> bool {
    let mut next = failure.source();
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)) = error.downcast_ref() {
            return true;
        }
        // An I/O error skips what it wraps when asked for its source.
        next = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

/// How an attempt ended; `kind` is what `classify` made of it.
pub(crate) fn of_end(ended: &ExchangeEnd, kind: Option<Kind>) -> String {
    match ended {
        ExchangeEnd::Unready(unready) => unready.to_string(),
        ExchangeEnd::NoHead(failure) => of_failure(failure),
        ExchangeEnd::Silent { .. } => "nothing arrived for too long".to_owned(),
        ExchangeEnd::Message { answer } => of_message(answer),
        ExchangeEnd::Head { status, headers, answer } => match (answer, headers::location(headers)) {
            (_, Some(target)) if kind == Some(Kind::Redirect) => {
                format!("HTTP {} redirects to {target}, which is not followed", status.as_u16())
            }
            (_, _) if kind == Some(Kind::SessionLost) => {
                format!("the server lost the session (HTTP {})", status.as_u16())
            }
            (Answer::Result(_), _) => format!("HTTP {}", status.as_u16()),
            (Answer::Error { error, shown, .. }, _) => of_error(status.as_u16(), error, shown),
            (Answer::Missing { excerpt, .. }, _) => {
                let lacks = if classify::is_success(*status) { " without an answer to the request" } else { "" };
                with_gist(format!("HTTP {}{lacks}", status.as_u16()), excerpt)
            }
            (Answer::Stopped { failure: None }, _) => "the stream ended without the answer".to_owned(),
            (Answer::Stopped { failure: Some(failure) }, _) => {
                format!("the answer was cut off: {}", of_failure(failure))
            }
            (Answer::Unread { why }, _) => {
                format!("HTTP {}, and the answer was not read to its end: {why}", status.as_u16())
            }
            (Answer::TooLarge, _) => "the answer was larger than allowed".to_owned(),
        },
    }
}

/// How an attempt ended on a binding without heads.
fn of_message(answer: &Answer) -> String {
    match answer {
        Answer::Result(_) => "answered".to_owned(),
        Answer::Error { error, shown, .. } if !error.well_formed && error.code == 0 => format!("the error {shown:?}"),
        Answer::Error { error, shown, .. } => format!("error {}: {shown}", error.code),
        Answer::Missing { excerpt, .. } => {
            let shown: String = excerpt.chars().take(MESSAGE_SHOWN).collect();
            format!("the server answered with what is no message: {shown:?}")
        }
        Answer::Stopped { failure: None } => "the server ended the request without an answer".to_owned(),
        Answer::Stopped { failure: Some(failure) } => of_failure(failure),
        Answer::TooLarge => "the answer was larger than allowed".to_owned(),
        Answer::Unread { why } => format!("the answer was not read to its end: {why}"),
    }
}

/// The text, and what the page says.
pub(crate) fn with_gist(text: String, excerpt: &str) -> String {
    match gist::gist(excerpt) {
        Some(gist) => format!("{text}: {gist}"),
        None => text,
    }
}

/// A refusal that sounds like a lost session, and is none as far as anybody knows.
pub(crate) fn of_refusal(status: u16, answer: &Answer) -> String {
    match answer {
        Answer::Error { error, shown, .. } => of_error(status, error, shown),
        Answer::Missing { excerpt, .. } => with_gist(format!("HTTP {status}"), excerpt),
        _ => format!("HTTP {status}"),
    }
}

fn of_error(status: u16, error: &ErrorObject, shown: &str) -> String {
    // One that has no code of its own, `{"error":"invalid_token"}`, is told as the text that it is.
    if !error.well_formed && error.code == 0 {
        return format!("HTTP {status} with the error {shown:?}");
    }
    format!("HTTP {status} with error {}: {shown}", error.code)
}

/// What the caller's clock, the caller or `close()` did.
pub(crate) fn of_interruption(kind: Kind) -> &'static str {
    match kind {
        Kind::Timeout => "timed out",
        Kind::Closed => "the client was closed",
        _ => "cancelled",
    }
}
