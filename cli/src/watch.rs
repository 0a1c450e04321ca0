//! `oncewire watch`: what a server says unasked, and what becomes of the session, line by line, until Ctrl+C.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use oncewire::{Event, EventName, NOTIFICATION_QUEUE, ServerNotification};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::Context;
use crate::connection::{Ask, ConnectionOptions, ProcessOptions, connect, named_twice, tell, until_interrupted};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{first_line, note, print};

/// The options of `oncewire watch`.
#[derive(Debug, Args)]
#[command(override_usage = "oncewire watch [OPTIONS] <URL>\n       oncewire watch [OPTIONS] -- <COMMAND>...")]
pub(crate) struct Options {
    /// The URL of the server
    url: Option<String>,

    /// A resource to subscribe to; may be repeated
    #[arg(long, value_name = "URI")]
    resource: Vec<String>,

    /// From which level on the server shall log: debug, info, notice, warning, error, critical, alert or emergency
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS)]
    log_level: Option<String>,

    #[command(flatten)]
    process: ProcessOptions,

    #[command(flatten)]
    connection: ConnectionOptions,
}

/// MCP 2025-11-25, server, utilities, logging.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What there is to show.
enum Seen {
    Notification(ServerNotification),
    Event(Box<Event>),
}

/// Watches. Its orderly end is Ctrl+C.
///
/// # Errors
/// Bad input, a handshake or a subscription that failed, or an output that is closed.
pub(crate) async fn run(options: &Options, context: &Context) -> Result<Exit, Failure> {
    match watch(options, context).await {
        // It may come while the session is being made ready, of which events tell already.
        Err(Failure::Interrupted(..)) => Ok(Exit::Success),
        watched => watched.map(|()| Exit::Success),
    }
}

async fn watch(options: &Options, context: &Context) -> Result<(), Failure> {
    let (seen, mut all) = mpsc::channel(NOTIFICATION_QUEUE);
    let dropped = Arc::new(AtomicU64::new(0));
    let (server, first) = options.process.server(options.url.clone())?;
    if first.is_some() {
        return Err(named_twice().into());
    }
    let builder = options.connection.builder(&server, Ask::IfTerminal)?;
    let (to_events, not_shown) = (seen.clone(), Arc::clone(&dropped));
    let builder = builder.on_event(move |event| {
        tell(event);
        // The calls that we make ourselves are no news.
        if event.event != EventName::CallFinished && to_events.try_send(Seen::Event(Box::new(event.clone()))).is_err() {
            not_shown.fetch_add(1, Ordering::Relaxed);
        }
    });
    let not_shown = Arc::clone(&dropped);
    let builder = builder.on_notification(move |notification| {
        if seen.try_send(Seen::Notification(notification.clone())).is_err() {
            not_shown.fetch_add(1, Ordering::Relaxed);
        }
    });
    let client = connect(builder, &context.interrupt).await?;
    let watched = async {
        if let Some(level) = &options.log_level {
            until_interrupted(&client, &context.interrupt, client.set_log_level(level).into_future()).await?;
        }
        for uri in &options.resource {
            until_interrupted(&client, &context.interrupt, client.subscribe(uri).into_future()).await?;
        }
        loop {
            let next = tokio::select! {
                biased;
                _ = context.interrupt.given() => return Ok(()),
                next = all.recv() => next,
            };
            let Some(next) = next else { return Ok(()) };
            print(&if context.json { next.json().to_string() } else { next.line() })?;
            let lost = dropped.swap(0, Ordering::Relaxed);
            if lost > 0 {
                note(&format!("{lost} more were not shown: the output is too slow for them"));
            }
        }
    };
    let watched = watched.await;
    client.close().await;
    watched
}

impl Seen {
    /// One object: a notification as the server sent it, with the generation of its session; an event of the client as it is.
    fn json(&self) -> Value {
        match self {
            Self::Notification(it) => json!({ "method": it.method, "params": it.params, "generation": it.generation }),
            Self::Event(event) => serde_json::to_value(event).unwrap_or_default(),
        }
    }

    /// One line.
    fn line(&self) -> String {
        match self {
            Self::Notification(it) => of_notification(it),
            Self::Event(event) => of_event(event),
        }
    }
}

fn of_notification(notification: &ServerNotification) -> String {
    let member = |name: &str| notification.params.get(name);
    let text = |name: &str| member(name).and_then(Value::as_str).unwrap_or_default();
    match notification.method.as_str() {
        "notifications/message" => {
            let data = member("data")
                .map_or_else(String::new, |data| data.as_str().map_or_else(|| data.to_string(), str::to_owned));
            first_line(&format!("log {} {}: {data}", text("level"), text("logger")))
        }
        "notifications/resources/updated" => first_line(&format!("updated {}", text("uri"))),
        "notifications/tools/list_changed" => "the tools changed".to_owned(),
        "notifications/resources/list_changed" => "the resources changed".to_owned(),
        "notifications/prompts/list_changed" => "the prompts changed".to_owned(),
        method if notification.params.is_null() => first_line(method),
        method => first_line(&format!("{method} {}", notification.params)),
    }
}

fn of_event(event: &Event) -> String {
    let generation = event.generation.map(|generation| format!(" (session {generation})")).unwrap_or_default();
    let reason = event.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    first_line(&format!("{}{generation}{reason}", event.event.as_str().replace('_', " ")))
}
