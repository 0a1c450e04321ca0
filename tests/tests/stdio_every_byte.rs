//! A server on stdio that ends at every byte of its life, and what the client promises all the same: what it says of a call is what the server's own
//! ledger says, nothing runs twice, and every call settles.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod stdio_support;

use std::time::Duration;

use oncewire::{Client, Era, Execution};
use oncewire_tests::stdio::{Life, StdioScript};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::stdio_support::Server;

/// Servers at once.
const AT_ONCE: usize = 6;
/// What a client waits for is here in milliseconds; a machine that is busy needs longer.
const SETTLES: Duration = Duration::from_secs(60);

/// The lengths of the lines that a client writes in one life: what comes before the call, and the call itself.
async fn lengths(folder: &std::path::Path, server: &Server) -> (u64, u64) {
    let copy = folder.join("stdin");
    let script = format!("tee {} | \"$@\"", copy.display());
    let command = oncewire::ServerCommand::new("/bin/sh").args(["-c", &script, "sh"]).args(server.arguments());
    let client = Client::stdio(command).era(Era::Legacy).connect().await.unwrap();
    client.call_tool("poke", json!({"to": "ada"})).await.unwrap();
    client.close().await;
    let text = std::fs::read_to_string(copy).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    (lines[..2].iter().map(|line| line.len() as u64 + 1).sum(), lines[2].len() as u64 + 1)
}

/// One client and its call, on a server whose first life is this one; says how the call ended.
async fn one(life: Life) -> (Execution, usize) {
    let shown = format!("{life:?}");
    let server = Server::new(&StdioScript::of(life));
    let client = Client::stdio(server.command()).era(Era::Legacy).lazy(true).connect().await.unwrap();
    let called = tokio::time::timeout(SETTLES, client.call_tool("poke", json!({"to": "ada"})).into_future()).await;
    let called = called.unwrap_or_else(|_| panic!("a call did not settle: {shown}"));
    // What may be repeated never shows anything.
    let listed = tokio::time::timeout(SETTLES, client.list_tools().into_future()).await.unwrap();
    assert_eq!(listed.unwrap().items.len(), 5, "{shown}");
    client.close().await;
    let ran = server.runs("poke");
    let said = match &called {
        Ok(_) => Execution::Answered,
        Err(error) => error.execution(),
    };
    match said {
        Execution::Answered => assert_eq!(ran, 1, "{shown}"),
        Execution::NotExecuted => assert_eq!(ran, 0, "{shown}: {called:?}"),
        _ => assert!(ran <= 1, "{shown}"),
    }
    assert!(server.starts() <= 2, "{shown}");
    (said, ran)
}

async fn all(lives: impl IntoIterator<Item = Life>) -> Vec<(Execution, usize)> {
    let (mut set, mut ended) = (JoinSet::new(), Vec::new());
    for (number, life) in lives.into_iter().enumerate() {
        if set.len() >= AT_ONCE {
            ended.push(set.join_next().await.unwrap().unwrap());
        }
        set.spawn(async move { (number, one(life).await) });
    }
    while let Some(one) = set.join_next().await {
        ended.push(one.unwrap());
    }
    ended.sort_by_key(|(number, _)| *number);
    ended.into_iter().map(|(_, ended)| ended).collect()
}

#[tokio::test]
async fn a_server_that_ends_at_every_byte_that_it_reads() {
    let healthy = Server::new(&StdioScript::default());
    let (before, call) = lengths(&healthy.folder(), &healthy).await;
    // Each byte of the call, and of what comes before it some.
    let bytes: Vec<u64> = (0..before).step_by(37).chain(before..=before + call).collect();
    let ended = all(bytes.iter().map(|byte| Life { ends_after_read: Some(*byte), ..Life::default() })).await;
    for (byte, (said, ran)) in bytes.iter().zip(ended) {
        // Up to the first byte of the call nobody has read any of it: that is proven where the kernel tells, and so it is run by the next process.
        let is_proven = *byte < before || *byte == before && cfg!(target_os = "linux");
        let expected = if is_proven { (Execution::Answered, 1) } else { (Execution::MayHaveExecuted, 0) };
        assert_eq!((said, ran), expected, "byte {byte} of {before} + {call}");
    }
}

#[tokio::test]
async fn a_server_that_ends_at_every_byte_that_it_writes() {
    let answer = json!({"jsonrpc": "2.0", "id": 2, "result": {"content": [{"text": "poke done", "type": "text"}], "isError": false}});
    let answer = answer.to_string().len() as u64;
    let healthy = Server::new(&StdioScript::default());
    let copy = healthy.folder().join("stdout");
    let script = format!("\"$@\" | tee {}", copy.display());
    let command = oncewire::ServerCommand::new("/bin/sh").args(["-c", &script, "sh"]).args(healthy.arguments());
    let client = Client::stdio(command).era(Era::Legacy).connect().await.unwrap();
    client.call_tool("poke", json!({"to": "ada"})).await.unwrap();
    client.close().await;
    let text = std::fs::read_to_string(copy).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[1].len() as u64), (2, answer), "{text}");
    let before = lines[0].len() as u64 + 1;
    let bytes: Vec<u64> = (1..before).step_by(37).chain(before..=before + answer + 1).collect();
    let ended = all(bytes.iter().map(|byte| Life { ends_after_written: Some(*byte), ..Life::default() })).await;
    for (byte, (said, ran)) in bytes.iter().zip(ended) {
        let expected = match *byte {
            // It ended in its handshake, or before it read the call.
            byte if byte < before => (Execution::Answered, 1),
            byte if byte == before => continue,
            // Half an answer is none; the whole one is, with or without its line end.
            byte if byte < before + answer => (Execution::MayHaveExecuted, 1),
            _ => (Execution::Answered, 1),
        };
        assert_eq!((said, ran), expected, "byte {byte} of {before} + {answer}");
    }
}

#[tokio::test]
async fn a_server_that_ends_when_the_tool_has_run() {
    let life = Life { ends_after_running: true, ..Life::default() };
    assert_eq!(all([life]).await, [(Execution::MayHaveExecuted, 1)]);
}

#[tokio::test]
async fn a_reading_method_is_repeated_wherever_the_server_ended() {
    for method in ["resources/read", "tools/list", "prompts/get"] {
        let life = Life { ends_at: Some(method.to_owned()), ..Life::default() };
        let server = Server::new(&StdioScript::of(life));
        let client = Client::stdio(server.command()).era(Era::Legacy).lazy(true).connect().await.unwrap();
        client.read_resource("mem://a").await.unwrap();
        client.list_tools().await.unwrap();
        client.get_prompt("hello", Value::Null).await.unwrap();
        assert_eq!(client.call_tool("poke", Value::Null).await.unwrap().text(), "poke done");
        client.close().await;
        assert_eq!((server.starts(), server.runs("poke")), (2, 1));
    }
}
