//! The wire between a client and a server, as a TCP relay that can fail on command where a real server would not: cut the client's
//! connections while the server works on, cut both sides, or fall silent without closing. It also counts what passes, as the server
//! gets it, and keeps each request with the beginning of its answer.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::exchange::{Exchange, Scan, Seen};

/// A relay that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    wire: watch::Sender<Wire>,
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
    /// Where new connections go, one after the other.
    upstreams: watch::Sender<Vec<SocketAddr>>,
}

/// What the wire does to the connections on it.
#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    /// Goes up with each cut; a connection that is older than the latest cut is cut.
    cuts: u64,
    /// Goes up with each cut of both sides.
    severs: u64,
    /// Goes up with each freeze; a connection that is older than the latest freeze passes nothing on to the client.
    freezes: u64,
}

impl Relay {
    /// Listens on a loopback port, and passes everything on.
    pub(crate) async fn start(upstream: SocketAddr) -> Result<Self> {
        Self::between(upstream, false).await
    }

    /// The same, as a balancer without affinity: each request has a connection of its own, to the next of the servers that are given.
    pub(crate) async fn in_turn(first: SocketAddr) -> Result<Self> {
        Self::between(first, true).await
    }

    async fn between(upstream: SocketAddr, one_request: bool) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on 127.0.0.1")?;
        let address = listener.local_addr()?;
        let (wire, watched) = watch::channel(Wire::default());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (upstreams, given) = watch::channel(vec![upstream]);
        let task = tokio::spawn(accept(listener, given, one_request, watched, Arc::clone(&seen)));
        Ok(Self { address, wire, seen, task, upstreams })
    }

    /// One more server.
    pub(crate) fn add(&self, upstream: SocketAddr) {
        self.upstreams.send_modify(|upstreams| upstreams.push(upstream));
    }

    /// This one alone.
    pub(crate) fn only(&self, upstream: SocketAddr) {
        self.upstreams.send_replace(vec![upstream]);
    }

    /// Where the client connects.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resets every connection of the client. The server keeps its side, and works on.
    pub(crate) fn cut(&self) {
        self.wire.send_modify(|wire| wire.cuts += 1);
    }

    /// Resets every connection on both sides: the server sees it too.
    pub(crate) fn sever(&self) {
        self.wire.send_modify(|wire| wire.severs += 1);
    }

    /// From now on no byte reaches the client on the connections that are open, and none of them is closed. New ones work.
    pub(crate) fn freeze(&self) {
        self.wire.send_modify(|wire| wire.freezes += 1);
    }

    /// How many `initialize` requests reached the server.
    pub(crate) fn handshakes(&self) -> usize {
        self.look().handshakes
    }

    /// How many `tools/call` requests reached the server.
    pub(crate) fn tool_calls(&self) -> usize {
        self.look().tool_calls
    }

    /// How many requests of this JSON-RPC method reached the server.
    pub(crate) fn sent(&self, rpc: &str) -> usize {
        self.look().exchanges.iter().filter(|exchange| exchange.rpc.as_deref() == Some(rpc)).count()
    }

    /// How many DELETE requests reached the server.
    pub(crate) fn deletes(&self) -> usize {
        self.look().deletes
    }

    /// How many requests of any kind went past.
    pub(crate) fn passed(&self) -> usize {
        self.look().exchanges.len()
    }

    /// The requests after the first so many, with the beginnings of their answers.
    pub(crate) fn since(&self, passed: usize) -> Vec<Exchange> {
        self.look().exchanges.iter().skip(passed).cloned().collect()
    }

    /// The session that the client named last.
    pub(crate) fn session(&self) -> Option<String> {
        self.look().session.clone()
    }

    fn look(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    upstreams: watch::Receiver<Vec<SocketAddr>>,
    one_request: bool,
    wire: watch::Receiver<Wire>,
    seen: Arc<Mutex<Seen>>,
) {
    let mut turn = 0_usize;
    // The connections end with this task.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let upstream = {
                        let upstreams = upstreams.borrow();
                        upstreams.iter().copied().cycle().nth(turn % upstreams.len().max(1))
                    };
                    turn += 1;
                    if let Some(upstream) = upstream {
                        connections.spawn(carry(client, upstream, one_request, wire.clone(), Arc::clone(&seen)));
                    }
                }
                Err(error) => {
                    // Out of file descriptors, for example: what is open may still end well.
                    eprintln!("relay: cannot accept a connection: {error}");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries one connection to its end.
async fn carry(
    mut client: TcpStream,
    upstream: SocketAddr,
    one_request: bool,
    mut wire: watch::Receiver<Wire>,
    seen: Arc<Mutex<Seen>>,
) {
    let born = *wire.borrow_and_update();
    let Ok(mut server) = TcpStream::connect(upstream).await else {
        // Nobody is there. What a client would see without us is a refused connection; a reset is as near as a relay gets.
        let _ = client.set_zero_linger();
        return;
    };
    let mut scan = Scan::default();
    if one_request && last_request(&mut client, &mut server, &mut scan, &seen).await.is_err() {
        return;
    }
    let head = one_request.then(Vec::new);
    let by_the_client = pass_on(&mut client, &mut server, &mut wire, &mut scan, &seen, born, head).await;
    scan.over(by_the_client, &mut seen.lock().unwrap_or_else(PoisonError::into_inner));
    let now = *wire.borrow();
    if now.cuts > born.cuts {
        drop(client);
        drain(&mut server).await;
    }
}

/// Passes the first line of a request on, and after it the word that it is the last one on this connection.
async fn last_request(
    client: &mut TcpStream,
    server: &mut TcpStream,
    scan: &mut Scan,
    seen: &Mutex<Seen>,
) -> std::io::Result<()> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        line.push(client.read_u8().await?);
    }
    scan.take(&line, &mut seen.lock().unwrap_or_else(PoisonError::into_inner));
    line.extend_from_slice(b"Connection: close\r\n");
    server.write_all(&line).await
}

