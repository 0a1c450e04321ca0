//! What the script answers: a head, and a body that comes in steps.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use crate::transport::exchange::Cause;

/// One step of a body.
pub(super) enum Step {
    Chunk(Bytes),
    Until(BoxFuture<'static, ()>),
    Later(BoxFuture<'static, Bytes>),
    Break(Cause),
}

/// The head of an answer and the steps of its body. Without more steps the body ends in an orderly way.
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    steps: VecDeque<Step>,
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Reply {
    /// An empty body. A status that is none becomes 500.
    #[must_use]
    pub fn new(status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, headers: HeaderMap::new(), steps: VecDeque::new() }
    }

    /// A JSON body.
    #[must_use]
    pub fn json(status: u16, message: &Value) -> Self {
        Self::new(status).header("content-type", "application/json").chunk(message.to_string())
    }

    /// A text body.
    #[must_use]
    pub fn text(status: u16, text: &str) -> Self {
        Self::new(status).header("content-type", "text/plain").chunk(text.to_owned())
    }

    /// 200 and an event stream, empty so far.
    #[must_use]
    pub fn event_stream() -> Self {
        Self::new(200).header(CONTENT_TYPE.as_str(), "text/event-stream")
    }

    /// One more header; one that cannot be is left out.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            self.headers.insert(name, value);
        }
        self
    }

    /// These bytes, in one piece.
    #[must_use]
    pub fn chunk(mut self, bytes: impl Into<Bytes>) -> Self {
        self.steps.push_back(Step::Chunk(bytes.into()));
        self
    }

    /// One event with this message.
    #[must_use]
    pub fn event(self, message: &Value) -> Self {
        self.chunk(format!("data: {message}\n\n"))
    }

    /// One event with an id, and a message unless that is null.
    #[must_use]
    pub fn event_with_id(self, id: &str, message: &Value) -> Self {
        let data = if message.is_null() { String::new() } else { message.to_string() };
        self.chunk(format!("id: {id}\ndata: {data}\n\n"))
    }

    /// `retry:` in milliseconds.
    #[must_use]
    pub fn retry(self, milliseconds: u64) -> Self {
        self.chunk(format!("retry: {milliseconds}\n\n"))
    }

    /// A pause.
    #[must_use]
    pub fn wait(self, duration: Duration) -> Self {
        // The pause begins when the body is read up to here.
        self.until(async move { tokio::time::sleep(duration).await })
    }

    /// A pause until the future completes. It is first polled when the body is read up to here.
    #[must_use]
    pub fn until(mut self, future: impl Future<Output = ()> + Send + 'static) -> Self {
        self.steps.push_back(Step::Until(Box::pin(future)));
        self
    }

    /// The bytes that the future gives, in one piece. It is first polled when the body is read up to here.
    #[must_use]
    pub fn later<B: Into<Bytes>>(mut self, bytes: impl Future<Output = B> + Send + 'static) -> Self {
        self.steps.push_back(Step::Later(Box::pin(async move { bytes.await.into() })));
        self
    }

    /// Nothing more, ever, and no end either.
    #[must_use]
    pub fn never(self) -> Self {
        self.until(std::future::pending())
    }

    /// The body is cut off here.
    #[must_use]
    pub fn broken(mut self, cause: Cause) -> Self {
        self.steps.push_back(Step::Break(cause));
        self
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn into_parts(self) -> (StatusCode, HeaderMap, VecDeque<Step>) {
        (self.status, self.headers, self.steps)
    }
}
