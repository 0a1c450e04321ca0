//! A server on stdio: what its process's life and death mean for calls. What it did stands in a file that outlives it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod stdio_support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oncewire::{Client, ClientState, Era, Error, Execution, Inherit, Kind, Proof, ServerCommand};
use oncewire_tests::server;
use oncewire_tests::stdio::{Life, Note, StdioScript};
use serde_json::{Value, json};

use self::stdio_support::{Server, is_alive, until};

fn of_era(era: server::Era) -> StdioScript {
    let mut script = StdioScript::default();
    script.options.era = era;
    script
}

#[tokio::test]
async fn every_method_works_in_both_eras() {
    for (era, expected) in
        [(server::Era::Legacy, "2025-11-25"), (server::Era::Modern, "2026-07-28"), (server::Era::Dual, "2026-07-28")]
    {
        let server = Server::new(&of_era(era));
        let client = server.connect().await;
        assert_eq!(client.protocol_version().as_deref(), Some(expected));
        assert_eq!(client.list_tools().await.unwrap().items.len(), 5);
        assert_eq!(client.call_tool("poke", Value::Null).await.unwrap().text(), "poke done");
        let echoed = client.call_tool("echo", json!({"a": [1, "ü\n"]})).await.unwrap().structured_content.unwrap();
        assert_eq!(serde_json::from_str::<Value>(echoed.get()).unwrap()["a"][1], "ü\n");
        assert!(
            client.read_resource("mem://a").await.unwrap().contents[0]["text"].as_str().unwrap().contains("mem://a")
        );
        client.list_prompts().await.unwrap();
        client.get_prompt("hello", Value::Null).await.unwrap();
        client.complete(&json!({"type": "ref/prompt", "name": "hello"}), "a", "b").await.unwrap();
        client.ping().await.unwrap();
        client.set_log_level("debug").await.unwrap();
        client.subscribe("mem://a").await.unwrap();
        client.unsubscribe("mem://a").await.unwrap();
        let error = client.call_tool("nothing", Value::Null).await.unwrap_err();
        assert_eq!(
            (error.execution(), error.kind(), error.attempts()[0].http_status),
            (Execution::Answered, Kind::Rpc, None),
            "{error}"
        );
        client.close().await;
        assert_eq!(server.starts(), 1);
        assert_eq!(server.notes().last(), Some(&Note::Eof));
    }
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_answer_and_neighbours_do_not_wait() {
    let server = Server::new(&StdioScript::default());
    let client = server.connect().await;
    let seen = Arc::<Mutex<Vec<f64>>>::default();
    let watched = Arc::clone(&seen);
    let slow = client.call_tool("slow", json!({"ms": 300, "progress": 50})).on_progress(move |progress| {
        watched.lock().unwrap().push(progress.progress);
    });
    let slow = tokio::spawn(slow.into_future());
    client.call_tool("poke", Value::Null).await.unwrap();
    assert!(!slow.is_finished());
    slow.await.unwrap().unwrap();
    let expected: Vec<f64> = (1..=50).map(f64::from).collect();
    assert_eq!(*seen.lock().unwrap(), expected);
    client.close().await;
}

#[tokio::test]
async fn the_server_may_ask_and_tell() {
    let told = Arc::<Mutex<Vec<String>>>::default();
    for era in [server::Era::Legacy, server::Era::Modern] {
        let server = Server::new(&of_era(era));
        let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let watched = Arc::clone(&told);
        let client = Client::stdio(server.command())
            .on_roots(move |_| {
                watched.lock().unwrap().push("asked".to_owned());
                std::future::ready(Ok(json!({"roots": []})))
            })
            .on_notification(move |notification| drop(sender.send(notification.method.clone())))
            .connect()
            .await
            .unwrap();
        if era == server::Era::Legacy {
            client.call_tool("poke", json!({"ask": "roots/list"})).await.unwrap();
            assert_eq!(*told.lock().unwrap(), ["asked"]);
        } else {
            // The stream is acknowledged by then.
            client.subscribe("mem://a").await.unwrap();
        }
        client.call_tool("poke", json!({"notify": "notifications/tools/list_changed"})).await.unwrap();
        assert_eq!(heard.recv().await.as_deref(), Some("notifications/tools/list_changed"));
        client.close().await;
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_told_to_the_server_in_both_eras() {
    for era in [server::Era::Legacy, server::Era::Modern] {
        let server = Server::new(&of_era(era));
        let client = server.connect().await;
        let error =
            client.call_tool("slow", json!({"ms": 60_000})).timeout(Duration::from_millis(200)).await.unwrap_err();
        assert_eq!((error.execution(), error.kind()), (Execution::MayHaveExecuted, Kind::Timeout), "{error}");
        server.until(|notes| notes.iter().any(|note| matches!(note, Note::Cancelled(_)))).await;
        // Nobody else is touched.
        client.call_tool("poke", Value::Null).await.unwrap();
        client.close().await;
        assert_eq!(server.starts(), 1);
    }
}

#[tokio::test]
async fn a_process_that_ends_at_each_start_is_told_with_its_last_words_and_started_twice() {
    let life = Life {
        ends_at: Some("initialize".to_owned()),
        exit_code: 3,
        stderr: vec!["no key: hunter2hunter2".to_owned()],
        ..Life::default()
    };
    let server = Server::new(&StdioScript { lives: vec![life; 20], ..StdioScript::default() });
    let command = server.command().env("API_KEY", "hunter2hunter2");
    let error = Client::stdio(command).era(Era::Legacy).connect().await.unwrap_err();
    let text = error.to_string();
    assert_eq!((error.execution(), error.kind()), (Execution::NotExecuted, Kind::ConnectionClosed), "{text}");
    assert!(text.contains("exit code 3") && text.contains("no key: [redacted]"), "{text}");
    assert_eq!(server.starts(), 2);
}

#[tokio::test]
async fn what_cannot_be_started_says_so_at_once() {
    let error = Client::stdio("/no/such/program").connect().await.unwrap_err();
    assert_eq!(
        (error.execution(), error.kind(), error.proof()),
        (Execution::NotExecuted, Kind::Connect, Some(Proof::NeverSent)),
        "{error}"
    );
    assert!(
        error.to_string().contains("could not be started") && error.to_string().contains("No such file"),
        "{error}"
    );
    for (option, client) in [
        ("token", Client::stdio("cat").token("secret")),
        ("header", Client::stdio("cat").header("a", "b")),
        ("proxy", Client::stdio("cat").proxy("http://127.0.0.1:1")),
        ("folder", Client::stdio(ServerCommand::new("cat").folder("/no/such/folder"))),
    ] {
        let error = client.connect().await.unwrap_err();
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.to_string().contains(option), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_ends_at_the_question_for_its_era_or_says_nothing_is_taken_for_an_older_one() {
    for life in [
        Life { ends_at: Some("server/discover".to_owned()), ..Life::default() },
        Life { mute: vec!["server/discover".to_owned()], ..Life::default() },
    ] {
        let server = Server::new(&StdioScript { lives: vec![life; 3], ..StdioScript::default() });
        let client = server.connect().await;
        assert_eq!(client.protocol_version().as_deref(), Some("2025-11-25"));
        assert!(server.starts() <= 2);
        client.close().await;
    }
}

#[tokio::test]
async fn a_server_of_the_modern_era_that_was_slow_to_start_is_asked_again() {
    // To the first question it says nothing, and to `initialize` no.
    let life = Life { mute: vec!["server/discover".to_owned()], ..Life::default() };
    let server = Server::new(&StdioScript { lives: vec![life], ..of_era(server::Era::Modern) });
    let client = server.connect().await;
    assert_eq!(client.protocol_version().as_deref(), Some("2026-07-28"));
    client.call_tool("poke", Value::Null).await.unwrap();
    client.close().await;
}

#[tokio::test]
async fn a_process_that_ended_while_nobody_called_is_replaced_by_one() {
    let server = Server::new(&StdioScript::default());
    let client = server.connect().await;
    server.kill_last();
    until(|| client.state() != ClientState::Ready || !is_alive(server.pids()[0])).await;
    let calls = (0..16).map(|_| tokio::spawn(client.call_tool("poke", Value::Null).into_future()));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!((server.starts(), client.generation()), (2, 2));
    assert_eq!(server.runs("poke"), 16);
    client.close().await;
}

#[tokio::test]
async fn all_calls_in_flight_end_at_once_with_the_process() {
    let server = Server::new(&StdioScript::default());
    let client = server.connect().await;
    let calls: Vec<_> =
        (0..8).map(|_| tokio::spawn(client.call_tool("slow", json!({"ms": 60_000})).into_future())).collect();
    server
        .until(|notes| {
            notes.iter().filter(|note| matches!(note, Note::Asked(method) if method == "tools/call")).count() == 8
        })
        .await;
    server.kill_last();
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!((error.execution(), error.kind()), (Execution::MayHaveExecuted, Kind::ConnectionClosed), "{error}");
        assert!(error.to_string().contains("the server process ended: killed by signal 9"), "{error}");
        assert!(error.to_string().contains("check before running it again"), "{error}");
    }
    // What may be repeated is repeated on the next process.
    client.read_resource("mem://a").await.unwrap();
    assert_eq!(server.starts(), 2);
    client.close().await;
}

#[tokio::test]
async fn a_process_that_lives_for_one_call_at_a_time_is_not_started_for_ever() {
    let life = Life { ends_at: Some("tools/list".to_owned()), ..Life::default() };
    let server = Server::new(&StdioScript { lives: vec![life; 100], ..StdioScript::default() });
    let client = server.connect().await;
    let error = client.list_tools().await.unwrap_err();
    assert_eq!((error.execution(), error.kind()), (Execution::MayHaveExecuted, Kind::ConnectionClosed), "{error}");
    assert_eq!(error.attempts().len(), 3);
    assert!(server.starts() <= 4, "{}", server.starts());
    client.close().await;
}

#[tokio::test]
async fn what_is_no_message_is_told_and_costs_only_itself() {
    let life = Life { first_words: "Server running on stdio\n".to_owned(), ..Life::default() };
    let server = Server::new(&StdioScript::of(life));
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let client = Client::stdio(server.command())
        .on_event(move |event| drop(sender.send(event.clone())))
        .connect()
        .await
        .unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    client.close().await;
    let mut dropped = Vec::new();
    while let Ok(event) = events.try_recv() {
        dropped.extend(event.reason.filter(|_| event.event.as_str() == "message_dropped"));
    }
    assert!(dropped.len() == 1 && dropped[0].contains("Server running on stdio"), "{dropped:?}");
}

#[tokio::test]
async fn an_answer_that_is_none_is_shown() {
    for (text, floods, kind) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"oh\n", false, Kind::Protocol),
        ("not a message\n", true, Kind::Protocol),
        ("no line end ", true, Kind::TooLarge),
    ] {
        let life = Life { in_place_of_answer: Some(text.to_owned()), floods, ..Life::default() };
        let server = Server::new(&StdioScript::of(life));
        let client = Client::stdio(server.command()).max_message(100_000).connect().await.unwrap();
        let error = client.call_tool("poke", Value::Null).await.unwrap_err();
        assert_eq!((error.execution(), error.kind()), (Execution::MayHaveExecuted, kind), "{error}");
        let shown = text.trim().split('"').next_back().unwrap_or_default();
        assert!(error.to_string().contains(shown), "{error}");
        assert_eq!(server.runs("poke"), 1);
        // The next one is another process, or the same.
        client.list_tools().await.unwrap();
        client.close().await;
    }
}

#[tokio::test]
async fn closing_ends_a_process_that_does_not_want_to_and_its_children() {
    for (stubborn, within) in [(false, 10), (true, 10)] {
        let life = Life { stays: true, has_child: true, ..Life::default() };
        let server = Server::new(&StdioScript::of(life));
        let command = if stubborn { server.command_deaf_to_sigterm() } else { server.command() };
        let client = Client::stdio(command).close_timeout(Duration::from_secs(2)).connect().await.unwrap();
        let pids = server.pids();
        assert_eq!(pids.len(), 2);
        tokio::time::timeout(Duration::from_secs(within), client.close()).await.unwrap();
        for pid in pids {
            until(|| !is_alive(pid)).await;
        }
        assert_eq!(stdio_support::zombies(), 0);
    }
}

#[tokio::test]
async fn a_client_that_is_dropped_leaves_nothing_behind() {
    let server = Server::new(&StdioScript::of(Life { has_child: true, ..Life::default() }));
    let client = server.connect().await;
    let pids = server.pids();
    drop(client);
    for pid in pids {
        until(|| !is_alive(pid)).await;
    }
    assert_eq!(server.notes().last(), Some(&Note::Eof));
}

#[tokio::test]
async fn a_server_gets_no_variables_but_the_listed_and_the_given() {
    let server = Server::new(&StdioScript::default());
    let folder = server.folder();
    let out = folder.join("environment");
    let script = format!("env > {}; pwd >> {}; exec \"$@\"", out.display(), out.display());
    let command = ServerCommand::new("/bin/sh").args(["-c", &script, "sh"]).args(server.arguments()).folder(&folder);
    let client = Client::stdio(command.env("GIVEN", "yes").inherit(Inherit::only(["PATH"]))).connect().await.unwrap();
    client.close().await;
    let text = std::fs::read_to_string(&out).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_once('=').map(|(name, _)| name)).collect();
    assert!(names.contains(&"GIVEN") && names.contains(&"PATH") && !names.contains(&"HOME"), "{names:?}");
    assert!(text.lines().any(|line| std::path::Path::new(line) == folder.canonicalize().unwrap()), "{text}");
}

#[tokio::test]
async fn recover_replaces_the_process_and_surface_leaves_it_to_the_host() {
    let server = Server::new(&StdioScript::default());
    let client = Client::stdio(server.command()).recovery(oncewire::Recovery::Surface).connect().await.unwrap();
    client.recover().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    let first = server.pids()[0];
    until(|| !is_alive(first)).await;
    server.kill_last();
    let error = client.call_tool("poke", Value::Null).await.unwrap_err();
    assert_ne!(error.execution(), Execution::Answered);
    let error = client.call_tool("poke", Value::Null).await.unwrap_err();
    assert_eq!((error.kind(), error.execution()), (Kind::SessionLost, Execution::NotExecuted), "{error}");
    client.recover().await.unwrap();
    client.call_tool("poke", Value::Null).await.unwrap();
    assert_eq!(server.starts(), 3);
    client.close().await;
}

#[tokio::test]
async fn what_never_left_is_proven_and_sent_to_the_next_process() {
    let server = Server::new(&StdioScript::default());
    let client = Client::stdio(server.command()).recovery(oncewire::Recovery::Off).connect().await.unwrap();
    server.kill_last();
    until(|| !is_alive(server.pids()[0])).await;
    let error = client.call_tool("poke", Value::Null).await.unwrap_err();
    assert!(matches!(error, Error::NotExecuted(_)), "{error}");
    assert_eq!(error.proof(), Some(Proof::NeverSent));
    assert_eq!(server.runs("poke"), 0);
    client.close().await;
}
