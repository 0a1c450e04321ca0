//! The tools of the small servers here on other frameworks for Rust, and the ledger of what ran: a file of JSON lines, one when a tool begins
//! and one when it has ended.

use std::env;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Where to listen.
pub fn address() -> SocketAddr {
    let port = env::var("PORT").ok().and_then(|port| port.parse().ok());
    (Ipv4Addr::LOCALHOST, port.expect("PORT is a port")).into()
}

/// Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we.
pub fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}

fn write(tool: &str, event: &str) {
    let file = OpenOptions::new().append(true).open(env::var_os("PEER_LEDGER").expect("PEER_LEDGER is a file"));
    let line = format!("{{\"tool\":\"{tool}\",\"event\":\"{event}\"}}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the ledger can be written");
}

/// Runs a tool.
pub async fn run(tool: &str, seconds: f64) -> String {
    write(tool, "start");
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    write(tool, "end");
    format!("{tool} ran")
}
