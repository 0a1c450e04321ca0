//! Everything that goes from the core to JavaScript goes through here, in the order in which it happened.
//!
//! Tasks of the runtime put messages in; the first of a batch rings the bell, and the JavaScript thread then takes the whole batch in
//! one call. So progress comes before the result of its call, and a thousand results cost a few crossings. The bell holds the event
//! loop open only while JavaScript says that it waits for something.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi::bindgen_prelude::{FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;
use oncewire::EVENT_QUEUE;
use tokio::sync::oneshot;

/// What a message is about; `ts/messages.ts` has the same numbers.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// The call `id` has this result.
    Result = 0,
    /// The call `id` failed with this error.
    Failure = 1,
    /// The call `id` made progress.
    Progress = 2,
    /// Something happened in the client; `id` is how many events were dropped before it.
    Event = 3,
    /// The server notifies.
    Notification = 4,
    /// Nobody waits any more for the answer to question `id`.
    Withdrawn = 5,
    /// Question `id`: a token; the text is the one that was refused, or null.
    Token = 6,
    /// Question `id`: headers.
    Headers = 7,
    /// Question `id`: `sampling/createMessage`.
    Sampling = 8,
    /// Question `id`: `elicitation/create`.
    Elicitation = 9,
    /// Question `id`: `roots/list`.
    Roots = 10,
    /// The call `id` ended in a panic.
    Panic = 11,
    /// Question `id`: something of the login.
    OAuth = 12,
}

/// One message to JavaScript.
#[napi(object)]
#[derive(Debug)]
pub struct Message {
    /// What it is about.
    pub kind: u32,
    /// Of which call or question.
    pub id: u32,
    /// JSON.
    pub text: String,
}

type Batch = FnArgs<(Vec<Message>,)>;
type Bell = ThreadsafeFunction<(), (), Batch, Status, false, true, 0>;
type Answer = Result<String, String>;

#[derive(Default)]
struct State {
    messages: Vec<Message>,
    events: VecDeque<String>,
    dropped: u32,
    events_wanted: bool,
    rung: bool,
    questions: HashMap<u32, oneshot::Sender<Answer>>,
    last_question: u32,
    /// JavaScript takes nothing any more.
    shut: bool,
}

/// The way from the core to JavaScript.
pub(crate) struct Mailbox {
    state: Mutex<State>,
    bell: Mutex<Option<Bell>>,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl Mailbox {
    /// A mailbox whose batches go to this function.
    pub(crate) fn new(deliver: &Function<'_, Batch, ()>) -> napi::Result<Arc<Self>> {
        let mailbox = Arc::new(Self { state: Mutex::default(), bell: Mutex::new(None) });
        let weak = Weak::clone(&Arc::downgrade(&mailbox));
        let bell = deliver.build_threadsafe_function::<()>().weak::<true>().build_callback(move |_| {
            Ok(FnArgs { data: (weak.upgrade().map_or_else(Vec::new, |mailbox| mailbox.take()),) })
        })?;
        *lock(&mailbox.bell) = Some(bell);
        Ok(mailbox)
    }

    fn take(&self) -> Vec<Message> {
        let mut state = lock(&self.state);
        state.rung = false;
        let mut dropped = std::mem::take(&mut state.dropped);
        let mut batch = Vec::with_capacity(state.events.len() + state.messages.len());
        for text in state.events.drain(..) {
            batch.push(Message { kind: Kind::Event as u32, id: std::mem::take(&mut dropped), text });
        }
        batch.append(&mut state.messages);
        batch
    }

    /// Puts a message in.
    pub(crate) fn post(&self, kind: Kind, id: u32, text: String) {
        let mut state = lock(&self.state);
        if !state.shut {
            state.messages.push(Message { kind: kind as u32, id, text });
            self.ring(state);
        }
    }

    /// Puts an event in; of more than the core's own queue would hold, the oldest is dropped and counted.
    pub(crate) fn post_event(&self, event: impl FnOnce() -> String) {
        let mut state = lock(&self.state);
        if state.shut || !state.events_wanted {
            return;
        }
        if state.events.len() >= EVENT_QUEUE {
            state.events.pop_front();
            state.dropped = state.dropped.saturating_add(1);
        }
        state.events.push_back(event());
        self.ring(state);
    }

    /// Are events of any use to JavaScript?
    pub(crate) fn want_events(&self, wanted: bool) {
        lock(&self.state).events_wanted = wanted;
    }

    fn ring(&self, mut state: MutexGuard<'_, State>) {
        if std::mem::replace(&mut state.rung, true) {
            return;
        }
        drop(state);
        let status = lock(&self.bell).as_ref().map(|bell| bell.call((), ThreadsafeFunctionCallMode::NonBlocking));
        if status != Some(Status::Ok) {
            // The thread of this client has ended, or is about to.
            self.shut();
        }
    }

    /// Asks JavaScript. A future that is dropped withdraws the question.
    pub(crate) async fn ask(self: Arc<Self>, kind: Kind, text: String) -> Answer {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut state = lock(&self.state);
            if state.shut {
                return Err("the host is gone".to_owned());
            }
            state.last_question = state.last_question.wrapping_add(1);
            let id = state.last_question;
            state.questions.insert(id, sender);
            id
        };
        let withdrawal = Withdrawal { mailbox: Arc::clone(&self), id };
        self.post(kind, id, text);
        let answer = receiver.await;
        drop(withdrawal);
        answer.unwrap_or_else(|_| Err("the host is gone".to_owned()))
    }

    /// JavaScript's answer to a question.
    pub(crate) fn answer(&self, id: u32, answer: Answer) {
        let sender = lock(&self.state).questions.remove(&id);
        if let Some(sender) = sender {
            // It may have been withdrawn at this moment.
            let _ = sender.send(answer);
        }
    }

    /// Holds the event loop open, or lets it end.
    pub(crate) fn hold(&self, env: &Env, hold: bool) -> napi::Result<()> {
        match lock(&self.bell).as_mut() {
            #[expect(
                deprecated,
                reason = "a clone holds the loop open for good; this is the only way to do it for a while"
            )]
            Some(bell) if hold => bell.refer(env),
            #[expect(deprecated, reason = "as above")]
            Some(bell) => bell.unref(env),
            None => Ok(()),
        }
    }

    /// Nothing is delivered any more, and every open question fails.
    pub(crate) fn shut(&self) {
        let questions = {
            let mut state = lock(&self.state);
            state.shut = true;
            state.messages.clear();
            state.events.clear();
            std::mem::take(&mut state.questions)
        };
        drop(questions);
        let bell = lock(&self.bell).take();
        drop(bell);
    }
}

/// Withdraws a question whose answer nobody waits for.
struct Withdrawal {
    mailbox: Arc<Mailbox>,
    id: u32,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        if lock(&self.mailbox.state).questions.remove(&self.id).is_some() {
            self.mailbox.post(Kind::Withdrawn, self.id, String::new());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
