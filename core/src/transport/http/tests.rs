//! Canaries on real sockets: each fact about HTTP/1.1 that a promise rests on. HTTP/2 is next door.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method};
use test_case::test_case;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use super::peer::{Peer, read_request, refused, reset, until_gone};
use super::*;
use crate::transport::limits::{Uncollected, collect};
use crate::transport::probe::Probe;

pub(super) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

pub(super) fn exchange(change: impl FnOnce(&mut HttpSettings)) -> HttpExchange {
    let mut settings = HttpSettings { proxy: ProxySetting::None, ..HttpSettings::default() };
    change(&mut settings);
    HttpExchange::new(settings).unwrap()
}

pub(super) fn post(url: url::Url) -> WireRequest {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("x-secret", HeaderValue::from_static("s3cret"));
    let body = Some(Bytes::from_static(b"{\"s3cret\":1}"));
    WireRequest { method: Method::POST, url, headers, body, probe: Probe::new(), fresh_connection: false }
}

fn get(url: url::Url) -> WireRequest {
    WireRequest { method: Method::GET, body: None, ..post(url) }
}

pub(super) async fn failure(exchange: &HttpExchange, request: WireRequest) -> WireFailure {
    let failure = exchange.send(request).await.unwrap_err();
    assert_no_secret(&failure);
    failure
}

fn assert_no_secret(failure: &WireFailure) {
    let mut shown = format!("{failure:?}");
    let mut next: Option<&dyn Error> = Some(failure);
    while let Some(error) = next {
        shown.push_str(&error.to_string());
        next = error.source();
    }
    assert!(!shown.contains("s3cret") && !shown.contains("key="), "{shown}");
}

#[tokio::test]
async fn a_refused_connection_takes_no_body() {
    let url = url::Url::parse(&format!("http://{}/mcp?key=s3cret", refused().await)).unwrap();
    for request in [post(url.clone()), get(url)] {
        for fresh_connection in [false, true] {
            let request = WireRequest { fresh_connection, probe: Probe::new(), ..request.clone() };
            let probe = request.probe.clone();
            assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::Refused);
            assert!(!probe.body_taken());
        }
    }
}

#[tokio::test]
async fn a_reset_at_accept_is_no_arrival() {
    let peer = Peer::new(|stream, _| async { reset(stream) }).await;
    let exchange = exchange(|_| {});
    // A TLS handshake needs an answer: the body cannot have been taken.
    let request = post(peer.url("https"));
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange, request).await.cause, Cause::ConnectReset);
    assert!(!probe.body_taken());
    // Without TLS the body may have been written before the reset came.
    let cause = failure(&exchange, post(peer.url("http"))).await.cause;
    assert!(matches!(cause, Cause::ConnectReset | Cause::Reset | Cause::Closed), "{cause:?}");
    assert_eq!(peer.arrivals(), 0);
}

#[tokio::test]
async fn an_end_in_the_tls_handshake_takes_no_body() {
    let peer = Peer::new(|mut stream, _| async move {
        let mut hello = [0; 16];
        tokio::io::AsyncReadExt::read_exact(&mut stream, &mut hello).await.unwrap();
        stream.shutdown().await.unwrap();
        until_gone(stream).await;
    })
    .await;
    let request = post(peer.url("https"));
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::ConnectReset);
    assert!(!probe.body_taken());
}

#[tokio::test]
async fn an_answer_that_is_not_tls_takes_no_body() {
    let peer = Peer::new(|mut stream, _| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        until_gone(stream).await;
    })
    .await;
    for request in [post(peer.url("https")), get(peer.url("https"))] {
        let probe = request.probe.clone();
        assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::Tls);
        assert!(!probe.body_taken());
    }
}

