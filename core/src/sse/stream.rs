//! Server-sent events over a body, each bounded in size.
//!
//! The framing is sse-stream's (the "event stream interpretation" of the HTML standard). Two things are added: a limit on the
//! bytes that one event may take before its blank line, counted on the wire so that nothing past it is ever held, and the
//! letting go of the body, and so of its connection, the moment that reading is over.
//!
//! Blocks without data are delivered too: an id alone moves the point to resume from, a `retry` alone changes the wait. The
//! last event is delivered only if its blank line came.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use sse_stream::SseByteStream;

use crate::transport::exchange::{Cause, WireFailure};

/// One block of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// `event:`
    pub(crate) name: Option<String>,
    /// `data:`, several lines joined by newlines; `None` if the block had none.
    pub(crate) data: Option<String>,
    /// `id:`
    pub(crate) id: Option<String>,
    /// `retry:`
    pub(crate) retry: Option<Duration>,
}

/// What reading on gives.
#[derive(Debug)]
pub(crate) enum Item {
    /// An event.
    Event(Event),
    /// The body ended in an orderly way; half an event before that end is dropped.
    Ended,
    /// The body broke, or what came is no event stream (a value that is not UTF-8).
    Broken(WireFailure),
    /// An event went past the limit.
    TooLarge,
}

/// A stream of events. After any [`Item`] but an event the body is dropped, and only [`Item::Ended`] follows.
pub(crate) struct EventStream(Option<SseByteStream<Limited>>);

impl EventStream {
    /// The events in this body, each of at most `max_event` bytes.
    pub(crate) fn new(body: BoxStream<'static, Result<Bytes, WireFailure>>, max_event: usize) -> Self {
        Self(Some(SseByteStream::new(Limited { body, gauge: Gauge::new(max_event), passed: false })))
    }

    /// The next item. Cancel-safe: what was read of an event stays in `self`.
    pub(crate) async fn next(&mut self) -> Item {
        let Some(stream) = &mut self.0 else { return Item::Ended };
        let item = match stream.next().await {
            Some(Ok(event)) => {
                return Item::Event(Event {
                    name: event.event,
                    data: event.data,
                    id: event.id,
                    retry: event.retry.map(Duration::from_millis),
                });
            }
            None => Item::Ended,
            Some(Err(error)) => match error {
                sse_stream::Error::Body(stop) => match stop.downcast::<Stop>().map(|stop| *stop) {
                    Ok(Stop::TooLarge) => Item::TooLarge,
                    Ok(Stop::Broken(failure)) => Item::Broken(failure),
                    Err(source) => Item::Broken(WireFailure { cause: Cause::Other, source: Some(source) }),
                },
                error => Item::Broken(WireFailure { cause: Cause::Other, source: Some(Box::new(error)) }),
            },
        };
        self.0 = None;
        item
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventStream").field("open", &self.0.is_some()).finish()
    }
}

/// Why the parser gets no more bytes.
#[derive(Debug)]
enum Stop {
    TooLarge,
    Broken(WireFailure),
}

impl fmt::Display for Stop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => formatter.write_str("event too large"),
            Self::Broken(failure) => failure.fmt(formatter),
        }
    }
}

impl std::error::Error for Stop {}

/// The body, up to the first event that is too large: the events before it in the same chunk still pass.
struct Limited {
    body: BoxStream<'static, Result<Bytes, WireFailure>>,
    gauge: Gauge,
    passed: bool,
}

impl Stream for Limited {
    type Item = Result<Bytes, Stop>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.passed {
            return Poll::Ready(Some(Err(Stop::TooLarge)));
        }
        let item = std::task::ready!(self.body.poll_next_unpin(context));
        Poll::Ready(item.map(|chunk| {
            let mut chunk = chunk.map_err(Stop::Broken)?;
            if let Err(whole) = self.gauge.pass(&chunk) {
                self.passed = true;
                if whole == 0 {
                    return Err(Stop::TooLarge);
                }
                chunk.truncate(whole);
            }
            Ok(chunk)
        }))
    }
}

/// Counts the bytes of an event. A comment counts while it lasts and is then forgotten: a server may send those for ever.
struct Gauge {
    limit: usize,
    event: usize,
    line: usize,
    comment: bool,
    after_return: bool,
}

impl Gauge {
    fn new(limit: usize) -> Self {
        Self { limit, event: 0, line: 0, comment: false, after_return: false }
    }

    /// Reads a chunk. If an event in it passes the limit: the length of the whole events before that one.
    fn pass(&mut self, chunk: &[u8]) -> Result<(), usize> {
        let mut whole = 0;
        let mut at = 0;
        while at < chunk.len() {
            if std::mem::take(&mut self.after_return) && chunk[at] == b'\n' {
                at += 1;
                // The second half of a line end belongs to what the first half ended.
                if self.event == 0 && self.line == 0 {
                    whole = at;
                }
                continue;
            }
            if self.line == 0 {
                self.comment = chunk[at] == b':';
            }
            let length = chunk[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let end = length.map_or(chunk.len(), |length| at + length);
            self.line += end - at;
            if self.event + self.line > self.limit {
                return Err(whole);
            }
            at = end;
            if length.is_none() {
                break;
            }
            self.after_return = chunk[at] == b'\r';
            at += 1;
            if self.line == 0 {
                self.event = 0;
                whole = at;
            } else if !self.comment {
                // The line end counts as one byte: as data it becomes a newline.
                self.event += self.line + 1;
            }
            self.line = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
