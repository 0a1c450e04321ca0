//! Calls per second, from Swift and from Rust, against one server in one run, so that only their ratio is claimed.
//!
//! `cargo xtask swift --bench` builds the Swift program and starts this. Both clients are processes of their own and take turns, so that what
//! else the machine does hits both; the best round of each counts.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a benchmark: what fails ends it")]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oncewire::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

const ROUNDS: usize = 5;
const SECONDS: &str = "2";

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--client") {
        let [url, callers, seconds] = [1, 2, 3].map(|next| arguments[at + next].clone());
        println!("{:.0}", runtime().block_on(client(url, callers.parse().unwrap(), seconds.parse().unwrap())));
        return;
    }
    let Ok(swift) = std::env::var("ONCEWIRE_SWIFT_BENCH") else {
        println!("ONCEWIRE_SWIFT_BENCH does not name the Swift program: run `cargo xtask swift --bench`");
        return;
    };
    let server = runtime();
    let url = server.block_on(serve());
    let rust = format!("{} --client", arguments[0]);
    for callers in ["1", "16"] {
        let (mut best_rust, mut best_swift) = (0_f64, 0_f64);
        for _ in 0..ROUNDS {
            best_rust = best_rust.max(run(&rust, &url, callers));
            best_swift = best_swift.max(run(&swift, &url, callers));
        }
        let ratio = best_swift / best_rust;
        println!(
            "{callers:>2} callers: Rust {best_rust:>7.0} calls/s, Swift {best_swift:>7.0} calls/s, ratio {ratio:.2}"
        );
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Starts a client; it prints one number.
fn run(command: &str, url: &str, callers: &str) -> f64 {
    let output = Command::new("sh").args(["-c", &format!("{command} {url} {callers} {SECONDS}")]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// So many callers, each with one call after the other.
async fn client(url: String, callers: u64, seconds: f64) -> f64 {
    let client = Client::builder(url).connect().await.unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let call_until = |end: Instant| {
        let tasks: Vec<_> = (0..callers)
            .map(|_| {
                let (client, done) = (client.clone(), Arc::clone(&done));
                tokio::spawn(async move {
                    while Instant::now() < end {
                        client.call_tool("peek", json!({ "n": 1 })).await.unwrap();
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        async move {
            for task in tasks {
                task.await.unwrap();
            }
        }
    };
    call_until(Instant::now() + Duration::from_millis(500)).await;
    done.store(0, Ordering::Relaxed);
    let begun = Instant::now();
    call_until(begun + Duration::from_secs_f64(seconds)).await;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let per_second = done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    client.close().await;
    per_second
}

/// A server that does as little as it can.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            tokio::spawn(connection(stream));
        }
    });
    url
}

async fn connection(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut length, mut is_post) = (String::new(), 0, None);
        loop {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            is_post.get_or_insert(line.starts_with("POST"));
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => {
                let info = json!({ "name": "bench", "version": "1" });
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": info })
            }
            _ => json!({ "content": [{ "type": "text", "text": "peek done" }], "isError": false }),
        };
        let answer = if is_post != Some(true) {
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".to_owned()
        } else if message["id"].is_null() {
            "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned()
        } else {
            let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
