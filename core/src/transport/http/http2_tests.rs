//! Canaries for HTTP/2, over prior knowledge: which refusals prove that a request was not processed, and which do not.

use std::sync::Arc;
use std::time::Duration;

use test_case::test_case;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::peer::{Counts, Peer, until_gone};
use super::tests::{exchange, failure, post};
use super::*;
use crate::transport::limits::collect;

fn http2() -> HttpExchange {
    exchange(|settings| settings.http_version = HttpVersion::Http2)
}

type Incoming = (http::Request<h2::RecvStream>, h2::server::SendResponse<Bytes>);

/// Reads the whole request and counts it.
async fn arrival((request, respond): Incoming, counts: &Counts) -> h2::server::SendResponse<Bytes> {
    assert_eq!(request.headers()["content-length"], "12");
    let mut body = request.into_body();
    while let Some(chunk) = body.data().await {
        body.flow_control().release_capacity(chunk.unwrap().len()).unwrap();
    }
    counts.arrived();
    respond
}

/// Answers each request, when it is whole, with what `then` does.
async fn serve(
    stream: TcpStream,
    counts: Counts,
    then: impl Fn(h2::server::SendResponse<Bytes>) + Clone + Send + Sync + 'static,
) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok(incoming)) = connection.accept().await {
        let (counts, then) = (counts.clone(), then.clone());
        tokio::spawn(async move { then(arrival(incoming, &counts).await) });
    }
}

#[test_case(h2::Reason::REFUSED_STREAM, Cause::RefusedStream)]
#[test_case(h2::Reason::CANCEL, Cause::Reset)]
#[test_case(h2::Reason::INTERNAL_ERROR, Cause::Reset)]
#[test_case(h2::Reason::ENHANCE_YOUR_CALM, Cause::Reset)]
#[test_case(h2::Reason::HTTP_1_1_REQUIRED, Cause::Reset)]
#[tokio::test]
async fn of_all_stream_resets_refused_stream_alone_is_a_refusal(reason: h2::Reason, cause: Cause) {
    let peer =
        Peer::new(move |stream, counts| serve(stream, counts, move |mut respond| respond.send_reset(reason))).await;
    let request = post(peer.url("http"));
    let probe = request.probe.clone();
    assert_eq!(failure(&http2(), request).await.cause, cause);
    assert!(probe.body_taken());
    assert_eq!(peer.arrivals(), 1);
}

#[test_case(h2::Reason::REFUSED_STREAM, Cause::Closed)]
#[test_case(h2::Reason::CANCEL, Cause::Reset)]
#[tokio::test]
async fn a_stream_that_was_answered_cannot_be_refused(reason: h2::Reason, cause: Cause) {
    let peer = Peer::new(move |stream, counts| {
        serve(stream, counts, move |mut respond| {
            let mut body = respond.send_response(http::Response::new(()), false).unwrap();
            body.send_data(Bytes::from_static(b"half"), false).unwrap();
            tokio::spawn(async move {
                // Queued data would be thrown away by the reset: the client has it when it opens the window again.
                body.reserve_capacity(1);
                futures_util::future::poll_fn(|context| body.poll_capacity(context)).await.unwrap().unwrap();
                body.send_reset(reason);
            });
        })
    })
    .await;
    let mut body = http2().send(post(peer.url("http"))).await.unwrap().body;
    let failure = loop {
        if let Err(failure) = body.next().await.unwrap() {
            break failure;
        }
    };
    assert_eq!(failure.cause, cause);
    assert!(body.next().await.is_none());
}

const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const DATA: u8 = 0;

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, 0], payload].concat()
}

fn go_away(last_stream: u32, reason: h2::Reason) -> Vec<u8> {
    frame(GOAWAY, 0, &[last_stream.to_be_bytes(), u32::from(reason).to_be_bytes()].concat())
}

/// Reads up to the end of one request, by hand: h2's own server sends no GOAWAY that denies what it read.
async fn read_by_hand(stream: &mut TcpStream, counts: &Counts) {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.unwrap();
    stream.write_all(&frame(SETTINGS, 0, &[])).await.unwrap();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize]).await.unwrap();
        let (kind, flags) = (head[3], head[4]);
        if kind == SETTINGS && flags & 1 == 0 {
            stream.write_all(&frame(SETTINGS, 1, &[])).await.unwrap();
        }
        if kind == DATA && flags & 1 == 1 {
            counts.arrived();
            return;
        }
    }
}

