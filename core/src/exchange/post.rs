//! One attempt: one POST, and its answer read to the end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderMap, StatusCode};
use tokio::time::timeout;

use super::answer::{Activity, Answer, AnswerReader, Limits, Position, Waiting};
use super::caller::Caller;
use super::carrier::{Carrier, Hearing};
use super::elsewhere::Elsewhere;
use super::inbox::Inbox;
use super::line::Line;
use super::request::Request;
use super::sent::Sent;
use super::wire::{Carried, Unready, Wire};
use crate::rpc::message::{Message, ParseError, request_bytes};
use crate::transport::classify::{self, AnswerId, EndFacts};
use crate::transport::exchange::{Framing, WireFailure, WireResponse};
use crate::transport::headers::Standing;
use crate::transport::probe::Probe;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::outcome::Kind;

/// How long a GET stream may take to open that the answer may come on.
const OPENING_PATIENCE: Duration = Duration::from_secs(2);

/// What an attempt is made with.
pub(crate) struct Post<'a> {
    pub(crate) wire: &'a Wire,
    /// Takes every message that comes on its stream and is not the answer.
    pub(crate) inbox: &'a dyn Inbox,
    pub(crate) limits: Limits,
    /// The session that carries it; none for `initialize`.
    pub(crate) session: Option<&'a dyn Carrier>,
    /// What it goes over where there is no session yet, and the session will have a connection of its own.
    pub(crate) line: Option<Arc<Line>>,
    /// The call that it is an attempt of; none for the client's own requests.
    pub(crate) call: Option<&'a dyn Caller>,
    /// The id of the request.
    pub(crate) id: u64,
    pub(crate) fresh_connection: bool,
    pub(crate) patience: Patience,
    /// Told the head of the answer as soon as it is there.
    pub(crate) on_head: Option<&'a HeadWatch<'a>>,
    /// Shown every message that is not the answer, before it is routed.
    pub(crate) on_message: Option<&'a MessageWatch<'a>>,
    /// Where its answer is put that comes on another stream.
    pub(crate) elsewhere: Elsewhere<'a>,
}

/// Told the head of an answer.
pub(crate) type HeadWatch<'a> = dyn Fn(StatusCode, &HeaderMap) + Send + Sync + 'a;
/// Shown a message.
pub(crate) type MessageWatch<'a> = dyn Fn(&Message) + Send + Sync + 'a;

/// How long silence is borne.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// Always.
    pub(crate) idle: Option<Duration>,
    /// Once the session is declared gone, on a resumed stream, on the GET stream where the answer has to come on that, and behind what may have been the answer but cannot be read.
    pub(crate) orphan: Option<Duration>,
}

/// How it ended.
pub(crate) enum ExchangeEnd {
    /// It was not sent, for a reason of the host's.
    Unready(Unready),
    /// No head arrived.
    NoHead(WireFailure),
    /// Nothing arrived for too long.
    Silent { head_arrived: bool },
    /// The head arrived.
    Head { status: StatusCode, headers: HeaderMap, answer: Answer },
    /// A message came, on a binding that has no heads.
    Message { answer: Answer },
}

impl ExchangeEnd {
    /// The facts, as `classify` takes them; `None` if nothing was tried.
    pub(crate) fn end(&self, position: &Position) -> Option<EndFacts<'_>> {
        match self {
            Self::Unready(_) => None,
            Self::NoHead(failure) => Some(EndFacts::NoHead(failure.cause)),
            Self::Silent { head_arrived } => {
                Some(EndFacts::Interrupted { kind: Kind::Timeout, head_arrived: *head_arrived })
            }
            Self::Head { status, headers, answer } => {
                Some(EndFacts::Head { status: *status, headers, body: answer.body_end(position) })
            }
            Self::Message { answer } => Some(EndFacts::Message { body: answer.body_end(position) }),
        }
    }
}

