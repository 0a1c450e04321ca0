//! Runs one vector with the Rust client: steps in, report out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use oncewire::{CallOptions, Client, ClientBuilder, Error, HandlerError, ListCall, ListResult};
use oncewire_tests::control::Scenario;
use oncewire_tests::vector::{Call, ClientOptions, Method, Outcome, Report, Step, Vector};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

/// Everything that the tasks of one run share.
#[derive(Clone)]
struct Run {
    url: String,
    options: Arc<ClientOptions>,
    client: Arc<Mutex<Option<Client>>>,
    report: Arc<Mutex<Report>>,
    tokens_asked: Arc<AtomicU64>,
}

/// Everything that is wrong with this vector; nothing if all is well.
///
/// # Errors
/// If the run itself failed: a control step that could not be done, for instance; or if it takes longer than this.
pub(crate) async fn run(vector: Vector, patience: Duration) -> Result<Vec<String>> {
    let scenario = Scenario::of(vector.clone()).await?;
    let run = Run {
        url: scenario.server("main")?.url().to_owned(),
        options: Arc::new(vector.client.clone()),
        client: Arc::default(),
        report: Arc::default(),
        tokens_asked: Arc::default(),
    };
    let Ok(failures) = tokio::time::timeout(patience, run.follow(&scenario, vector.steps)).await else {
        let report = run.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let arrivals = scenario.ledgers().into_values().flat_map(|ledger| ledger.arrivals);
        let arrivals: Vec<_> = arrivals
            .map(|it| format!("{} {} {:?} {:?} status {:?}", it.at_ms, it.http, it.rpc, it.name, it.status))
            .collect();
        let events: Vec<_> = report.events.iter().map(ToString::to_string).collect();
        bail!("it hangs; {:?}\n    {}\n    {}", report.calls, events.join("\n    "), arrivals.join("\n    "));
    };
    failures
}

impl Run {
    async fn follow(&self, scenario: &Scenario, steps: Vec<Step>) -> Result<Vec<String>> {
        let run = self;
        let mut started: BTreeMap<String, JoinHandle<()>> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Call(call) => {
                    for name in call.names() {
                        run.clone().call(name, call.clone()).await;
                    }
                }
                Step::Together(calls) => {
                    let tasks: Vec<_> = calls
                        .into_iter()
                        .flat_map(|call| call.names().into_iter().map(move |name| (name, call.clone())))
                        .map(|(name, call)| tokio::spawn(run.clone().call(name, call)))
                        .collect();
                    for task in tasks {
                        task.await?;
                    }
                }
                Step::Start(call) => {
                    for name in call.names() {
                        started.insert(name.clone(), tokio::spawn(run.clone().call(name, call.clone())));
                    }
                }
                Step::Wait(of) => {
                    for (name, task) in take(&mut started, &of)? {
                        match task.await {
                            Err(error) if error.is_cancelled() => run.outcome(name, Instant::now(), cancelled()),
                            other => other?,
                        }
                    }
                }
                Step::Cancel(of) => {
                    for (name, task) in take(&mut started, &of)? {
                        // Dropping the future is how a call is cancelled in Rust.
                        task.abort();
                        started.insert(name, task);
                    }
                }
                Step::Control(step) => {
                    let action = format!("{:?}", step.action);
                    scenario.control(&step.on, &step.action).await.with_context(|| {
                        let calls = format!("{:?}", run.report.lock().unwrap_or_else(PoisonError::into_inner).calls);
                        format!("{action}; so far {calls}")
                    })?;
                }
            }
        }
        if !started.is_empty() {
            bail!("nobody waits for {:?}", started.keys());
        }
        let client = run.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(client) = client {
            client.close().await;
            run.text(format!("{client:?}"));
        }
        let mut report = run.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.tokens_asked = run.tokens_asked.load(Ordering::SeqCst);
        scenario.judge(&report).await
    }
}

fn take(started: &mut BTreeMap<String, JoinHandle<()>>, of: &str) -> Result<Vec<(String, JoinHandle<()>)>> {
    let family = format!("{of}.");
    let names: Vec<_> = started.keys().filter(|name| *name == of || name.starts_with(&family)).cloned().collect();
    if names.is_empty() {
        bail!("nothing was started as {of}");
    }
    Ok(names.into_iter().filter_map(|name| started.remove_entry(&name)).collect())
}

