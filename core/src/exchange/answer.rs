//! Reading the answer to one POST, as JSON or as an event stream, up to the message that answers it.
//!
//! Everything else that comes on the way (progress, logs, requests of the server) is handed on in order, before the answer is
//! returned. What the end of the body means is not concluded here: see `classify`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::exchange::sse::stream::{Item, SseStream};
use crate::rpc::id::{Id, IdSource};
use crate::rpc::message::{ErrorObject, Message, ParseError, names_id, parse, parse_lossily, read_event};
use crate::transport::classify::{AnswerId, BodyFacts, is_success};
use crate::transport::exchange::{Framing, WireFailure, WireResponse};
use crate::transport::headers::{is_event_stream, unread_coding};
use crate::transport::limits::{Uncollected, collect};
use crate::transport::words::{self, Words};
use crate::vocabulary::background::Background;
use crate::vocabulary::redact::Secrets;

/// How long the body of a refusal may take. One that takes longer counts as not read, and proves nothing.
pub(crate) const REFUSAL_PATIENCE: Duration = Duration::from_secs(5);

/// How long a stream may take to end after the answer.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// Events that are passed over between the answer and the end of its stream.
const EVENTS_AFTER_ANSWER: u32 = 16;

/// Characters of an error's message that a reason repeats.
const SHOWN: usize = 200;

/// The limits of one answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) max_message: usize,
    pub(crate) max_event: usize,
}

impl Limits {
    /// The largest event: no larger than a message may be.
    pub(crate) fn of_event(&self) -> usize {
        self.max_event.min(self.max_message)
    }
}

/// When the last byte of an answer arrived.
#[derive(Debug)]
pub(crate) struct Activity(Mutex<Instant>);

impl Activity {
    pub(crate) fn start() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(crate) fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Completes when nothing arrived for that long.
    pub(crate) async fn silent_for(&self, limit: Duration) {
        loop {
            let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(end) = last.checked_add(limit) else { return std::future::pending().await };
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// How far a stream was read: what a resume needs to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position {
    /// The id to read on after.
    pub(crate) last_event_id: Option<String>,
    /// What the server said in `retry:`, last.
    pub(crate) retry: Option<Duration>,
    /// An event id arrived since this was last set to false.
    pub(crate) new_event_id: bool,
}

/// What became of the body.
#[derive(Debug)]
pub(crate) enum Answer {
    Result(Box<RawValue>),
    Error {
        error: ErrorObject,
        id: AnswerId,
        /// The beginning of its message, fit for a text of ours.
        shown: String,
    },
    Missing {
        excerpt: String,
        /// Of the whole body: see [`words`](crate::transport::words).
        digest: u64,
    },
    Stopped {
        failure: Option<WireFailure>,
    },
    TooLarge,
    /// Not read to its end for another reason, in words.
    Unread {
        why: String,
    },
}

impl Answer {
    /// Of a body without an answer to us.
    pub(crate) fn missing(excerpt: String, body: &[u8]) -> Self {
        Self::Missing { excerpt, digest: words::digest(&String::from_utf8_lossy(body)) }
    }

    /// The answer that this message is, if it is one.
    pub(crate) fn of(message: Message, id: AnswerId, secrets: &Secrets) -> Option<Self> {
        match message {
            Message::Result { result, .. } => Some(Self::Result(result)),
            Message::Error { error, .. } => {
                let shown = secrets.shown(&error.message, SHOWN);
                Some(Self::Error { error, id, shown })
            }
            Message::Request { .. } | Message::Notification { .. } => None,
        }
    }

    /// The words of an answer that was read whole and is no result.
    pub(crate) fn words(&self, status: StatusCode, headers: &HeaderMap) -> Option<Words> {
        match self {
            Self::Error { error, .. } => Some(Words::of_error(status, headers, error)),
            Self::Missing { digest, .. } => Some(Words::of_body(status, headers, *digest)),
            Self::Result(_) | Self::Stopped { .. } | Self::TooLarge | Self::Unread { .. } => None,
        }
    }

    /// The fact, as `classify` takes it.
    pub(crate) fn body_end<'a>(&'a self, position: &Position) -> BodyFacts<'a> {
        match self {
            Self::Result(_) => BodyFacts::Result,
            Self::Error { error, id, .. } => {
                BodyFacts::Error { code: error.code, message: &error.message, id: *id, well_formed: error.well_formed }
            }
            Self::Missing { excerpt, .. } => BodyFacts::NoAnswer { excerpt },
            Self::Stopped { failure } => {
                BodyFacts::Stopped { orderly: failure.is_none(), resumable: position.last_event_id.is_some() }
            }
            Self::TooLarge => BodyFacts::TooLarge,
            Self::Unread { .. } => BodyFacts::Unread,
        }
    }
}