// The first stream of a client has the id 1.
#[test_case(0, h2::Reason::NO_ERROR, Cause::GoneAway; "below our stream")]
#[test_case(0, h2::Reason::ENHANCE_YOUR_CALM, Cause::GoneAway; "below our stream with a reason")]
#[test_case(1, h2::Reason::NO_ERROR, Cause::Closed; "with our stream")]
#[test_case(1, h2::Reason::INTERNAL_ERROR, Cause::Closed; "with our stream and a reason")]
#[test_case(0x7fff_ffff, h2::Reason::NO_ERROR, Cause::Closed; "above our stream")]
#[test_case(0x7fff_ffff, h2::Reason::PROTOCOL_ERROR, Cause::Closed; "above our stream with a reason")]
#[tokio::test]
async fn a_go_away_refuses_only_the_streams_above_its_last(last_stream: u32, reason: h2::Reason, cause: Cause) {
    let peer = Peer::new(move |mut stream, counts| async move {
        read_by_hand(&mut stream, &counts).await;
        stream.write_all(&go_away(last_stream, reason)).await.unwrap();
        if last_stream == 0 {
            until_gone(stream).await;
        }
    })
    .await;
    let request = post(peer.url("http"));
    let probe = request.probe.clone();
    assert_eq!(failure(&http2(), request).await.cause, cause);
    assert!(probe.body_taken());
    assert_eq!(peer.arrivals(), 1, "the stack sent it again");
}

#[tokio::test]
async fn a_close_after_the_whole_request_proves_nothing() {
    let peer = Peer::new(|mut stream, counts| async move { read_by_hand(&mut stream, &counts).await }).await;
    let request = post(peer.url("http"));
    let probe = request.probe.clone();
    assert_eq!(failure(&http2(), request).await.cause, Cause::Closed);
    assert!(probe.body_taken());
    assert_eq!(peer.arrivals(), 1);
}

#[tokio::test]
async fn a_peer_that_speaks_http_1_takes_no_body() {
    let peer = Peer::new(|mut stream, _| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        until_gone(stream).await;
    })
    .await;
    let request = post(peer.url("http"));
    let probe = request.probe.clone();
    let cause = failure(&http2(), request).await.cause;
    assert!(!matches!(cause, Cause::RefusedStream | Cause::GoneAway), "{cause:?}");
    assert!(!probe.body_taken() || peer.arrivals() == 0);
}

#[tokio::test]
async fn a_request_that_waits_for_a_stream_takes_no_body() {
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let arrived = Arc::new(arrived);
    let peer = Peer::new(move |stream, counts| {
        let arrived = Arc::clone(&arrived);
        async move {
            let mut connection =
                h2::server::Builder::new().max_concurrent_streams(1).handshake::<_, Bytes>(stream).await.unwrap();
            let mut held = Vec::new();
            while let Some(Ok(incoming)) = connection.accept().await {
                counts.arrived();
                let (request, mut respond) = incoming;
                if held.is_empty() && request.uri().path() == "/first" {
                    respond.send_response(http::Response::new(()), true).unwrap();
                } else {
                    held.push((request, respond));
                    arrived.send(()).unwrap();
                }
            }
        }
    })
    .await;
    let exchange = http2();
    // The answer to the first request comes after the SETTINGS, so the limit is known from here on.
    let mut first = post(peer.url("http"));
    first.url.set_path("/first");
    collect(exchange.send(first).await.unwrap().body, 0).await.unwrap();
    let hung = exchange.send(post(peer.url("http")));
    tokio::pin!(hung);
    tokio::select! {
        answer = &mut hung => panic!("{answer:?}"),
        _ = arrivals.recv() => {}
    }
    let waiting = post(peer.url("http"));
    let probe = waiting.probe.clone();
    tokio::select! {
        answer = &mut hung => panic!("{answer:?}"),
        waited = tokio::time::timeout(Duration::from_millis(200), exchange.send(waiting)) => assert!(waited.is_err()),
    }
    assert!(!probe.body_taken());
    assert_eq!((peer.connections(), peer.arrivals()), (1, 2));
}