#[tokio::test]
async fn a_tls_handshake_that_hangs_ends_at_the_connect_timeout() {
    let peer = Peer::new(|stream, _| until_gone(stream)).await;
    let exchange = exchange(|settings| settings.connect_timeout = Duration::from_millis(100));
    let request = post(peer.url("https"));
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange, request).await.cause, Cause::ConnectTimeout);
    assert!(!probe.body_taken());
}

#[tokio::test]
async fn the_connect_timeout_says_nothing_about_the_answer() {
    let peer = Peer::new(|mut stream, counts| async move {
        read_request(&mut stream, &counts).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        stream.write_all(OK).await.unwrap();
    })
    .await;
    let exchange = exchange(|settings| settings.connect_timeout = Duration::from_millis(100));
    assert_eq!(exchange.send(post(peer.url("http"))).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_close_after_the_whole_request_is_one_arrival_and_proves_nothing() {
    let peer = Peer::new(|mut stream, counts| async move {
        read_request(&mut stream, &counts).await.unwrap();
    })
    .await;
    for fresh_connection in [false, true] {
        let before = peer.arrivals();
        let request = WireRequest { fresh_connection, ..post(peer.url("http")) };
        let probe = request.probe.clone();
        assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::Closed);
        assert!(probe.body_taken());
        assert_eq!(peer.arrivals(), before + 1);
    }
    let request = get(peer.url("http"));
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::Closed);
    assert!(probe.body_taken());
    assert_eq!(peer.arrivals(), 3);
}

#[tokio::test]
async fn a_close_on_a_reused_connection_is_one_arrival_and_proves_nothing() {
    let peer = Peer::new(|mut stream, counts| async move {
        read_request(&mut stream, &counts).await.unwrap();
        stream.write_all(OK).await.unwrap();
        read_request(&mut stream, &counts).await.unwrap();
    })
    .await;
    let exchange = exchange(|_| {});
    let answer = exchange.send(post(peer.url("http"))).await.unwrap();
    assert_eq!(collect(answer.body, 10).await.unwrap(), "{}");
    let request = post(peer.url("http"));
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange, request).await.cause, Cause::Closed);
    assert!(probe.body_taken());
    assert_eq!((peer.connections(), peer.arrivals()), (1, 2));
}

#[tokio::test]
async fn a_reset_after_the_whole_request_is_one_arrival_and_proves_nothing() {
    let peer = Peer::new(|mut stream, counts| async move {
        read_request(&mut stream, &counts).await.unwrap();
        reset(stream);
    })
    .await;
    let request = post(peer.url("http"));
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::Reset);
    assert!(probe.body_taken());
    assert_eq!(peer.arrivals(), 1);
}

#[tokio::test]
async fn an_answer_that_is_not_http_proves_nothing() {
    let peer = Peer::answering(b"hello\r\n\r\n").await;
    let request = post(peer.url("http"));
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::Other);
    assert!(probe.body_taken());
    assert_eq!(peer.arrivals(), 1);
}

#[test_case(b"transfer-encoding: chunked\r\n\r\n8\r\n{\"a\"", false, Cause::Closed; "closed in a chunk")]
#[test_case(b"transfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n", false, Cause::Closed; "closed between chunks")]
#[test_case(b"content-length: 8\r\n\r\n{\"a\"", false, Cause::Closed; "closed before the content-length")]
#[test_case(b"transfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n", true, Cause::Reset; "reset between chunks")]
#[tokio::test]
async fn a_body_that_is_cut_breaks_after_what_came(rest: &'static [u8], with_reset: bool, cause: Cause) {
    let go_on = Arc::new(tokio::sync::Notify::new());
    let cut = Arc::clone(&go_on);
    let peer = Peer::new(move |mut stream, counts| {
        let cut = Arc::clone(&cut);
        async move {
            read_request(&mut stream, &counts).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
            stream.write_all(rest).await.unwrap();
            cut.notified().await;
            if with_reset {
                reset(stream);
            }
        }
    })
    .await;
    let mut body = exchange(|_| {}).send(post(peer.url("http"))).await.unwrap().body;
    assert_eq!(body.next().await.unwrap().unwrap(), "{\"a\"");
    go_on.notify_one();
    let failure = body.next().await.unwrap().unwrap_err();
    assert_no_secret(&failure);
    assert_eq!(failure.cause, cause);
    assert!(body.next().await.is_none());
    assert_eq!(peer.arrivals(), 1);
}