/// What the one who waits for an answer and the one who reads it tell each other.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Something came that may have been the answer, and cannot be read: there may be no other.
    pub(crate) in_doubt: CancellationToken,
    /// Nobody waits any longer: what was read so far has to do.
    pub(crate) over: CancellationToken,
}

/// Reads the answer to one request.
pub(crate) struct AnswerReader<'a> {
    pub(crate) our_id: u64,
    pub(crate) ids: &'a IdSource,
    pub(crate) background: &'a Background,
    pub(crate) limits: Limits,
    pub(crate) activity: Arc<Activity>,
    pub(crate) waiting: &'a Waiting,
    pub(crate) secrets: &'a Secrets,
    /// Takes every message that is not the answer.
    pub(crate) other: &'a (dyn Fn(Message) + Send + Sync),
    /// Told of what looks like a message and cannot be read.
    pub(crate) unreadable: &'a (dyn Fn(ParseError) + Send + Sync),
}

impl AnswerReader<'_> {
    /// Reads the body of the answer to the POST, or of a GET that resumes it.
    pub(crate) async fn read(&self, response: WireResponse, position: &mut Position) -> Answer {
        self.activity.touch();
        if response.framing == Framing::Messages {
            return self.read_messages(response.body).await;
        }
        let coding = unread_coding(&response.headers);
        let is_success = is_success(response.status);
        let reading = async {
            if is_event_stream(&response.headers) {
                self.read_stream(response.body, position).await
            } else {
                self.read_body(response.body).await
            }
        };
        let answer = if is_success {
            reading.await
        } else {
            match timeout(REFUSAL_PATIENCE, reading).await {
                Ok(answer) => answer,
                Err(_) => Answer::Unread { why: format!("it took longer than {} s", REFUSAL_PATIENCE.as_secs()) },
            }
        };
        match (answer, coding) {
            // What is no message was not read. One that is was never coded, whatever the header says.
            (Answer::Missing { .. }, Some(coding)) => {
                Answer::Unread { why: format!("its content coding {coding:?} is not known") }
            }
            (answer, _) => answer,
        }
    }

    /// A body whose pieces are whole messages.
    async fn read_messages(&self, body: Body) -> Answer {
        let mut messages = self.watched(body);
        while let Some(message) = messages.next().await {
            let message = match message {
                Ok(message) => message,
                Err(failure) => return Answer::Stopped { failure: Some(failure) },
            };
            let answer = match parse_lossily(&message) {
                Ok(messages) => self.pick(messages),
                Err(error) => {
                    let was_ours = self.unreadable(&String::from_utf8_lossy(&message), error).is_some();
                    // A person wants to see what became of the answer.
                    was_ours.then(|| Answer::missing(self.secrets.excerpt(&message), &message))
                }
            };
            if let Some(answer) = answer {
                return answer;
            }
        }
        Answer::Stopped { failure: None }
    }

    async fn read_body(&self, body: Body) -> Answer {
        match collect(self.watched(body), self.limits.max_message).await {
            // The content type does not matter: servers in the field leave it out.
            Ok(bytes) => match parse_lossily(&bytes) {
                // Messages to somebody else are not repeated in an error of this call.
                Ok(messages) => self.pick(messages).unwrap_or_else(|| Answer::missing(String::new(), &bytes)),
                Err(_) => Answer::missing(self.secrets.excerpt(&bytes), &bytes),
            },
            Err(Uncollected::TooLarge) => Answer::TooLarge,
            Err(Uncollected::Broken(failure)) => Answer::Stopped { failure: Some(failure) },
        }
    }

    async fn read_stream(&self, body: Body, position: &mut Position) -> Answer {
        let mut events = SseStream::new(self.watched(body), self.limits.of_event());
        loop {
            let item = tokio::select! {
                biased;
                item = events.next() => item,
                () = self.waiting.over.cancelled() => {
                    events.give_up();
                    continue;
                }
            };
            match item {
                Item::Event(event) => {
                    if let Some(id) = event.id {
                        // An empty id takes the position back (HTML, server-sent events, "id").
                        let id = Some(id).filter(|id| !id.is_empty());
                        // A server that replays the same id makes no headway.
                        position.new_event_id |= id.is_some() && id != position.last_event_id;
                        position.last_event_id = id;
                    }
                    if event.retry.is_some() {
                        position.retry = event.retry;
                    }
                    let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
                    let answer = match read_event(event.name.as_deref(), &data) {
                        Ok(messages) => self.pick(messages),
                        Err(error) => self.unreadable(&data, error),
                    };
                    if let Some(answer) = answer {
                        self.let_end(events);
                        return answer;
                    }
                }
                Item::Unfinished(data) => {
                    if let Some(answer) = self.whole_answer(&data) {
                        return answer;
                    }
                }
                Item::Ended => return Answer::Stopped { failure: None },
                Item::Broken(failure) => return Answer::Stopped { failure: Some(failure) },
                Item::TooLarge => return Answer::TooLarge,
            }
        }
    }

    /// Nothing more is wanted of the stream, but its end frees the connection for the next request: a server ends it right after the
    /// answer. One that does not is hung up on.
    fn let_end(&self, mut events: SseStream) {
        if let Some(Item::Ended) = events.next().now_or_never() {
            return;
        }
        let closing = self.background.closing().clone();
        let reading = async move {
            for _ in 0..EVENTS_AFTER_ANSWER {
                let Item::Event(_) = events.next().await else { return };
            }
        };
        drop(self.background.spawn(async move {
            tokio::select! {
                _ = timeout(END_PATIENCE, reading) => {}
                () = closing.cancelled() => {}
            }
        }));
    }

    /// What cannot be read costs the answer only if it was the answer.
    fn unreadable(&self, data: &str, error: ParseError) -> Option<Answer> {
        if names_id(data, self.our_id) {
            return Some(Answer::missing(String::new(), data.as_bytes()));
        }
        (self.unreadable)(error);
        // JSON that is whole, or that names a method, is no answer. Of anything else that cannot be told.
        if matches!(error, ParseError::NotJson { .. } | ParseError::Incomplete) && !data.contains("\"method\"") {
            self.waiting.in_doubt.cancel();
        }
        None
    }

    /// The answer, if this is all of it; of what else it may hold nothing counts.
    fn whole_answer(&self, data: &str) -> Option<Answer> {
        let is_ours = |message: &Message| match message {
            Message::Result { id, .. } | Message::Error { id: Some(id), .. } => id.as_ours() == Some(self.our_id),
            _ => false,
        };
        self.pick(parse(data.as_bytes()).ok()?.into_iter().filter(is_ours).collect())
    }

    /// Hands on what is not the answer, in order, and returns the answer if it is among the messages.
    fn pick(&self, messages: Vec<Message>) -> Option<Answer> {
        let mut answer = None;
        for message in messages {
            let id = match &message {
                Message::Result { id, .. } if id.as_ours() == Some(self.our_id) => AnswerId::Ours,
                Message::Error { id, .. } if !self.is_of_another(id.as_ref()) => match id {
                    Some(id) if id.as_ours() == Some(self.our_id) => AnswerId::Ours,
                    _ => AnswerId::Foreign,
                },
                // A result or an error of another request is never delivered as the answer to this one.
                _ => {
                    (self.other)(message);
                    continue;
                }
            };
            answer = answer.or_else(|| Answer::of(message, id, self.secrets));
        }
        answer
    }

    fn is_of_another(&self, id: Option<&Id>) -> bool {
        id.is_some_and(|id| id.as_ours() != Some(self.our_id) && self.ids.issued(id))
    }

    /// The body, with each chunk noted as activity.
    fn watched(&self, body: Body) -> Body {
        let activity = Arc::clone(&self.activity);
        Box::pin(body.inspect(move |_| activity.touch()))
    }
}

