//! Requests and answers over the pipes of one process.
//!
//! One task has the process: it writes what is queued, reads what comes, and sees the end. Whoever sends waits at the desk for what is theirs, so
//! nobody's slowness or cancellation cuts a line short.

use std::fmt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::{HeaderMap, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::desk::{Came, Coming, Delivery, Desk, Expected, Outgoing};
use super::end::ChannelEnd;
use super::lines::{Line, Lines};
use super::process::Process;
use super::stderr::{self, LastWords, StderrSink};
use super::unread::unread;
use crate::protocol::era::MODERN_VERSION;
use crate::rpc::message::notification_bytes;
use crate::rpc::params::Params;
use crate::transport::exchange::{
    Cause, Channel, Exchange, Framing, Spoken, Unasked, WireFailure, WireRequest, WireResponse,
};
use crate::transport::probe::Probe;
use crate::vocabulary::excerpt::printable;
use crate::vocabulary::lock::lock;

/// Messages that wait to be written.
const OUTBOX: usize = 64;
/// Lines in a row that are no messages, after which nothing a server writes is taken for one.
const NO_MESSAGES: u32 = 1_000;
/// Characters of a line that are shown.
const SHOWN: usize = 200;
/// After one end of the process is seen, how long the others may take: its exit, what is left in its pipes, its last words.
const LAST_WORDS: Duration = Duration::from_millis(250);
/// How long the readers of a pipe may take to be gone once they were killed, and how often that is looked at.
const READERS: (Duration, u32) = (Duration::from_millis(2), 25);
/// How long what is killed may take to be gone.
const KILLED: Duration = Duration::from_secs(1);

/// The channel to one process.
pub(super) struct PipeChannel {
    desk: Arc<Desk>,
    outbox: mpsc::Sender<Outbound>,
    unasked: Mutex<Option<Coming>>,
    /// Asks the task to end the process, within that time.
    close: watch::Sender<Option<Duration>>,
    /// The task has ended.
    over: watch::Receiver<bool>,
    task: AbortHandle,
    closed: AtomicBool,
}

/// A message on its way out.
struct Outbound {
    line: Bytes,
    id: Option<u64>,
    probe: Probe,
    /// Told when it is written, or that it will not be.
    written: oneshot::Sender<()>,
}

impl PipeChannel {
    /// Has to be called within a runtime.
    pub(super) fn over(process: Process, max_line: usize, sink: StderrSink) -> Self {
        let (desk, unasked) = Desk::new(max_line);
        let desk = Arc::new(desk);
        let (outbox, outgoing) = mpsc::channel(OUTBOX);
        let (close, closing) = watch::channel(None);
        let (tell_over, over) = watch::channel(false);
        let keeping = Keeping { desk: Arc::clone(&desk), max_line, sink, last: LastWords::default() };
        let task = tokio::spawn(async move {
            keeping.keep(process, outgoing, closing).await;
            tell_over.send_replace(true);
        });
        Self {
            desk,
            outbox,
            unasked: Mutex::new(Some(unasked)),
            close,
            over,
            task: task.abort_handle(),
            closed: AtomicBool::new(false),
        }
    }

    /// Queues a message. Completes when it is written, or will not be.
    async fn write(&self, body: &Bytes, id: Option<u64>, probe: Probe) {
        let (written, told) = oneshot::channel();
        let mut line = BytesMut::with_capacity(body.len() + 1);
        line.extend_from_slice(body);
        line.extend_from_slice(b"\n");
        let outbound = Outbound { line: line.freeze(), id, probe, written };
        if self.outbox.send(outbound).await.is_ok() {
            let _ = told.await;
        }
    }
}

impl fmt::Debug for PipeChannel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PipeChannel").field("is_over", &self.desk.end().is_some()).finish_non_exhaustive()
    }
}

impl Drop for PipeChannel {
    fn drop(&mut self) {
        // Whoever closes it waits for the task. Nobody does so any more: what it keeps is killed with it.
        self.task.abort();
    }
}

#[async_trait]
impl Exchange for PipeChannel {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireFailure> {
        let WireRequest { headers, body: Some(body), probe, .. } = request else {
            return Err(WireFailure::new(Cause::BadRequest));
        };
        let outgoing = Outgoing::read(&body);
        let Some(id) = outgoing.id else {
            self.write(&body, None, probe.clone()).await;
            return match self.desk.end() {
                Some(end) if !probe.body_taken() => Err(end.failure()),
                _ => Ok(messages(stream::empty().boxed())),
            };
        };
        let expected = self.desk.expect(id, outgoing.first, probe.clone()).map_err(|end| end.failure())?;
        // There is no stream whose end could tell the server that nobody waits (MCP 2026-07-28, transports, stdio, cancellation). In the
        // eras before, the call says so by a notification of its own.
        let is_modern = headers.get("mcp-protocol-version").is_some_and(|version| version == MODERN_VERSION);
        let tells = is_modern.then(|| self.outbox.clone());
        let mut waiting = InFlight { expected, tells, probe: probe.clone() };
        self.write(&body, Some(id), probe).await;
        let first = match waiting.expected.next().await {
            Came::Over(end) => return Err(end.failure()),
            came => came,
        };
        Ok(messages(stream::unfold(Some((waiting, Some(first))), next_of).boxed()))
    }
}

