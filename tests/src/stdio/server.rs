//! The server itself. Each tool runs in a thread of its own, so that it holds up nobody else.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::process::{self, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::ledger::{Note, StdioLedger};
use super::life::{Life, StdioScript};
use super::pipes::{Input, Output};
use crate::server::Lifecycle;
use crate::server::catalog;
use crate::server::request::Rpc;

/// Lives one life, the next one by the ledger, until its stdin or the script ends it.
///
/// # Errors
/// If a pipe or the ledger fails.
pub fn run(script: &StdioScript, ledger: StdioLedger) -> io::Result<()> {
    let lived = ledger.read()?.iter().filter(|note| matches!(note, Note::Started(_))).count();
    let life = script.lives.get(lived).cloned().unwrap_or_default();
    ledger.note(&Note::Started(process::id()))?;
    for line in &life.stderr {
        eprintln!("{line}");
    }
    if life.has_child {
        let mut child = Command::new("sleep");
        child.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ledger.note(&Note::Child(child.spawn()?.id()))?;
    }
    let server = Arc::new(Server {
        output: Output::new(&life),
        script: script.clone(),
        life,
        ledger,
        asked: Mutex::default(),
        subscriptions: Mutex::default(),
    });
    if !server.life.first_words.is_empty() {
        server.output.write(server.life.first_words.as_bytes());
    }
    // Not by `io::stdin`, which reads ahead.
    let pipe = io::stdin().as_fd().try_clone_to_owned()?;
    let mut input = Input::new(std::fs::File::from(pipe), &server.life);
    while let Some(line) = input.line()? {
        server.take(&line)?;
    }
    server.ledger.note(&Note::Eof)?;
    if server.life.stays {
        loop {
            thread::park();
        }
    }
    Ok(())
}

struct Server {
    script: StdioScript,
    life: Life,
    ledger: StdioLedger,
    output: Output,
    /// Requests of the server that wait for their answer.
    asked: Mutex<HashMap<String, mpsc::Sender<Value>>>,
    /// The subscriptions of the modern era, by the id of their request.
    subscriptions: Mutex<Vec<Value>>,
}

impl Server {
    fn take(self: &Arc<Self>, line: &[u8]) -> io::Result<()> {
        let Some(rpc) = Rpc::parse(line) else { return Ok(()) };
        let Some(method) = rpc.method.clone() else {
            let answered = rpc.id.as_ref().and_then(Value::as_str).and_then(|id| lock(&self.asked).remove(id));
            if let Some(answered) = answered {
                // Whoever asked may have ended.
                let _ = answered.send(rpc.message);
            }
            return Ok(());
        };
        if method == "notifications/cancelled" {
            return self.ledger.note(&Note::Cancelled(rpc.params()["requestId"].to_string()));
        }
        if rpc.id.is_none() {
            return Ok(());
        }
        self.ledger.note(&Note::Asked(method.clone()))?;
        if self.life.ends_at.as_deref() == Some(&method) {
            process::exit(self.life.exit_code);
        }
        if self.life.mute.contains(&method) {
            return Ok(());
        }
        match method.as_str() {
            "tools/call" => {
                let server = Arc::clone(self);
                thread::spawn(move || server.call(&rpc));
            }
            "subscriptions/listen" => self.listen(&rpc),
            _ => self.output.say(&self.answer(&rpc)),
        }
        Ok(())
    }

    fn answer(&self, rpc: &Rpc) -> Value {
        let lifecycle = lifecycle(rpc);
        if !self.script.options.era.speaks(lifecycle) {
            let id = rpc.id.clone().unwrap_or_default();
            return json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}});
        }
        catalog::answer(&self.script.options, lifecycle, 1, rpc)
    }

    fn call(&self, rpc: &Rpc) {
        let arguments = &rpc.params()["arguments"];
        for step in 1..=arguments["progress"].as_u64().unwrap_or_default() {
            if let Some(token) = rpc.progress_token() {
                let params = json!({"progressToken": token, "progress": step});
                self.output.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
            }
        }
        if let Some(method) = arguments["ask"].as_str() {
            let id = format!("s{}", rpc.id.clone().unwrap_or_default());
            let (answered, answer) = mpsc::channel();
            lock(&self.asked).insert(id.clone(), answered);
            self.output.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}));
            // The client that never answers is killed by the test.
            let _ = answer.recv();
        }
        if let Some(method) = arguments["notify"].as_str() {
            self.notify(method);
        }
        thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default()));
        if self.ledger.note(&Note::Ran(rpc.name.clone().unwrap_or_default())).is_err() {
            process::exit(1);
        }
        if self.life.ends_after_running {
            process::exit(self.life.exit_code);
        }
        match &self.life.in_place_of_answer {
            Some(text) if self.life.floods => loop {
                self.output.write(text.as_bytes());
            },
            Some(text) => {
                let text = text.replace("ID", &rpc.id.clone().unwrap_or_default().to_string());
                self.output.write(text.as_bytes());
            }
            None => self.output.say(&self.answer(rpc)),
        }
    }

    /// A notification that nobody asked for: in the modern era, on each subscription.
    fn notify(&self, method: &str) {
        let subscriptions = lock(&self.subscriptions).clone();
        if subscriptions.is_empty() {
            self.output.say(&json!({"jsonrpc": "2.0", "method": method}));
        }
        for id in subscriptions {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
            self.output.say(&json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": meta}}));
        }
    }

    fn listen(&self, rpc: &Rpc) {
        let id = rpc.id.clone().unwrap_or_default();
        let notifications = rpc.params()["notifications"].clone();
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        lock(&self.subscriptions).push(id);
        self.output.say(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": notifications, "_meta": meta},
        }));
    }
}

/// What a request means: the version in its `_meta` says it.
fn lifecycle(rpc: &Rpc) -> Lifecycle {
    let claims = rpc.meta("io.modelcontextprotocol/protocolVersion").is_some();
    if claims { Lifecycle::Modern } else { Lifecycle::Legacy }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
