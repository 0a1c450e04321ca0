//! The doctor on processes, which are small scripts of the shell.

use serde_json::Value;
use test_case::test_case;

use crate::command::{checks, report};

/// A server of the handshake era. `$1` runs first, and `$2` when its standard input has ended.
const SERVER: &str = r#"
eval "$1"
while read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  case $line in
    *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"Method not found"}}' ;;
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"poke","inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/call"'*) echo called >&2; echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[]}}' ;;
  esac
done
eval "$2"
"#;

async fn examined(first: &str, last: &str, more: &[&str]) -> Value {
    let (report, _) = report(&[more, &["--", "sh", "-c", SERVER, "server", first, last]].concat()).await;
    report["servers"][0].clone()
}

#[tokio::test]
async fn a_good_process_is_examined_to_its_end() {
    let report = examined(":", ":", &[]).await;
    assert_eq!(checks(&report), ["tools.no_hints"], "{report:#}");
    assert_eq!(report["target"], "sh", "no argument is shown");
    assert_eq!(
        (&report["facts"]["process"]["exit_code"], &report["facts"]["process"]["stray_lines"]),
        (&0.into(), &0.into())
    );
    assert_eq!(report["facts"]["process"]["stderr_lines"], 0, "no tool ran");
    assert_eq!(report["facts"]["tools"]["count"], 1);
    assert!(report["grade"]["letter"].is_string());
}

#[test_case("echo hello; echo again", ":", "stdio.stray_output"; "it greets")]
#[test_case("exit 3", ":", "stdio.spawn_failed"; "it ends at once")]
#[test_case(":", "exit 3", "stdio.exit_code"; "it ends with an error")]
#[test_case(":", "exec sleep 60", "stdio.exits_late"; "it does not end")]
#[tokio::test]
async fn what_is_wrong_with_a_process_is_found(first: &str, last: &str, check: &str) {
    let report = examined(first, last, &[]).await;
    assert!(checks(&report).contains(&check), "{report:#}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let (report, _) = report(&["--", "/no/such/program", "s3cret"]).await;
    assert_eq!(checks(&report["servers"][0]), ["stdio.spawn_failed"], "{report:#}");
    assert!(!report.to_string().contains("s3cret"));
}

#[tokio::test]
async fn a_tool_of_a_process_runs_once_if_it_is_named() {
    let report = examined(":", ":", &["--call", "poke"]).await;
    assert_eq!(report["facts"]["process"]["stderr_lines"], 1, "{report:#}");
}