impl<'a> Post<'a> {
    /// An attempt of the client's own, under an id of its own: no call waits for it, and its caller bounds the wait.
    pub(crate) fn of_client(
        wire: &'a Wire,
        inbox: &'a dyn Inbox,
        limits: Limits,
        session: Option<&'a dyn Carrier>,
    ) -> Self {
        let id = wire.ids.next();
        Self {
            wire,
            inbox,
            limits,
            session,
            line: None,
            call: None,
            id,
            fresh_connection: false,
            patience: Patience::default(),
            on_head: None,
            on_message: None,
            elsewhere: wire.unanswered.expect(id),
        }
    }

    /// Sends the request and reads its answer. Returns how it ended and the serial of the token that it carried.
    pub(crate) async fn run(
        &self,
        request: Request<'_>,
        probe: Probe,
        position: &mut Position,
    ) -> (ExchangeEnd, Option<u64>) {
        let (ended, sent) = self.run_as(request, None, probe, position).await;
        (ended, sent.and_then(|sent| sent.token))
    }

    /// The same, and gives what the request carried; `carries` is what another request has carried, to be carried again.
    pub(crate) async fn run_as(
        &self,
        request: Request<'_>,
        carries: Option<&Sent>,
        probe: Probe,
        position: &mut Position,
    ) -> (ExchangeEnd, Option<Sent>) {
        let method = request.method;
        let (carried, params) = match self.session {
            Some(session) => session.dress(request),
            None => (Carried { line: self.line.clone(), ..Carried::default() }, request.params),
        };
        let body = request_bytes(self.id, method, &params);
        if self.call.is_some() {
            self.wire.tokens.renewed().await;
        }
        let ready = match carries {
            Some(Sent { token, standing }) => {
                let Carried { routing, line, .. } = carried;
                let standing = Standing { routing, ..Standing::clone(standing) };
                self.wire.post_as(standing, *token, body, probe, self.fresh_connection).over(line)
            }
            None => match self.wire.post(carried, body, probe, self.fresh_connection).await {
                Ok(ready) => ready,
                Err(unready) => return (ExchangeEnd::Unready(unready), None),
            },
        };
        let sent = Sent { token: ready.token, standing: Arc::clone(&ready.standing) };
        if let (Some(call), Some(identity)) = (self.call, ready.identity) {
            call.goes_out_as(identity, sent.token.map(|_| self.wire.tokens.call_in_flight()));
        }
        let exchanging = async {
            let (activity, waiting) = (Arc::new(Activity::start()), Waiting::default());
            let response = tokio::select! {
                biased;
                response = self.wire.send(ready) => match response {
                    Ok(response) => response,
                    Err(failure) => return ExchangeEnd::NoHead(failure),
                },
                () = self.silence(&activity, false, &waiting) => return ExchangeEnd::Silent { head_arrived: false },
            };
            self.read(response, position, &activity, false).await
        };
        (self.or_elsewhere(exchanging).await, Some(sent))
    }

    /// What an exchange gives, unless the answer comes on another stream first.
    pub(crate) async fn or_elsewhere(&self, exchanging: impl Future<Output = ExchangeEnd>) -> ExchangeEnd {
        let message = tokio::select! {
            biased;
            // Looked at first: the end of the stream that it came on ends the exchange that waits for it, too.
            message = self.elsewhere.came() => message,
            ended = exchanging => return ended,
        };
        let answer = Answer::of(message, AnswerId::Ours, self.wire.secrets());
        let answer = answer.unwrap_or(Answer::Stopped { failure: None });
        // It came without a head of its own. An answer counts under any status; this one says nothing.
        ExchangeEnd::Head { status: StatusCode::OK, headers: HeaderMap::new(), answer }
    }