type Body = BoxStream<'static, Result<Bytes, WireFailure>>;

#[cfg(test)]
mod tests {
    use http::header;

    use super::*;

    fn words(status: StatusCode, location: Option<&'static str>, answer: &Answer) -> Option<Words> {
        let location = location.map(|location| (header::LOCATION, http::HeaderValue::from_static(location)));
        answer.words(status, &location.into_iter().collect())
    }

    fn missing(digest: u64) -> Answer {
        Answer::Missing { excerpt: String::new(), digest }
    }

    #[test]
    fn only_what_was_read_whole_has_words() {
        let not_found = |answer: &Answer| words(StatusCode::NOT_FOUND, None, answer);
        assert_eq!(not_found(&missing(1)), not_found(&missing(1)));
        assert_ne!(not_found(&missing(1)), not_found(&missing(2)));
        assert_ne!(not_found(&missing(1)), words(StatusCode::GONE, None, &missing(1)));
        assert_eq!(not_found(&Answer::TooLarge), None);
        assert_eq!(not_found(&Answer::Unread { why: String::new() }), None);
        assert_eq!(not_found(&Answer::Stopped { failure: None }), None);
    }

    #[test]
    fn where_a_redirect_leads_is_one_of_its_words() {
        let leads = |to| words(StatusCode::PERMANENT_REDIRECT, to, &missing(1));
        assert_eq!(leads(Some("http://a.test/mcp")), leads(Some("http://a.test/mcp")));
        assert_ne!(leads(Some("http://a.test/mcp")), leads(Some("http://a.test/login")));
        assert_ne!(leads(Some("http://a.test/mcp")), leads(None));
        assert_ne!(
            leads(Some("http://node-1.test/mcp")),
            leads(Some("http://node-2.test/mcp")),
            "another number is another place"
        );
        // Where nothing is redirected it means nothing.
        let refused = |at| words(StatusCode::FORBIDDEN, at, &missing(1));
        assert_eq!(refused(Some("http://a.test/1")), refused(None));
    }
}
