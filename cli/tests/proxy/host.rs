//! A host: starts the proxy, writes lines, reads lines.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use oncewire_tests::server::{FaultServer, Ledger, Options, Push, Script};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Nothing takes this long unless something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Which era the host speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speaks {
    Legacy,
    Modern,
}

/// A host and its proxy.
pub(crate) struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<Value>,
    stderr: tokio::task::JoinHandle<String>,
    speaks: Speaks,
    /// What the host can do.
    pub(crate) capabilities: Value,
    asked: u64,
    /// What came and was not waited for.
    pub(crate) heard: Vec<Value>,
}

/// A fault server with these rules.
pub(crate) async fn server(options: Options, rules: Value) -> FaultServer {
    let rules = serde_json::from_value(rules).unwrap();
    FaultServer::start(Script { options, rules }).await.unwrap()
}

/// Sends a notification on the stream that the client listens on, once that is open.
pub(crate) async fn pushed(server: &FaultServer, method: &str, params: Value) {
    let push = Push { id: None, method: method.to_owned(), params };
    let sent = async {
        while server.push(&push) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, sent).await.unwrap();
}

/// How often a tool ran.
pub(crate) fn runs(ledger: &Ledger, tool: &str) -> usize {
    ledger.executions.iter().filter(|run| run.name.as_deref() == Some(tool)).count()
}

impl Host {
    pub(crate) fn start(url: &str, speaks: Speaks, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oncewire"))
            .args(["proxy", url, "--no-oauth", "--no-proxy"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (say, lines) = mpsc::unbounded_channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        tokio::spawn(async move {
            while let Some(line) = stdout.next_line().await.unwrap() {
                let message =
                    serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON on standard output: {line}"));
                let _ = say.send(message);
            }
        });
        let mut pipe = child.stderr.take().unwrap();
        let stderr = tokio::spawn(async move {
            let mut text = String::new();
            let _ = pipe.read_to_string(&mut text).await;
            text
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, stderr, speaks, capabilities: json!({}), asked: 0, heard: Vec::new() }
    }

    /// Started, and introduced.
    pub(crate) async fn ready(server: &FaultServer, speaks: Speaks) -> Self {
        let mut host = Self::start(server.url(), speaks, &[]);
        let introduced = host.introduce().await;
        assert!(introduced["result"]["capabilities"]["tools"].is_object(), "{introduced}");
        host
    }

    /// The first request of a host.
    pub(crate) async fn introduce(&mut self) -> Value {
        match self.speaks {
            Speaks::Legacy => {
                let params = json!({
                    "protocolVersion": "2025-11-25", "capabilities": self.capabilities,
                    "clientInfo": { "name": "host", "version": "7" },
                });
                let answer = self.request("initialize", params).await;
                self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
                answer
            }
            Speaks::Modern => self.request("server/discover", json!({})).await,
        }
    }

    pub(crate) async fn line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).await.unwrap();
        stdin.write_all(b"\n").await.unwrap();
        stdin.flush().await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.line(message.to_string().as_bytes()).await;
    }

    /// Sends a request, and gives its id: a number and a text in turns.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.asked += 1;
        let id = if self.asked.is_multiple_of(2) { json!(self.asked) } else { json!(format!("h-{}", self.asked)) };
        if self.speaks == Speaks::Modern {
            params["_meta"][VERSION] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "host", "version": "7" });
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// The answer to the request of this id.
    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        self.until(|message| message["id"] == *id && message.get("method").is_none()).await
    }

    /// A request, and its answer.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(&id).await
    }

    pub(crate) async fn call(&mut self, tool: &str) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": {} })).await
    }

    /// The next message like this; what came before it is heard.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&wanted) {
            return self.heard.remove(at);
        }
        loop {
            let message = timeout(PATIENCE, self.lines.recv()).await;
            let message = message.unwrap_or_else(|_| panic!("nothing came but {:?}", self.heard));
            let message = message.unwrap_or_else(|| panic!("the proxy ended after {:?}", self.heard));
            if wanted(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method && message.get("id").is_none()).await
    }

    /// Closes its end.
    pub(crate) fn close(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes its end; how the proxy ended, and what it said on standard error.
    pub(crate) async fn end(mut self) -> (ExitStatus, String) {
        drop(self.stdin.take());
        let status = timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        (status, timeout(PATIENCE, self.stderr).await.unwrap().unwrap())
    }

    /// Tells the proxy to end as a shell does.
    #[cfg(unix)]
    pub(crate) async fn terminate(mut self) -> ExitStatus {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }
}
