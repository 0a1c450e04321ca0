//! `oncewire login`, `status` and `logout`, with a folder of logins of their own.

use std::process::Stdio;

use oncewire_tests::server::FaultServer;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{PATIENCE, Ran, ended, oncewire, run, server};

async fn protected() -> FaultServer {
    let options = serde_json::from_value(json!({"authorization": {}, "protected": {}})).unwrap();
    server(options, json!([])).await
}

/// What a browser would be sent to: the server grants everything at once.
async fn redirected(url: &str) -> String {
    let (origin, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(origin).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    let location =
        answer.lines().find_map(|line| line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("location")));
    location.unwrap().1.to_owned()
}

/// Logs in as a person does who has no browser on this machine.
async fn log_in(url: &str, store: &str) -> Ran {
    let mut command = oncewire(&["login", url, "--no-browser", "--login-store", store, "--json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = loop {
        let line = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().expect("no address is shown");
        if let Some(address) = line.strip_prefix("to log in, open ") {
            break address.to_owned();
        }
    };
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{}\n", redirected(&address).await).as_bytes()).await.unwrap();
    ended(child).await
}

#[tokio::test]
async fn a_login_is_made_shown_used_and_ended() {
    let server = protected().await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().to_str().unwrap();
    let url = server.url();
    let with = |command: &str| vec![command.to_owned(), url.to_owned(), "--login-store".to_owned(), store.to_owned()];
    let run_with = async |command: &str, more: &[&str]| {
        let all = with(command);
        run(&[&all.iter().map(String::as_str).collect::<Vec<_>>()[..], more].concat()).await
    };

    let ran = run_with("status", &[]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "not logged in\n"), "{ran:?}");
    assert_eq!(server.ledger().connections.opened, 0, "status asks nobody");

    let ran = log_in(url, store).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["logged_in"], true, "{ran:?}");

    let status = run_with("status", &["--json"]).await;
    assert_eq!((status.code, status.json()["login"]["refreshable"].as_bool()), (Some(0), Some(true)), "{status:?}");
    let text = run_with("status", &[]).await;
    assert!(text.out.starts_with("logged in by http://127.0.0.1:"), "{text:?}");
    let stored: String = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    for secret in ["access_token", "refresh_token"] {
        let secret = stored["tokens"][secret].as_str().unwrap();
        assert!(![&ran.out, &status.out, &text.out].iter().any(|out| out.contains(secret)), "no token is shown");
    }

    let ran = run_with("list", &["tools"]).await;
    assert_eq!(ran.code, Some(0), "the stored login is used: {ran:?}");

    let ran = run_with("logout", &[]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "logged out\n"), "{ran:?}");
    assert_eq!(run_with("status", &[]).await.code, Some(1));
    assert_eq!(run_with("logout", &[]).await.out, "there was no login\n");
}

#[tokio::test]
async fn where_nobody_sees_it_no_browser_opens_and_the_error_says_how_to_log_in() {
    let server = protected().await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().to_str().unwrap();
    let ran = run(&["list", server.url(), "--login-store", store]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{ran:?}");
    assert!(ran.err.contains("oncewire login URL"), "{ran:?}");
    assert!(!server.ledger().arrivals.iter().any(|it| it.path.contains("authorize")), "no browser opens");
}
