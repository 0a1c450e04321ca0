//! HTTP/2 with prior knowledge (RFC 9113 section 3.3): the second framing of the same scripts.
//!
//! The `h2` crate does the framing. What its server never says, a GOAWAY that denies a request which it has read, is written below it, in the
//! task of the connection and so between two frames.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::connection::{end, pause};
use super::exchange::{Flow, serve};
use super::request::Request;
use super::state::State;
use super::wire::{Cut, Framing, H2Error, Head, LastStream, Wire};

/// How long an orderly end waits for the client's.
const FAREWELL: Duration = Duration::from_millis(500);

/// What an exchange asks of its connection.
enum Command {
    /// Everything that was queued goes out, then these bytes.
    Write(Vec<u8>, oneshot::Sender<()>),
    /// GOAWAY for this stream; told is whether it could be said.
    GoAway(GoAway, oneshot::Sender<bool>),
    /// The connection ends.
    Cut(Cut),
}

struct GoAway {
    stream: u32,
    last: LastStream,
    error: H2Error,
}

/// Whether the client speaks HTTP/2: its preface begins with `PRI`, and no method of HTTP/1.1 does.
pub(crate) async fn begins(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; 3];
    loop {
        let seen = stream.peek(&mut first).await?;
        if seen == first.len() || first.get(..seen) != b"PRI".get(..seen) || seen == 0 {
            return Ok(seen == first.len() && &first == b"PRI");
        }
        // The rest is on its way, and peeking returns at once until it is there.
        tokio::task::yield_now().await;
    }
}

/// Serves the connection until one side ends it, or until all are cut.
pub(crate) async fn run(state: &Arc<State>, connection: u64, stream: TcpStream, mut cuts: watch::Receiver<(u64, Cut)>) {
    let stream = Arc::new(stream);
    let options = state.options();
    let mut builder = h2::server::Builder::new();
    if let Some(max) = options.max_concurrent_streams {
        builder.max_concurrent_streams(max);
    }
    let Ok(mut served) = builder.handshake(Shared(Arc::clone(&stream))).await else { return };
    let (commands, mut commanded) = mpsc::unbounded_channel();
    let mut exchanges = JoinSet::new();
    let mut idle = Box::pin(pause(options.idle_close_ms.map(Duration::from_millis)));
    let mut open = true;
    // The newest stream, and the last that may be processed once a GOAWAY has said so.
    let (mut newest, mut limit) = (0, u32::MAX);
    let how = loop {
        tokio::select! {
            accepted = served.accept(), if open => match accepted {
                // What a GOAWAY has denied is not looked at (RFC 9113 section 6.8).
                Some(Ok((_, respond))) if respond.stream_id().as_u32() > limit => {}
                Some(Ok((request, respond))) => {
                    newest = respond.stream_id().as_u32();
                    idle = Box::pin(pause(None));
                    let (state, commands) = (Arc::clone(state), commands.clone());
                    exchanges.spawn(exchange(state, connection, request, respond, commands));
                }
                // The client has gone, or broke the protocol. What was begun is finished, as it is with HTTP/1.1.
                Some(Err(_)) | None => {
                    state.client_gone(connection);
                    open = false;
                }
            },
            command = commanded.recv() => match command {
                Some(Command::Write(bytes, done)) => {
                    flush(&mut served).await;
                    // A few bytes: if they do not go, the client has gone.
                    let _ = stream.try_write(&bytes);
                    let _ = done.send(());
                }
                Some(Command::GoAway(how, done)) => {
                    let last = match how.last {
                        // The streams of a client are odd (RFC 9113 section 5.1.1).
                        LastStream::Below => how.stream.saturating_sub(2),
                        LastStream::Newest => newest,
                        LastStream::Max => 0x7fff_ffff,
                    };
                    // To deny a request that is under way would be a lie.
                    let true_so_far = last >= newest || how.stream == newest;
                    if true_so_far {
                        limit = last;
                        flush(&mut served).await;
                        let _ = stream.try_write(&go_away(last, how.error));
                    }
                    let _ = done.send(true_so_far);
                }
                Some(Command::Cut(how)) => {
                    flush(&mut served).await;
                    break how;
                }
                None => break Cut::Close,
            },
            Some(_) = exchanges.join_next() => {
                if exchanges.is_empty() {
                    idle = Box::pin(pause(options.idle_close_ms.map(Duration::from_millis)));
                }
            }
            () = &mut idle => break Cut::Close,
            _ = cuts.changed() => break cuts.borrow().1,
        }
        if !open && exchanges.is_empty() {
            break Cut::Close;
        }
    };
    exchanges.shutdown().await;
    drop(served);
    end(&stream, how);
    if how == Cut::Close {
        let _ = SockRef::from(&*stream).shutdown(std::net::Shutdown::Write);
        // Unread bytes would turn the orderly end into a reset.
        let _ = tokio::time::timeout(FAREWELL, drain(&stream)).await;
    }
}

/// Writes what is queued, as far as the client's windows allow.
async fn flush(served: &mut Connection<Shared, Bytes>) {
    std::future::poll_fn(|context| {
        // Whatever it says: the connection's own turn comes again.
        let _ = served.poll_closed(context);
        Poll::Ready(())
    })
    .await;
}

