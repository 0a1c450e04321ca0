//! The same events whatever the line ends and the cuts, and no byte past the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::{FutureExt, stream};
use proptest::prelude::*;
use test_case::test_case;

use super::*;

const NO_LIMIT: usize = usize::MAX;

fn body<C: Into<Bytes>>(chunks: impl IntoIterator<Item = C>) -> BoxStream<'static, Result<Bytes, WireFailure>> {
    let chunks: Vec<_> = chunks.into_iter().map(|chunk| Ok(chunk.into())).collect();
    stream::iter(chunks).boxed()
}

/// All events, and what comes behind them.
fn read(stream: &mut SseStream) -> (Vec<Event>, Item) {
    let mut events = Vec::new();
    loop {
        match stream.next().now_or_never().expect("the body is all there") {
            Item::Event(event) => events.push(event),
            end => return (events, end),
        }
    }
}

fn events(text: &[u8]) -> Vec<Event> {
    let (events, end) = read(&mut SseStream::new(body([text.to_vec()]), NO_LIMIT));
    assert!(matches!(end, Item::Ended | Item::Unfinished(_)), "{end:?}");
    events
}

fn data(text: &str) -> Event {
    Event { data: Some(text.to_owned()), ..Event::default() }
}

/// Every kind of line, with `\n` for whatever ends a line.
const SAMPLE: &str = "\u{feff}: hello\n\nid: 1\nretry: 250\ndata:\n\nevent: message\ndata:{\"text\":\ndata: \"grüße 漢字 🦀\",\ndata\ndata:  \"x\":1}\nid: 2\n\n: ping\n\nretry: 5\n\nunknown: x\n\nnoise\ndata: last\nid\n\ndata: half\nid: 9\n";

fn expected() -> Vec<Event> {
    vec![
        Event {
            data: Some(String::new()),
            id: Some("1".to_owned()),
            retry: Some(Duration::from_millis(250)),
            name: None,
        },
        Event {
            name: Some("message".to_owned()),
            data: Some("{\"text\":\n\"grüße 漢字 🦀\",\n\n \"x\":1}".to_owned()),
            id: Some("2".to_owned()),
            retry: None,
        },
        Event { retry: Some(Duration::from_millis(5)), ..Event::default() },
        Event { id: Some(String::new()), ..data("last") },
    ]
}

#[test_case("\n"; "LF")]
#[test_case("\r"; "CR")]
#[test_case("\r\n"; "CRLF")]
fn the_same_events_at_every_cut(line_end: &str) {
    let text = SAMPLE.replace('\n', line_end).into_bytes();
    assert_eq!(events(&text), expected());
    for first in 0..=text.len() {
        // Two cuts, the second close behind: all ways to split a character, a CRLF and a field name.
        for second in first..=text.len().min(first + 4) {
            let parts = [&text[..first], &text[first..second], &text[second..]].map(<[u8]>::to_vec);
            let (events, end) = read(&mut SseStream::new(body(parts), NO_LIMIT));
            assert_eq!(events, expected(), "cut at {first} and {second}");
            assert!(matches!(end, Item::Unfinished(data) if data == "half"));
        }
    }
    let bytes: Vec<_> = text.iter().map(|byte| vec![*byte]).collect();
    assert_eq!(read(&mut SseStream::new(body(bytes), NO_LIMIT)).0, expected());
}

#[test_case(b"id: a\0b\ndata: x\n\n", Event { data: Some("x".to_owned()), ..Event::default() }; "an id with NUL")]
#[test_case(b"retry: 1s\ndata: x\n\n", Event { data: Some("x".to_owned()), ..Event::default() }; "a retry with a unit")]
#[test_case(b"retry: -1\ndata: x\n\n", Event { data: Some("x".to_owned()), ..Event::default() }; "a negative retry")]
#[test_case(b"retry:\ndata: x\n\n", Event { data: Some("x".to_owned()), ..Event::default() }; "an empty retry")]
fn a_field_that_is_not_valid_is_ignored(text: &[u8], event: Event) {
    assert_eq!(events(text), [event]);
}

