//! The wire between a client and a server, as a TCP relay that can fail on command where a real server would not: cut the client's
//! connections while the server works on, or fall silent without closing. It also counts what passes, as the server gets it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A relay that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    wire: watch::Sender<Wire>,
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

/// What the wire does to the connections on it.
#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    /// Goes up with each cut; a connection that is older than the latest cut is cut.
    cuts: u64,
    /// Goes up with each freeze; a connection that is older than the latest freeze passes nothing on to the client.
    freezes: u64,
}

/// What went past on the way to the server.
#[derive(Debug, Default)]
struct Seen {
    handshakes: usize,
    tool_calls: usize,
    deletes: usize,
    session: Option<String>,
}

impl Relay {
    /// Listens on a loopback port, and passes everything on.
    pub(crate) async fn start(upstream: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on 127.0.0.1")?;
        let address = listener.local_addr()?;
        let (wire, watched) = watch::channel(Wire::default());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let task = tokio::spawn(accept(listener, upstream, watched, Arc::clone(&seen)));
        Ok(Self { address, wire, seen, task })
    }

    /// Where the client connects.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resets every connection of the client. The server keeps its side, and works on.
    pub(crate) fn cut(&self) {
        self.wire.send_modify(|wire| wire.cuts += 1);
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

    /// How many DELETE requests reached the server.
    pub(crate) fn deletes(&self) -> usize {
        self.look().deletes
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

async fn accept(listener: TcpListener, upstream: SocketAddr, wire: watch::Receiver<Wire>, seen: Arc<Mutex<Seen>>) {
    // The connections end with this task.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    connections.spawn(carry(client, upstream, wire.clone(), Arc::clone(&seen)));
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
async fn carry(mut client: TcpStream, upstream: SocketAddr, mut wire: watch::Receiver<Wire>, seen: Arc<Mutex<Seen>>) {
    let born = *wire.borrow_and_update();
    let Ok(mut server) = TcpStream::connect(upstream).await else {
        // Nobody is there. What a client would see without us is a refused connection; a reset is as near as a relay gets.
        let _ = client.set_zero_linger();
        return;
    };
    let mut scan = Scan::default();
    let (mut up, mut down) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    loop {
        let now = *wire.borrow_and_update();
        if now.cuts > born.cuts {
            let _ = client.set_zero_linger();
            drop(client);
            drain(&mut server).await;
            return;
        }
        tokio::select! {
            read = client.read(&mut up) => match read {
                Ok(length @ 1..) => {
                    let bytes = up.get(..length).unwrap_or_default();
                    scan.take(bytes, &mut seen.lock().unwrap_or_else(PoisonError::into_inner));
                    if server.write_all(bytes).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
            read = server.read(&mut down), if now.freezes == born.freezes => match read {
                Ok(length @ 1..) => {
                    if client.write_all(down.get(..length).unwrap_or_default()).await.is_err() {
                        return;
                    }
                }
                Ok(_) => return,
                Err(_) => {
                    let _ = client.set_zero_linger();
                    return;
                }
            },
            changed = wire.changed() => if changed.is_err() { return },
        }
    }
}

/// Reads what the server still says to nobody, so that it can finish.
async fn drain(server: &mut TcpStream) {
    let mut sink = vec![0; 16 * 1024];
    while matches!(server.read(&mut sink).await, Ok(1..)) {}
}

/// Finds the words in a stream of bytes that comes in pieces.
#[derive(Debug, Default)]
struct Scan {
    line: Vec<u8>,
}

impl Scan {
    const HANDSHAKE: &'static [u8] = br#""method":"initialize""#;
    const TOOL_CALL: &'static [u8] = br#""method":"tools/call""#;
    const DELETE: &'static [u8] = b"DELETE /mcp HTTP/1.1\r";
    const SESSION: &'static [u8] = b"mcp-session-id:";
    /// The longest that a found thing can be; as much is kept of what is not decided yet.
    const LONGEST: usize = 256;

    fn take(&mut self, bytes: &[u8], seen: &mut Seen) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            }
            if self.line.ends_with(Self::HANDSHAKE) {
                seen.handshakes += 1;
            } else if self.line.ends_with(Self::TOOL_CALL) {
                seen.tool_calls += 1;
            }
            if byte == b'\n' {
                // A request line may follow the body before it without a line end.
                seen.deletes += usize::from(self.line.ends_with(Self::DELETE));
                if let Some((name, value)) = self.line.split_at_checked(Self::SESSION.len())
                    && name.eq_ignore_ascii_case(Self::SESSION)
                {
                    seen.session = Some(String::from_utf8_lossy(value).trim().to_owned());
                }
                self.line.clear();
            } else if self.line.len() > 2 * Self::LONGEST {
                // A long body: its beginning is no header, and only its end can still complete a word.
                self.line.drain(..Self::LONGEST);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_whatever_pieces_they_come() {
        let request = concat!(
            "POST /mcp HTTP/1.1\r\nMcp-Session-Id: abc\r\ncontent-length: 3\r\n\r\n",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            "POST /mcp HTTP/1.1\r\n\r\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}"#,
            "DELETE /mcp HTTP/1.1\r\n\r\n",
        );
        for size in 1..request.len() {
            let (mut scan, mut seen) = (Scan::default(), Seen::default());
            for piece in request.as_bytes().chunks(size) {
                scan.take(piece, &mut seen);
            }
            assert_eq!((seen.handshakes, seen.tool_calls, seen.deletes), (1, 1, 1), "size {size}");
            assert_eq!(seen.session.as_deref(), Some("abc"), "size {size}");
        }
    }

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