async fn drain(stream: &TcpStream) {
    let mut rest = [0; 4_096];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut rest) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn exchange(
    state: Arc<State>,
    connection: u64,
    request: http::Request<RecvStream>,
    respond: SendResponse<Bytes>,
    commands: mpsc::UnboundedSender<Command>,
) {
    let Some(request) = read(request).await else { return };
    let mut wire = Http2 { respond, stream: None, commands, pieces: None, whole: false };
    let flow = Box::pin(serve(&state, connection, request, &mut wire)).await;
    if let Flow::End(how) = flow {
        let _ = wire.commands.send(Command::Cut(how));
        // The connection ends this task with all others.
        std::future::pending::<()>().await;
    }
}

/// The whole request; none if the client took it back.
async fn read(request: http::Request<RecvStream>) -> Option<Request> {
    let (parts, mut body) = request.into_parts();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.ok()?;
        body.flow_control().release_capacity(chunk.len()).ok()?;
        bytes.extend_from_slice(&chunk);
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let host = parts.uri.authority().map(|authority| ("host".to_owned(), authority.to_string()));
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
    Some(Request {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: headers.chain(host).collect(),
        body: bytes,
        close: false,
    })
}

/// The writing half of one stream.
struct Http2 {
    respond: SendResponse<Bytes>,
    /// There once the head is out.
    stream: Option<SendStream<Bytes>>,
    commands: mpsc::UnboundedSender<Command>,
    pieces: Option<usize>,
    /// The head said that nothing follows.
    whole: bool,
}

impl Http2 {
    /// Everything so far goes out, then these bytes.
    async fn below(&self, bytes: Vec<u8>) -> io::Result<()> {
        let (done, is_done) = oneshot::channel();
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.commands.send(Command::Write(bytes, done)).map_err(|_| gone())?;
        is_done.await.map_err(|_| gone())
    }

    fn send(&mut self, bytes: &[u8], last: bool) -> io::Result<()> {
        match &mut self.stream {
            Some(stream) => stream.send_data(Bytes::copy_from_slice(bytes), last).map_err(io::Error::other),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Wire for Http2 {
    const SHARED: bool = true;

    async fn head(&mut self, head: &Head) -> io::Result<()> {
        let mut response = http::Response::builder().status(head.status);
        for (name, value) in &head.headers {
            response = response.header(name, value);
        }
        if let Framing::Length(length) = head.framing {
            response = response.header("content-length", length);
        }
        self.whole = head.framing == Framing::None;
        let response = response.body(()).map_err(io::Error::other)?;
        self.stream = Some(self.respond.send_response(response, self.whole).map_err(io::Error::other)?);
        Ok(())
    }

    async fn data(&mut self, bytes: &[u8]) -> io::Result<()> {
        let size = self.pieces.unwrap_or(bytes.len()).max(1);
        for piece in bytes.chunks(size) {
            self.send(piece, false)?;
            if self.pieces.is_some() {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn end(&mut self) -> io::Result<()> {
        if self.whole { Ok(()) } else { self.send(&[], true) }
    }

    async fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.below(bytes.to_vec()).await
    }

    fn pieces(&mut self, size: usize) {
        self.pieces = Some(size);
    }

    async fn half_close(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    async fn reset_stream(&mut self, error: H2Error) -> io::Result<()> {
        // A reset throws away what is queued.
        self.below(Vec::new()).await?;
        let reason = Reason::from(code(error));
        match &mut self.stream {
            Some(stream) => stream.send_reset(reason),
            None => self.respond.send_reset(reason),
        }
        Ok(())
    }

    async fn go_away(&mut self, last: LastStream, error: H2Error) -> io::Result<()> {
        let stream = self.respond.stream_id().as_u32();
        let (done, is_done) = oneshot::channel();
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.commands.send(Command::GoAway(GoAway { stream, last, error }, done)).map_err(|_| gone())?;
        if is_done.await.map_err(|_| gone())? {
            return Ok(());
        }
        self.reset_stream(H2Error::RefusedStream).await?;
        Err(gone())
    }

    async fn client_gone(&mut self) {
        // A reset, or the end of the connection, which is the same news.
        let _ = std::future::poll_fn(|context| match &mut self.stream {
            Some(stream) => stream.poll_reset(context),
            None => self.respond.poll_reset(context),
        })
        .await;
    }
}

fn go_away(last: u32, error: H2Error) -> Vec<u8> {
    // Length 8, type 7, no flags, stream 0 (RFC 9113 section 6.8).
    let head: [u8; 9] = [0, 0, 8, 7, 0, 0, 0, 0, 0];
    [head.as_slice(), &last.to_be_bytes(), &code(error).to_be_bytes()].concat()
}

fn code(error: H2Error) -> u32 {
    match error {
        H2Error::NoError => 0,
        H2Error::ProtocolError => 1,
        H2Error::InternalError => 2,
        H2Error::RefusedStream => 7,
        H2Error::Cancel => 8,
        H2Error::EnhanceYourCalm => 11,
    }
}

/// The socket, shared by h2 and by what is written below it.
struct Shared(Arc<TcpStream>);

impl AsyncRead for Shared {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Shared {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}
