//! One run of a script, under paused time, on a runtime of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oncewire::transport::scripted::{Entry, Execution, GivenSession};
use oncewire::{Call, Client, ClientBuilder, Era, Error, EventName};
use serde_json::Value;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::refusal::MAX_MESSAGE;
use crate::script::{self, CallPlan, Callee, Recovery, Resend, Script, Trust, What};
use crate::server::Faulty;

/// How one call ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The mark that its result bears, if the method's result shows it.
    Result(Option<usize>),
    Error(Error),
    /// Its future was dropped.
    Cancelled,
}

/// An event, and its generation.
pub(crate) type Told = (EventName, Option<u64>);

/// Everything that is to be judged.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) ends: Vec<(Instant, End)>,
    /// Calls that had not settled before the close.
    pub(crate) waiting: Vec<usize>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) executions: Vec<Execution>,
    pub(crate) sessions: Vec<GivenSession>,
    pub(crate) known: crate::server::Known,
    pub(crate) close_took: Duration,
    /// Every event, in order.
    pub(crate) events: Vec<Told>,
    /// Calls that the run made besides those of the script.
    pub(crate) probes: usize,
    /// What went wrong that the ledgers do not show.
    pub(crate) faults: Vec<String>,
    pub(crate) began: Instant,
    pub(crate) closed_at: Instant,
}