#[tokio::test]
async fn a_body_without_length_ends_in_an_orderly_way() {
    let peer = Peer::new(|mut stream, counts| async move {
        read_request(&mut stream, &counts).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\ndata: half").await.unwrap();
    })
    .await;
    let answer = exchange(|_| {}).send(post(peer.url("http"))).await.unwrap();
    assert_eq!(collect(answer.body, 100).await.unwrap(), "data: half");
}

#[tokio::test]
async fn dropping_a_request_drops_its_connection_and_its_probe_tells() {
    for bodiless in [false, true] {
        let (arrived, mut arrivals) = mpsc::unbounded_channel();
        let (gone, mut goings) = mpsc::unbounded_channel();
        let peer = Peer::new(move |mut stream, counts| {
            let (arrived, gone) = (arrived.clone(), gone.clone());
            async move {
                read_request(&mut stream, &counts).await.unwrap();
                arrived.send(()).unwrap();
                until_gone(stream).await;
                gone.send(()).unwrap();
            }
        })
        .await;
        let request = if bodiless { get(peer.url("http")) } else { post(peer.url("http")) };
        let probe = request.probe.clone();
        let exchange = exchange(|_| {});
        tokio::select! {
            answer = exchange.send(request) => panic!("{answer:?}"),
            _ = arrivals.recv() => {}
        }
        assert!(probe.body_taken());
        goings.recv().await.unwrap();
        assert_eq!(peer.arrivals(), 1);
    }
}

#[tokio::test]
async fn dropping_a_body_frees_its_connection() {
    let (gone, mut goings) = mpsc::unbounded_channel();
    let peer = Peer::new(move |mut stream, counts| {
        let gone = gone.clone();
        async move {
            read_request(&mut stream, &counts).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n0123456789").await.unwrap();
            until_gone(stream).await;
            gone.send(()).unwrap();
        }
    })
    .await;
    let exchange = exchange(|_| {});
    let answer = exchange.send(post(peer.url("http"))).await.unwrap();
    assert!(matches!(collect(answer.body, 5).await, Err(Uncollected::TooLarge)));
    goings.recv().await.unwrap();
}

#[tokio::test]
async fn dropping_a_request_in_the_tls_handshake_takes_no_body() {
    let (connected, mut connections) = mpsc::unbounded_channel();
    let peer = Peer::new(move |stream, _| {
        connected.send(()).unwrap();
        until_gone(stream)
    })
    .await;
    let request = post(peer.url("https"));
    let probe = request.probe.clone();
    let exchange = exchange(|_| {});
    tokio::select! {
        answer = exchange.send(request) => panic!("{answer:?}"),
        _ = connections.recv() => {}
    }
    assert!(!probe.body_taken());
}

