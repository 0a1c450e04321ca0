//! What goes back over HTTP: a JSON-RPC error under a status, a JSON answer, or a stream of events.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::time::timeout;

use super::session::Events;
use crate::rpc::error::RpcError;
use crate::rpc::message::Id;

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A comment goes out on a stream that was silent for so long: whoever stands in between keeps it open, and a client that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    with_body(status, "text/plain", Bytes::new())
}

/// A JSON-RPC error under this status; its id is null unless it is that of a request.
pub(super) fn error(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Response<Body> {
    let id = id.map_or("null", Id::to_json);
    let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.to_json());
    json(status, Bytes::from(message))
}

/// A JSON message.
pub(super) fn json(status: StatusCode, message: Bytes) -> Response<Body> {
    with_body(status, "application/json", message)
}

fn with_body(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(body).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The last message of a stream, once it is there; `None` if there is none.
pub(super) async fn last_of(mut events: Events) -> Option<Bytes> {
    while let Some(kept) = events.recv().await {
        if kept.last {
            return kept.message;
        }
    }
    None
}

/// A stream of events, to its last one.
pub(super) fn streamed(events: Events) -> Response<Body> {
    let frames = stream::unfold(Some(events), |events| async move {
        let mut events = events?;
        match timeout(KEEP_ALIVE, events.recv()).await {
            Ok(Some(kept)) => {
                let frame = Frame::data(kept.to_event());
                Some((Ok(frame), (!kept.last).then_some(events)))
            }
            Ok(None) => None,
            Err(_) => Some((Ok(Frame::data(Bytes::from_static(b": keep-alive\n\n"))), Some(events))),
        }
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // nginx, and what has learned from it, holds streams back otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