/// # Errors
/// The run did not come to its end.
pub(crate) fn run(script: &Script) -> Result<Course, String> {
    fastrand::seed(script.seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(course(script))
}

async fn course(script: &Script) -> Result<Course, String> {
    let began = Instant::now();
    let server = Faulty::new(script);
    let exchange = server.exchange();
    let events: Arc<Mutex<Vec<Told>>> = Arc::default();
    let client = builder(script, &server)
        .exchange(Arc::clone(&exchange) as _)
        .on_event({
            let events = Arc::clone(&events);
            move |event| events.lock().unwrap().push((event.event, event.generation))
        })
        .build()
        .map_err(|error| error.to_string())?;
    let mut faults = Vec::new();

    let mut calls: Vec<JoinHandle<(Instant, End)>> = Vec::new();
    for (number, plan) in script.calls.iter().enumerate() {
        calls.push(tokio::spawn(carry_out(client.clone(), number, plan.clone(), began)));
    }
    let mut others = Vec::new();
    for happening in &script.happenings {
        let (what, at) = (happening.what.clone(), began + Duration::from_millis(happening.at_ms));
        let (client, server) = (client.clone(), Arc::clone(&server));
        others.push(tokio::spawn(async move {
            sleep_until(at).await;
            match what {
                What::Restart => server.healthy.forget_sessions(),
                What::ChangeEra => server.change_era(),
                What::Shut(gate) => server.shut(&gate),
                What::Revoke { challenge } => server.revoke(challenge),
                What::Recover => drop(client.recover().await),
                What::Close => client.close().await,
            }
        }));
    }

    // Longer than all bounds together: whoever still waits, waits for a server that is alive and silent.
    sleep(Duration::from_secs(1_500)).await;
    for other in others {
        if timeout(Duration::ZERO, other).await.is_err() {
            faults.push("recover() or close() did not come back".to_owned());
        }
    }
    let waiting: Vec<usize> =
        calls.iter().enumerate().filter(|(_, call)| !call.is_finished()).map(|(number, _)| number).collect();

    server.heal();
    let mut probes = 0;
    if client.is_closed() {
        match client.call_tool("poke", Value::Null).await {
            Err(error) if error.kind() == oncewire::Kind::Closed && error.not_executed() => {}
            other => faults.push(format!("a call on a closed client: {other:?}")),
        }
    } else {
        if script.client.recovery != Recovery::Auto
            && let Err(error) = client.recover().await
        {
            faults.push(format!("recover() on a healed server: {error}"));
        }
        let again = if fastrand::bool() { ["poke", "read", "poke", "list"] } else { ["read", "poke", "list", "poke"] };
        for (nth, what) in again.into_iter().enumerate() {
            probes += 1;
            match works_again(&client, what).await {
                // What the faults have left behind may cost one call, and not a second one.
                Some(error) if nth > 0 || !script.may_cost_a_call() => {
                    faults.push(format!("the faults are over, and {what} ({nth}) fails: {error}"));
                }
                _ => {}
            }
        }
        if script.changes_era() && script.client.recovery == Recovery::Auto {
            // There and back again, right after all that: who asked a moment ago has to ask again.
            for _ in 0..2 {
                server.change_era();
                for (nth, what) in ["list", "read", "poke"].into_iter().enumerate() {
                    probes += 1;
                    match works_again(&client, what).await {
                        Some(error) if nth > 0 => {
                            faults.push(format!("the era changed, and {what} ({nth}) fails: {error}"));
                        }
                        _ => {}
                    }
                }
            }
        }
        if client.state().as_str() != "ready" {
            faults.push(format!("the faults are over, and the client is {}", client.state().as_str()));
        }
    }

    let closing = Instant::now();
    let mut client = Some(client);
    if script.dropped && waiting.is_empty() {
        // Nobody holds another clone.
        client = None;
        sleep(Duration::from_secs(5)).await;
    } else if let Some(client) = &client {
        client.close().await;
    }
    let close_took = closing.elapsed();
    let mut ends = Vec::new();
    for (number, call) in calls.into_iter().enumerate() {
        match timeout(Duration::from_millis(1), call).await {
            Ok(Ok(end)) => ends.push(end),
            Ok(Err(panicked)) => return Err(format!("call {number} panicked: {panicked}")),
            Err(_) => return Err(format!("call {number} was not settled by close()")),
        }
    }
    drop(client);
    let arrived = exchange.ledger().len();
    sleep(Duration::from_secs(300)).await;
    if exchange.ledger().len() != arrived {
        let late: Vec<_> = exchange.ledger().methods().split_off(arrived);
        faults.push(format!("after close() came {late:?}"));
    }
    let open = exchange.ledger().open();
    if !open.is_empty() {
        let open: Vec<_> = open.iter().map(|entry| entry.method().to_owned()).collect();
        faults.push(format!("after close() are still open: {open:?}"));
    }
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    if tasks != 0 {
        faults.push(format!("after close() {tasks} tasks are alive"));
    }
    if Arc::strong_count(&exchange) != 1 {
        faults.push(format!("after close() {} hold the exchange", Arc::strong_count(&exchange) - 1));
    }
    faults
        .extend(server.healthy.complaints().into_iter().map(|complaint| format!("the server complains: {complaint}")));
    let known = std::mem::take(&mut *server.known());
    Ok(Course {
        ends,
        waiting,
        entries: exchange.ledger().entries(),
        executions: server.healthy.executions(),
        sessions: server.healthy.sessions(),
        known,
        close_took,
        events: std::mem::take(&mut events.lock().unwrap()),
        probes,
        faults,
        began,
        closed_at: closing,
    })
}

async fn works_again(client: &Client, what: &str) -> Option<Error> {
    let patience = Duration::from_secs(60);
    match what {
        "poke" => client.call_tool("poke", Value::Null).timeout(patience).await.err(),
        "read" => client.read_resource("mem://a").timeout(patience).await.err(),
        _ => client.list_tools().timeout(patience).await.err(),
    }
}

fn builder(script: &Script, server: &Arc<Faulty>) -> ClientBuilder {
    let client = &script.client;
    let builder = Client::builder("http://server.test/mcp")
        .era(match client.era {
            script::Era::Legacy => Era::Legacy,
            script::Era::Auto => Era::Auto,
            script::Era::Modern => Era::Modern,
        })
        .on_elicitation(|_| async { Ok(json!({ "action": "accept" })) })
        .listen(client.listen)
        .max_message(MAX_MESSAGE)
        .recovery(match client.recovery {
            Recovery::Auto => oncewire::Recovery::Auto,
            Recovery::Surface => oncewire::Recovery::Surface,
            Recovery::Off => oncewire::Recovery::Off,
        })
        .trust_annotations(match client.trust {
            Trust::None => oncewire::TrustAnnotations::None,
            Trust::ReadOnly => oncewire::TrustAnnotations::ReadOnly,
            Trust::Hinted => oncewire::TrustAnnotations::Hinted,
        });
    if !client.token {
        return builder;
    }
    let count = Arc::new(AtomicUsize::new(0));
    let (server, takes) = (Arc::downgrade(server), Duration::from_millis(script.server.ping_ms.min(300)));
    builder.token_provider(move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let server = server.clone();
        async move {
            sleep(takes).await;
            if let Some(server) = server.upgrade() {
                server.gives(number);
            }
            Ok(format!("token-{number}"))
        }
    })
}