    /// The request was taken, and its answer may come on the GET stream. Waits while that is open and says something now and then; is it
    /// silent for too long?
    async fn is_silent_elsewhere(&self, session: &dyn Carrier) -> bool {
        let mut hearing = session.hearing();
        let opening = hearing.wait_for(|hearing| !matches!(hearing, Hearing::Opening));
        let Ok(Ok(Hearing::Open(activity))) =
            timeout(OPENING_PATIENCE, opening).await.map(|open| open.map(|open| open.clone()))
        else {
            return false;
        };
        activity.touch();
        let closed = async {
            // Every change is an end: the next stream is another one.
            let _ = hearing.changed().await;
        };
        let waiting = Waiting::default();
        tokio::select! {
            () = closed => false,
            () = self.silence(&activity, true, &waiting) => true,
        }
    }

    /// Reads the answer from the response to the POST, or from a GET that resumes it.
    pub(crate) async fn read(
        &self,
        response: WireResponse,
        position: &mut Position,
        activity: &Arc<Activity>,
        resumed: bool,
    ) -> ExchangeEnd {
        let (status, headers) = (response.status, response.headers.clone());
        let has_head = response.framing == Framing::Http;
        if let Some(on_head) = self.on_head.filter(|_| has_head) {
            on_head(status, &headers);
        }
        if let Some(call) = self.call.filter(|_| !resumed) {
            call.saw_head(has_head.then_some(status));
        }
        let other = |message| {
            if let Some(on_message) = self.on_message {
                on_message(&message);
            }
            self.inbox.take(message);
        };
        let unreadable = |error: ParseError| {
            let dropped = Event { request_id: Some(self.id), ..Event::new(EventName::MessageDropped) };
            self.wire.events.emit(dropped.because(format!("a message of the server could not be read: {error}")));
        };
        let waiting = Waiting::default();
        let reader = AnswerReader {
            our_id: self.id,
            ids: &self.wire.ids,
            background: &self.wire.background,
            limits: self.limits,
            activity: Arc::clone(activity),
            waiting: &waiting,
            secrets: self.wire.secrets(),
            other: &other,
            unreadable: &unreadable,
        };
        let reading = reader.read(response, position);
        tokio::pin!(reading);
        tokio::select! {
            biased;
            answer = &mut reading => {
                if !has_head {
                    return ExchangeEnd::Message { answer };
                }
                if let (Some(session), false) = (self.session, resumed)
                    && classify::is_answered_elsewhere(status, &answer.body_end(&Position::default()))
                    && self.is_silent_elsewhere(session).await
                {
                    return ExchangeEnd::Silent { head_arrived: true };
                }
                return ExchangeEnd::Head { status, headers, answer };
            }
            () = self.silence(activity, resumed, &waiting) => waiting.over.cancel(),
        }
        match reading.now_or_never() {
            // The whole answer is here, though what should have come behind it is not.
            Some(answer @ (Answer::Result(_) | Answer::Error { .. })) if !has_head => ExchangeEnd::Message { answer },
            Some(answer @ (Answer::Result(_) | Answer::Error { .. })) => ExchangeEnd::Head { status, headers, answer },
            _ => ExchangeEnd::Silent { head_arrived: true },
        }
    }

    /// Completes when nothing arrived for longer than is borne.
    pub(crate) async fn silence(&self, activity: &Activity, resumed: bool, waiting: &Waiting) {
        let idle = async {
            match self.patience.idle {
                Some(limit) => loop {
                    activity.silent_for(limit).await;
                    // The server waits for a handler of ours: that is no silence of its own.
                    let Some(call) = self.call else { break };
                    if !call.clock().goes_on().await {
                        break;
                    }
                    activity.touch();
                },
                None => std::future::pending().await,
            }
        };
        let orphan = async {
            let (Some(limit), Some(session)) = (self.patience.orphan, self.session) else {
                return std::future::pending().await;
            };
            if !resumed {
                tokio::select! {
                    () = session.orphaned().cancelled() => {}
                    () = waiting.in_doubt.cancelled() => {}
                }
                // The silence counts from the moment that there was a reason to doubt the answer.
                activity.touch();
            }
            activity.silent_for(limit).await;
        };
        tokio::select! {
            () = idle => {}
            () = orphan => {}
        }
    }
}
