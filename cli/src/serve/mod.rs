//! `oncewire serve -- COMMAND`: a server on standard input and output, behind Streamable HTTP: a process for each session or one for all,
//! streams that can be read on, and nobody let in who should not be.

mod answers;
mod behind;
pub(crate) mod command;
mod endpoint;
mod guard;
mod process;
mod session;
mod shared;
mod store;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::endpoint::Endpoint;

/// Connections at once; further ones wait until one ends.
const CONNECTIONS: usize = 1_024;
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(30);
/// How long to wait before accepting again where the system has no more to give.
const AGAIN: Duration = Duration::from_millis(100);

/// Serves until it is told to stop, then ends all sessions and their processes.
async fn serve(listener: TcpListener, endpoint: Endpoint, stop: CancellationToken) {
    let endpoint = Arc::new(endpoint);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let Ok((stream, place)) = accepted else {
            sleep(AGAIN).await;
            continue;
        };
        let (endpoint, stop) = (Arc::clone(&endpoint), stop.clone());
        tokio::spawn(async move {
            let _place = place;
            let service = service_fn(|request| {
                let endpoint = Arc::clone(&endpoint);
                async move { Ok::<_, Infallible>(endpoint.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .serve_connection(TokioIo::new(stream), service);
            tokio::pin!(connection);
            tokio::select! {
                // A client that is gone is no news.
                _ = &mut connection => return,
                () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            drop(connection.await);
        });
    }
    drop(listener);
    endpoint.end().await;
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    // It is never closed.
    let place = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}
