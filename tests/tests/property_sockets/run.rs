//! One run: the client on a runtime of its own, so that its tasks can be counted, the server on another.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oncewire::{CallOptions, Client, Error, Event, EventName, Kind, Recovery};
use oncewire_tests::server::{Cut, FaultServer, Ledger, Script};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::plan::{Call, Plan, SHUT, What};

/// More than all bounds together: waits after 429, patience for a port, back-off, resumes.
const SETTLED: Duration = Duration::from_secs(40);

/// How one call ended.
#[derive(Debug)]
pub(crate) enum End {
    Result,
    Error(Error),
    /// Its future was dropped.
    Cancelled,
}

/// Everything that is to be judged.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) ends: Vec<End>,
    pub(crate) events: Vec<Event>,
    pub(crate) ledger: Ledger,
    /// What went wrong that the ledger does not show.
    pub(crate) faults: Vec<String>,
}

/// # Errors
/// The run did not come to its end.
pub(crate) fn run(servers: &Handle, plan: &Plan) -> Result<Course, Vec<String>> {
    let script = Script { options: plan.options(), rules: plan.rules() };
    let server = servers.block_on(FaultServer::start(script)).map_err(|error| vec![error.to_string()])?;
    let mut builder = if plan.threads {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    let course = runtime.block_on(course(plan, Arc::new(server)));
    drop(runtime);
    course.map_err(|problem| vec![problem])
}

async fn course(plan: &Plan, server: Arc<FaultServer>) -> Result<Course, String> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&events);
    let builder = Client::builder(server.url())
        .no_proxy()
        .listen(plan.listen)
        .recovery(plan.recovery)
        .trust_annotations(plan.trust)
        .cache(plan.cache)
        .on_roots(|_: Value| async { Ok(json!({"roots": []})) })
        .connect_patience(Duration::from_secs(2))
        // A resumed stream may stay open and silent here; nothing else ends that.
        .orphan_timeout(Duration::from_secs(1))
        .backoff(Duration::from_millis(10), Duration::from_millis(500))
        .on_event(move |event: &Event| noted.lock().unwrap().push(event.clone()));
    let builder = if plan.http2 { builder.http2_only() } else { builder };
    let client = builder.build().map_err(|error| error.to_string())?;
    let calls: Vec<JoinHandle<End>> = plan
        .calls
        .iter()
        .enumerate()
        .map(|(nth, call)| tokio::spawn(carry_out(client.clone(), nth, call.clone())))
        .collect();
    // The port goes down and up for one happening at a time.
    let port = Arc::new(tokio::sync::Mutex::new(()));
    let others: Vec<_> = plan
        .happenings
        .iter()
        .map(|(at, what)| {
            let (at, what, client, server) = (*at, *what, client.clone(), Arc::clone(&server));
            let port = Arc::clone(&port);
            tokio::spawn(async move {
                sleep(Duration::from_millis(at)).await;
                let _turn = if matches!(what, What::Restart | What::Down(_)) { Some(port.lock().await) } else { None };
                happen(what, &client, &server).await;
            })
        })
        .collect();
    let mut faults = Vec::new();
    for other in others {
        if timeout(SETTLED, other).await.is_err() {
            faults.push("recover() or close() did not come back".to_owned());
        }
    }
    let mut ends = Vec::new();
    for (nth, call) in calls.into_iter().enumerate() {
        match timeout(SETTLED, call).await {
            Ok(Ok(end)) => ends.push(end),
            Ok(Err(panicked)) => return Err(format!("call {nth} panicked: {panicked}")),
            Err(_) => return Err(format!("call {nth} does not settle; {:#?}", server.ledger().arrivals)),
        }
    }

    server.set_rules(Vec::new());
    if !client.is_closed() {
        let mut recovered = if plan.recovery == Recovery::Auto { Ok(()) } else { client.recover().await };
        // Connections that were cut while they were idle may cost both tries of a handshake.
        for _ in 0..2 {
            if recovered.is_err() {
                recovered = client.recover().await;
            }
        }
        if let Err(error) = recovered {
            faults.push(format!("recover() on a healed server: {error}"));
        }
        works_again(&client, &mut faults).await;
    }
    client.close().await;
    drop(client);
    let gone = server.until(|ledger| ledger.connections.open == 0);
    if timeout(Duration::from_secs(5), gone).await.is_err() {
        faults.push(format!("after close() {} connections are open", server.ledger().connections.open));
    }
    let tasks = || Handle::current().metrics().num_alive_tasks();
    for _ in 0..200 {
        if tasks() == 0 {
            break;
        }
        // Tasks of connections that were just closed end in their next turn.
        sleep(Duration::from_millis(10)).await;
    }
    if tasks() > 0 {
        faults.push(format!("after close() {} tasks are alive", tasks()));
    }
    let events = std::mem::take(&mut *events.lock().unwrap());
    Ok(Course { ends, events, ledger: server.ledger(), faults })
}