#[async_trait]
impl Channel for PipeChannel {
    fn unasked(&self) -> Option<Unasked> {
        let coming = lock(&self.unasked).take()?;
        Some(stream::unfold(coming, |mut coming| async move { Some((coming.next().await?, coming)) }).boxed())
    }

    fn end(&self) -> Option<WireFailure> {
        self.desk.end().map(|end| end.failure())
    }

    async fn close(&self, patience: Duration) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.close.send_replace(Some(patience));
        }
        let mut over = self.over.clone();
        // The task holds the sender: once that is gone it is over, too.
        let _ = over.wait_for(|over| *over).await;
    }
}

/// Its pieces are whole messages, and there is no head.
fn messages(body: BoxStream<'static, Result<Bytes, WireFailure>>) -> WireResponse {
    WireResponse {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body,
        framing: Framing::Messages,
        spoken: Spoken::default(),
    }
}

/// A request that was written, and is dropped when nobody waits for its answer any more.
struct InFlight {
    expected: Expected,
    /// Where the server is told of that.
    tells: Option<mpsc::Sender<Outbound>>,
    probe: Probe,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let (Some(outbox), Some(id)) = (&self.tells, self.expected.unanswered()) else { return };
        if !self.probe.body_taken() {
            return;
        }
        let params = serde_json::json!({ "requestId": id, "reason": "the caller no longer waits" });
        let params = Params::from_value("params", &params).unwrap_or_default();
        let mut line = BytesMut::from(&notification_bytes("notifications/cancelled", &params)[..]);
        line.extend_from_slice(b"\n");
        // An outbox that is full is one of a server that reads nothing.
        let (written, _) = oneshot::channel();
        let _ = outbox.try_send(Outbound { line: line.freeze(), id: None, probe: Probe::new(), written });
    }
}

type Rest = Option<(InFlight, Option<Came>)>;

async fn next_of(rest: Rest) -> Option<(Result<Bytes, WireFailure>, Rest)> {
    let (mut waiting, first) = rest?;
    let came = match first {
        Some(came) => came,
        None => waiting.expected.next().await,
    };
    match came {
        Came::Word(line) => Some((Ok(line), Some((waiting, None)))),
        Came::Answer(line) => Some((Ok(line), None)),
        Came::Over(end) => Some((Err(end.failure()), None)),
        Came::Done => None,
    }
}

/// What the task of a channel has.
struct Keeping {
    desk: Arc<Desk>,
    max_line: usize,
    sink: StderrSink,
    last: LastWords,
}

/// What was seen first of the end of a channel.
enum Ended {
    /// Somebody wants it, within that time.
    Asked(Duration),
    /// Nothing is read any more.
    Read(ReadEnd),
    /// The process is no more.
    Exit(Option<ExitStatus>),
    /// Nothing can be written any more.
    Deaf,
}

/// What ended the reading.
enum ReadEnd {
    Closed,
    TooLong(String),
    NoMessages(String),
}