async fn carry_out(client: Client, number: usize, plan: CallPlan, began: Instant) -> (Instant, End) {
    sleep_until(began + Duration::from_millis(plan.at_ms)).await;
    let calling = settle(client, number, &plan);
    let end = match plan.cancel_ms {
        None => calling.await,
        Some(after) => timeout(Duration::from_millis(after), calling).await.unwrap_or(End::Cancelled),
    };
    (Instant::now(), end)
}

async fn settle(client: Client, number: usize, plan: &CallPlan) -> End {
    let mark = |raw: &serde_json::value::RawValue| {
        let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let call = result.pointer("/_meta/call").and_then(Value::as_u64);
        End::Result(Some(call.map_or(usize::MAX, |call| usize::try_from(call).unwrap_or(usize::MAX))))
    };
    let end = match plan.what {
        Callee::Poke | Callee::Peek | Callee::Nudge => {
            let tool = match plan.what {
                Callee::Poke => "poke",
                Callee::Peek => "peek",
                _ => "nudge",
            };
            let call = options(client.call_tool(tool, Value::Null), number, plan);
            call.await.map(|result| mark(&result.raw))
        }
        Callee::Read => options(client.read_resource("mem://a"), number, plan).await.map(|_| End::Result(None)),
        Callee::Prompt => {
            options(client.get_prompt("hello", Value::Null), number, plan).await.map(|_| End::Result(None))
        }
        Callee::LogLevel => options(client.set_log_level("info"), number, plan).await.map(|()| End::Result(None)),
        Callee::Subscribe => options(client.subscribe("mem://a"), number, plan).await.map(|()| End::Result(None)),
        Callee::Raw => {
            let call = options(client.request("custom/thing", json!({ "name": "thing" })), number, plan);
            call.await.map(|raw| mark(&raw))
        }
        Callee::List => {
            let mut options = oncewire::CallOptions::default();
            options.timeout = plan.timeout_ms.map(Duration::from_millis);
            options.idle_timeout = plan.idle_ms.map(Duration::from_millis);
            options.resend = Some(resend(plan.resend));
            let list = client.list_resources().cursor(format!("call-{number}")).options(&options);
            list.await.map(|_| End::Result(None))
        }
    };
    end.unwrap_or_else(End::Error)
}

fn options<T>(call: Call<T>, number: usize, plan: &CallPlan) -> Call<T> {
    let call = call.meta("call", json!(number)).resend(resend(plan.resend));
    let call = match plan.timeout_ms {
        Some(timeout) => call.timeout(Duration::from_millis(timeout)),
        None => call,
    };
    match plan.idle_ms {
        Some(timeout) => call.idle_timeout(Duration::from_millis(timeout)),
        None => call,
    }
}

fn resend(resend: Resend) -> oncewire::Resend {
    match resend {
        Resend::Default => oncewire::Resend::Default,
        Resend::Always => oncewire::Resend::Always,
        Resend::Never => oncewire::Resend::Never,
    }
}