#[test]
fn what_is_unfinished_is_no_event_and_comes_last() {
    for (text, before, unfinished) in [
        ("data: x\n", vec![], Some("x")),
        ("data: x", vec![], Some("x")),
        ("data: x\r", vec![], Some("x")),
        ("data: x\n\ndata: y\ndata: z\r", vec![data("x")], Some("y\nz")),
        ("id: 7\n", vec![], Some("")),
        ("data: x\n\n: ping\n", vec![data("x")], None),
        ("data: x\r\r", vec![data("x")], None),
        ("data: x\r\n\r", vec![data("x")], None),
    ] {
        for cut in 0..text.len() {
            let (start, rest) = text.split_at(cut);
            let mut stream = SseStream::new(body([start.to_owned(), rest.to_owned()]), NO_LIMIT);
            let (events, end) = read(&mut stream);
            assert_eq!(events, before, "{text:?} cut at {cut}");
            let Some(unfinished) = unfinished else {
                assert!(matches!(end, Item::Ended), "{text:?}: {end:?}");
                continue;
            };
            let Item::Unfinished(data) = end else { panic!("{text:?}: {end:?}") };
            assert_eq!(data, unfinished, "{text:?} cut at {cut}");
            assert!(matches!(stream.next().now_or_never(), Some(Item::Ended)));
        }
    }
}

#[test]
fn who_gives_up_gets_what_is_unfinished() {
    let waiting = stream::iter([Ok(Bytes::from_static(b"data: x\n\ndata: y\n"))]).chain(stream::pending()).boxed();
    let mut stream = SseStream::new(waiting, NO_LIMIT);
    assert!(matches!(stream.next().now_or_never(), Some(Item::Event(event)) if event == data("x")));
    assert!(stream.next().now_or_never().is_none());
    stream.give_up();
    assert!(matches!(stream.next().now_or_never(), Some(Item::Unfinished(data)) if data == "y"));
    assert!(matches!(stream.next().now_or_never(), Some(Item::Ended)));
}

#[test]
fn what_breaks_the_body_is_passed_on_after_the_events_before_it() {
    let items = vec![Ok(Bytes::from_static(b"data: x\n\ndata: y\n")), Err(WireFailure::new(Cause::Reset))];
    let mut stream = SseStream::new(stream::iter(items).boxed(), NO_LIMIT);
    let (events, unfinished) = read(&mut stream);
    assert_eq!(events, [data("x")]);
    assert!(matches!(unfinished, Item::Unfinished(data) if data == "y"));
    let end = stream.next().now_or_never().unwrap();
    assert!(matches!(end, Item::Broken(WireFailure { cause: Cause::Reset, .. })), "{end:?}");
    assert!(matches!(stream.next().now_or_never(), Some(Item::Ended)));
}

#[test]
fn what_is_not_utf_8_is_replaced_wherever_it_is_cut() {
    let text = b"event: caf\xe9\ndata: \xff\ndata: \xf0\x9f\xa6 \xf0\x9f\xa6\x80\nid: \xe2\x82\n\ndata: z\n\n";
    let expected = [
        Event {
            name: Some("caf\u{fffd}".to_owned()),
            id: Some("\u{fffd}".to_owned()),
            ..data("\u{fffd}\n\u{fffd} 🦀")
        },
        data("z"),
    ];
    for cut in 0..text.len() {
        let parts = [text[..cut].to_vec(), text[cut..].to_vec()];
        let (events, end) = read(&mut SseStream::new(body(parts), NO_LIMIT));
        assert_eq!(events, expected, "cut at {cut}");
        assert!(matches!(end, Item::Ended), "{end:?}");
    }
}

#[test]
fn the_limit_counts_what_is_held() {
    let held = "data: \u{fffd}\u{fffd}\n".len();
    for (limit, passes) in [(held, true), (held - 1, false)] {
        let (events, end) = read(&mut SseStream::new(body([&b"data: \xff\xff\n\n"[..]]), limit));
        assert_eq!((events.len() == 1, matches!(end, Item::TooLarge)), (passes, !passes));
    }
}

