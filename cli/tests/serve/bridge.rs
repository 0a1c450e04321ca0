//! The bridge, and the command behind it: a program of a few lines that writes down what it runs.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use oncewire::Client;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Nothing takes this long unless something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server in POSIX shell. `poke` answers; `wait` answers when the file `go` is there; `tell` reports progress and asks for the roots
/// before it answers; `die` ends the process. Each call is a line in the file `runs`, each process one in `begun` and one in `ended`.
const SERVER: &str = r#"
cd "$1" || exit 1
echo "$$" >> begun
field() { printf '%s' "$line" | sed -n "s/.*\"$1\": *\(\"[^\"]*\"\|[0-9][0-9]*\).*/\1/p" | head -n 1; }
say() { printf '%s\n' "$1"; }
while IFS= read -r line; do
  method=$(field method); id=$(field id); name=$(field name); token=$(field progressToken)
  case "$method" in
    '"initialize"') say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"shell\",\"version\":\"1\"}}}" ;;
    '"tools/list"') say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"poke\",\"inputSchema\":{\"type\":\"object\"}}]}}" ;;
    '"ping"') say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}" ;;
    '"tools/call"')
      echo "$name" >> runs
      case "$name" in
        '"die"') exit 3 ;;
        '"wait"') while [ ! -e go ]; do sleep 0.02; done ;;
        '"tell"')
          say "no message"
          say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1}}"
          say '{"jsonrpc":"2.0","id":"ask-1","method":"roots/list"}'
          IFS= read -r answer; printf '%s\n' "$answer" >> answers ;;
      esac
      say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":$name}]}}" ;;
  esac
done
echo "$$" >> ended
"#;

/// A bridge that runs.
pub(crate) struct Bridge {
    child: Child,
    pub(crate) url: String,
    folder: TempDir,
}

impl Bridge {
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("server.sh");
        std::fs::write(&script, SERVER).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_oncewire"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .args(["--", "sh"])
            .args([script.as_path(), folder.path()])
            .env("BRIDGE_TOKEN", "s3cret")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = timeout(PATIENCE, said.next_line()).await.unwrap().unwrap().unwrap();
        let url = first.strip_prefix("listening on ").unwrap_or_else(|| panic!("{first}")).to_owned();
        // What is said later goes nowhere, but has somewhere to go.
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Self { child, url, folder }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::builder(&self.url).no_proxy().connect().await.unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The lines that the server wrote into this file.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until the server has written so many lines into this file; a file of another process gives no event.
    pub(crate) async fn until(&self, name: &str, count: usize) {
        let look = async {
            while self.lines(name).len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, look).await.unwrap_or_else(|_| panic!("{name}: {:?}", self.lines(name)));
    }

    /// Tells it to end as a shell does.
    #[cfg(unix)]
    pub(crate) async fn terminate(&mut self) -> ExitStatus {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }

    /// Sends a request, and cuts the connection when the first event has come; gives its id.
    pub(crate) async fn first_id(&self, session: (&str, &str), body: &Value) -> String {
        use tokio::io::AsyncWriteExt;
        let address = self.url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let body = body.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{}: {}\r\nContent-Length: {}\r\n\r\n{body}",
            session.0,
            session.1,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        let found = async {
            loop {
                let line = lines.next_line().await.unwrap().unwrap();
                if let Some(id) = line.strip_prefix("id: ") {
                    return id.to_owned();
                }
            }
        };
        timeout(PATIENCE, found).await.unwrap()
    }

    /// A request by hand, over a connection of its own: the status, the headers, and the body as far as it came before the connection ended.
    pub(crate) async fn ask(&self, method: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let address = self.url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = format!("{method} /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let given = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        if !given("host") {
            request.push_str(&format!("Host: {address}\r\n"));
        }
        for (name, value) in [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")] {
            if !given(name) {
                request.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
        Answer(String::from_utf8(bytes).unwrap())
    }
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer(String);

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.0.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next().unwrap();
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}
