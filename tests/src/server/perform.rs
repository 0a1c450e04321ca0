//! Carries out the acts of a rule.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::action::{Action, AnswerEvent, BodyFraming, ExecuteFor, HeadSpec, Push, Respond};
use super::admission::unauthorized;
use super::catalog;
use super::exchange::{Exchange, Step, Stop};
use super::state::State;
use super::wire::{Cut, Framing, Wire};

impl<W: Wire> Exchange<'_, W> {
    pub(super) async fn perform(&mut self, actions: &[Action]) -> Step {
        for action in actions {
            // Boxed, because `repeat` comes back here.
            Box::pin(self.act(action)).await?;
        }
        Ok(())
    }

    async fn act(&mut self, action: &Action) -> Step {
        match action {
            Action::Execute => self.execute(),
            Action::ExecuteFor(how) => self.execute_for(how).await,
            Action::DelayMs(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Action::Gate(name) => {
                self.state.gates.mark(name);
                self.state.gates.released(name).await;
            }
            Action::Mark(name) => self.state.gates.mark(name),
            Action::ForgetSessions => self.state.forget_all(),
            Action::ForgetSession => {
                if let Some(session) = self.session() {
                    self.state.forget(session);
                }
            }
            Action::Become(era) => self.state.become_era(*era),
            Action::GoDownMs(ms) => {
                go_down_for(self.state, *ms);
                std::future::pending::<()>().await;
            }
            Action::CutConnections(how) => {
                self.state.cut_all(*how);
                std::future::pending::<()>().await;
            }
            Action::AcceptTokens(tokens) => {
                let tokens = tokens.clone();
                self.state.change_options(|options| options.tokens = Some(tokens));
            }
            Action::Push(push) => {
                let message = self.value(&push_message(push));
                self.state.listeners.push(&message);
            }
            Action::Headers(headers) => {
                let headers = headers.iter().map(|(name, value)| (name.clone(), self.text(value)));
                self.more_headers = headers.collect();
            }
            Action::Answer => return self.answer(None).await,
            Action::AnswerAs(shape) => return self.answer(Some(*shape)).await,
            Action::HalfAnswer(half) => return self.half_answer(*half).await,
            Action::Respond(answer) => return self.respond(answer).await,
            Action::Redirect(redirect) => {
                let headers = [("Location".to_owned(), redirect.to.clone())].into();
                return self.respond(&Respond { status: redirect.status, headers, ..Respond::default() }).await;
            }
            Action::Unauthorized { challenge } => return self.respond(&unauthorized(*challenge)).await,
            Action::Head(head) => return self.head(head).await,
            Action::Send(text) => {
                let text = self.text(text);
                return self.body(text.as_bytes()).await;
            }
            Action::SendLatin1(text) => {
                let bytes: Vec<u8> = self.text(text).chars().filter_map(|char| u8::try_from(char).ok()).collect();
                return self.body(&bytes).await;
            }
            Action::Raw(text) => {
                let text = self.text(text);
                return Ok(self.wire.raw(text.as_bytes()).await?);
            }
            Action::Comment(text) => {
                self.begin_sse().await?;
                let line = format!(": {}\n\n", self.text(text));
                return self.body(line.as_bytes()).await;
            }
            Action::Event(event) => return self.event(event).await,
            Action::AnswerElsewhere => {
                let message = self.message();
                self.state.listeners.push(&message);
            }
            Action::AnswerEvent(how) => return self.answer_event(how).await,
            Action::Progress(progress) => {
                for nth in 1..=progress.count {
                    tokio::time::sleep(Duration::from_millis(progress.every_ms)).await;
                    self.progress(nth, progress.count).await?;
                }
            }
            Action::Notify(notify) => {
                let params = self.value(&notify.params);
                return self.message_event(&notify.method, &params, None).await;
            }
            Action::Acknowledge => return self.acknowledge().await,
            Action::EndSubscription => return self.end_subscription().await,
            Action::Request(request) => {
                let params = self.value(&request.params);
                self.message_event(&request.method, &params, Some(&request.id)).await?;
                if request.wait {
                    tokio::select! {
                        () = self.state.reply_to(&request.id) => {}
                        () = self.wire.client_gone() => return Err(Stop::Broken),
                    }
                }
            }
            Action::End => return self.end().await,
            Action::Close => return Err(Stop::Cut(Cut::Close)),
            Action::Reset => return Err(Stop::Cut(Cut::Reset)),
            Action::HalfClose => {
                self.wire.half_close().await?;
                return self.hold().await;
            }
            Action::Hold => return self.hold().await,
            Action::ResetStream(error) => {
                self.wire.reset_stream(*error).await?;
                return Err(Stop::Reset);
            }
            Action::GoAway(how) => return Ok(self.wire.go_away(how.last, how.error).await?),
            Action::Encode(codings) => self.encode(codings),
            Action::Pieces(size) => self.wire.pieces(*size),
            Action::SplitBodyAt(at) => self.split_at = Some(*at),
            Action::SplitSweep => self.split_at = Some(self.nth),
            Action::CutBody(cut) => self.cut_after = Some((cut.after, cut.cut)),
            Action::CutSweep(how) => self.cut_after = Some((self.nth, *how)),
            Action::Repeat(repeat) => {
                for _ in 0..repeat.times {
                    self.perform(&repeat.actions).await?;
                }
            }
        }
        Ok(())
    }

    async fn execute_for(&self, how: &ExecuteFor) {
        let Some(run) = self.begin_execution() else { return };
        let state = Arc::clone(self.state);
        let (ms, gate) = (how.ms, how.until.clone());
        let work = async move {
            match gate {
                Some(gate) => {
                    state.gates.mark(&gate);
                    state.gates.released(&gate).await;
                }
                None => tokio::time::sleep(Duration::from_millis(ms)).await,
            }
            state.end_execution(run);
        };
        if how.detached {
            tokio::spawn(work);
        } else {
            work.await;
        }
    }

    async fn head(&mut self, spec: &HeadSpec) -> Step {
        let mut headers: Vec<_> = spec.headers.iter().map(|(name, value)| (name.clone(), self.text(value))).collect();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("Content-Type".to_owned(), "text/event-stream".to_owned()));
        }
        let framing = match spec.framing {
            BodyFraming::Length => Framing::Length(spec.length),
            BodyFraming::Chunked => Framing::Chunked,
            BodyFraming::UntilClose => Framing::UntilClose,
            BodyFraming::None => Framing::None,
        };
        self.begin(spec.status, headers, framing).await
    }

    async fn answer_event(&mut self, how: &AnswerEvent) -> Step {
        let mut message = self.message();
        if let Some(text) = &how.text {
            message["result"] = catalog::tool_result(text);
        }
        let json = if how.pretty { serde_json::to_string_pretty(&message) } else { serde_json::to_string(&message) };
        let json = json.unwrap_or_default();
        let colon = if how.space { ": " } else { ":" };
        let mut text = String::new();
        let mut field = |name: &str, value: &str| text.push_str(&format!("{name}{colon}{value}{}", how.eol));
        if let Some(id) = &how.id {
            field("id", id);
        }
        if let Some(name) = &how.event {
            field("event", name);
        }
        json.split('\n').for_each(|line| field("data", line));
        if how.blank_line {
            text.push_str(&how.eol);
        }
        self.begin_sse().await?;
        self.delivered = how.blank_line;
        self.body(text.as_bytes()).await
    }
}

/// The JSON-RPC message of a push.
pub(crate) fn push_message(push: &Push) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": push.method});
    if let Some(id) = &push.id {
        message["id"] = id.clone();
    }
    if !push.params.is_null() {
        message["params"] = push.params.clone();
    }
    message
}

/// Closes the port, cuts everything, and opens the port again later.
pub(crate) fn go_down_for(state: &Arc<State>, ms: u64) {
    state.up.send_replace(false);
    state.cut_all(Cut::Reset);
    let state = Arc::clone(state);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        state.up.send_replace(true);
    });
}
