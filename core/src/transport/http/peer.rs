//! A scripted peer on a loopback socket, for the canaries: what it does to a connection, and what arrived.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

/// A running peer; stops when dropped.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    counts: Counts,
    task: JoinHandle<()>,
}

/// What came in so far.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    connections: Arc<AtomicUsize>,
    arrivals: Arc<AtomicUsize>,
}

impl Counts {
    /// A whole request is here.
    pub(crate) fn arrived(&self) {
        self.arrivals.fetch_add(1, Ordering::SeqCst);
    }
}

impl Peer {
    /// Does this to each connection.
    pub(crate) async fn new<F, S>(script: F) -> Self
    where
        F: Fn(TcpStream, Counts) -> S + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    /// As [`Self::new`], on this listener.
    pub(crate) fn on<F, S>(listener: TcpListener, script: F) -> Self
    where
        F: Fn(TcpStream, Counts) -> S + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr().unwrap();
        let counts = Counts::default();
        let for_task = counts.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                for_task.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(script(stream, for_task.clone()));
            }
        });
        Self { address, counts, task }
    }

    /// Answers every request on every connection with these bytes.
    pub(crate) async fn answering(answer: &'static [u8]) -> Self {
        Self::new(move |mut stream, counts| async move {
            while read_request(&mut stream, &counts).await.is_some() {
                stream.write_all(answer).await.unwrap();
            }
        })
        .await
    }

    pub(crate) fn url(&self, scheme: &str) -> Url {
        Url::parse(&format!("{scheme}://{}/mcp?key=s3cret", self.address)).unwrap()
    }

    pub(crate) fn arrivals(&self) -> usize {
        self.counts.arrivals.load(Ordering::SeqCst)
    }

    pub(crate) fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One HTTP/1.1 request, head and body as text; `None` if the connection ends before it is whole.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin), counts: &Counts) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                counts.arrived();
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

/// Ends the connection with a RST.
pub(crate) fn reset(stream: TcpStream) {
    stream.set_zero_linger().unwrap();
    drop(stream);
}

/// An address that refuses connections.
pub(crate) async fn refused() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// Waits until the other side has let go of the connection.
pub(crate) async fn until_gone(mut stream: impl AsyncRead + Unpin) {
    let mut rest = [0; 1_024];
    while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
}