#[test_case(307)]
#[test_case(308)]
#[test_case(301)]
#[test_case(302)]
#[test_case(303)]
#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed(status: u16) {
    let peer = Peer::new(move |mut stream, counts| async move {
        while read_request(&mut stream, &counts).await.is_some() {
            let answer = format!("HTTP/1.1 {status} Moved\r\nlocation: /mcp/\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    let answer = exchange(|_| {}).send(post(peer.url("http"))).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (status, &HeaderValue::from_static("/mcp/")));
    assert_eq!(peer.arrivals(), 1);
}

#[test_case(502)]
#[test_case(503)]
#[test_case(408)]
#[test_case(425)]
#[tokio::test]
async fn no_status_makes_the_stack_send_again(status: u16) {
    let peer = Peer::new(move |mut stream, counts| async move {
        while read_request(&mut stream, &counts).await.is_some() {
            let answer = format!("HTTP/1.1 {status} No\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    assert_eq!(exchange(|_| {}).send(post(peer.url("http"))).await.unwrap().status.as_u16(), status);
    assert_eq!(peer.arrivals(), 1);
}

#[tokio::test]
async fn a_request_is_sent_as_given_with_its_length() {
    let (seen, mut requests) = mpsc::unbounded_channel();
    let peer = Peer::new(move |mut stream, counts| {
        let seen = seen.clone();
        async move {
            while let Some(request) = read_request(&mut stream, &counts).await {
                seen.send(request).unwrap();
                stream.write_all(OK).await.unwrap();
            }
        }
    })
    .await;
    let exchange = exchange(|_| {});
    exchange.send(post(peer.url("http"))).await.unwrap();
    let request = requests.recv().await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /mcp?key=s3cret HTTP/1.1\r\n"), "{head}");
    for line in ["content-length: 12", "content-type: application/json", "x-secret: s3cret"] {
        assert!(head.lines().any(|has| has == line), "{line} in {head}");
    }
    assert!(head.contains("user-agent: oncewire/"), "{head}");
    for absent in ["transfer-encoding", "accept-encoding", "referer", "expect"] {
        assert!(!head.contains(absent), "{absent} in {head}");
    }
    assert_eq!(body, "{\"s3cret\":1}");
    for method in [Method::GET, Method::DELETE] {
        let request = WireRequest { method: method.clone(), ..get(peer.url("http")) };
        let probe = request.probe.clone();
        exchange.send(request).await.unwrap();
        assert!(probe.body_taken());
        let request = requests.recv().await.unwrap();
        assert!(request.starts_with(method.as_str()) && !request.contains("content-length: 1"), "{request}");
    }
}

#[tokio::test]
async fn connections_are_reused_unless_a_request_wants_a_fresh_one() {
    let peer = Peer::answering(OK).await;
    let exchange = exchange(|_| {});
    for (fresh_connection, connections) in [(false, 1), (false, 1), (true, 2), (true, 3), (false, 3)] {
        let request = WireRequest { fresh_connection, ..post(peer.url("http")) };
        let answer = exchange.send(request).await.unwrap();
        collect(answer.body, 10).await.unwrap();
        // The connection is back in the pool only when its task has seen the end of the body.
        tokio::task::yield_now().await;
        assert_eq!(peer.connections(), connections, "fresh: {fresh_connection}");
    }
}

#[test_case(b"HTTP/1.1 403 Forbidden\r\n\r\n"; "refuses")]
#[test_case(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"; "wants a password")]
#[test_case(b""; "closes")]
#[tokio::test]
async fn a_proxy_that_refuses_the_tunnel_takes_no_body(answer: &'static [u8]) {
    let peer = Peer::new(move |mut stream, counts| async move {
        read_request(&mut stream, &counts).await.unwrap();
        stream.write_all(answer).await.unwrap();
    })
    .await;
    let proxy = ProxySetting::Url(format!("http://user:s3cret@{}", peer.address));
    let exchange = exchange(|settings| settings.proxy = proxy);
    assert!(!format!("{exchange:?}").contains("s3cret"));
    let request = post(url::Url::parse("https://example.invalid/mcp").unwrap());
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange, request).await.cause, Cause::Proxy);
    assert!(!probe.body_taken());
    assert_eq!(peer.arrivals(), 1);
}

#[test_case("ftp://127.0.0.1/"; "not http")]
#[test_case("data:text"; "no host")]
#[tokio::test]
async fn a_url_that_cannot_be_sent_to_is_a_bad_request(url: &str) {
    let request = post(url::Url::parse(url).unwrap());
    let probe = request.probe.clone();
    assert_eq!(failure(&exchange(|_| {}), request).await.cause, Cause::BadRequest);
    assert!(!probe.body_taken());
}

#[test_case("s3cret"; "no url")]
#[test_case("socks5://user:s3cret@127.0.0.1:1"; "socks")]
fn a_proxy_that_cannot_be_used_is_named_without_its_url(url: &str) {
    let settings = HttpSettings { proxy: ProxySetting::Url(url.to_owned()), ..HttpSettings::default() };
    let error = HttpExchange::new(settings).unwrap_err();
    assert_eq!(error.field, "proxy");
    assert!(!error.to_string().contains("s3cret"));
}

#[test_case("failed to lookup address information: Name or service not known", Cause::DnsUnknownHost)]
#[test_case("failed to lookup address information: No address associated with hostname", Cause::DnsUnknownHost)]
#[test_case(
    "failed to lookup address information: nodename nor servname provided, or not known",
    Cause::DnsUnknownHost
)]
#[test_case("No such host is known. (os error 11001)", Cause::DnsUnknownHost)]
#[test_case("failed to lookup address information: Temporary failure in name resolution", Cause::DnsTemporary)]
#[test_case("failed to lookup address information: Try again", Cause::DnsTemporary)]
#[test_case("Der Name oder der Dienst ist nicht bekannt", Cause::DnsTemporary)]
fn a_lookup_tells_a_host_that_does_not_exist_from_one_that_may(text: &str, expected: Cause) {
    let error = io::Error::other(text);
    assert_eq!(cause::lookup(&vec![&error]), expected);
}

#[tokio::test]
async fn a_name_that_is_not_found_takes_no_body() {
    // A label of more than 63 bytes fits in no DNS message, so the lookup fails without one.
    let url = url::Url::parse(&format!("http://{}.invalid/mcp?key=s3cret", "a".repeat(64))).unwrap();
    let request = post(url);
    let probe = request.probe.clone();
    let cause = failure(&exchange(|_| {}), request).await.cause;
    assert!(matches!(cause, Cause::DnsUnknownHost | Cause::DnsTemporary), "{cause:?}");
    assert!(!probe.body_taken());
}

/// The loopback network has many addresses on Linux alone.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_address_that_was_passed_over_is_not_tried_first_again() {
    use futures_util::FutureExt;
    use tokio::net::TcpListener;

    let good = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = good.local_addr().unwrap().port();
    let peer = Peer::on(good, |mut stream, counts| async move {
        while read_request(&mut stream, &counts).await.is_some() {
            stream.write_all(OK).await.unwrap();
        }
    });
    let found = [1, 2].map(|host| SocketAddr::from(([127, 0, 0, host], 0)));
    let addresses = Addresses::new(move |_| async move { Ok(found.to_vec()) }.boxed());
    let settings = HttpSettings { proxy: ProxySetting::None, ..HttpSettings::default() };
    let exchange = HttpExchange::with_addresses(settings, addresses).unwrap();
    let url = url::Url::parse(&format!("http://server.test:{port}/mcp")).unwrap();
    let send = || {
        let request = WireRequest { fresh_connection: true, probe: Probe::new(), ..post(url.clone()) };
        exchange.send(request)
    };
    // Nobody listens on the first.
    assert_eq!(send().await.unwrap().status, 200);
    let first = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    for _ in 0..3 {
        assert_eq!(send().await.unwrap().status, 200);
    }
    assert!(first.accept().now_or_never().is_none(), "it was tried again");
    assert_eq!((peer.arrivals(), peer.connections()), (4, 4));
    // Once the other one is gone it is tried again, and found.
    let answering = Peer::on(first, |mut stream, counts| async move {
        while read_request(&mut stream, &counts).await.is_some() {
            stream.write_all(OK).await.unwrap();
        }
    });
    drop(peer);
    let mut tries = 0;
    // The listener of the peer closes when its task is dropped, which is soon.
    while answering.arrivals() == 0 && tries < 100 {
        let _ = send().await;
        tries += 1;
        tokio::task::yield_now().await;
    }
    assert!(answering.arrivals() > 0);
}
