//! One connection. HTTP/1.1: requests in, in order, each served to its end before the next. HTTP/2 is known by its preface.

use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

use super::exchange::{Flow, serve};
use super::http1::{Http1, Reader};
use super::http2;
use super::state::State;
use super::wire::Cut;

/// Serves the connection until one side ends it, or until all are cut.
pub(crate) async fn run(state: Arc<State>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let connection = state.connection_opened();
    let _counted = Counted(Arc::clone(&state));
    let mut cuts = state.cut.subscribe();
    let idle = state.options().idle_close_ms.map(Duration::from_millis);
    let is_http2 = tokio::select! {
        is_http2 = http2::begins(&stream) => is_http2.unwrap_or(false),
        () = pause(idle) => return,
        _ = cuts.changed() => {
            end(&stream, cuts.borrow().1);
            return;
        }
    };
    if is_http2 {
        // Boxed: most connections are not of this kind, and the future is large.
        return Box::pin(http2::run(&state, connection, stream, cuts)).await;
    }
    let (read, write) = stream.into_split();
    let (gone, is_gone) = watch::channel(false);
    let (requests, mut arrived) = mpsc::channel(16);
    // The reader never stops: that is how the end of the client's side is noticed while an answer is still in the making,
    // and unread bytes would turn an orderly close into a reset.
    let reading = {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let mut reader = Reader::new(read);
            while let Ok(Some(request)) = reader.next().await {
                if requests.send(request).await.is_err() {
                    return;
                }
            }
            gone.send_replace(true);
            state.client_gone(connection);
        })
    };
    let mut reading = AbortOnDrop(reading);
    let mut wire = Http1::new(write, is_gone);
    let how = loop {
        let flow = tokio::select! {
            flow = async {
                let request = tokio::select! {
                    request = arrived.recv() => request,
                    () = pause(idle) => None,
                };
                let Some(request) = request else { return Flow::End(Cut::Close) };
                wire.next_response();
                // Boxed: the future of an exchange is large, and this one lives in a select.
                Box::pin(serve(&state, connection, request, &mut wire)).await
            } => flow,
            _ = cuts.changed() => Flow::End(cuts.borrow().1),
        };
        if let Flow::End(how) = flow {
            break how;
        }
    };
    end(wire.stream().as_ref(), how);
    reading.end().await;
    if how == Cut::Reset {
        // Dropping the half would send FIN first.
        wire.forget();
    }
}

/// Passes after that time, or never.
pub(super) async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Says how the socket ends when it is closed.
pub(super) fn end(stream: &TcpStream, how: Cut) {
    let _ = SockRef::from(stream).set_linger(match how {
        // RFC 9293 section 3.10.4: a close with data pending or with no lingering is an abort.
        Cut::Reset => Some(Duration::ZERO),
        Cut::Close => None,
    });
}

struct Counted(Arc<State>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connection_closed();
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl AbortOnDrop {
    async fn end(&mut self) {
        self.0.abort();
        // Only when the task is gone is its half of the socket, and with ours the descriptor closed.
        let _ = (&mut self.0).await;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
