//! Server-sent events over a body, each bounded in size.
//!
//! The framing is sse-stream's (the "event stream interpretation" of the HTML standard). Four things are added:
//!
//! - Bytes that are not UTF-8 become U+FFFD, as the standard has it ("UTF-8 decode"): one bad byte in a log costs no answer.
//! - A limit on the bytes that one event may take before its blank line, counted as they are held, so that nothing past it ever is.
//! - The letting go of the body, and so of its connection, the moment that reading is over.
//! - What was begun and has no blank line when reading ends is given as [`Item::Unfinished`].
//!
//! Blocks without data are delivered too: an id alone moves the point to resume from, a `retry` alone changes the wait.
//!
//! Why the last one. The standard has an event without its blank line dropped ("once the end of the file is reached, any pending data must
//! be discarded"), and the official clients do so: that of TypeScript by eventsource-parser, that of Python by httpx-sse. Both leave their
//! caller without the answer, and neither sends a call again. This client may: for a call that can be repeated it would run a second time what
//! has been answered already. The standard drops such an event since it may be half of one. Of JSON that cannot go unnoticed: an object without
//! its last brace is none. So what is unfinished is no event, moves no position and is routed nowhere; but if it holds the whole answer to
//! the request, that is the answer.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use sse_stream::SseByteStream;

use super::lossy::Lossy;
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
    /// The data of what was begun and not ended when reading was over: the end, a break or [`SseStream::give_up`] follows. It may be
    /// half of an event.
    Unfinished(String),
    /// The body ended in an orderly way.
    Ended,
    /// The body broke.
    Broken(WireFailure),
    /// An event went past the limit.
    TooLarge,
}

/// A stream of events. Once it is over the body is dropped, and only [`Item::Ended`] follows.
pub(crate) struct SseStream {
    events: Option<SseByteStream<Limited>>,
    end: Arc<End>,
}

/// How the reading of a body stands; shared with the body.
#[derive(Debug, Default)]
struct End {
    /// Nothing more is read of the body.
    given_up: AtomicBool,
    /// The parser was made to give what it had.
    flushed: AtomicBool,
}

impl SseStream {
    /// The events in this body, each of at most `max_event` bytes.
    pub(crate) fn new(body: BoxStream<'static, Result<Bytes, WireFailure>>, max_event: usize) -> Self {
        let end = Arc::new(End::default());
        let limited =
            Limited { body, lossy: Lossy::default(), gauge: Gauge::new(max_event), stop: None, end: Arc::clone(&end) };
        Self { events: Some(SseByteStream::new(limited)), end }
    }

    /// Nobody waits for more: what is unfinished comes next, if there is anything, and then the end.
    pub(crate) fn give_up(&self) {
        self.end.given_up.store(true, Ordering::Relaxed);
    }

    /// The next item. Cancel-safe: what was read of an event stays in `self`.
    pub(crate) async fn next(&mut self) -> Item {
        let Some(stream) = &mut self.events else { return Item::Ended };
        let item = match stream.next().await {
            Some(Ok(event)) if self.end.flushed.load(Ordering::Relaxed) => {
                return Item::Unfinished(event.data.unwrap_or_default());
            }
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
        self.events = None;
        item
    }
}

impl fmt::Debug for SseStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SseStream").field("open", &self.events.is_some()).finish()
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

/// Ends whatever line and block was begun. If the last byte was a carriage return the first of these belongs to it.
const FLUSH: Bytes = Bytes::from_static(b"\n\n\n");

/// The body, up to the first event that is too large: the events before it in the same chunk still pass. However else it stops, the parser
/// is flushed first.
struct Limited {
    body: BoxStream<'static, Result<Bytes, WireFailure>>,
    lossy: Lossy,
    gauge: Gauge,
    /// Nothing more is read; this is given next.
    stop: Option<Option<Stop>>,
    end: Arc<End>,
}

impl Limited {
    /// Flushes the parser; then it is over.
    fn flush(&mut self, stop: Option<Stop>) -> Bytes {
        self.stop = Some(stop);
        self.end.flushed.store(true, Ordering::Relaxed);
        FLUSH
    }
}

impl Stream for Limited {
    type Item = Result<Bytes, Stop>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(stop) = &mut self.stop {
            return Poll::Ready(stop.take().map(Err));
        }
        if self.end.given_up.load(Ordering::Relaxed) {
            return Poll::Ready(Some(Ok(self.flush(None))));
        }
        let mut chunk = match std::task::ready!(self.body.poll_next_unpin(context)) {
            Some(Ok(chunk)) => self.lossy.pass(chunk),
            Some(Err(failure)) => return Poll::Ready(Some(Ok(self.flush(Some(Stop::Broken(failure)))))),
            None => return Poll::Ready(Some(Ok(self.flush(None)))),
        };
        if let Err(whole) = self.gauge.pass(&chunk) {
            if whole == 0 {
                self.stop = Some(None);
                return Poll::Ready(Some(Err(Stop::TooLarge)));
            }
            self.stop = Some(Some(Stop::TooLarge));
            chunk.truncate(whole);
        }
        Poll::Ready(Some(Ok(chunk)))
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