/// The beginning of an answer, as soon as its head is whole, with the word that it is the last one on this connection: some servers say
/// otherwise, whatever they were asked.
fn last_answer(begun: &[u8]) -> Option<Vec<u8>> {
    const END: &[u8] = b"\r\n\r\n";
    let end = begun.windows(END.len()).position(|bytes| bytes == END)?;
    let (head, rest) = begun.split_at_checked(end)?;
    let mut lines: Vec<_> = String::from_utf8_lossy(head).split("\r\n").map(str::to_owned).collect();
    lines.retain(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    lines.push("connection: close".into());
    Some([lines.join("\r\n").as_bytes(), rest].concat())
}

/// Until one side is closed or the wire does something to the connection. Is it closed by the client?
async fn pass_on(
    client: &mut TcpStream,
    server: &mut TcpStream,
    wire: &mut watch::Receiver<Wire>,
    scan: &mut Scan,
    seen: &Mutex<Seen>,
    born: Wire,
    mut head: Option<Vec<u8>>,
) -> bool {
    let (mut up, mut down) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    loop {
        let now = *wire.borrow_and_update();
        if now.cuts > born.cuts {
            let _ = client.set_zero_linger();
            return false;
        }
        if now.severs > born.severs {
            let _ = client.set_zero_linger();
            let _ = server.set_zero_linger();
            return false;
        }
        tokio::select! {
            read = client.read(&mut up) => match read {
                Ok(length @ 1..) => {
                    let bytes = up.get(..length).unwrap_or_default();
                    scan.take(bytes, &mut seen.lock().unwrap_or_else(PoisonError::into_inner));
                    if server.write_all(bytes).await.is_err() {
                        return false;
                    }
                }
                _ => return true,
            },
            read = server.read(&mut down), if now.freezes == born.freezes => match read {
                Ok(length @ 1..) => {
                    let bytes = down.get(..length).unwrap_or_default();
                    scan.answer(bytes, &mut seen.lock().unwrap_or_else(PoisonError::into_inner));
                    let told = match &mut head {
                        None => client.write_all(bytes).await,
                        Some(begun) => {
                            begun.extend_from_slice(bytes);
                            let Some(whole) = last_answer(begun) else { continue };
                            head = None;
                            client.write_all(&whole).await
                        }
                    };
                    if told.is_err() {
                        return true;
                    }
                }
                Ok(_) => return false,
                Err(_) => {
                    let _ = client.set_zero_linger();
                    return false;
                }
            },
            changed = wire.changed() => if changed.is_err() { return false },
        }
    }
}

/// Reads what the server still says to nobody, so that it can finish.
async fn drain(server: &mut TcpStream) {
    let mut sink = vec![0; 16 * 1024];
    while matches!(server.read(&mut sink).await, Ok(1..)) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn echo_server() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut reader, mut writer) = stream.split();
                    let _ = tokio::io::copy(&mut reader, &mut writer).await;
                });
            }
        });
        address
    }

    async fn say(stream: &mut TcpStream, word: &[u8]) -> std::io::Result<Vec<u8>> {
        stream.write_all(word).await?;
        let mut heard = vec![0; word.len()];
        stream.read_exact(&mut heard).await?;
        Ok(heard)
    }

    #[tokio::test]
    async fn a_cut_resets_what_is_open_and_lets_the_next_connection_through() {
        let relay = Relay::start(echo_server().await).await.unwrap();
        let mut before = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(say(&mut before, b"one").await.unwrap(), b"one");
        relay.cut();
        let error = before.read(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        let mut after = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(say(&mut after, b"two").await.unwrap(), b"two");
    }

    #[tokio::test]
    async fn a_frozen_connection_is_silent_and_open() {
        let relay = Relay::start(echo_server().await).await.unwrap();
        let mut before = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(say(&mut before, b"one").await.unwrap(), b"one");
        relay.freeze();
        let silence = tokio::time::timeout(std::time::Duration::from_millis(100), say(&mut before, b"two")).await;
        assert!(silence.is_err(), "{silence:?}");
        let mut after = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(say(&mut after, b"three").await.unwrap(), b"three");
    }
}