impl Keeping {
    async fn keep(
        self,
        process: Process,
        outgoing: mpsc::Receiver<Outbound>,
        mut closing: watch::Receiver<Option<Duration>>,
    ) {
        let Process { mut stdin, stdout, stderr, mut life } = process;
        let mut written = 0;
        let errors = stderr::tell(stderr, Arc::clone(&self.sink), self.last.clone());
        tokio::pin!(errors);
        let mut told_all = false;
        let reading = self.read(stdout);
        tokio::pin!(reading);
        let mut outgoing = outgoing;
        let ended = {
            let writing = self.write(&mut stdin, &mut outgoing, &mut written);
            tokio::pin!(writing);
            let mut goes_out = true;
            loop {
                tokio::select! {
                    biased;
                    asked = closing.wait_for(Option::is_some) => {
                        break Ended::Asked(asked.map(|patience| *patience).ok().flatten().unwrap_or_default());
                    }
                    read = &mut reading => break Ended::Read(read),
                    status = life.ended() => break Ended::Exit(status),
                    // A server that reads no more may still answer what it has read; it has as long as one that ends.
                    () = &mut writing, if goes_out => goes_out = false,
                    () = tokio::time::sleep(LAST_WORDS), if !goes_out => break Ended::Deaf,
                    () = &mut errors, if !told_all => told_all = true,
                }
            }
        };
        // Whoever sends from now on is told at once.
        outgoing.close();
        if let Ended::Asked(patience) = ended {
            let mut queue = outgoing;
            let leaving = async {
                let flushing = self.write(&mut stdin, &mut queue, &mut written);
                let _ = timeout(patience / 5, flushing).await;
                drop(stdin);
                let status = life.leave(patience).await;
                // Its children, if it has left any.
                life.kill(KILLED).await;
                status
            };
            tokio::pin!(leaving);
            let (mut read, mut told) = (false, told_all);
            let status = loop {
                tokio::select! {
                    biased;
                    status = &mut leaving => break status,
                    _ = &mut reading, if !read => read = true,
                    () = &mut errors, if !told => told = true,
                }
            };
            self.desk.close(&ChannelEnd::new(Cause::ProcessEnded, status, None, String::new()), 0, None);
            return;
        }
        // Each of its ends waits a little for the others: what it had written before is read, and how it ended is told.
        let (status, read) = {
            let (mut status, mut read, mut has_ended) = match ended {
                Ended::Read(read) => (None, Some(read), false),
                Ended::Exit(status) => (status, None, true),
                Ended::Deaf | Ended::Asked(_) => (None, None, false),
            };
            let rest = async {
                while !(has_ended && read.is_some() && told_all) {
                    tokio::select! {
                        biased;
                        end = &mut reading, if read.is_none() => read = Some(end),
                        () = &mut errors, if !told_all => told_all = true,
                        exit = life.ended(), if !has_ended => (status, has_ended) = (exit, true),
                    }
                }
            };
            let _ = timeout(LAST_WORDS, rest).await;
            (status, read)
        };
        let (cause, line) = match read {
            Some(ReadEnd::TooLong(line)) => (Cause::LineTooLong, Some(line)),
            Some(ReadEnd::NoMessages(line)) => (Cause::NoMessages, Some(line)),
            _ if status.is_some() => (Cause::ProcessEnded, None),
            _ => (Cause::PipeClosed, None),
        };
        life.kill(KILLED).await;
        let left = if self.desk.awaits_an_answer() { left_unread(&stdin).await } else { None };
        self.desk.close(&ChannelEnd::new(cause, status, line, self.last.said()), written, left);
    }

    /// Writes what is queued, until the pipe takes no more or nobody can queue any more.
    async fn write(&self, stdin: &mut ChildStdin, outgoing: &mut mpsc::Receiver<Outbound>, written: &mut u64) {
        while let Some(Outbound { line, id, probe, written: tell }) = outgoing.recv().await {
            // Given up before its turn came.
            if !probe.take() {
                continue;
            }
            if let Some(id) = id {
                self.desk.written(id, *written);
            }
            let mut rest = line;
            let whole = rest.len();
            while !rest.is_empty() {
                match stdin.write_buf(&mut rest).await {
                    Ok(0) | Err(_) => {
                        if rest.len() == whole {
                            // The pipe has not taken a byte of it.
                            probe.reset();
                        }
                        return;
                    }
                    Ok(bytes) => *written += bytes as u64,
                }
            }
            let _ = tell.send(());
        }
    }

    /// Reads what the server writes, until it is over.
    async fn read(&self, stdout: ChildStdout) -> ReadEnd {
        let mut lines = Lines::new(stdout, self.max_line);
        let mut no_messages = 0;
        loop {
            let (line, goes_on) = match lines.next().await {
                Line::Whole(line) => (line, true),
                // Half a line, as it may be: if it is a whole message it was said.
                Line::Unfinished(line) => (line, false),
                Line::TooLong(line) => return ReadEnd::TooLong(shown(&line)),
                Line::Closed => return ReadEnd::Closed,
            };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match self.desk.deliver(line.clone()) {
                Delivery::Delivered => no_messages = 0,
                Delivery::Dropped => {
                    tracing::debug!(target: "oncewire", "a message of the server was dropped: nobody reads, or too slowly");
                }
                Delivery::NoMessage if goes_on => {
                    no_messages += 1;
                    if no_messages >= NO_MESSAGES {
                        return ReadEnd::NoMessages(shown(&line));
                    }
                }
                Delivery::NoMessage => {}
            }
        }
    }
}

/// How much of what was written nobody has read; waits until the readers are gone, but not for long.
async fn left_unread(stdin: &ChildStdin) -> Option<u64> {
    let (gap, looks) = READERS;
    for _ in 0..looks {
        if let Some(left) = unread(stdin) {
            return Some(left);
        }
        tokio::time::sleep(gap).await;
    }
    None
}

fn shown(line: &[u8]) -> String {
    printable(line, SHOWN).0
}
