//! The end of a login in a browser: a listener on 127.0.0.1 that takes the one redirect it waits for (RFC 8252, section 7.3).
//!
//! It listens on no other interface. Only a GET of the path of the redirect URI with the `state` of this login ends it, once; what else a
//! browser or another page asks for is answered and changes nothing. Bounds: [`CONNECTIONS`] at a time, [`HEAD`] bytes of head,
//! [`CONNECTION`] from accepting a connection to the end of its answer, and the patience of the caller for all of it.

mod page;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Method, Request, Response, StatusCode};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use url::Url;

use self::page::Page;

/// Connections that are served at a time; more wait. A browser opens some that it never uses.
const CONNECTIONS: usize = 16;
/// The longest request line and headers, in bytes. A code may be a JWT.
const HEAD: usize = 32 * 1024;
/// How long one connection lives.
const CONNECTION: Duration = Duration::from_secs(10);
/// After a failure to accept, which may be that there are no more file descriptors.
const ACCEPT_GAP: Duration = Duration::from_millis(100);

/// Why no redirect came.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoopbackError {
    /// Another process listens there: with a port that was given, mostly another login for the same client.
    #[error("port {0} of 127.0.0.1 is in use by another process")]
    PortInUse(u16),
    /// No such listener.
    #[error("nothing can listen on 127.0.0.1: {0}")]
    Listen(#[source] io::Error),
    /// Nobody came.
    #[error("the browser did not come back within {0:?}")]
    TimedOut(Duration),
}

/// A port of 127.0.0.1 that is held from now on until this is dropped.
#[derive(Debug)]
pub(crate) struct Loopback {
    listener: TcpListener,
    port: u16,
}

impl Loopback {
    /// Listens on this port, or on one that is free.
    pub(crate) async fn bind(port: Option<u16>) -> Result<Self, LoopbackError> {
        let asked = port.unwrap_or(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, asked)).await.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => LoopbackError::PortInUse(asked),
            _ => LoopbackError::Listen(error),
        })?;
        let port = listener.local_addr().map_err(LoopbackError::Listen)?.port();
        Ok(Self { listener, port })
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The URL that the browser was redirected to: of this path, and with this `state`. It is given once the browser has its page; whether
    /// it tells of a code or of an error is the caller's to see. The listener stays.
    ///
    /// Dropping the future closes every connection, and loses nothing but the page.
    pub(crate) async fn receive(&self, path: &str, state: &str, patience: Duration) -> Result<Url, LoopbackError> {
        let expected = Arc::new(Expected {
            path: path.to_owned(),
            state: state.to_owned(),
            port: self.port,
            received: OnceLock::new(),
        });
        timeout(patience, self.serve(&expected)).await.map_err(|_| LoopbackError::TimedOut(patience))
    }

    async fn serve(&self, expected: &Arc<Expected>) -> Url {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                    Ok((stream, _)) => drop(connections.spawn(connection(stream, Arc::clone(expected)))),
                    Err(_) => sleep(ACCEPT_GAP).await,
                },
                Some(_) = connections.join_next() => {
                    if let Some(url) = expected.received.get() {
                        return url.clone();
                    }
                }
            }
        }
    }
}

/// Serves one request; its answer is written when this ends, or its time is over.
fn connection(stream: TcpStream, expected: Arc<Expected>) -> impl Future<Output = ()> + Send {
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let answer = expected.answer(request.method(), request.uri());
        async move { Ok::<_, Infallible>(answer) }
    });
    let serving = http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .max_buf_size(HEAD)
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION)
        .serve_connection(TokioIo::new(stream), service);
    // Whatever becomes of it, what was received was received.
    timeout(CONNECTION, serving).map(drop)
}

/// The redirect that is waited for.
#[derive(Debug)]
struct Expected {
    path: String,
    state: String,
    port: u16,
    received: OnceLock<Url>,
}

impl Expected {
    fn answer(&self, method: &Method, target: &http::Uri) -> Response<http_body_util::Full<Bytes>> {
        if target.path() != self.path {
            return Page::nothing_here().with_status(StatusCode::NOT_FOUND);
        }
        if method != Method::GET {
            return Page::nothing_here().with_status(StatusCode::METHOD_NOT_ALLOWED);
        }
        let query = target.query().unwrap_or_default();
        let Some(url) = self.matching(query) else {
            return Page::another_login().with_status(StatusCode::BAD_REQUEST);
        };
        if self.received.set(url.clone()).is_err() {
            return Page::received_before().with_status(StatusCode::OK);
        }
        Page::of_redirect(&url).with_status(StatusCode::OK)
    }

    /// The whole URL, if its one `state` is ours.
    fn matching(&self, query: &str) -> Option<Url> {
        let mut url = Url::parse(&format!("http://127.0.0.1:{}", self.port)).ok()?;
        url.set_path(&self.path);
        url.set_query(Some(query));
        let states: Vec<_> = url.query_pairs().filter(|(name, _)| name == "state").map(|(_, value)| value).collect();
        let ours = matches!(states.as_slice(), [state] if *state == self.state.as_str());
        ours.then_some(url)
    }
}

#[cfg(test)]
mod tests;