#[test_case("\n"; "LF")]
#[test_case("\r"; "CR")]
#[test_case("\r\n"; "CRLF")]
fn an_event_of_exactly_the_limit_passes(line_end: &str) {
    // 3 + 3 bytes, 1 for the end of the first line, 1 for that of the second.
    let text = "id:1\ndata:\n\n".repeat(3).replace('\n', line_end);
    for cut in 0..text.len() {
        let (start, rest) = text.split_at(cut);
        let parts = [start.to_owned(), rest.to_owned()];
        let (events, end) = read(&mut SseStream::new(body(parts.clone()), 11));
        assert_eq!((events.len(), matches!(end, Item::Ended)), (3, true), "cut at {cut}");
        let (events, end) = read(&mut SseStream::new(body(parts), 9));
        assert_eq!((events.len(), matches!(end, Item::TooLarge)), (0, true), "cut at {cut}");
    }
}

#[test]
fn the_events_before_one_that_is_too_large_are_delivered() {
    for line_end in ["\n", "\r", "\r\n"] {
        let text = format!("data: a\n\ndata: b\n\ndata: {}", "c".repeat(100)).replace('\n', line_end);
        for cut in 0..text.len() {
            let (start, rest) = text.split_at(cut);
            let parts = [start.to_owned(), rest.to_owned()];
            let (events, end) = read(&mut SseStream::new(body(parts), 20));
            assert_eq!(events, [data("a"), data("b")], "cut at {cut}");
            assert!(matches!(end, Item::TooLarge), "{end:?}");
        }
    }
}

/// A body without end; counts what is pulled and tells when it is dropped.
struct Endless(Arc<AtomicUsize>, Arc<AtomicBool>, &'static [u8]);

impl Stream for Endless {
    type Item = Result<Bytes, WireFailure>;
    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.fetch_add(self.2.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Bytes::from_static(self.2))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

#[test_case(b"data: x\n"; "lines")]
#[test_case(b"xxxxxxxx"; "one line")]
#[test_case(b":xxxxxxx"; "one comment")]
#[test_case(b"x\n:ping\n"; "lines between comments")]
fn an_endless_event_is_let_go_at_the_limit(chunk: &'static [u8]) {
    let (pulled, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let mut stream = SseStream::new(Endless(Arc::clone(&pulled), Arc::clone(&dropped), chunk).boxed(), 1_000);
    assert!(matches!(stream.next().now_or_never(), Some(Item::TooLarge)));
    assert!(pulled.load(Ordering::Relaxed) <= 4_200, "{pulled:?}");
    assert!(dropped.load(Ordering::Relaxed));
    assert!(matches!(stream.next().now_or_never(), Some(Item::Ended)));
}

#[test]
fn comments_without_end_are_no_event() {
    let pings = stream::repeat_with(|| Ok(Bytes::from_static(b": ping\n"))).take(10_000);
    let text = pings.chain(stream::iter([Ok(Bytes::from_static(b"data: x\n\n"))]));
    assert_eq!(read(&mut SseStream::new(text.boxed(), 20)).0, [data("x")]);
}

#[tokio::test]
async fn a_read_that_is_given_up_loses_nothing() {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
    let chunks =
        stream::unfold(
            receiver,
            |mut receiver| async move { receiver.recv().await.map(|chunk| (Ok(chunk), receiver)) },
        );
    let mut stream = SseStream::new(chunks.boxed(), NO_LIMIT);
    for byte in "id: 1\ndata: grüße\n\n".bytes() {
        assert!(stream.next().now_or_never().is_none());
        sender.send(Bytes::from(vec![byte])).unwrap();
    }
    let Item::Event(event) = stream.next().await else { panic!("no event") };
    assert_eq!(event, Event { id: Some("1".to_owned()), ..data("grüße") });
}

proptest! {
    #[test]
    fn the_cuts_make_no_difference(
        lines in proptest::collection::vec("(data|id|retry|event|:|é)?:? ?[a0-9é\u{0}]{0,4}(\n|\r|\r\n|\n\n|\r\r)", 0..12),
        cuts in proptest::collection::vec(0_usize..200, 0..8),
        limit in 0_usize..60,
    ) {
        let text = lines.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
        cuts.sort_unstable();
        let parts: Vec<_> = cuts.windows(2).map(|pair| text[pair[0]..pair[1]].to_vec()).collect();
        let (whole, end) = read(&mut SseStream::new(body([text]), limit));
        let (pieces, end_of_pieces) = read(&mut SseStream::new(body(parts), limit));
        prop_assert_eq!(whole, pieces);
        prop_assert_eq!(format!("{end:?}"), format!("{end_of_pieces:?}"));
    }
}
