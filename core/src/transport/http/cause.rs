//! From the errors of reqwest, hyper, h2, rustls and the system to a [`Cause`].
//!
//! The facts are in the chain of sources, as types of crates that reqwest uses inside: if one of them is updated apart from
//! ours, a downcast finds nothing and the cause becomes [`Cause::Other`], which concludes less and never more. The tests next
//! door hold each mapping on real sockets.

use std::error::Error;
use std::io;

use hyper_util::client::legacy;

use super::super::exchange::Cause;

/// Why no head arrived.
pub(super) fn before_head(error: &reqwest::Error) -> Cause {
    if error.is_builder() {
        return Cause::BadRequest;
    }
    let chain = chain(error);
    if connecting(&chain) {
        return while_connecting(error, &chain);
    }
    not_processed(&chain).unwrap_or_else(|| connected(&chain))
}

/// Why a body stopped. A stream that was answered cannot be refused any more.
pub(super) fn in_body(error: &reqwest::Error) -> Cause {
    let chain = chain(error);
    if not_processed(&chain).is_some() { Cause::Closed } else { connected(&chain) }
}

/// Does this error alone prove that no connection carried the request? hyper cancels a request only when it hands it back
/// unwritten. A failure to connect is proof because redirects and retries are off: it is the failure of the only hop.
pub(super) fn proves_unsent(error: &reqwest::Error) -> bool {
    let chain = chain(error);
    error.is_builder() || connecting(&chain) || hyper_error(&chain).any(hyper::Error::is_canceled)
}

type Chain<'a> = Vec<&'a (dyn Error + 'static)>;

/// All errors from the outermost in. An I/O error skips what it wraps when asked for its source, so it is opened.
fn chain(error: &reqwest::Error) -> Chain<'_> {
    let mut chain: Chain<'_> = vec![error];
    let mut next = error.source();
    while let Some(error) = next {
        chain.push(error);
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    chain
}

fn find<'a, E: Error + 'static>(chain: &'a Chain<'_>) -> impl Iterator<Item = &'a E> {
    chain.iter().filter_map(|error| error.downcast_ref::<E>())
}

fn hyper_error<'a>(chain: &'a Chain<'_>) -> impl Iterator<Item = &'a hyper::Error> {
    find(chain)
}

fn connecting(chain: &Chain<'_>) -> bool {
    find::<legacy::Error>(chain).any(legacy::Error::is_connect)
}

/// What HTTP/2 says of a stream that was not processed. h2 gives a remote GOAWAY as the error of a stream only if the stream is above its
/// last one.
fn not_processed(chain: &Chain<'_>) -> Option<Cause> {
    find::<h2::Error>(chain).filter(|error| error.is_remote()).find_map(|error| {
        if error.is_go_away() {
            return Some(Cause::GoneAway);
        }
        (error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)).then_some(Cause::RefusedStream)
    })
}

fn while_connecting(error: &reqwest::Error, chain: &Chain<'_>) -> Cause {
    if error.is_dns() {
        return lookup(chain);
    }
    if find::<rustls::Error>(chain).next().is_some() {
        return Cause::Tls;
    }
    if error.is_timeout() {
        return Cause::ConnectTimeout;
    }
    match io_kind(chain) {
        Some(io::ErrorKind::ConnectionRefused) => Cause::Refused,
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown) => {
            Cause::Unreachable
        }
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof,
        ) => Cause::ConnectReset,
        // hyper-util does not export the type of this one.
        None if chain.iter().any(|error| error.to_string().starts_with("tunnel error: ")) => Cause::Proxy,
        _ => Cause::ConnectOther,
    }
}

/// The resolver tells its codes by text alone. The texts for "no such name" (EAI_NONAME, EAI_NODATA, WSAHOST_NOT_FOUND) are
/// few; anything else, EAI_AGAIN and texts in another language included, may pass: waiting for it costs only patience.
pub(super) fn lookup(chain: &Chain<'_>) -> Cause {
    const UNKNOWN: [&str; 6] = [
        "Name or service not known",
        "No address associated with hostname",
        "nodename nor servname provided, or not known",
        "Name does not resolve",
        "Name has no usable address",
        "No such host is known",
    ];
    let unknown = chain.iter().any(|error| {
        let text = error.to_string();
        UNKNOWN.iter().any(|known| text.contains(known))
    });
    if unknown { Cause::DnsUnknownHost } else { Cause::DnsTemporary }
}

/// The cause of a failure on a connection that stood.
fn connected(chain: &Chain<'_>) -> Cause {
    if find::<rustls::Error>(chain).next().is_some() {
        return Cause::Tls;
    }
    match io_kind(chain) {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => return Cause::Reset,
        // TimedOut is TCP's own: the other side stopped acknowledging.
        Some(
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::TimedOut,
        ) => return Cause::Closed,
        _ => {}
    }
    if let Some(error) = find::<h2::Error>(chain).next() {
        return if error.is_reset() { Cause::Reset } else { Cause::Closed };
    }
    let closed = |error: &hyper::Error| {
        error.is_incomplete_message() || error.is_canceled() || error.is_closed() || error.is_timeout()
    };
    if hyper_error(chain).any(closed) { Cause::Closed } else { Cause::Other }
}

/// The kind of the innermost I/O error, also of one that h2 holds.
fn io_kind(chain: &Chain<'_>) -> Option<io::ErrorKind> {
    let of_h2 = find::<h2::Error>(chain).filter_map(h2::Error::get_io);
    find::<io::Error>(chain).chain(of_h2).map(io::Error::kind).filter(|kind| *kind != io::ErrorKind::Other).last()
}
