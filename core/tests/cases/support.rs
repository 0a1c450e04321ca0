//! What the cases share.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Client, ClientBuilder, Era, Error, Event, EventName, Failure};
use serde_json::Value;
use tokio::sync::watch;

pub(crate) const NOTHING: Value = Value::Null;

pub(crate) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A client of this exchange that does not listen; nothing is sent yet.
pub(crate) fn builder(exchange: &Arc<Scripted>) -> ClientBuilder {
    Client::builder("http://server.test/mcp").exchange(Arc::clone(exchange) as _).era(Era::Legacy).listen(false)
}

/// As [`builder`], and it finds out the server's era.
pub(crate) fn either_era(exchange: &Arc<Scripted>) -> ClientBuilder {
    builder(exchange).era(Era::Auto)
}

/// So many of these calls at once; each outcome in its place.
pub(crate) async fn at_once<T, F, R>(count: usize, call: F) -> Vec<T>
where
    T: Send + 'static,
    F: Fn(usize) -> R,
    R: Future<Output = T> + Send + 'static,
{
    let mut outcomes = Vec::new();
    for running in (0..count).map(|number| tokio::spawn(call(number))).collect::<Vec<_>>() {
        outcomes.push(running.await.unwrap());
    }
    outcomes
}

pub(crate) async fn connect(exchange: &Arc<Scripted>) -> Client {
    builder(exchange).connect().await.unwrap()
}

/// A healthy server, but for what the script answers itself; the script is told which arrival of its method this is, from 0.
pub(crate) fn scripted<F, R>(server: &Server, script: F) -> Arc<Scripted>
where
    F: Fn(Arrival, usize) -> R + Send + Sync + 'static,
    R: Future<Output = Option<Result<Reply, Cause>>> + Send + 'static,
{
    let counts: Mutex<HashMap<String, usize>> = Mutex::default();
    server.scripted(move |arrival, server| {
        let nth = {
            let mut counts = counts.lock().unwrap();
            let count = counts.entry(arrival.method().to_owned()).or_default();
            *count += 1;
            *count - 1
        };
        let scripted = script(arrival.clone(), nth);
        async move {
            match scripted.await {
                Some(answer) => answer,
                None => server.answer(&arrival).await,
            }
        }
    })
}

/// A gate that a script waits at until the test opens it.
#[derive(Clone)]
pub(crate) struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn pass(&self) {
        self.0.subscribe().wait_for(|open| *open).await.unwrap();
    }
}

/// The events of a client, as they came.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    pub(crate) fn observer(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let log = self.clone();
        move |event| log.0.lock().unwrap().push(event.clone())
    }

    pub(crate) fn of(&self, name: EventName) -> Vec<Event> {
        self.0.lock().unwrap().iter().filter(|event| event.event == name).cloned().collect()
    }

    pub(crate) fn names(&self) -> Vec<EventName> {
        self.0.lock().unwrap().iter().map(|event| event.event).collect()
    }
}

/// The failure of a call that must have failed without an answer.
pub(crate) fn failure<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Failure {
    match outcome {
        Err(Error::NotExecuted(failure) | Error::MayHaveExecuted(failure)) => *failure,
        other => panic!("not a failure: {other:?}"),
    }
}

/// A script that never answers, once the body is taken.
pub(crate) async fn hang(arrival: &Arrival) -> Option<Result<Reply, Cause>> {
    arrival.take();
    std::future::pending().await
}

/// The connection is cut before the head, after the server has run the request.
pub(crate) fn run_and_cut(server: &Server, arrival: &Arrival) -> Option<Result<Reply, Cause>> {
    server.execute(arrival);
    Some(Err(Cause::Closed))
}