fn cancelled() -> Outcome {
    Outcome { cancelled: true, ..Outcome::default() }
}

impl Run {
    fn text(&self, text: String) {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).texts.push(text);
    }

    fn outcome(&self, name: String, since: Instant, mut outcome: Outcome) {
        outcome.elapsed_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.report.lock().unwrap_or_else(PoisonError::into_inner).calls.insert(name, outcome);
    }

    async fn call(self, name: String, call: Call) {
        let since = Instant::now();
        let progress = Arc::new(Mutex::new(Vec::new()));
        let mut outcome = match Box::pin(self.perform(&call, &progress)).await {
            Ok(result) => Outcome { ok: Some(result), ..Outcome::default() },
            Err(error) => {
                self.text(error.to_string());
                self.text(format!("{error:?}"));
                let mut json = error.to_json();
                json["class"] = json!(match error {
                    Error::NotExecuted(_) => "not_executed",
                    Error::MayHaveExecuted(_) => "may_have_executed",
                    Error::Answered(_) => "answered",
                    _ => "another",
                });
                Outcome { error: Some(json), ..Outcome::default() }
            }
        };
        outcome.progress = progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.outcome(name, since, outcome);
    }

    async fn perform(&self, call: &Call, progress: &Arc<Mutex<Vec<Value>>>) -> Result<Value, Error> {
        if call.method == Method::Connect {
            let builder = self.builder();
            let client = if self.options.lazy == Some(true) { builder.build()? } else { builder.connect().await? };
            *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
            return Ok(Value::Null);
        }
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(client) = client else { return Ok(json!("a call without a client")) };
        let arguments = &call.arguments;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = |name: &str| arguments.get(name).cloned().unwrap_or_default();
        let options = call_options(call);
        macro_rules! listed {
            ($call:expr) => {{
                let mut it = $call.options(&options);
                if call.options.on_progress {
                    let progress = Arc::clone(progress);
                    it = it.on_progress(move |now| {
                        let now = json!({"progress": now.progress, "total": now.total});
                        progress.lock().unwrap_or_else(PoisonError::into_inner).push(now);
                    });
                }
                it
            }};
        }
        macro_rules! awaited {
            ($call:expr) => {{
                let mut it = listed!($call);
                for (name, value) in call.options.meta.iter().flatten() {
                    it = it.meta(name, value.clone());
                }
                it
            }};
        }
        macro_rules! keyed {
            ($call:expr) => {{
                let it = awaited!($call);
                match &call.options.idempotency_key {
                    Some(key) => it.idempotency_key(key.as_str()),
                    None => it,
                }
            }};
        }
        let of = |result: serde_json::Result<Value>| result.unwrap_or_else(|error| json!(error.to_string()));
        match call.method {
            Method::Connect => Ok(Value::Null),
            Method::Close => {
                client.close().await;
                Ok(Value::Null)
            }
            Method::Recover => client.recover().await.map(|()| Value::Null),
            Method::CallTool => {
                let result = keyed!(client.call_tool(text("name"), value("arguments"))).await?;
                Ok(of(serde_json::to_value(result)))
            }
            Method::ReadResource => Ok(of(serde_json::to_value(awaited!(client.read_resource(text("uri"))).await?))),
            Method::GetPrompt => {
                let result = awaited!(client.get_prompt(text("name"), value("arguments"))).await?;
                Ok(of(serde_json::to_value(result)))
            }
            Method::Complete => {
                let argument = value("argument");
                let (name, typed) = (argument["name"].as_str(), argument["value"].as_str());
                let it = client.complete(&value("ref"), name.unwrap_or_default(), typed.unwrap_or_default());
                Ok(of(serde_json::to_value(awaited!(it).await?)))
            }
            Method::Ping => awaited!(client.ping()).await.map(|()| Value::Null),
            Method::SetLogLevel => awaited!(client.set_log_level(text("level"))).await.map(|()| Value::Null),
            Method::Subscribe => awaited!(client.subscribe(text("uri"))).await.map(|()| Value::Null),
            Method::Unsubscribe => awaited!(client.unsubscribe(text("uri"))).await.map(|()| Value::Null),
            Method::Request => {
                let result = awaited!(client.request(text("method"), value("params"))).await?;
                Ok(of(serde_json::from_str(result.get())))
            }
            Method::ListTools => Ok(list("tools", listed!(page(client.list_tools(), arguments)).await?)),
            Method::ListResources => Ok(list("resources", listed!(page(client.list_resources(), arguments)).await?)),
            Method::ListResourceTemplates => {
                let result = listed!(page(client.list_resource_templates(), arguments)).await?;
                Ok(list("resourceTemplates", result))
            }
            Method::ListPrompts => Ok(list("prompts", listed!(page(client.list_prompts(), arguments)).await?)),
        }
    }

    fn builder(&self) -> ClientBuilder {
        let options = &self.options;
        let mut builder = Client::builder(&self.url);
        macro_rules! set {
            ($($option:ident as $convert:expr),+ $(,)?) => {$(
                if let Some(value) = options.$option.clone() {
                    builder = builder.$option($convert(value));
                }
            )+};
        }
        set!(
            timeout as ms,
            idle_timeout as ms,
            reset_on_progress as as_is,
            max_total_timeout as ms,
            orphan_timeout as ms,
            connect_timeout as ms,
            connect_patience as ms,
            handshake_timeout as ms,
            close_timeout as ms,
            retry_after_max as ms,
            max_message as size,
            max_event as size,
            max_pages as size,
            pool_idle_timeout as ms,
            fresh_connection as as_is,
            trust_annotations as word,
            resend as word,
            recovery as word,
            era as word,
            extensions as std::convert::identity,
            cache as as_is,
            cookies as as_is,
            lazy as as_is,
            idempotency_keys as as_is,
        );
        if options.http2_only == Some(true) {
            builder = builder.http2_only();
        }
        for (tool, tool_options) in &options.tools {
            let mut it = CallOptions::default();
            it.timeout = tool_options.timeout.map(ms);
            it.resend = tool_options.resend.clone().map(word);
            builder = builder.tool_options(tool, it);
        }
        for (name, value) in &options.headers {
            builder = builder.header(name, value);
        }
        if let Some(tokens) = options.tokens.clone() {
            let asked = Arc::clone(&self.tokens_asked);
            builder = builder.token_provider(move |_refused| {
                let nth = usize::try_from(asked.fetch_add(1, Ordering::SeqCst)).unwrap_or(usize::MAX);
                let token = tokens.get(nth).or(tokens.last()).cloned();
                async move { token.ok_or_else(|| "there is no token".into()) }
            });
        }
        let takes = Duration::from_millis(options.handlers.takes_ms);
        let canned = |result: Value| {
            move |_params: Value| {
                let result = result.clone();
                async move {
                    tokio::time::sleep(takes).await;
                    match result["$fails"].as_str() {
                        Some(text) => Err(HandlerError::from(text)),
                        None => Ok(result),
                    }
                }
            }
        };
        if let Some(result) = options.handlers.sampling.clone() {
            builder = builder.on_sampling(canned(result));
        }
        if let Some(result) = options.handlers.elicitation.clone() {
            builder = builder.on_elicitation(canned(result));
        }
        if let Some(result) = options.handlers.roots.clone() {
            builder = builder.on_roots(canned(result));
        }
        let report = Arc::clone(&self.report);
        builder.on_event(move |event| {
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            report.texts.push(format!("{event:?}"));
            report.events.push(serde_json::to_value(event).unwrap_or_default());
        })
    }
}

fn call_options(call: &Call) -> CallOptions {
    let mut options = CallOptions::default();
    options.timeout = call.options.timeout.map(ms);
    options.idle_timeout = call.options.idle_timeout.map(ms);
    options.reset_on_progress = call.options.reset_on_progress;
    options.max_total_timeout = call.options.max_total_timeout.map(ms);
    options.resend = call.options.resend.clone().map(word);
    options
}

fn page<T>(list: ListCall<T>, arguments: &Map<String, Value>) -> ListCall<T> {
    match arguments.get("cursor").and_then(Value::as_str) {
        Some(cursor) => list.cursor(cursor),
        None => list,
    }
}

fn list<T: serde::Serialize>(member: &str, result: ListResult<T>) -> Value {
    json!({ member: result.items, "nextCursor": result.next_cursor })
}

fn ms(value: u64) -> Duration {
    Duration::from_millis(value)
}

fn as_is(value: bool) -> bool {
    value
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The words of the options are those of their serialised form.
fn word<T: DeserializeOwned>(value: String) -> T {
    serde_json::from_value(Value::from(value.as_str())).unwrap_or_else(|_| panic!("{value} is no word of this option"))
}