async fn happen(what: What, client: &Client, server: &FaultServer) {
    match what {
        What::Forget => server.forget_sessions(),
        What::Restart => server.restart().await,
        What::Become(era) => server.become_era(era),
        What::Shut(status, ms) => {
            let words = json!({"respond": {"status": status, "text": "closed for maintenance"}});
            let rule = json!([{"name": SHUT, "early": true, "when": {"http": "POST"}, "do": [words]}]);
            server.add_rules(serde_json::from_value(rule).unwrap());
            sleep(Duration::from_millis(ms)).await;
            server.drop_rule(SHUT);
        }
        What::CutClose => server.cut_connections(Cut::Close),
        What::CutReset => server.cut_connections(Cut::Reset),
        What::Down(ms) => {
            server.go_down().await;
            sleep(Duration::from_millis(ms)).await;
            server.come_up().await;
        }
        // Whether it works is what the faults decide.
        What::Recover => drop(client.recover().await),
        What::Close => client.close().await,
    }
}

/// Once the faults have ended the client works. The reads come first: they find out which connections were cut.
async fn works_again(client: &Client, faults: &mut Vec<String>) {
    // A handshake that is under way has met its fault already.
    let _ = client.ready().await;
    let limit = Duration::from_secs(20);
    if let Err(error) = client.read_resource("mem://a").timeout(limit).await {
        faults.push(format!("the faults are over, and a read fails: {error}"));
    }
    if let Err(error) = client.list_tools().timeout(limit).await {
        faults.push(format!("the faults are over, and a list fails: {error}"));
    }
    let mut poked = client.call_tool("poke", Value::Null).timeout(limit).await;
    // A server that closes idle connections may close one in this moment; then the tool may have run, and nothing else may be said.
    for _ in 0..2 {
        if poked.as_ref().is_err_and(|error| error.kind() == Kind::ConnectionClosed) {
            poked = client.call_tool("poke", Value::Null).timeout(limit).await;
        }
    }
    if let Err(error) = poked {
        faults.push(format!("the faults are over, and a tool fails: {error}"));
    }
    if client.state().as_str() != "ready" {
        faults.push(format!("the faults are over, and the client is {}", client.state().as_str()));
    }
}

/// The key of a tool call: so its runs are found in the ledger.
pub(crate) fn key(nth: usize) -> String {
    format!("call-{nth}")
}

async fn carry_out(client: Client, nth: usize, call: Call) -> End {
    sleep(Duration::from_millis(call.at_ms)).await;
    let calling = settle(client, nth, &call);
    match call.cancel_ms {
        None => calling.await,
        Some(after) => timeout(Duration::from_millis(after), calling).await.unwrap_or(End::Cancelled),
    }
}

async fn settle(client: Client, nth: usize, call: &Call) -> End {
    let mut options = CallOptions::default();
    options.timeout = call.timeout_ms.map(Duration::from_millis);
    options.resend = Some(call.resend);
    let done = match call.what {
        "read" => client.read_resource("mem://a").options(&options).await.map(drop),
        "prompt" => client.get_prompt("hello", Value::Null).options(&options).await.map(drop),
        "list" => client.list_resources().options(&options).await.map(drop),
        "raw" => client.request("dev.oncewire.tests/custom", json!({})).options(&options).await.map(drop),
        tool => client.call_tool(tool, Value::Null).options(&options).idempotency_key(key(nth)).await.map(drop),
    };
    done.map_or_else(End::Error, |()| End::Result)
}

/// The verdicts on attempts, those that were sent again included.
pub(crate) fn failed_attempts(events: &[Event]) -> impl Iterator<Item = &Event> {
    events.iter().filter(|event| event.event == EventName::AttemptFailed && event.request_id.is_some())
}
