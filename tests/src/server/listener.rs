//! The port: open, closed, and open again under the same number.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection;
use super::state::State;
use super::wire::Cut;

/// A socket that is bound and does not listen: the number is ours, and connecting to it is refused.
#[derive(Debug)]
pub(crate) struct Reserved {
    socket: Socket,
    pub(crate) port: u16,
}

impl Reserved {
    /// Port 0 lets the system choose.
    pub(crate) fn bind(port: u16) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        // Connections of the former life of this port may still be in TIME_WAIT.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
        let address = socket.local_addr()?.as_socket();
        Ok(Self { socket, port: address.map(|address| address.port()).unwrap_or_default() })
    }

    fn listen(self) -> io::Result<TcpListener> {
        self.socket.listen(1024)?;
        TcpListener::from_std(self.socket.into())
    }
}

/// Opens and closes the port as the state says, and serves what connects. Dropping this future ends all of it.
pub(crate) async fn run(state: Arc<State>, mut reserved: Reserved, listening: watch::Sender<bool>) -> io::Result<()> {
    let mut up = state.up.subscribe();
    let mut connections = JoinSet::new();
    let (mut accepted, mut failed) = (0_u32, vec![0_u32; state.options().on_accept.len()]);
    let port = reserved.port;
    loop {
        if up.wait_for(|up| *up).await.is_err() {
            return Ok(());
        }
        let listener = reserved.listen()?;
        listening.send_replace(true);
        loop {
            tokio::select! {
                _ = up.wait_for(|up| !*up) => break,
                stream = listener.accept() => {
                    let Ok((stream, _)) = stream else { continue };
                    let rules = state.options().on_accept;
                    failed.resize(rules.len(), 0);
                    let hit = rules.iter().zip(&mut failed).find(|(rule, failed)| {
                        accepted >= rule.skip && rule.times.is_none_or(|times| **failed < times)
                    });
                    accepted += 1;
                    if let Some((rule, failed)) = hit {
                        *failed += 1;
                        state.connection_opened();
                        state.connection_closed();
                        if rule.cut == Cut::Reset {
                            let _ = SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
                        }
                        continue;
                    }
                    connections.spawn(connection::run(Arc::clone(&state), stream));
                }
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listener);
        reserved = Reserved::bind(port)?;
        listening.send_replace(false);
    }
}
