//! The doctor does no harm: no tool runs, one session is opened and ended, no secret is said, and it ends in time.

use serde_json::{Value, json};

use crate::command::{checks, examined, report, server};

#[tokio::test]
async fn no_tool_runs_and_the_one_session_is_ended() {
    for script in [
        json!({}),
        json!({ "options": { "answer": "sse", "single_session": true } }),
        json!({ "options": { "era": "dual" } }),
    ] {
        let server = server(script).await;
        examined(&server, &[]).await;
        let ledger = server.ledger();
        assert_eq!(ledger.arrivals_of("tools/call", None), 0);
        assert_eq!(ledger.executions_of("tools/call", None), 0);
        assert!(ledger.sessions.len() <= 1, "{:?}", ledger.sessions);
        assert!(ledger.sessions.iter().all(|session| session.deletes == 1 && !session.left), "{:?}", ledger.sessions);
        assert!(ledger.arrivals.iter().all(|arrival| arrival.malformed.is_none()), "{:?}", ledger.arrivals);
    }
}

#[tokio::test]
async fn a_session_is_ended_also_when_the_time_is_over() {
    let server = server(
        json!({ "rules": [{ "when": { "rpc": "tools/list", "session": true }, "early": true, "do": ["hold"] }] }),
    )
    .await;
    let report = examined(&server, &["--timeout", "4"]).await;
    assert_eq!(report["complete"], false);
    assert!(checks(&report).contains(&"doctor.out_of_time"), "{report:#}");
    assert_eq!(server.ledger().sessions.iter().map(|session| session.deletes).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn a_second_session_is_opened_only_on_demand() {
    let server = server(json!({ "options": { "single_session": true } })).await;
    let report = examined(&server, &["--intrusive"]).await;
    assert!(checks(&report).contains(&"session.one_alone"), "{report:#}");
    assert_eq!(server.ledger().sessions.len(), 2);
}

#[tokio::test]
async fn a_tool_runs_once_if_it_is_named() {
    let server = server(json!({})).await;
    let report = examined(&server, &["--call", "poke"]).await;
    assert!(!checks(&report).contains(&"tools.call_failed"), "{report:#}");
    assert_eq!(server.ledger().executions_of("tools/call", Some("poke")), 1);
    let report = examined(&server, &["--call", "nothing"]).await;
    assert!(checks(&report).contains(&"tools.call_failed"), "{report:#}");
}

fn token_file() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, SECRET).unwrap();
    file
}

const SECRET: &str = "s3cret-Token-of-the-test-4711";

/// Everything that a server says repeats the token and the session.
#[tokio::test]
async fn no_report_holds_a_secret() {
    let token = token_file();
    let says = format!("no: Bearer {SECRET}, session $session");
    let error = json!({ "jsonrpc": "2.0", "id": "$id", "error": { "code": -32000, "message": says, "data": says } });
    let refusal =
        json!([{ "headers": { "Server": format!("x {SECRET}") } }, { "respond": { "status": 400, "json": error } }]);
    let rules = ["ping", "tools/list", "server/discover", "notifications/initialized"]
        .map(|rpc| json!({ "early": true, "when": { "rpc": rpc }, "do": refusal }));
    let paths = ["/mcp".to_owned(), format!("/mcp?key={SECRET}")];
    let named = json!({ "paths": paths, "tools": { SECRET: {}, "peek": { "name": format!("{SECRET} again") } }, "tokens": [SECRET] });
    for script in
        [json!({ "options": { "tokens": [SECRET], "paths": paths }, "rules": rules }), json!({ "options": named })]
    {
        let server = server(script).await;
        let url = format!("{}?key={SECRET}", server.url());
        let (report, printed) = report(&[&url, "--token-file", token.path().to_str().unwrap()]).await;
        let opened: Vec<_> = server.ledger().sessions.iter().map(|session| session.id.clone()).collect();
        assert!(!opened.is_empty(), "{report:#}");
        assert!(!printed.contains(SECRET), "{printed}");
        assert!(opened.iter().all(|id| !printed.contains(&**id)), "{printed}");
    }
}

#[tokio::test]
async fn a_login_that_is_refused_or_not_needed_is_told() {
    let token = token_file();
    let given = ["--token-file", token.path().to_str().unwrap()];
    let closed = server(json!({ "options": { "tokens": ["another"] } })).await;
    let report = examined(&closed, &given).await;
    assert!(checks(&report).contains(&"auth.login_refused"), "{report:#}");
    assert_eq!(report["grade"], Value::Null);
    let open = server(json!({ "options": { "era": "modern" } })).await;
    let report = examined(&open, &given).await;
    assert!(checks(&report).contains(&"auth.not_needed"), "{report:#}");
}

/// A signal ends the examination, and not before the session is ended.
#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_it_in_good_order() {
    let rule =
        json!({ "when": { "rpc": "tools/list", "session": true }, "early": true, "do": [{ "gate": "here" }, "hold"] });
    let server = server(json!({ "rules": [rule] })).await;
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_oncewire"));
    command.args(["doctor", server.url()]).stdout(std::process::Stdio::piped()).kill_on_drop(true);
    let child = command.spawn().unwrap();
    server.reached("here", 1).await;
    let id = child.id().unwrap().to_string();
    assert!(tokio::process::Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let output = child.wait_with_output().await.unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0));
    assert_eq!(server.ledger().sessions.iter().map(|session| session.deletes).collect::<Vec<_>>(), [1]);
}

/// With `--login` the login is used as a client uses it, and what can be told of it is.
#[tokio::test]
async fn a_login_is_used_only_where_it_may_be() {
    let authorization = json!({
        "clients": { "robot": { "secret": SECRET } }, "auth_methods": ["client_secret_basic"], "access_token_ms": 600_000,
    });
    let server = server(json!({ "options": { "authorization": authorization, "protected": {} } })).await;
    let secret = token_file();
    let store = tempfile::tempdir().unwrap();
    let login = [
        "--client-id",
        "robot",
        "--client-credentials",
        "--client-secret-file",
        secret.path().to_str().unwrap(),
        "--login-store",
        store.path().to_str().unwrap(),
    ];
    let shut = examined(&server, &login).await;
    assert!(checks(&shut).contains(&"auth.login_wanted"), "{shut:#}");
    assert!(std::fs::read_dir(store.path()).unwrap().next().is_none(), "a login was made");
    let (report, printed) = report(&[&[server.url(), "--login"], &login[..]].concat()).await;
    let report = &report["servers"][0];
    assert!(report["grade"]["letter"].is_string(), "{report:#}");
    assert!(report["facts"]["auth"]["token_seconds_left"].as_u64() > Some(500), "{report:#}");
    assert!(report["facts"]["auth"]["own_metadata"].as_bool().unwrap(), "{report:#}");
    assert!(!printed.contains(SECRET), "{printed}");
}
