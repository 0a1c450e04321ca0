//! A scenario over HTTP, as a runner in another language does it, against the binary itself.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fault-server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let address = line["control"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self { child, address }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        http(&self.address, method, path, "", &body.to_string())
    }
}

fn http(address: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn a_scenario_runs_and_is_judged_over_http() {
    let server = Server::start();
    let vectors = server.ask("GET", "/vectors/node", &json!(null)).1;
    assert!(vectors.as_array().unwrap().len() > 100);
    let vector = json!({
        "cases": ["S00"], "about": "", "steps": [],
        "expect": {"ledger": [{"count": "arrivals", "where": {"rpc": "initialize"}, "is": 1}], "sessions_may_stay": true}
    });
    let (status, started) = server.ask("POST", "/scenarios", &json!({"vector": vector}));
    assert_eq!(status, 200, "{started}");
    let scenario = format!("/scenarios/{}", started["id"].as_str().unwrap());
    let report = json!({"calls": {}});
    let judged = server.ask("POST", &format!("{scenario}/judge"), &report).1;
    assert_eq!(judged["failures"].as_array().unwrap().len(), 1, "{judged}");

    let port = started["servers"]["main"]["port"].as_u64().unwrap();
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    assert_eq!(http(&format!("127.0.0.1:{port}"), "POST", "/mcp", "", initialize).0, 200);
    let wait = json!({"do": {"await": {"count": "sessions", "is": 1}}});
    assert_eq!(server.ask("POST", &format!("{scenario}/control"), &wait), (200, json!({})));
    assert_eq!(server.ask("POST", &format!("{scenario}/judge"), &report).1, json!({"failures": []}));
    let ledger = server.ask("GET", &format!("{scenario}/ledger/main"), &json!(null)).1;
    assert_eq!(ledger["by_rpc"]["initialize"], 1);
    assert_eq!(server.ask("DELETE", &scenario, &json!(null)).0, 200);
    assert!(
        TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).is_err(),
        "the port goes with the scenario"
    );
    let (status, answer) = server.ask("POST", &format!("{scenario}/judge"), &report);
    assert!(status == 400 && answer["error"].as_str().unwrap().contains("no scenario"), "{answer}");
}

#[test]
fn mistakes_are_answered_with_their_reason() {
    let server = Server::start();
    for (path, body, reason) in [
        ("/scenarios", json!({"servers": {"a": {"rule": []}}}), "unknown field `rule`"),
        ("/scenarios", json!({}), "either a vector or servers"),
        ("/scenarios/9/control", json!({"do": "restart"}), "no scenario 9"),
        ("/nowhere", json!({}), "no POST /nowhere"),
    ] {
        let (status, answer) = server.ask("POST", path, &body);
        assert!(status == 400 && answer["error"].as_str().unwrap().contains(reason), "{answer}");
    }
}

#[test]
fn it_ends_with_its_standard_input() {
    let mut server = Server::start();
    drop(server.child.stdin.take());
    assert!(server.child.wait().unwrap().success());
}
