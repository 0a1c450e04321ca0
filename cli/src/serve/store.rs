//! The events of a session's streams, as far back as they are kept: what a client reads on from after its connection broke.
//!
//! Each session keeps the newest [`EVENTS`] events, [`BYTES`] in all. An id that is not kept any more is told apart from one that never was
//! only by the client's getting nothing: it is refused, and the client knows that it has missed something.

use std::collections::VecDeque;

use bytes::Bytes;

/// Events that one session keeps.
pub(super) const EVENTS: usize = 1_024;
/// Bytes that one session keeps; one event alone may be longer.
pub(super) const BYTES: usize = 8 * 1024 * 1024;

/// Which stream of a session: 0 is that of the GET, the others are those of requests.
pub(super) type StreamId = u64;

/// An event as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Its place among all events of the session.
    pub(super) number: u64,
    pub(super) stream: StreamId,
    /// The message; none of the event that a stream begins with, which is there to be read on from.
    pub(super) message: Option<Bytes>,
    /// It is the last of its stream.
    pub(super) last: bool,
}

impl Kept {
    /// As it is written on a stream: an id, and the message on one line.
    pub(super) fn to_event(&self) -> Bytes {
        let mut event = format!("id: {}\ndata: ", self.id()).into_bytes();
        if let Some(message) = &self.message {
            event.extend_from_slice(message);
        }
        event.extend_from_slice(b"\n\n");
        Bytes::from(event)
    }

    /// The id that the client reads on from: stream and place.
    fn id(&self) -> String {
        format!("{}-{}", self.stream, self.number)
    }
}

/// The place that an id names.
pub(super) fn place(id: &str) -> Option<(StreamId, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

/// What one session keeps.
#[derive(Debug, Default)]
pub(super) struct Store {
    events: VecDeque<Kept>,
    bytes: usize,
    next: u64,
}

impl Store {
    /// Keeps an event, and gives it as it is kept.
    pub(super) fn keep(&mut self, stream: StreamId, message: Option<Bytes>, last: bool) -> Kept {
        self.next += 1;
        let kept = Kept { number: self.next, stream, message, last };
        self.bytes += size(&kept);
        self.events.push_back(kept.clone());
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            let Some(dropped) = self.events.pop_front() else { break };
            self.bytes -= size(&dropped);
        }
        kept
    }

    /// What came on this stream after this place. `None` if that place is not kept.
    pub(super) fn after(&self, stream: StreamId, number: u64) -> Option<Vec<Kept>> {
        self.events.iter().find(|kept| kept.stream == stream && kept.number == number)?;
        let later = self.events.iter().filter(|kept| kept.stream == stream && kept.number > number);
        Some(later.cloned().collect())
    }
}

fn size(kept: &Kept) -> usize {
    kept.message.as_ref().map_or(0, Bytes::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_on_from_any_place_that_is_kept_and_no_other_is() {
        let mut store = Store::default();
        let first = store.keep(1, None, false);
        store.keep(2, Some(Bytes::from_static(b"other")), false);
        let last = store.keep(1, Some(Bytes::from_static(b"{}")), true);
        assert_eq!(place(&first.id()), Some((1, first.number)));
        assert_eq!(store.after(1, first.number), Some(vec![last.clone()]));
        assert_eq!(store.after(1, last.number), Some(Vec::new()));
        assert_eq!(store.after(1, 2), None);
        assert_eq!(String::from_utf8(last.to_event().to_vec()).unwrap(), "id: 1-3\ndata: {}\n\n");
        assert_eq!(place("x-1"), None);
    }

    #[test]
    fn the_oldest_are_dropped_past_either_bound() {
        let mut store = Store::default();
        for _ in 0..=EVENTS {
            store.keep(1, None, false);
        }
        assert_eq!((store.events.len(), store.after(1, 1)), (EVENTS, None));
        let big = Bytes::from(vec![b'x'; BYTES]);
        store.keep(1, Some(big.clone()), false);
        store.keep(1, Some(big), false);
        assert_eq!(store.events.len(), 1);
    }
}
